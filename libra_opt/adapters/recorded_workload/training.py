"""Agentic-RL jobs composed of recorded rollouts (Search-R1) and recorded phases (verl's PPO trainer)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.adapters.recorded_workload.cluster import amounts, most_of
from libra_opt.domain import Amounts, Part, PreemptionCost, Restart, Step, WorkloadJob, WorkloadStage
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.recordings.rollouts import Trajectory

__all__ = ["TRAINING_ASSUMED", "Rollouts", "training_job", "training_steps"]

_PROMPTS_PER_CARD: Final = 4
_PER_CARD: Final = 32
_KV_GIB: Final = 57_344 / 1024**3
_WEIGHTS_GIB: Final = 15.0
_ROOM_GIB: Final = 60.0
_SCORE_GIB: Final = 15.0
_UPDATE_GIB: Final = 40.0
_CORES_ALIVE: Final = 0.05
_CORES_TOOL: Final = 1.0
_CORES_CARD: Final = 2.0
_HOST_GIB: Final = 32.0
_HOST_GIB_CARD: Final = 16.0
_MEMORY_MARGIN: Final = 1.2
_ALIVE: Final = (0.95, 0.85, 0.7, 0.55, 0.4, 0.25, 0.12, 0.05)
_LEAST_SECONDS: Final = 8.0
_GRID: Final = 6
_MOST_STEPS: Final = 16

TRAINING_ASSUMED: Final = (
    (
        f"a job of n cards rolls out {_PROMPTS_PER_CARD} n recorded prompts a step, all their trajectories starting at once (starts were not recorded); engine "
        "seconds, which hold the queueing of the recorded batch of 2,048, stay as they are"
    ),
    f"a job has as many steps as fill its recorded duration, 1 to {_MOST_STEPS}",
    f"cards of a rollout: whole ones, {_PER_CARD} trajectories in the engine on each; scoring and updating use all cards; it runs on one, slower in proportion",
    (
        f"card memory of a rollout: live tokens x 57,344 B of keys and values and {_WEIGHTS_GIB:g} GiB of weights per {_ROOM_GIB:g} GiB of these; of scoring "
        f"{_SCORE_GIB:g} GiB and of an update {_UPDATE_GIB:g} GiB per card, which an update waits for"
    ),
    (
        f"cores: {_CORES_ALIVE:g} per live trajectory, {_CORES_TOOL:g} per running tool, {_CORES_CARD:g} per card in training; host memory: {_HOST_GIB:g} "
        f"GiB and {_HOST_GIB_CARD:g} per card; network: 0.1 GB/s, in an update 0.2 per card"
    ),
    "a PPO run of a 0.5B model on one card gives the ratios of phases; no growth of responses (the recorded steps show none)",
    f"request: the peak of every resource, memory and {_MEMORY_MARGIN - 1:.0%}; maximum: the same; minimum: one card",
    "an eviction costs 45 s, a resize 15 s, a cold start 60 s, a warm one 20 s",
)
"""What is assumed of such jobs."""


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What was recorded.

    Attributes
    ----------
    batches
        Per recorded batch, per prompt: its trajectories.
    ratios
        ``(n_steps, 2)``: seconds of scoring and of updating over those of generation.
    """

    batches: Sequence[Sequence[Sequence[Trajectory]]]
    ratios: NDArray[np.float64]


def training_steps(rollouts: Rollouts, cards: int, duration: float, generator: np.random.Generator) -> list[Step]:
    """Return the steps of a job of so many cards: as many as fill its duration."""
    first, ratio = int(generator.integers(len(rollouts.batches))), int(generator.integers(len(rollouts.ratios)))
    steps: list[Step] = []
    filled = 0.0
    while len(steps) < _MOST_STEPS:
        batch = rollouts.batches[(first + len(steps)) % len(rollouts.batches)]
        start = int(generator.integers(len(batch)))
        prompts = [batch[(start + i) % len(batch)] for i in range(min(len(batch), _PROMPTS_PER_CARD * cards))]
        score, update = rollouts.ratios[(ratio + len(steps)) % len(rollouts.ratios)]
        step = _step([one for prompt in prompts for one in prompt], cards, float(score), float(update))
        seconds = sum(part.seconds for part in step.parts)
        if steps and filled + seconds / 2 > duration:
            break
        steps.append(step)
        filled += seconds
    return steps


