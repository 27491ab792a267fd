"""The course of a job under one holding for all its life: when its steps finish, without simulating period by period.

With a demand that follows the job's own progress, what it does from the moment it runs does not depend on when that is: one table serves every schedule. With a
demand on the wall clock it does, but what is served until any time is a piecewise linear function that is tabulated once. Both repeat what the plant does.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.domain import WorkloadJob
from libra_opt.simulation.truth import Truth, Vector

__all__ = ["Course", "Demand", "OwnCourse", "WallCourse", "course_of"]

_ALMOST: Final = 1e-9
_CLOSE: Final = 1e-7
"""Seconds by which a step may seem to end after a horizon that it ends at."""

_Floats: TypeAlias = npt.NDArray[np.float64]


class Course(Protocol):
    """What a job does under one holding."""

    def end(self, begins: float, ran: float, served: float) -> float:
        """Return how many seconds of running are left; infinite if it never ends.

        Parameters
        ----------
        begins
            When it begins (again) to make progress, in seconds since it was submitted.
        ran
            Seconds it ran before.
        served
            Work it was served before.
        """

    def served(self, begins: float, seconds: float) -> float:
        """Return the work it is served in so many seconds of running."""

    def finished(self, ran: float, served: float, *, is_done: bool) -> float:
        """Return its finished work after so many seconds of running."""


class Demand:
    """A job's truth as arrays, for paces under many holdings.

    Parameters
    ----------
    truth
        The parts of the job.
    """

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.seconds: _Floats = np.diff(np.array([0.0, *truth.ends]))
        self.demand: _Floats = np.array(truth.demand)
        self.need: _Floats = np.array(truth.need)
        self.rate: _Floats = np.array(truth.rate)
        with np.errstate(divide="ignore"):
            self._inverse: _Floats = np.where(self.demand > 0, 1 / self.demand, inf)

    def pace(self, amounts: Sequence[Vector], speeds: Sequence[float]) -> _Floats:
        """Return the pace of every part, 0..1; 0 where memory is short, shape ``(n_parts,)``."""
        held = np.array(amounts)
        effective = held * np.array(speeds)[:, None]
        with np.errstate(invalid="ignore"):
            levels = np.where(np.isinf(self._inverse), inf, effective * self._inverse)
        pace = np.minimum(1.0, levels.min(axis=(1, 2)))
        short = (self.need > held + _ALMOST).any(axis=(1, 2))
        return np.where(short, 0.0, pace)


def course_of(job: WorkloadJob, demand: Demand, amounts: Sequence[Vector], speeds: Sequence[float], horizon: float) -> "OwnCourse | WallCourse":
    """Return the course of a job whose stages hold these amounts, in pools of these speeds.

    Parameters
    ----------
    horizon
        Seconds after which nothing counts; infinite for none.
    """
    pace = demand.pace(amounts, speeds)
    if job.clock == "wall":
        return WallCourse(job, demand, pace)
    return _own(job, demand, pace, horizon)


@dataclass(frozen=True, slots=True)
class OwnCourse:
    """The course of a job whose demand follows its own progress.

    Attributes
    ----------
    seconds
        Seconds of running to its end; infinite if it is stopped for ever by want of memory or of a resource, or ends after the horizon.
    marks, worth
        Seconds of running at which finished work grows, ascending, and the finished work from then on.
    time, ends
        Seconds of running, and of full service, from the beginning of the steps to the ends of the parts that it passes, first 0.
    """

    seconds: float
    marks: tuple[float, ...]
    worth: tuple[float, ...]
    time: tuple[float, ...]
    ends: tuple[float, ...]

    def like(self, other: "OwnCourse", ran: float) -> float:
        """Return how many seconds of running come as far as so many under another holding."""
        cycle = int(ran // other.time[-1]) if other.time[-1] > 0 and len(other.time) == len(self.time) else 0
        within = float(np.interp(ran - cycle * other.time[-1], other.time, other.ends))
        return cycle * self.time[-1] + float(np.interp(within, self.ends, self.time))

    def end(self, begins: float, ran: float, served: float) -> float:  # noqa: ARG002
        """Return how many seconds of running are left."""
        return self.seconds - ran

    def served(self, begins: float, seconds: float) -> float:  # noqa: ARG002
        """Return 0: what is served follows from the seconds it ran."""
        return 0.0

    def finished(self, ran: float, served: float, *, is_done: bool) -> float:  # noqa: ARG002
        """Return its finished work after so many seconds of running."""
        i = bisect_right(self.marks, ran + _CLOSE)
        return self.worth[i - 1] if i else 0.0


def _own(job: WorkloadJob, demand: Demand, pace: _Floats, horizon: float) -> OwnCourse:
    truth = demand.truth
    stopped = np.flatnonzero(pace <= 0)
    n_passed = int(stopped[0]) if len(stopped) else len(pace)
    takes = demand.seconds[:n_passed] / pace[:n_passed]
    time = np.concatenate([[0.0], np.cumsum(takes)])
    work = np.concatenate([[0.0], np.cumsum((demand.rate * demand.seconds)[:n_passed])])
    last = [p for p in range(len(pace)) if p + 1 == len(pace) or truth.step[p + 1] != truth.step[p]]
    at = np.array([p + 1 for p in last if p < n_passed], dtype=np.intp)
    is_whole = n_passed == len(pace)
    cycles = 1
    if job.repeats and is_whole and truth.work > 0:
        cycles = ceil((job.work or 0.0) / truth.work + 1)
        cycles = max(1, min(cycles, ceil(horizon / float(time[-1])) + 1 if horizon < inf else cycles))
    marks = np.concatenate([c * time[-1] + time[at] for c in range(cycles)])
    worth = np.concatenate([c * truth.work + np.cumsum(truth.step_work)[: len(at)] for c in range(cycles)])
    end = float(time[-1]) if is_whole and not job.repeats else inf
    if job.work is not None:
        reached = _reached(job.work * (1 - _ALMOST), work, time, cycles)
        if reached <= end:
            end = reached
            before = marks < end
            total = min(job.work, float(work[-1]) if not job.repeats else job.work)
            marks, worth = np.append(marks[before], end), np.append(worth[before], total)
    ends = (0.0, *truth.ends[:n_passed])
    return OwnCourse(end, tuple(marks.tolist()), tuple(worth.tolist()), tuple(time.tolist()), ends)


def _reached(target: float, work: _Floats, time: _Floats, cycles: int) -> float:
    """Return after how many seconds of running so much work is served; infinite if not in so many cycles."""
    whole = float(work[-1])
    if whole <= 0:
        return inf
    cycle = max(0, min(cycles - 1, ceil(target / whole - _ALMOST) - 1))
    rest = target - cycle * whole
    if rest > whole * (1 + _ALMOST):
        return inf
    i = int(np.searchsorted(work, rest - _ALMOST * whole, side="left"))
    if i == 0:
        return cycle * float(time[-1])
    share = (rest - float(work[i - 1])) / float(work[i] - work[i - 1])
    return cycle * float(time[-1]) + float(time[i - 1]) + min(1.0, share) * float(time[i] - time[i - 1])


class WallCourse:
    """The course of a job whose demand follows the wall clock; it must never be short of memory.

    Parameters
    ----------
    job, demand
        The job and its parts.
    pace
        Of every part, 0..1.
    """

    def __init__(self, job: WorkloadJob, demand: Demand, pace: _Floats) -> None:
        self._job = job
        self._ends: _Floats = np.array([0.0, *demand.truth.ends])
        self._work: _Floats = np.concatenate([[0.0], np.cumsum(demand.rate * pace * demand.seconds)])
        self._cycle, self._per_cycle = float(self._ends[-1]), float(self._work[-1])

    def _until(self, time: float) -> float:
        if not self._job.repeats:
            return float(np.interp(time, self._ends, self._work))
        cycle = int(time // self._cycle)
        return cycle * self._per_cycle + float(np.interp(time - cycle * self._cycle, self._ends, self._work))

    def _when(self, work: float) -> float:
        """Return the first time by which so much could be served from the beginning on."""
        if self._per_cycle <= 0:
            return inf
        cycle = max(0, ceil(work / self._per_cycle - _ALMOST) - 1)
        if cycle and not self._job.repeats:
            return inf
        rest = min(work - cycle * self._per_cycle, self._per_cycle)
        i = int(np.searchsorted(self._work, rest - _ALMOST * self._per_cycle, side="left"))
        if i == 0:
            return cycle * self._cycle
        share = (rest - self._work[i - 1]) / (self._work[i] - self._work[i - 1])
        return float(cycle * self._cycle + self._ends[i - 1] + min(1.0, share) * (self._ends[i] - self._ends[i - 1]))

    def end(self, begins: float, ran: float, served: float) -> float:  # noqa: ARG002
        """Return how many seconds of running are left."""
        if self._job.work is None:
            return max(0.0, self._cycle - begins)
        left = self._job.work * (1 - _ALMOST) - served
        return max(0.0, self._when(self._until(begins) + left) - begins)

    def served(self, begins: float, seconds: float) -> float:
        """Return the work it is served in so many seconds of running."""
        return self._until(begins + seconds) - self._until(begins)

    def finished(self, ran: float, served: float, *, is_done: bool) -> float:  # noqa: ARG002
        """Return what was served: on the wall clock all of it counts."""
        return self._job.work if is_done and self._job.work is not None else served
