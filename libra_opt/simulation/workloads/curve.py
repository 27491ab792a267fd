"""Jobs given by a curve: demand of cards per period, repeated until the work is done; and the four-job example.

Demand follows the wall clock: what a job could have used in a minute in which it held less is not made up later. There are no costs of starting or
changing, no memory and no noise, so that every number can be checked by hand.
"""

from typing import Annotated, Final

import numpy as np
from pydantic import Field

from libra_opt.domain import About, Amounts, Part, Pool, PreemptionCost, Resource, Restart, Step, Workload, WorkloadJob, WorkloadStage
from libra_opt.domain.base import Positive, Real, Seconds, Value, WholeNumber

__all__ = ["FOUR_JOBS", "Curve", "CurveJob", "curve"]


class CurveJob(Value):
    """One job of a curve.

    Attributes
    ----------
    demand
        Cards it can use in each period from its submission on, over and over; at least one is above 0.
    work
        Cards x periods after which it is done.
    submitted
        The period it comes in.
    """

    demand: Annotated[tuple[Annotated[float, Real(0, 1e6)], ...], Field(min_length=1, max_length=1000)]
    work: Positive
    submitted: Seconds = 0


FOUR_JOBS: Final = (
    CurveJob(demand=(0.2, 0.1, 0.9, 0.9, 0.9, 0.1), work=2.6),
    CurveJob(demand=(0.8, 0.8, 0.5, 0.5), work=2.0),
    CurveJob(demand=(0.5, 0.5, 0.3, 0.3, 0.3), work=1.7),
    CurveJob(demand=(0.4, 0.9, 0.1, 0.9, 0.4), work=2.4),
)
"""The four-job example: on one card, equal shares finish it in 14 periods, and no allocator can in fewer than 9."""


class Curve(Value):
    """Parameters.

    Attributes
    ----------
    jobs
        The curves.
    capacity, quantum
        Cards there are, and the smallest step of them.
    period_seconds
        Length of a period.
    observed_before
        Periods of an earlier run of every job that were recorded; a forecast has nothing else to know a curve from.
    """

    jobs: Annotated[tuple[CurveJob, ...], Field(min_length=1, max_length=1000)] = FOUR_JOBS
    capacity: Positive = 1
    quantum: Positive = 0.01
    period_seconds: Annotated[float, Real(1e-3, 1e6)] = 60
    observed_before: Annotated[int, WholeNumber(0, 1000)] = 48


def curve(parameters: Curve, _generator: np.random.Generator) -> Workload:
    """Return the workload; nothing in it is drawn."""
    return Workload(
        about=About(synthetic=True, assumed=("everything: curves of demand that were written down, nothing was measured", _NO_COSTS)),
        period_seconds=parameters.period_seconds,
        resources=(Resource(name="gpu", unit="cards", quantum=parameters.quantum, compressible=True, costly=True),),
        pools=(Pool(name="cards", capacity=Amounts({"gpu": parameters.capacity})),),
        jobs=tuple(_job(j, job, parameters.period_seconds, parameters.observed_before) for j, job in enumerate(parameters.jobs)),
    )


_NO_COSTS: Final = "starting, stopping and resizing cost nothing; observations are exact, and an earlier run of every job was recorded"


def _job(j: int, job: CurveJob, seconds: float, observed_before: int) -> WorkloadJob:
    parts = tuple(Part(seconds=seconds, phase=f"slot {slot}", use={"main": {"gpu": cards}} if cards else {}) for slot, cards in enumerate(job.demand))
    return WorkloadJob(
        id=f"job-{j + 1}",
        preemption_cost=PreemptionCost(evict_seconds=0, resize_seconds=0, migrate_seconds=0),
        submitted=job.submitted * seconds,
        clock="wall",
        stages=(WorkloadStage(request=Amounts({"gpu": max(job.demand)}), reports_queue=True),),
        steps=(Step(parts=parts),),
        repeats=True,
        work=round(job.work * seconds, 9),
        restart=Restart(cold_seconds=0, warm_seconds=0),
        observed_before=observed_before,
    )
