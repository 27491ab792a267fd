"""The true future of a job as a state would say it, for policies that are shown what no scheduler can know: an upper mark for forecasts.

Over a period at full service the demand is the peak of every resource, the need is the most that any part needs, and the curve is the progress that a stage
makes in the period at a share of the peak: parts follow one another, and a part that asks for more than there is takes longer. On the wall clock it does not
take longer, and what it could not have is lost; there the curve is the work that is served, as a share of a period at the peak.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Final

from libra_opt.domain import Amounts, WorkloadJob
from libra_opt.simulation.job_state import JobState
from libra_opt.simulation.plant import Plant
from libra_opt.simulation.truth import Truth, Vector

__all__ = ["Future", "coming", "stretches"]

_SHARES: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_PARTS: Final = 1_000_000

_Stretch = tuple[float, int]
"""Seconds at full service, and the part."""

_Walk = Sequence[tuple[float, float]]
"""Seconds at full service, and the share of the peak that is asked for."""

_Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Future:
    """What comes to the stages of one job.

    Attributes
    ----------
    demand
        ``[t][s][r]``: in period t from now the peak of the first period, the mean of later ones, in units; incompressible resources 0.
    need
        ``[t][s][r]``: the most that is needed; compressible resources 0.
    curve
        ``[s]``: points (share of the demand, progress) of the first period; empty where the demand does not change.
    is_work
        Whether what is left is said in work, in cards x seconds, or in seconds of full service.
    until_done
        What is left; infinite where it never ends.
    """

    demand: tuple[tuple[Vector, ...], ...]
    need: tuple[tuple[Vector, ...], ...]
    curve: tuple[_Curve, ...]
    is_work: bool = False
    until_done: float = inf

    def left(self, seconds: float) -> dict[str, float]:
        """Return the fields of a state's job that say what is left of it, for periods of that length.

        A job that would be done within a period has all of it to go: its curve says what comes of less.
        """
        if self.until_done == inf:
            return {}
        if self.is_work:
            return {"remaining_work": self.until_done / seconds}
        return {"remaining": max(seconds, self.until_done)}

    def stage(self, s: int, write: Callable[[Vector], Amounts]) -> dict[str, Any]:
        """Return the fields of one stage of a state."""
        told: dict[str, Any] = {"demand": _positive(write(self.demand[0][s])), "need": _positive(write(self.need[0][s]))}
        if self.curve[s]:
            told["curve"] = self.curve[s]
        if len(self.demand) > 1:
            later = zip(self.demand[1:], self.need[1:], strict=True)
            told["demand_ahead"] = tuple(Amounts({**_positive(write(d[s])), **_positive(write(n[s]))}) for d, n in later)
        return told


def coming(plant: Plant, j: int, seconds: float, periods: int = 1) -> Future:
    """Return the true future of a job over some periods, if it were served in full."""
    truth, job, state = plant.truths[j], plant.workload.jobs[j], plant.states[j]
    is_wall = job.clock == "wall"
    start = plant.now - job.submitted if is_wall else state.position
    pause = 0.0 if is_wall else _pause(plant, job, state)
    demands: list[tuple[Vector, ...]] = []
    needs: list[tuple[Vector, ...]] = []
    curves: tuple[_Curve, ...] = ()
    stages = range(len(job.stages))
    for t in range(periods):
        lasting = max(seconds - pause, 0.1 * seconds) if t == 0 else seconds
        way = stretches(truth, start, lasting, repeats=job.repeats)
        peaks = [_peak([truth.demand[p][s] for _, p in way], plant) for s in stages]
        needs.append(tuple(_peak([truth.need[p][s] for _, p in way], plant) for s in stages))
        if t == 0:
            served = partial(_served if is_wall else _progress, lasting)
            curves = tuple(_curve([(length, _intensity(truth.demand[p][s], peaks[s])) for length, p in way], lasting, served) for s in stages)
            demands.append(tuple(peaks))
        else:
            demands.append(tuple(_mean([(length, truth.demand[p][s]) for length, p in way], lasting, plant) for s in stages))
        start += lasting
    if is_wall:
        return Future(tuple(demands), tuple(needs), curves, is_work=True, until_done=inf if job.work is None else job.work - state.served)
    return Future(tuple(demands), tuple(needs), curves, until_done=pause + _seconds_left(truth, job, state))


def _pause(plant: Plant, job: WorkloadJob, state: JobState) -> float:
    if state.holding is not None:
        return state.pause
    was_away = None if state.stopped_at is None else plant.now - state.stopped_at
    return job.restart.warm_seconds if was_away is not None and was_away <= job.restart.warm_within_seconds else job.restart.cold_seconds


def _seconds_left(truth: Truth, job: WorkloadJob, state: JobState) -> float:
    """Return the seconds of full service until a job on its own clock is done."""
    to_end = inf if job.repeats else truth.seconds - state.position
    if job.work is None or truth.work <= 0:
        return to_end
    cycles, work = divmod(job.work - state.served, truth.work)
    seconds = cycles * truth.seconds
    for length, p in stretches(truth, state.position, truth.seconds, repeats=True):
        if truth.rate[p] * length >= work:
            return min(to_end, seconds + (work / truth.rate[p] if work > 0 else 0.0))
        work -= truth.rate[p] * length
        seconds += length
    return min(to_end, seconds)


def stretches(truth: Truth, start: float, lasting: float, *, repeats: bool) -> list[_Stretch]:
    """Return the parts that come in `lasting` seconds at full service, each with the seconds of it."""
    way: list[_Stretch] = []
    position = start % truth.seconds if repeats else start
    while lasting > 1e-9 and position < truth.seconds - 1e-9:
        p = truth.part_at(position)
        length = min(lasting, truth.ends[p] - position)
        way.append((length, p))
        lasting -= length
        position += length
        if repeats and position >= truth.seconds - 1e-9:
            position = 0.0
    return way


def _peak(rows: Sequence[Vector], plant: Plant) -> Vector:
    return tuple(map(max, zip(*rows, strict=True))) if rows else (0.0,) * len(plant.total)


def _mean(rows: Sequence[tuple[float, Vector]], lasting: float, plant: Plant) -> Vector:
    return tuple(sum(length * row[r] for length, row in rows) / lasting for r in range(len(plant.total)))


def _intensity(demand: Vector, peak: Vector) -> float:
    return max((amount / most for amount, most in zip(demand, peak, strict=True) if most > 0), default=0.0)


def _curve(way: _Walk, lasting: float, served: Callable[[_Walk, float], float]) -> _Curve:
    """Return what is served at shares of the peak: the concave hull of what a walk through the parts comes to; empty where that is the share itself."""
    whole = sum(length for length, _ in way)
    if not way or (whole >= lasting - 1e-9 and all(intensity == way[0][1] for _, intensity in way)):
        return ()
    enough = sum(length * intensity for length, intensity in way) / lasting
    shares = sorted({*_SHARES, *(share for share in (enough, *(intensity for _, intensity in way)) if 0 < share < 1)})
    points = {round(share * _PARTS): round(min(1.0, served(way, share)) * _PARTS) for share in (*shares, 1.0)}
    points[0] = 0
    hull: list[tuple[int, int]] = []
    for point in sorted(points.items()):
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return tuple((share / _PARTS, progress / _PARTS) for share, progress in hull)


def _progress(lasting: float, way: _Walk, share: float) -> float:
    """Return the progress of a job on its own clock, as a share of that at full service."""
    left, made = lasting, 0.0
    for length, intensity in way:
        if intensity > 0 and share <= 0:
            break
        slower = max(1.0, intensity / share) if intensity > 0 else 1.0
        if length * slower >= left:
            made += left / slower
            break
        made += length
        left -= length * slower
    return made / sum(length for length, _ in way)


def _served(lasting: float, way: _Walk, share: float) -> float:
    """Return the work of a job on the wall clock, as a share of that of a period at the peak."""
    return sum(length * min(intensity, share) for length, intensity in way) / lasting


def _is_below(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Return whether `b` lies on or below the line from `a` to `c`; of whole numbers, as points that are rounded later need not be concave."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def _positive(amounts: Amounts) -> Amounts:
    return Amounts({name: amount for name, amount in amounts.items() if amount})
