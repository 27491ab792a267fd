"""Steady jobs: each can always use all it asks for, and together they ask for more than there is.

There is contention, but nothing to lend: whoever gets the cards keeps them busy, so how they are divided hardly matters.
"""

from typing import Annotated, Final

import numpy as np

from libra_opt.domain import About, Amounts, ObservationNoise, PreemptionCost, Workload, WorkloadJob, WorkloadStage
from libra_opt.domain.base import Real, Value, WholeNumber
from libra_opt.simulation.workloads.hardware import NODE_SOURCE, h100_pool
from libra_opt.simulation.workloads.phases import Phase, amounts, highest, step_of

__all__ = ["Steady", "steady"]

_CARDS: Final = (4, 8)
_STEP_SECONDS: Final = 600.0
_SPREAD: Final = 0.1
_ASSUMED: Final = (
    "cards: 4 or 8, all used all the time; runs on a quarter of them, slower in proportion",
    f"a step takes {_STEP_SECONDS / 60:g} minutes at full service, log-normal spread {_SPREAD:.0%}",
    "per card 4 cores, 16 GiB of host memory, 0.5 GB/s; card memory 60 GiB in all, which one card holds",
    "all jobs are there at the beginning, and their work exceeds what the cluster does in the horizon",
    "an eviction costs 45 s, a resize 15 s, a cold start 60 s, a warm one 20 s",
)


class Steady(Value):
    """Parameters.

    Attributes
    ----------
    jobs
        How many, all there from the beginning.
    cards
        Cards of the cluster, in nodes of eight.
    steps
        Steps of each job.
    horizon_seconds
        When counting stops.
    """

    jobs: Annotated[int, WholeNumber(1, 1000)] = 16
    cards: Annotated[int, WholeNumber(8, 8192)] = 64
    steps: Annotated[int, WholeNumber(1, 1000)] = 40
    horizon_seconds: Annotated[float, Real(600, 1e7)] = 21_600


def steady(parameters: Steady, generator: np.random.Generator) -> Workload:
    """Draw the workload."""
    return Workload(
        about=About(synthetic=True, assumed=(*_ASSUMED, NODE_SOURCE)),
        horizon_seconds=parameters.horizon_seconds,
        pools=(h100_pool(parameters.cards),),
        jobs=tuple(_job(f"job-{j:03d}", parameters.steps, generator) for j in range(parameters.jobs)),
        noise=ObservationNoise(spread=0.05, late=0.03, missing=0.02),
    )


def _job(name: str, n_steps: int, generator: np.random.Generator) -> WorkloadJob:
    cards = int(generator.choice(_CARDS))
    use = {"gpu": float(cards), "gpu_mem": 60.0, "cpu": 4.0 * cards, "mem": 16.0 * cards, "net": 0.5 * cards}
    lengths = generator.lognormal(0, _SPREAD, n_steps).tolist()
    steps = tuple(step_of([Phase("train", _STEP_SECONDS * length, use)]) for length in lengths)
    most = amounts(highest(steps))
    stage = WorkloadStage(min_quota=Amounts({"gpu": cards // 4}), max_quota=Amounts({"gpu": cards, "gpu_mem": 76}), request=most)
    return WorkloadJob(id=name, preemption_cost=PreemptionCost(evict_seconds=45, resize_seconds=15, migrate_seconds=45), stages=(stage,), steps=steps)
