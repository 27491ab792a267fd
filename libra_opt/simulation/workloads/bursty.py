"""Bursty rollouts against reservations of the maximum: contended, and complementary because the jobs' phases are staggered.

A job generates on all its cards for a short while, then waits for its last trajectories and their tools on one card, then updates on a quarter of its
cards. It would run on any number of them, slower; reserving its maximum leaves most cards idle and the queue full.
"""

from typing import Annotated, Final

import numpy as np

from libra_opt.domain import About, Amounts, ObservationNoise, PreemptionCost, Workload, WorkloadJob, WorkloadStage
from libra_opt.domain.base import Real, Value, WholeNumber
from libra_opt.simulation.workloads.hardware import NODE_SOURCE, h100_pool
from libra_opt.simulation.workloads.phases import Phase, amounts, highest, step_of

__all__ = ["Bursty", "bursty", "bursty_job"]

_PEAKS: Final = (8, 12, 16)
_QUARTER: Final = 0.25
_TIMES: Final = {"rollout": 0.17, "tail": 0.63, "train": 0.20}
_STEP_SECONDS: Final = 1440.0
_PACE_SPREAD: Final = 0.15
_LEVEL_SPREAD: Final = 0.08
_MEMORY_GIB: Final = {"rollout": 66.0, "tail": 50.0, "train": 60.0}
_MEMORY_SPREAD: Final = 0.03
_MOST_GIB: Final = 76.0

_ASSUMED: Final = (
    (
        f"cards: at most 8, 12 or 16; all of them for {_TIMES['rollout']:.0%} of a step (rollout), one for {_TIMES['tail']:.0%} (tail), "
        f"{_QUARTER:.0%} of them for {_TIMES['train']:.0%} (train): a shape made up to show the effect, not one that was measured"
    ),
    (
        f"a step takes {_STEP_SECONDS / 60:g} minutes at full service, log-normal spread {_PACE_SPREAD:.0%} from job to job and "
        f"{_LEVEL_SPREAD:.0%} from step to step; the first begins at a random place"
    ),
    "card memory is small enough for one card throughout; cores: 4 per card and 32 in the tail, for tools; network: 0.5 GB/s per card",
    "every job runs on one card, slower in proportion; all jobs are there at the beginning, and their work exceeds what the cluster does in the horizon",
    "a job declares what it uses at its peak as its maximum of every resource",
    "an eviction costs 45 s, a resize 15 s, a cold start 60 s, a warm one 20 s",
)


class Bursty(Value):
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

    jobs: Annotated[int, WholeNumber(1, 1000)] = 24
    cards: Annotated[int, WholeNumber(16, 8192)] = 64
    steps: Annotated[int, WholeNumber(1, 1000)] = 18
    horizon_seconds: Annotated[float, Real(600, 1e7)] = 21_600


def bursty(parameters: Bursty, generator: np.random.Generator) -> Workload:
    """Draw the workload."""
    return Workload(
        about=About(synthetic=True, assumed=(*_ASSUMED, NODE_SOURCE)),
        horizon_seconds=parameters.horizon_seconds,
        pools=(h100_pool(parameters.cards),),
        jobs=tuple(bursty_job(f"job-{j:03d}", parameters.steps, generator) for j in range(parameters.jobs)),
        noise=ObservationNoise(spread=0.05, late=0.03, missing=0.02),
    )


def bursty_job(name: str, n_steps: int, generator: np.random.Generator) -> WorkloadJob:
    """Draw one job."""
    peak = int(generator.choice(_PEAKS))
    pace = float(generator.lognormal(0, _PACE_SPREAD))
    drawn = [_phases(peak, pace, generator) for _ in range(n_steps)]
    steps = [step_of(_from(drawn[0], float(generator.random()))), *map(step_of, drawn[1:])]
    most = {**highest(steps), "gpu": peak, "gpu_mem": _MOST_GIB}
    asked = amounts(most)
    stage = WorkloadStage(min_quota=Amounts({"gpu": 1}), max_quota=Amounts({**asked, "gpu_mem": int(_MOST_GIB)}), request=asked)
    cost = PreemptionCost(evict_seconds=45, resize_seconds=15, migrate_seconds=45)
    return WorkloadJob(id=name, preemption_cost=cost, stages=(stage,), steps=tuple(steps))


def _phases(peak: int, pace: float, generator: np.random.Generator) -> list[Phase]:
    cards = {"rollout": float(peak), "tail": 1.0, "train": _QUARTER * peak}
    phases = []
    for name, share in _TIMES.items():
        length, level = generator.lognormal(0, _LEVEL_SPREAD, 2)
        used = cards[name] if name == "tail" else min(float(peak), cards[name] * float(level))
        gib = min(_MOST_GIB, _MEMORY_GIB[name] * float(generator.lognormal(0, _MEMORY_SPREAD)))
        use = {"gpu": used, "gpu_mem": gib, "cpu": 32.0 if name == "tail" else 4 * used, "mem": 12.0 * peak, "net": 0.5 * used}
        phases.append(Phase(name, _STEP_SECONDS * pace * share * float(length), use))
    return phases


def _from(phases: list[Phase], place: float) -> list[Phase]:
    """Return what is left of a step of which a share has passed."""
    passed = place * sum(phase.seconds for phase in phases)
    left = []
    for phase in phases:
        rest = phase.seconds - passed
        passed = max(0.0, passed - phase.seconds)
        if rest > 1:
            left.append(Phase(phase.name, min(rest, phase.seconds), phase.use))
    return left or phases[-1:]
