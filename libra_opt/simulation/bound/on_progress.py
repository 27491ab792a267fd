"""A job on its own progress in the relaxation.

``W[c, t]`` is the share of class c (see `windows`) that is done by the end of block t. Of any schedule these satisfy

- ``0 <= W[c, t-1] <= W[c, t] <= 1``, and ``W[c, t] <= M[t] <= W[b, t]`` for every class b of the window before: a window begins after the one before;
- per block, the seconds of all classes at their fastest pace fit into the block after the job could begin;
- the work of a window that counts as finished is at most the share that is done of any of its classes, times the most that finished steps can be ahead of it;
- all that finished steps take, part for part, fits into the capacity until the end.
"""

from math import floor, inf
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.simulation.bound.bound_job import BoundJob
from libra_opt.simulation.bound.rows import Rows
from libra_opt.simulation.bound.windows import Class, Window, whole_steps, windows_of
from libra_opt.simulation.truth import Vector

__all__ = ["add_on_progress", "alone_on_progress"]

_ALMOST: Final = 1e-9
_LEAST_CLASSES: Final = 3
_Floats: TypeAlias = npt.NDArray[np.float64]


def alone_on_progress(one: BoundJob) -> float:
    """Return when a job could be done at the earliest, alone with the whole cluster; infinite if never."""
    job, truth = one.job, one.truth
    if job.repeats and not truth.work:
        return inf
    served, before = 0.0, 0.0
    for end, rate, price in zip(truth.ends, truth.rate, one.prices, strict=True):
        if price.pace <= 0:
            return inf
        served, before = served + rate * (end - before), end
        if job.work is not None and served >= job.work * (1 - _ALMOST):
            break
    return one.start + sum(seconds / price.pace for parts, _ in whole_steps(job, truth, one.prices, inf) for price, seconds in parts)


def add_on_progress(rows: Rows, one: BoundJob, edges: _Floats, n_columns: float, scale: Vector, *, is_share: bool) -> None:
    """Enter a job.

    Parameters
    ----------
    edges
        Where the blocks begin and end, shape ``(n_blocks + 1,)``.
    n_columns
        About how many columns it may have.
    scale
        Of every resource, how much a unit counts when parts are compared.
    is_share
        It counts 1 when it is done whole; else finished work counts, times its weight.
    """
    windows = _coarsened(one, edges, n_columns, scale)
    worth = sum(window.takes for window in windows)
    busy: dict[int, list[tuple[int, float]]] = {}
    before: dict[int, int] = {}
    begins = one.start
    for n, window in enumerate(windows):
        done = [_columns(rows, this, begins, edges, busy) for this in window.classes]
        if n:
            for column, t in ((column, t) for columns in done for t, column in columns.items()):
                rows.at_most(column, before[t])
        last = [columns.get(len(edges) - 2) for columns in done]
        counts = window.takes / worth if is_share else one.job.weight * window.credit
        if counts > 0 and None not in last:
            leads = [1.0 if is_share else c.lead for c in window.classes]
            credited = rows.credit(counts, [(column, lead) for column, lead in zip(last, leads, strict=True) if column is not None])
            rows.take(window.whole, len(edges) - 1, [(credited, 1.0)])
        if n + 1 < len(windows):
            before = {t: rows.least([columns[t] for columns in done]) for t in range(len(edges) - 1) if all(t in columns for columns in done)}
        begins += window.takes
    for t, entries in busy.items():
        length = float(edges[t + 1] - edges[t])
        rows.row([(column, value / length) for column, value in entries], min(length, float(edges[t + 1]) - one.start) / length)


def _coarsened(one: BoundJob, edges: _Floats, n_columns: float, scale: Vector) -> list[Window]:
    steps = whole_steps(one.job, one.truth, one.prices, float(edges[-1]) - one.start)
    blocks = max(1, int((edges[1:] > one.start).sum()))
    per_block = 2 * n_columns / blocks
    n_windows = max(1, min(len(steps), blocks, floor(per_block / (_LEAST_CLASSES + 1))))
    return windows_of(steps, n_windows, max(_LEAST_CLASSES, floor(per_block / n_windows)), scale)


def _columns(rows: Rows, this: Class, begins: float, edges: _Floats, busy: dict[int, list[tuple[int, float]]]) -> dict[int, int]:
    """Enter the share of a class that is done by the end of every block that it could have begun in; return its column per block."""
    takes = this.seconds / this.pace
    found: dict[int, int] = {}
    earlier = -1
    for t in range(len(edges) - 1):
        upper = min(1.0, (float(edges[t + 1]) - begins) / takes)
        if upper <= _ALMOST:
            continue
        found[t] = column = rows.column(upper)
        entries = [(column, this.seconds)]
        if earlier >= 0:
            rows.at_most(earlier, column)
            entries.append((earlier, -this.seconds))
        busy.setdefault(t, []).extend((at, value / this.pace) for at, value in entries)
        rows.take(this.use, t, entries)
        earlier = column
    return found
