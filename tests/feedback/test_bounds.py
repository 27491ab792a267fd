"""Whatever comes, the setpoint stays in bounds, and one period moves it no further than its step."""

import math

from hypothesis import given
from hypothesis import strategies as st

from libra_opt.feedback import LAW, Setpoint, adapt
from tests.feedback.made import CALM, at_work, outcomes, setpoints, settled


def assert_within(setpoint, start):
    assert LAW.price_least <= setpoint.move_price <= LAW.price_most
    assert LAW.coverage_least <= setpoint.coverage <= LAW.coverage_most
    assert LAW.margin_least <= setpoint.margin <= LAW.margin_most
    assert LAW.ageing_least <= setpoint.ageing_seconds <= max(LAW.ageing_home, start.ageing_seconds)


@given(st.lists(st.tuples(outcomes(), st.integers(1, 40)), max_size=6))
def test_any_outcomes_leave_it_in_bounds(path):
    setpoint = Setpoint()
    for outcome, n_periods in path:
        setpoint = settled(setpoint, outcome, n_periods)
        assert_within(setpoint, Setpoint())


@given(setpoints(), outcomes())
def test_one_period_is_one_bounded_step(setpoint, outcome):
    after = adapt(setpoint, outcome)
    near = 1 + 1e-9
    assert abs(math.log(after.move_price / setpoint.move_price)) <= LAW.price_step * near
    assert -LAW.waste_step * near <= after.margin - setpoint.margin <= LAW.kill_step * near
    assert abs(math.log(after.ageing_seconds / setpoint.ageing_seconds)) <= LAW.ageing_step * near
    if after.period_seconds != setpoint.period_seconds:
        assert abs(math.log(after.period_seconds / outcome.period_seconds)) <= math.log(LAW.period_factor) * near


@given(outcomes())
def test_start_outside_the_bounds_only_moves_towards_them(outcome):
    above = Setpoint(move_price=100, margin=3, ageing_seconds=1e6, coverage=0.6)
    after = adapt(above, outcome)
    assert after.move_price <= above.move_price
    assert after.margin <= above.margin
    assert after.ageing_seconds <= above.ageing_seconds
    assert after.coverage >= above.coverage
    assert adapt(above, CALM).replace({"remembered": {}}) == above


def test_price_does_not_wind_up_at_its_bound():
    storm, quiet = at_work(lost_seconds=300.0), at_work(mean_delay_seconds=5000.0, max_delay_seconds=1000.0)
    short, long = settled(Setpoint(), storm, 60), settled(Setpoint(), storm, 600)
    assert short.move_price == long.move_price == LAW.price_most
    n_until_moves = 0
    while long.move_price == LAW.price_most:
        long, n_until_moves = adapt(long, quiet), n_until_moves + 1
    assert n_until_moves <= 12


def test_period_proposal_does_not_wind_up_when_nobody_follows():
    costly = at_work(allocating_seconds=10.0)
    assert settled(Setpoint(), costly, 500).period_seconds == CALM.period_seconds * LAW.period_factor
    hasty = at_work(stale_share=0.3)
    assert settled(Setpoint(), hasty, 500).period_seconds == CALM.period_seconds / LAW.period_factor


def test_period_proposal_that_is_followed_stops_at_its_bounds():
    setpoint = Setpoint()
    for _ in range(1000):
        setpoint = adapt(setpoint, at_work(period_seconds=setpoint.period_seconds, lost_seconds=300 * setpoint.period_seconds / 60))
    assert setpoint.period_seconds == LAW.period_most
    for _ in range(1000):
        setpoint = adapt(setpoint, at_work(period_seconds=setpoint.period_seconds, stale_share=0.3))
    assert setpoint.period_seconds == LAW.period_least
