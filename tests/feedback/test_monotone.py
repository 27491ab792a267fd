"""More of a trouble never brings less of its remedy."""

from hypothesis import given
from hypothesis import strategies as st

from libra_opt.feedback import adapt
from tests.feedback.made import at_work, setpoints

SHARES = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
TIMES = st.tuples(st.floats(0, 20_000), st.floats(0, 20_000)).map(sorted)
COUNTS = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


def both(setpoint, name, pair, **others):
    return [adapt(setpoint, at_work(**{name: value}, **others)) for value in pair]


@given(setpoints(), TIMES, st.floats(0, 5000))
def test_more_lost_to_moves_never_makes_moving_cheaper(setpoint, pair, delay):
    less, more = both(setpoint, "lost_seconds", pair, mean_delay_seconds=delay)
    assert less.move_price <= more.move_price


@given(setpoints(), COUNTS, st.floats(0, 5000))
def test_more_moves_never_make_moving_cheaper(setpoint, pair, delay):
    for kind in ("n_preemptions", "n_resizes", "n_migrations"):
        less, more = both(setpoint, kind, pair, mean_delay_seconds=delay)
        assert less.move_price <= more.move_price


@given(setpoints(), TIMES, st.floats(0, 60))
def test_more_queue_delay_never_makes_moving_dearer(setpoint, pair, lost):
    less, more = both(setpoint, "mean_delay_seconds", pair, lost_seconds=lost)
    assert less.move_price >= more.move_price


@given(setpoints(), SHARES, st.floats(0, 60))
def test_staler_plans_never_make_moving_dearer(setpoint, pair, lost):
    less, more = both(setpoint, "stale_share", pair, lost_seconds=lost)
    assert less.move_price >= more.move_price


@given(setpoints(), COUNTS, st.floats(0, 1))
def test_more_kills_never_leave_less_memory(setpoint, pair, waste):
    less, more = both(setpoint, "n_memory_kills", pair, memory_waste_share=waste)
    assert less.margin <= more.margin
    assert less.coverage <= more.coverage


@given(setpoints(), SHARES)
def test_more_waste_never_adds_memory(setpoint, pair):
    less, more = both(setpoint, "memory_waste_share", pair)
    assert less.margin >= more.margin
    assert less.coverage >= more.coverage


@given(setpoints(), TIMES)
def test_older_waiters_never_age_more_slowly(setpoint, pair):
    less, more = both(setpoint, "max_delay_seconds", pair)
    assert less.ageing_seconds >= more.ageing_seconds


@given(setpoints(), st.tuples(st.floats(0, 60), st.floats(0, 60)).map(sorted))
def test_dearer_plans_never_propose_a_shorter_period(setpoint, pair):
    less, more = both(setpoint, "allocating_seconds", pair)
    assert less.period_seconds <= more.period_seconds or setpoint.period_seconds != 60


@given(setpoints(), SHARES)
def test_staler_plans_never_propose_a_longer_period(setpoint, pair):
    less, more = both(setpoint, "stale_share", pair)
    assert less.period_seconds >= more.period_seconds or setpoint.period_seconds != 60
