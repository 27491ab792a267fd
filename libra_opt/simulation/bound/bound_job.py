"""One job as the relaxation sees it: its truth, what its parts take at least, when it could begin, and which pools its stages are bound to."""

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
        Seconds on the simulated clock at which it could begin to make progress: at the first period after it came, when it has started cold.
    bound_to
        Per stage, the pools it may use.
    """

    job: WorkloadJob
    truth: Truth
    prices: tuple[Price, ...]
    start: float
    bound_to: tuple[frozenset[str], ...]
