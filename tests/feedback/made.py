"""Outcomes and setpoints for the tests, by hand and generated."""

from typing import Any

from hypothesis import strategies as st

from libra_opt.feedback import Outcome, Setpoint, adapt

__all__ = ["CALM", "at_work", "outcomes", "setpoints", "settled"]

CALM = Outcome(
    period_seconds=60,
    n_running=10,
    n_waiting=0,
    n_preemptions=0,
    n_resizes=0,
    n_migrations=0,
    lost_seconds=0,
    n_memory_kills=0,
    memory_waste_share=0.2,
    mean_delay_seconds=0,
    max_delay_seconds=0,
    forecast_error=0.1,
    allocating_seconds=0.1,
    stale_share=0.01,
)


def at_work(**changes: Any) -> Outcome:
    """Return a calm outcome but for some fields."""
    return CALM.replace(changes)


def settled(setpoint: Setpoint, outcome: Outcome, n_periods: int) -> Setpoint:
    """Return where the same outcome, again and again, leads."""
    for _ in range(n_periods):
        setpoint = adapt(setpoint, outcome)
    return setpoint


_COUNTS = st.one_of(st.none(), st.integers(0, 20), st.integers(0, (1 << 63) - 1))
_SHARES = st.one_of(st.none(), st.floats(0, 1))
_ORDINARY = st.one_of(st.none(), st.just(0.0), st.floats(1e-3, 20_000))


def outcomes(*, ordinary_times: bool = False) -> st.SearchStrategy[Outcome]:
    """Return any outcomes at all, likely ones as often as absurd ones; with ordinary times none of them is near a limit of a type."""
    counts = dict.fromkeys(("n_running", "n_waiting", "n_preemptions", "n_resizes", "n_migrations", "n_memory_kills"), _COUNTS)
    times = _ORDINARY if ordinary_times else st.one_of(_ORDINARY, st.floats(0, 1e9))
    seconds = dict.fromkeys(("lost_seconds", "mean_delay_seconds", "max_delay_seconds", "allocating_seconds"), times)
    shares = dict.fromkeys(("memory_waste_share", "stale_share"), _SHARES)
    error = st.one_of(st.none(), st.floats(0, 1), st.floats(0, 1e6))
    period = st.one_of(st.sampled_from([30.0, 60.0, 300.0]), st.floats(1, 10_000) if ordinary_times else st.floats(1e-3, 1e6))
    return st.builds(Outcome, period_seconds=period, forecast_error=error, **counts, **seconds, **shares)


def setpoints(*, ordinary_times: bool = False) -> st.SearchStrategy[Setpoint]:
    """Return setpoints that some outcomes lead to."""

    def follow(path: list[tuple[Outcome, int]]) -> Setpoint:
        setpoint = Setpoint()
        for outcome, n_periods in path:
            setpoint = settled(setpoint, outcome, n_periods)
        return setpoint

    return st.lists(st.tuples(outcomes(ordinary_times=ordinary_times), st.integers(1, 20)), max_size=3).map(follow)