def training_job(name: str, submitted: float, cards: int, steps: Sequence[Step]) -> WorkloadJob:
    """Return the job of those steps."""
    most = most_of(steps) | {"gpu": float(cards)}
    asked = amounts(
        {
            resource: min(amount * _MEMORY_MARGIN, 80.0 * cards if resource == "gpu_mem" else np.inf) if resource in ("gpu_mem", "mem") else amount
            for resource, amount in most.items()
        }
    )
    return WorkloadJob(
        id=name,
        submitted=submitted,
        preemption_cost=PreemptionCost(evict_seconds=45, resize_seconds=15, migrate_seconds=45),
        stages=(WorkloadStage(min_quota=Amounts({"gpu": 1}), max_quota=asked, request=asked, reports_queue=True),),
        steps=tuple(steps),
        restart=Restart(cold_seconds=60, warm_seconds=20),
    )


def _step(trajectories: Sequence[Trajectory], cards: int, score: float, update: float) -> Step:
    parts = _rollout(trajectories, cards)
    rollout = sum(part.seconds for part in parts)
    host = _HOST_GIB + _HOST_GIB_CARD * cards
    scoring = {"gpu": cards, "gpu_mem": _SCORE_GIB * cards, "cpu": _CORES_CARD * cards, "mem": host, "net": 0.1}
    updating = {**scoring, "gpu_mem": _UPDATE_GIB * cards, "net": 0.2 * cards}
    parts.append(Part(seconds=round(rollout * score, 1), phase="score", use=FrozenMapping({"main": amounts(scoring)})))
    parts.append(Part(seconds=round(rollout * update, 1), phase="update", use=FrozenMapping({"main": amounts(updating)}), waits_for_memory=True))
    return Step(parts=tuple(parts), trajectories=len(trajectories), tokens=round(sum(float(one.tokens[-1]) for one in trajectories)))


def _rollout(trajectories: Sequence[Trajectory], cards: int) -> list[Part]:
    """Cut a rollout where so many of its trajectories have ended; every stretch has the mean of what was recorded in it, of memory the most."""
    starts = np.concatenate([np.cumsum(one.engine + one.tool) - one.engine - one.tool for one in trajectories])
    engine = np.concatenate([one.engine for one in trajectories])
    tool = np.concatenate([one.tool for one in trajectories])
    tokens = np.concatenate([one.tokens for one in trajectories])
    ends = np.sort([float((one.engine + one.tool).sum()) for one in trajectories])
    edges = _edges(ends)
    parts = []
    for begin, end in pairwise(edges):
        length = end - begin
        decoding = _overlap(starts, starts + engine, begin, end) / length
        running = _overlap(starts + engine, starts + engine + tool, begin, end) / length
        alive = float(np.minimum(ends, end).clip(begin).sum() - begin * len(ends)) / length
        held = max(float(tokens[(starts <= at) & (at < starts + engine + tool)].sum()) for at in np.linspace(begin, end, _GRID)) * _KV_GIB
        use = {
            "gpu": float(min(cards, max(1, ceil(decoding / _PER_CARD - 1e-9)))),
            "gpu_mem": min(80.0 * cards, held + _WEIGHTS_GIB * max(1, ceil(held / _ROOM_GIB))),
            "cpu": 1 + _CORES_ALIVE * alive + _CORES_TOOL * running,
            "mem": _HOST_GIB + _HOST_GIB_CARD * cards,
            "net": 0.1,
        }
        parts.append(Part(seconds=round(length, 1), phase="rollout", use=FrozenMapping({"main": amounts(use)})))
    return parts


def _edges(ends: NDArray[np.float64]) -> list[float]:
    edges = [0.0]
    for alive in _ALIVE:
        cut = float(ends[min(len(ends) - 1, int(len(ends) * (1 - alive)))])
        if cut - edges[-1] >= _LEAST_SECONDS and ends[-1] - cut >= _LEAST_SECONDS:
            edges.append(cut)
    return [*edges, max(float(ends[-1]), 1.0)]


def _overlap(starts: NDArray[np.float64], ends: NDArray[np.float64], begin: float, end: float) -> float:
    return float((np.minimum(ends, end) - np.maximum(starts, begin)).clip(0).sum())
