"""Agentic reinforcement learning, composed: Search-R1 trajectories (polytrace) in rollouts, with training phases after a PPO log (verl).

The trajectories are recorded (turns, tokens, how long the engine and the tool took), the moments they started are not; nor is what they
used. So a step is composed: a batch of trajectories starts together, the rollout lasts until the last has ended, training follows for
as long as it does, relative to the rollout, in a recorded PPO run. Cards, memory and cores follow by stated rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.series import Series
from libra_opt.recordings.periods import overlap_per_period, peak_per_period, shape_of
from libra_opt.recordings.recording import Measured, Recording
from libra_opt.recordings.rollouts import Trajectory, read_phase_ratios, read_trajectories
from libra_opt.recordings.table import Document

__all__ = ["MANY", "PATTERNS", "PHASES", "convert"]

PATTERNS: Final = {"trajectories": "polytrace/search_r1_multiturn_workload_step_*.jsonl*", "phases": "verl_ppo_log/*.log"}
"""Where the documents of each part lie in a directory of traces."""

MANY: Final = ("trajectories",)
"""Parts of which there may be several documents, in order."""

PHASES: Final = ("rollout", "reference and values", "update")
"""Stages of a step; a series' phase is the place in this tuple."""

_PERIOD_SECONDS: Final = 30
_N_JOBS: Final = 4
_PROMPTS_PER_STEP: Final = 16
_TRAJECTORIES_PER_CARD: Final = 32
_TRAINING_CARDS: Final = 4
_KV_BYTES: Final = 57_344
_WEIGHTS_GIB: Final = 15
_TRAINING_GIB: Final = (60, 160)
_CORES_PER_TRAJECTORY: Final = 0.05
_CORES_PER_TOOL: Final = 1.0
_TRAINING_CORES: Final = 8.0
_GIB: Final = 1024**3

_RECORDED: Final = (
    "per trajectory: turns, tokens after each turn, seconds in the engine per turn and in the tool per call",
    "per PPO step: seconds of generation, reference, values, advantage, critic and actor update",
)
_DERIVED: Final = (
    f"a job: {_N_JOBS} jobs share the recorded batches; a step of a job is {_PROMPTS_PER_STEP} consecutive prompts of a batch with all their trajectories",
    "rollout: all trajectories of a step start at once; it ends with the last of them",
    "training lasts rollout x (ref + values + adv + critic + actor) / gen of the PPO steps in their order",
    f"gpu, cpu: means over periods of {_PERIOD_SECONDS} s; gpu_mem: the highest second; step and phase of a period are those at its middle",
)
_ASSUMED: Final = (
    f"gpu: one card serves {_TRAJECTORIES_PER_CARD} trajectories in the engine; training uses {_TRAINING_CARDS} cards in full",
    f"gpu_mem in a rollout: live tokens x {_KV_BYTES:,} B of KV cache (28 layers, 4 heads of 128, keys and values), in tools too, and {_WEIGHTS_GIB} GiB",
    f"gpu_mem in training: {_TRAINING_GIB[0]} GiB (reference and values), {_TRAINING_GIB[1]} GiB (update)",
    f"cpu: {_CORES_PER_TRAJECTORY:g} core per live trajectory, {_CORES_PER_TOOL:g} per running tool call, {_TRAINING_CORES:g} in training",
    "engine seconds, which hold the queueing of the recorded batch of 2,048, stay as they are in a smaller batch",
    "a PPO run of a 0.5B model on one card gives the ratios of phases",
)


