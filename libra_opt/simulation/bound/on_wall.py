"""A job on the wall clock in the relaxation: its demand comes whether it is served or not.

``v[i]`` is how many seconds at full service it gets of a part within a block: at most as long as the part lasts there, at its fastest pace. What is served
counts, and ends with the job's work.
"""

from math import floor, inf
from typing import Final

import numpy as np
import numpy.typing as npt

from libra_opt.simulation.bound.bound_job import BoundJob
from libra_opt.simulation.bound.rows import Rows

__all__ = ["add_on_wall", "alone_on_wall"]

_ALMOST: Final = 1e-9
_HALVINGS: Final = 60


def add_on_wall(rows: Rows, one: BoundJob, edges: npt.NDArray[np.float64], *, is_share: bool) -> None:
    """Enter a job.

    Parameters
    ----------
    edges
        Where the blocks begin and end, shape ``(n_blocks + 1,)``.
    is_share
        It counts 1 when its work is done (nothing where it has none: it ends by itself); else the work it is served, times its weight.
    """
    work = one.job.work
    worth = one.job.weight if not is_share else 0.0 if work is None else 1 / work
    served: list[tuple[int, float]] = []
    for t in range(len(edges) - 1):
        for p, seconds in _stretches(one, float(edges[t]), float(edges[t + 1])).items():
            price, rate = one.prices[p], one.truth.rate[p]
            if price.pace > 0 and seconds > 0 and rate > 0:
                column = rows.column(seconds * price.pace, worth * rate)
                served.append((column, rate))
                rows.take(price.use, t, [(column, 1.0)])
    if work is not None:
        rows.row([(column, rate / work) for column, rate in served], 1.0)


def alone_on_wall(one: BoundJob) -> float:
    """Return when a job could be done at the earliest, alone with the whole cluster; infinite if never."""
    job, length = one.job, one.truth.seconds
    if job.work is None:
        return max(one.start, job.submitted + length)
    target = job.work * (1 - _ALMOST)
    if not any(rate * price.pace for rate, price in zip(one.truth.rate, one.prices, strict=True)):
        return inf
    periods = 1
    while _served(one, periods * length) < target:
        if not job.repeats:
            return inf
        periods *= 2
    low, high = 0.0, periods * length
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _served(one, middle) >= target else (middle, high)
    return job.submitted + low


def _stretches(one: BoundJob, begin: float, end: float) -> dict[int, float]:
    """Return how long every part lasts within a stretch of time, once the job could have begun."""
    job, truth = one.job, one.truth
    found: dict[int, float] = {}
    now, end = max(begin, one.start) - job.submitted, end - job.submitted
    if not job.repeats:
        end = min(end, truth.seconds)
    while now < end - _ALMOST:
        cycle = floor(now / truth.seconds + _ALMOST) if job.repeats else 0
        p = truth.part_at(max(0.0, now - cycle * truth.seconds))
        stop = min(end, cycle * truth.seconds + truth.ends[p])
        found[p] = found.get(p, 0.0) + max(0.0, stop - now)
        now = max(stop, now + _ALMOST)
    return found


def _served(one: BoundJob, seconds: float) -> float:
    """Return the work it could be served by so many seconds after it was submitted, alone."""
    stretches = _stretches(one, 0.0, one.job.submitted + seconds)
    return sum(one.truth.rate[p] * one.prices[p].pace * length for p, length in stretches.items())
