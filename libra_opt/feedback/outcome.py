"""The outcome: what came of one period, as the caller or the simulator counted it."""

from typing import Annotated

from libra_opt.domain.base import Natural, Real, Seconds, Value
from libra_opt.feedback.setpoint import PeriodLength

__all__ = ["Outcome"]

_Share = Annotated[float, Real(0, 1)]


class Outcome(Value):
    """What came of one period; None where something is not known, and what hangs on it is then left as it is.

    Attributes
    ----------
    period_seconds
        How long the period lasted.
    n_running
        Jobs that ran at some time in it, also those that were stopped or killed.
    n_waiting
        Jobs that waited at its end.
    n_preemptions, n_resizes, n_migrations
        Jobs stopped by the plan; stages changed in place where that cost something; stages moved to another pool.
    lost_seconds
        Seconds of service lost to these moves, added up over jobs (a job that stands still for 45 s has lost 45).
    n_memory_kills
        Jobs killed because a stage held less of an incompressible resource than it used.
    memory_waste_share
        1 - used / held of the incompressible resources, 0..1: the most that was used in the period against what was held, over all running jobs.
    mean_delay_seconds, max_delay_seconds
        How long the jobs that wait at the end of the period, and those that were admitted in it, have waited since they were submitted or stopped.
    forecast_error
        Mean absolute error of the forecast demand as a share of the mean demand; 0.2 is a fifth.
    allocating_seconds
        Time spent on making the plan.
    stale_share
        Share of the period's service that was lost because the plan in force did not fit the demand it met.
    """

    period_seconds: PeriodLength
    n_running: Natural | None = None
    n_waiting: Natural | None = None
    n_preemptions: Natural | None = None
    n_resizes: Natural | None = None
    n_migrations: Natural | None = None
    lost_seconds: Seconds | None = None
    n_memory_kills: Natural | None = None
    memory_waste_share: _Share | None = None
    mean_delay_seconds: Seconds | None = None
    max_delay_seconds: Seconds | None = None
    forecast_error: Annotated[float, Real(0, 1e6)] | None = None
    allocating_seconds: Seconds | None = None
    stale_share: _Share | None = None
