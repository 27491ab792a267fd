"""Generated jobs that switch phases: synthetic series, for which step and phase are known of every other job.

A job repeats its step: a rollout whose trajectories finish one after another (a long tail), a reward stage that waits for outside services,
an update at full cards. Lengths and levels vary from step to step, tool calls make cores swing within a rollout, and long trajectories pile up in
memory. All of it is drawn, nothing measured.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.series import Series
from libra_opt.recordings.recording import Measured, Recording

__all__ = ["PHASES", "generate"]

PHASES: Final = ("rollout", "reward", "train")
"""Stages of a step; a series' phase is the place in this tuple."""

_RESOURCES: Final = (("gpu", "cards", True), ("gpu_mem", "GiB", False), ("cpu", "cores", True), ("mem", "GiB", False))
_N_PERIODS: Final = 400
_MEAN_PERIODS: Final = (9.0, 3.0, 6.0)
_PACE_SPREAD: Final = 0.2
_LENGTH_SPREAD: Final = 0.15
_LEVEL_SPREAD: Final = 0.1
_NOISE: Final = 0.05
_GAP_SHARE: Final = 0.01


def generate(generator: np.random.Generator, n_jobs: int = 24) -> Recording:
    """Draw the recording.

    Parameters
    ----------
    generator
        Where every random number comes from.
    n_jobs
        How many jobs.
    """
    paces = [float(pace) for pace in generator.lognormal(0, _PACE_SPREAD, n_jobs)]
    jobs = [_job(pace, generator) for pace in paces]
    values, steps, phases = (np.stack(column) if column else np.zeros((0, 0)) for column in list(zip(*jobs, strict=True)) or [(), (), ()])
    known = (np.arange(n_jobs) % 2 == 0)[:, None]
    step, phase = np.where(known, steps, -1).astype(np.int64), np.where(known, phases, -1).astype(np.int64)
    labels = tuple(f"generated-{i}" for i in range(n_jobs))
    season = tuple(max(2, round(pace * sum(_MEAN_PERIODS))) for pace in paces)
    return Recording(
        name="phase_switching",
        title=f"{n_jobs} generated jobs that switch between rollout, reward and training",
        source="generated; nothing was measured",
        period_seconds=60,
        measured=tuple(
            Measured(resource, unit, Series(values[:, r], step, phase), labels, compressible=compressible, season=season)
            for r, (resource, unit, compressible) in enumerate(_RESOURCES)
            if n_jobs
        ),
        assumed=(
            f"everything: steps of {sum(_MEAN_PERIODS):g} periods, times a pace of each job (log-normal spread {_PACE_SPREAD:.0%})",
            f"log-normal spread of lengths of phases {_LENGTH_SPREAD:.0%}, of levels from step to step {_LEVEL_SPREAD:.0%}, of values {_NOISE:.0%}",
            "cards of a job from 2 to 16, cores and memory per card its own; the season is the mean length of its steps",
            f"{_GAP_SHARE:.0%} of the periods not measured; step and phase known of every other job",
        ),
        synthetic=True,
    )


def _job(pace: float, generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return values ``(n_resources, n_periods)``, and step and phase ``(n_periods,)`` of one job."""
    cards = float(generator.integers(2, 17))
    cores_per_card, kv_per_card = generator.uniform(4, 16), generator.uniform(10, 40)
    parts: list[NDArray[np.float64]] = []
    step: list[int] = []
    phase: list[int] = []
    number = 0
    while len(phase) < _N_PERIODS:
        level = cards * generator.lognormal(0, _LEVEL_SPREAD)
        for code, mean in enumerate(_MEAN_PERIODS):
            length = max(1, round(mean * pace * generator.lognormal(0, _LENGTH_SPREAD)))
            parts.append(_phase(code, length, level, cores_per_card, kv_per_card, generator))
            step += [number] * length
            phase += [code] * length
        number += 1
    values = np.concatenate(parts, axis=1)[:, :_N_PERIODS]
    values *= generator.lognormal(0, _NOISE, values.shape)
    values[:, generator.random(_N_PERIODS) < _GAP_SHARE] = np.nan
    return values, np.array(step[:_N_PERIODS], dtype=np.int64), np.array(phase[:_N_PERIODS], dtype=np.int64)


def _phase(code: int, length: int, cards: float, cores_per_card: float, kv_per_card: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return the levels of one phase, shape ``(n_resources, length)``."""
    progress = (np.arange(length) + 0.5) / length
    flat = np.ones(length)
    if code == 0:
        alive = 1 - progress**3 * 0.9
        tools = generator.lognormal(0, 0.3, length)
        return np.stack(
            [cards * alive, cards * (16 + kv_per_card * np.sqrt(progress) * alive), cards * cores_per_card * alive * tools, cards * (8 + 24 * progress)]
        )
    if code == 1:
        waits = generator.lognormal(0, 0.4, length)
        return np.stack([0.2 * cards * waits, 18 * cards * flat, 2 * cards * waits, 32 * cards * flat])
    return np.stack([cards * flat, 60 * cards * flat, 2 * cards * flat, 40 * cards * flat])
