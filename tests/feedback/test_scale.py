"""The law knows shares: a cluster twice as large, or a clock in other units, gives the same answer."""

from hypothesis import given

from libra_opt.feedback import LAW, Band, Setpoint, adapt
from tests.feedback.made import at_work, outcomes, setpoints

SLOWER = 4.0
"""A power of two, so that scaling rounds nothing."""

TIMES = ("lost_seconds", "mean_delay_seconds", "max_delay_seconds", "allocating_seconds", "period_seconds")


def slowed(setpoint):
    remembered = setpoint.remembered
    return setpoint.replace(
        {
            "ageing_seconds": setpoint.ageing_seconds * SLOWER,
            "period_seconds": setpoint.period_seconds * SLOWER,
            "remembered": remembered.replace({"delay_seconds": remembered.delay_seconds * SLOWER, "oldest_seconds": remembered.oldest_seconds * SLOWER}),
        }
    )


SLOW_LAW = LAW.replace(
    {
        **{name: getattr(LAW, name) * SLOWER for name in ("ageing_least", "ageing_home", "period_least", "period_most")},
        **{name: Band(low=band.low * SLOWER, high=band.high * SLOWER) for name, band in (("delay", LAW.delay), ("oldest", LAW.oldest))},
    }
)


@given(setpoints(ordinary_times=True), outcomes(ordinary_times=True))
def test_clock_of_another_unit_gives_the_same_answer(setpoint, outcome):
    times = {name: getattr(outcome, name) for name in TIMES}
    slow = outcome.replace({name: value if value is None else value * SLOWER for name, value in times.items()})
    after, wanted = adapt(slowed(setpoint), slow, SLOW_LAW), slowed(adapt(setpoint, outcome))
    assert after == wanted


@given(setpoints())
def test_cluster_eight_times_as_large_gives_the_same_answer(setpoint):
    small = at_work(n_preemptions=2, n_resizes=3, n_migrations=1, lost_seconds=150.0, n_memory_kills=1, mean_delay_seconds=900.0)
    large = small.replace(
        {name: getattr(small, name) * 8 for name in ("n_running", "n_waiting", "n_preemptions", "n_resizes", "n_migrations", "lost_seconds", "n_memory_kills")}
    )
    assert adapt(setpoint, large) == adapt(setpoint, small)


def test_nobody_running_is_no_division_by_zero():
    assert adapt(Setpoint(), at_work(n_running=0, n_preemptions=3, lost_seconds=135.0)).remembered.moved_share > 0
