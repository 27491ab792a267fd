import pytest

from libra_opt.errors import InputError
from libra_opt.simulation.policies.forecasting import Forecasting
from libra_opt.simulation.registry import AT_REST, BOUND, POLICIES, make_policy
from libra_opt.simulation.workloads import make


@pytest.mark.parametrize("name", POLICIES)
def test_policy_is_made_anew_and_called_as_it_is_known(name):
    workload = make("four_jobs", 1)
    first, second = (make_policy(name, workload, 30.0, 1) for _ in range(2))
    assert first.name == second.name == POLICIES[name].name == name
    assert first is not second


@pytest.mark.parametrize(("seconds", "hold_periods"), [(30.0, 4), (60.0, 2), (15.0, 8)])
def test_every_baseline_that_forecasts_forecasts_as_ours_does_at_rest(seconds, hold_periods):
    workload = make("four_jobs", 1)
    made = [make_policy(name, workload, seconds, 1) for name in POLICIES]
    forecasting = [policy for policy in made if isinstance(policy, Forecasting)]
    assert len(forecasting) == 4
    at_rest = AT_REST.replace({"hold_periods": hold_periods})
    assert {policy.options for policy in forecasting} == {at_rest} == {make_policy("libra_no_feedback", workload, seconds, 1).options}


def test_feedback_begins_at_the_period_of_the_run():
    assert make_policy("libra", make("four_jobs", 1), 30.0, 1).setpoint.period_seconds == 30


@pytest.mark.parametrize("name", ["nobody", BOUND])
def test_unknown_policy_is_refused_with_the_known_ones(name):
    with pytest.raises(InputError, match="choose one of equal_split"):
        make_policy(name, make("four_jobs", 1), 60.0, 1)
