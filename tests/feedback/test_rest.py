"""A loop at rest stays at rest, exactly; whatever happened before, calm brings it to rest."""

import pytest
from hypothesis import given, settings

from libra_opt.feedback import LAW, Outcome, Setpoint, adapt
from tests.feedback.made import CALM, at_work, setpoints, settled

LONGEST = 700
"""Periods: what killed is remembered for 500, the ageing time takes 180 to return home, filters some tens."""

IN_BAND = at_work(
    lost_seconds=0.03 * 600, n_resizes=2, memory_waste_share=0.45, mean_delay_seconds=1000.0, max_delay_seconds=5000.0, stale_share=0.06, allocating_seconds=1.0
)


def numbers(setpoint):
    return setpoint.model_dump(exclude={"remembered"})


def test_start_is_at_rest_from_the_first_period():
    silent = Outcome(period_seconds=60, n_running=8, n_waiting=0, n_preemptions=0, n_resizes=0, n_migrations=0, lost_seconds=0, n_memory_kills=0)
    assert adapt(Setpoint(), silent) == Setpoint()
    assert adapt(Setpoint(), Outcome(period_seconds=60)) == Setpoint()


@pytest.mark.parametrize("outcome", [CALM, IN_BAND], ids=["calm", "inside every band"])
def test_start_is_left_alone_while_all_is_inside_its_band(outcome):
    setpoint = Setpoint()
    for _ in range(100):
        setpoint = adapt(setpoint, outcome)
        assert numbers(setpoint) == numbers(Setpoint())
    assert adapt(setpoint, outcome) == setpoint


@settings(max_examples=25)
@given(setpoints())
def test_calm_brings_any_loop_to_rest(setpoint):
    rested = settled(setpoint, CALM, LONGEST)
    assert adapt(rested, CALM) == rested
    assert rested.remembered.kill_hold_periods == rested.remembered.dwell_periods == 0


@given(setpoints())
def test_what_nobody_measured_moves_nothing(setpoint):
    blind = adapt(setpoint, Outcome(period_seconds=60))
    assert numbers(blind) == numbers(setpoint)


def test_filters_arrive_within_tens_of_periods():
    stormy = settled(Setpoint(), at_work(lost_seconds=600.0, n_preemptions=10, mean_delay_seconds=1e6, stale_share=1.0, forecast_error=1.0), 50)
    calm = settled(stormy, CALM, 80)
    assert calm.remembered.lost_share == 0
    assert calm.remembered.delay_seconds == 0
    assert calm.remembered.stale_share == CALM.stale_share
    assert not calm.remembered.churning
    assert calm.move_price > LAW.price_least
