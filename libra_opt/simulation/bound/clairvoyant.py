"""What the best allocator could reach that knows the truth from the beginning: more finished work by the horizon, or an earlier end, is impossible.

Two relaxations, of which the better counts, so the truth may lie below. In the linear program (`relaxation`) all resources are short, but work moves freely
between periods of a block, resources can be had in any fraction above the minima, no move costs anything but the first start, and nothing is killed. With
prices on cards (`priced`) only these are short, and only at their prices, but every job pays for holding, resizing and restarting as it really would.
"""

from dataclasses import dataclass
from math import ceil, inf
from typing import Final

from libra_opt.domain import Workload
from libra_opt.simulation.bound.priced import priced_bound
from libra_opt.simulation.bound.relaxation import Limits, Relaxer
from libra_opt.solvers.highs import certified_bound

__all__ = ["Bound", "clairvoyant_bound"]

_ALMOST: Final = 1e-9
_CLOSE: Final = 1e-6
"""By so much of a job the bound on what is done must miss the whole for a horizon to count as impossible."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What no allocator can pass.

    Attributes
    ----------
    finished_work
        Most weight x cards x seconds of finished work by the horizon; None where the workload has none.
    periods
        Least number of periods in which all jobs can be done, where the workload has no horizon; None where it has one, or where some job can never be done.
    """

    finished_work: float | None = None
    periods: int | None = None


def clairvoyant_bound(workload: Workload, period_seconds: float | None = None, limits: Limits | None = None) -> Bound:
    """Return what no allocator can pass on a workload.

    Parameters
    ----------
    workload
        The cluster and what its jobs really do.
    period_seconds
        The rebalancing period; missing: the workload's.
    limits
        How fine the linear program is: coarser is faster and weaker, never wrong.
    """
    seconds = period_seconds or workload.period_seconds
    relaxer = Relaxer(workload, seconds, limits or Limits())
    if workload.horizon_seconds is not None:
        relaxed = certified_bound(relaxer.program(workload.horizon_seconds, is_share=False))
        if not relaxer.limits.prices:
            return Bound(finished_work=relaxed)
        return Bound(finished_work=min(relaxed, priced_bound(workload, seconds, relaxer.jobs, relaxer.limits.prices, relaxed)))
    earliest = relaxer.earliest_end()
    if earliest == inf:
        return Bound()
    counted = sum(job.clock == "progress" or job.work is not None for job in workload.jobs)
    low = high = max(1, ceil(earliest / seconds - _ALMOST))
    while not _can_all_be_done(relaxer, high, counted):
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _can_all_be_done(relaxer, middle, counted) else (middle + 1, high)
    return Bound(periods=high)


def _can_all_be_done(relaxer: Relaxer, periods: int, counted: int) -> bool:
    return certified_bound(relaxer.program(periods * relaxer.seconds, is_share=True)) >= counted - _CLOSE
