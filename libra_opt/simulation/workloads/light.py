"""Bursty jobs of which all fit at once, each at its maximum: nothing is contended, so nothing is to be gained."""

from typing import Annotated, Final

import numpy as np

from libra_opt.domain import About, ObservationNoise, Workload, WorkloadJob
from libra_opt.domain.base import Real, Value, WholeNumber
from libra_opt.simulation.workloads.bursty import bursty_job
from libra_opt.simulation.workloads.hardware import NODE_SOURCE, h100_pool

__all__ = ["Light", "light"]

_MOST_JOBS: Final = 1000
_ASSUMED: Final = (
    "jobs as in the workload bursty, made up; as many as fit together at their maxima, all there from the beginning, and all could end within the horizon",
)


class Light(Value):
    """Parameters.

    Attributes
    ----------
    cards
        Cards of the cluster, in nodes of eight.
    steps
        Steps of each job.
    horizon_seconds
        When counting stops.
    """

    cards: Annotated[int, WholeNumber(16, 8192)] = 64
    steps: Annotated[int, WholeNumber(1, 1000)] = 8
    horizon_seconds: Annotated[float, Real(600, 1e7)] = 21_600


def light(parameters: Light, generator: np.random.Generator) -> Workload:
    """Draw the workload."""
    jobs: list[WorkloadJob] = []
    left = parameters.cards
    while len(jobs) < _MOST_JOBS:
        job = bursty_job(f"job-{len(jobs):03d}", parameters.steps, generator)
        left -= int(job.stages[0].max_quota["gpu"])
        if left < 0:
            break
        jobs.append(job)
    return Workload(
        about=About(synthetic=True, assumed=(*_ASSUMED, NODE_SOURCE)),
        horizon_seconds=parameters.horizon_seconds,
        pools=(h100_pool(parameters.cards),),
        jobs=tuple(jobs),
        noise=ObservationNoise(spread=0.05, late=0.03, missing=0.02),
    )
