"""Phases: the stages of its steps that a job went through, from the step and phase told with every period.

What is not told of a period is as it was before, so that a late or missing entry does not cut a phase in two.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Phases", "phases_of"]


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases as the job went through them, shape ``(n_jobs, n_periods)``; what was not told is as it was before.

    Attributes
    ----------
    phase
        Its code, -1 before the first is known.
    step
        Which of the job's steps it belongs to, counted in the history.
    lasted
        Periods since the phase began.
    left
        Periods until it ended, or until the history does.
    is_begun
        Whether its first period is in the history.
    """

    phase: NDArray[np.int64]
    step: NDArray[np.int32]
    lasted: NDArray[np.int32]
    left: NDArray[np.int32]
    is_begun: NDArray[np.bool_]

    def of(self, rows: NDArray[np.int64]) -> "Phases":
        """Return the phases of some jobs."""
        return Phases(*(getattr(self, name)[rows] for name in self.__slots__))


def phases_of(step: NDArray[np.int64] | None, phase: NDArray[np.int64]) -> Phases:
    """Find the phases that jobs went through.

    Parameters
    ----------
    step
        Shape ``(n_jobs, n_periods)``: the number of the job's step, -1 unknown; None, or unknown throughout: each return to a phase is a step.
    phase
        Same shape: a code of the stage of its step the job was in, -1 unknown.
    """
    step = np.full_like(phase, -1) if step is None else step
    n_periods = phase.shape[1]
    period = np.arange(n_periods, dtype=np.int32)
    phases, numbers = _carried(phase), _carried(step)
    begins = np.ones(phase.shape, dtype=np.bool_)
    begins[:, 1:] = (phases[:, 1:] != phases[:, :-1]) | (numbers[:, 1:] != numbers[:, :-1])
    ends = np.ones(phase.shape, dtype=np.bool_)
    ends[:, :-1] = begins[:, 1:]
    first = np.maximum.accumulate(np.where(begins, period, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, period, n_periods)[:, ::-1], axis=1)[:, ::-1]
    turns = np.ones(phase.shape, dtype=np.bool_)
    turns[:, 1:] = np.where((step >= 0).any(axis=1, keepdims=True), numbers[:, 1:] != numbers[:, :-1], begins[:, 1:])
    is_begun = first > (phases < 0).sum(axis=1, dtype=np.int32)[:, None]
    return Phases(phases, np.cumsum(turns, axis=1, dtype=np.int32), period - first, last - period, is_begun)


def _carried(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the code of every period, where it is not known the last before it; -1 before the first."""
    newest = np.maximum.accumulate(np.where(codes >= 0, np.arange(codes.shape[1]), 0), axis=1)
    return np.take_along_axis(codes, newest, axis=1)
