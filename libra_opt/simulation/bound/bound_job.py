"""One job as the relaxation sees it: its truth, what its parts take at least, and when it could begin."""

from dataclasses import dataclass

from libra_opt.domain import WorkloadJob
from libra_opt.simulation.bound.least_use import Price
from libra_opt.simulation.truth import Truth

__all__ = ["BoundJob"]


@dataclass(frozen=True, slots=True)
class BoundJob:
    """One job.

    Attributes
    ----------
    job, truth, prices
        The job, its parts, and what each takes at least.
    start
        Seconds on the simulated clock at which it could begin to make progress: started in the first period after it came, in the way that is over soonest.
    """

    job: WorkloadJob
    truth: Truth
    prices: tuple[Price, ...]
    start: float