@dataclass(frozen=True, slots=True)
class _Intervals:
    """Intervals of a job's life: from, to, and what they count for."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    weight: NDArray[np.float64]


def convert(documents: Mapping[str, Sequence[Document]]) -> Recording:
    """Make the recording.

    Parameters
    ----------
    documents
        One or more documents of trajectories (one per recorded batch, in order) and one PPO log.

    Raises
    ------
    InputError
        A document is not what it should be; every such line is named.
    """
    batches = [read_trajectories(document) for document in documents["trajectories"]]
    ratios = read_phase_ratios(documents["phases"][0])
    slices: dict[tuple[int, int], list[Trajectory]] = {}
    for number, batch in enumerate(batches):
        for one in batch:
            slices.setdefault((number, one.group // _PROMPTS_PER_STEP), []).append(one)
    steps = [slices[place] for place in sorted(slices)]
    jobs = [_job(steps[k::_N_JOBS], ratios, documents["trajectories"][0].name) for k in range(min(_N_JOBS, len(steps)))]
    labels = tuple(f"job-{k}" for k in range(len(jobs)))
    step, phase = (_together([job[name] for job in jobs], fill=-1).astype(np.int64) for name in ("step", "phase"))
    return Recording(
        name="search_r1",
        title=f"{len(jobs)} jobs of {len(steps) // max(1, len(jobs))} steps composed of {sum(map(len, steps)):,} Search-R1 trajectories",
        source="Zhou-jiecheng/PolyTrace, search_r1/profile/multiturn_workload_log, and the PPO log of verl's getting-started notebook",
        period_seconds=_PERIOD_SECONDS,
        measured=tuple(
            Measured(resource, unit, Series(_together([job[resource] for job in jobs], fill=np.nan), step, phase), labels, compressible=compressible)
            for resource, unit, compressible in (("gpu", "cards", True), ("gpu_mem", "GiB", False), ("cpu", "cores", True))
        ),
        recorded=_RECORDED,
        derived=_DERIVED,
        assumed=_ASSUMED,
    )


def _job(steps: Sequence[Sequence[Trajectory]], ratios: NDArray[np.float64], name: str) -> dict[str, NDArray[np.float64]]:
    """Return the series of one job: its resources, and the step and phase at the middle of each period."""
    begin, edges, codes, numbers = 0.0, [0.0], [], []
    engine, live, tool, held = [], [], [], []
    for number, trajectories in enumerate(steps):
        for one in trajectories:
            ends = begin + np.cumsum(one.engine + one.tool)
            starts = ends - one.engine - one.tool
            engine.append((starts, starts + one.engine, np.ones(len(starts))))
            tool.append((starts + one.engine, ends, np.ones(len(starts))))
            live.append((starts[:1], ends[-1:], np.ones(1)))
            held.append((starts, ends, one.tokens))
        rollout = max(float((one.engine + one.tool).sum()) for one in trajectories)
        scoring, update = rollout * ratios[number % len(ratios)]
        for code, seconds in enumerate((rollout, scoring, update)):
            begin += seconds
            edges.append(begin)
            codes.append(code)
            numbers.append(number)
    _, n_seconds = shape_of(name, 1, begin // _PERIOD_SECONDS * _PERIOD_SECONDS)
    n_periods = n_seconds // _PERIOD_SECONDS
    part = np.clip(np.searchsorted(edges, (np.arange(n_periods) + 0.5) * _PERIOD_SECONDS, side="right") - 1, 0, len(codes) - 1)
    phases = _Intervals(np.array(edges[:-1]), np.array(edges[1:]), np.array(codes, dtype=np.float64))
    training = _Intervals(phases.start, phases.end, (phases.weight > 0).astype(np.float64))

    def mean(intervals: _Intervals, each: float) -> NDArray[np.float64]:
        return each * overlap_per_period(intervals.start, intervals.end, intervals.weight, _PERIOD_SECONDS, n_periods)

    return {
        "gpu": mean(_joined(engine), 1 / _TRAJECTORIES_PER_CARD) + mean(training, _TRAINING_CARDS),
        "cpu": mean(_joined(live), _CORES_PER_TRAJECTORY) + mean(_joined(tool), _CORES_PER_TOOL) + mean(training, _TRAINING_CORES),
        "gpu_mem": _memory(_joined(held), phases, n_periods),
        "step": np.array(numbers, dtype=np.float64)[part],
        "phase": np.array(codes, dtype=np.float64)[part],
    }


def _memory(held: _Intervals, phases: _Intervals, n_periods: int) -> NDArray[np.float64]:
    """Return the highest second of each period, GiB."""
    seconds = n_periods * _PERIOD_SECONDS
    tokens = overlap_per_period(held.start, held.end, held.weight, 1.0, seconds)
    base = np.array([_WEIGHTS_GIB, *_TRAINING_GIB])[phases.weight.astype(np.int64)]
    gib = tokens * _KV_BYTES / _GIB + overlap_per_period(phases.start, phases.end, base.astype(np.float64), 1.0, seconds)
    period = np.arange(seconds) // _PERIOD_SECONDS
    peaks: NDArray[np.float64] = peak_per_period(np.zeros(seconds, dtype=np.int64), period, gib, (1, n_periods))[0]
    return peaks


def _joined(intervals: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]) -> _Intervals:
    return _Intervals(*(np.concatenate(column) for column in zip(*intervals, strict=True)))


def _together(rows: Sequence[NDArray[np.float64]], fill: float) -> NDArray[np.float64]:
    table = np.full((len(rows), max((len(row) for row in rows), default=0)), fill)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table
