"""Recurrence: where in its history a job stood at the place of its step that comes next.

The place is the phase of the step and how far the job is into it. What a job held in memory at that place of its earlier steps, and at what followed, covers
what it will hold, though it held more in another phase a moment ago. Nothing is averaged, as memory must be covered: the answer is a set of past
periods. Where in doubt the set is larger: steps differ in length, so the neighbours of a place belong to it, and where any of the earlier phases ended
as soon as this, what came after each of them does.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.phases import Phases, phases_of

__all__ = ["LEAST_STEPS", "MOST_STEPS", "Recurrence", "recurrence"]

MOST_STEPS: Final = 5
"""How many earlier steps are looked at, the latest that came to the present phase."""

LEAST_STEPS: Final = 2
"""In how many of them the place must have been measured."""

_LATEST: Final = 2
"""How many periods ago the place may have been told last; the periods since are added to those ahead."""

_Bits = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Past periods that are like the next ones.

    Attributes
    ----------
    steps
        Shape ``(n_jobs, n_periods)``, uint8: bit `i` is set where the period is like the next ones of the job seen from the `i`-th latest earlier step; 0
        everywhere where the place is not known.
    since
        Shape ``(n_jobs,)``: the period with which the present phase began; where it is told to be done, one after the last. Only a last measurement from
        then on says something of the next period.
    """

    steps: _Bits
    since: NDArray[np.int64]


def recurrence(
    step: NDArray[np.int64] | None,
    phase: NDArray[np.int64],
    progress: NDArray[np.float64] | None = None,
    waited: NDArray[np.bool_] | None = None,
    horizon: int = 1,
) -> Recurrence:
    """Find the past periods that are like the next `horizon`, from one place before the present one to one place after the last of them.

    Without progress a place is known by the periods the phase has lasted. Where it has outlasted all the earlier ones the job is slower than it was, so its
    place is not known and the whole of the earlier ones is taken; and so where the job has waited, now or then.

    Parameters
    ----------
    step
        Shape ``(n_jobs, n_periods)``: the number of the job's step, -1 unknown; None, or unknown throughout: each return to a phase is a step.
    phase
        Same shape: a code of the stage of its step the job was in, -1 unknown.
    progress
        Same shape: done share of the phase, 0 to 1, NaN unknown.
    waited
        Same shape: where the job held nothing.
    """
    n_jobs, n_periods = phase.shape
    told = np.where(phase >= 0, np.arange(n_periods), -1).max(axis=1, initial=-1)
    age = n_periods - 1 - told
    rows = np.flatnonzero((told >= 0) & (age <= _LATEST))
    steps, since = np.zeros(phase.shape, dtype=np.uint8), np.zeros(n_jobs, dtype=np.int64)
    if len(rows):
        phases = phases_of(None if step is None else step[rows], phase[rows])
        done = np.full(phases.phase.shape, np.nan) if progress is None else progress[rows]
        waits = np.zeros(done.shape, dtype=np.bool_) if waited is None else _waits(waited[rows], phases)
        steps[rows] = _like_next(phases, done, waits, told[rows], horizon + age[rows])
        is_done = (done[:, -1] >= 1) & (age[rows] == 0)
        since[rows] = np.where(is_done, n_periods, n_periods - 1 - phases.lasted[:, -1])
    return Recurrence(steps, since)


def _waits(waited: NDArray[np.bool_], phases: Phases) -> NDArray[np.bool_]:
    """Return for every period whether the job has waited in its phase, shape of `waited`."""
    period, total = np.arange(waited.shape[1]), np.cumsum(waited, axis=1)
    first, last = period - phases.lasted, period + phases.left
    waits: NDArray[np.bool_] = np.take_along_axis(total, last, axis=1) > np.take_along_axis(total - waited, first, axis=1)
    return waits


def _like_next(phases: Phases, progress: NDArray[np.float64], waits: NDArray[np.bool_], now: NDArray[np.int64], ahead: NDArray[np.int64]) -> _Bits:
    """Return the bits of `Recurrence.steps`, for jobs whose place was told at the period `now`, and the `ahead` periods after it."""
    at = now[:, None]
    came = _bits(phases, at)
    steps = np.where(_is_place(phases, progress, waits, at, came > 0), came, np.uint8(0))
    reach = ahead[:, None] + 1
    may_end = ((steps > 0) & (phases.left < reach)).any(axis=1, keepdims=True)
    follows = steps | np.where(may_end & (phases.left == 0), came, np.uint8(0))
    like = steps.copy()
    like[:, :-1] |= np.where(phases.lasted[:, 1:] > 0, steps[:, 1:], np.uint8(0))
    for k in range(1, min(int(reach.max()), like.shape[1] - 1) + 1):
        like[:, k:] |= np.where(k <= reach, follows[:, :-k], np.uint8(0))
    return like


def _bits(phases: Phases, at: NDArray[np.int64]) -> _Bits:
    """Return the bit of the earlier step in the periods of the present phase in it, 0 in all others."""
    present, own = (np.take_along_axis(values, at, axis=1) for values in (phases.phase, phases.step))
    same = (phases.phase == present) & (phases.step != own)
    before = np.maximum.accumulate(np.where(same, phases.step, -1), axis=1)
    comes = same.copy()
    comes[:, 1:] &= phases.step[:, 1:] != before[:, :-1]
    back = comes.sum(axis=1, keepdims=True, dtype=np.int32) - np.cumsum(comes, axis=1, dtype=np.int32)
    return np.where(same & (back < MOST_STEPS), np.left_shift(1, np.minimum(back, MOST_STEPS)), 0).astype(np.uint8)


def _is_place(phases: Phases, progress: NDArray[np.float64], waits: NDArray[np.bool_], at: NDArray[np.int64], came: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the periods of the present phase in earlier steps are the present place.

    With progress it is the last before the next would be further, in all periods that are as far.
    """
    lasted, here = np.take_along_axis(phases.lasted, at, axis=1), np.take_along_axis(progress, at, axis=1)
    is_slow = np.take_along_axis(waits, at, axis=1) | (lasted > np.where(came & phases.is_begun, phases.lasted, 0).max(axis=1, keepdims=True))
    by_time = phases.is_begun & ((phases.lasted == lasted) | ((phases.lasted < lasted) & (phases.left == 0)) | is_slow | waits)
    length = phases.lasted + phases.left + 1
    done = np.where(np.isnan(progress), np.where(phases.is_begun, (phases.lasted + 0.5) / length, np.nan), progress)
    later = np.full(done.shape, np.inf)
    later[:, :-1] = np.where(phases.left[:, :-1] > 0, done[:, 1:], np.inf)
    by_progress = ((done <= here) & ~(later <= here)) | (done == here) | ((phases.lasted == 0) & (done > here))
    is_place: NDArray[np.bool_] = np.where(np.isnan(here), by_time, by_progress)
    return is_place
