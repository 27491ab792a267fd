"""From a fractional plan to a feasible one: keep what is whole, fit in what is not, then fill what is left."""

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.runs import spans
from libra_opt.solvers.residual import Residual

__all__ = ["fill", "round_plan"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_WHOLE = 1 - 1e-6
"""A weight from here on counts as one."""

_TRIES = 24
"""How many levels of a job, those of most value at the prices, are tried before its lowest."""

_LEAST_ROOM = 1e-12
"""A job that can gain no more than this is not tried."""

_FILLERS, _MISSES = 400, 80
"""How many jobs at most are tried when what is left is filled, and how many of them in a row may gain nothing."""


def round_plan(program: Program, level_weight: _Floats, cell_weight: _Floats, level_value: _Floats, cell_cost: _Floats) -> Choice:
    """Return a feasible choice near a fractional one.

    Parameters
    ----------
    level_weight, cell_weight
        The fractional plan: weight per level, and per cell of slots with a choice, shapes ``(n_levels,)``, ``(n_cells,)``.
    level_value, cell_cost
        Value of levels and cost of cells at the relaxation's prices; they order what is tried.
    """
    bundles = program.bundles
    if not program.n_cells:
        return program.nothing
    best = _best_levels(program, level_weight)
    cell = _dearest_cells(program, cell_weight, cell_cost)
    slot_weight = cell_weight[cell]
    has_choice = np.diff(bundles.first_cell) > 1
    level_whole = level_weight >= _WHOLE
    whole_slots = np.logical_and.reduceat(~has_choice | (slot_weight >= _WHOLE), bundles.first_slot[:-1])
    choice = program.nothing
    fixed = np.flatnonzero((best >= 0) & (level_whole & whole_slots)[best])
    for_slots = _slots_of(program, best[fixed])
    choice[_stages_of(program, fixed)] = cell[for_slots]
    residual = Residual(program, choice)
    open_jobs = np.flatnonzero((best >= 0) & (residual.choice[program.first_stage[:-1]] < 0))
    worth = program.gain[best[open_jobs]]
    for job in open_jobs[np.lexsort((open_jobs, -worth))]:
        _fit(program, residual, int(job), level_value, cell_cost, int(best[job]))
    return residual.choice


def fill(program: Program, choice: Choice, level_value: _Floats, cell_cost: _Floats) -> Choice:
    """Return `choice` with what it leaves given to jobs that can use it."""
    residual = Residual(program, choice)
    if program.n_cells:
        _fill(program, residual, level_value, cell_cost)
    return residual.choice


def _best_levels(program: Program, weight: _Floats) -> _Indices:
    best = np.full(program.n_jobs, -1, dtype=np.intp)
    used = np.flatnonzero(weight > 1e-9)
    order = used[np.argsort(weight[used], kind="stable")]
    best[program.bundles.job[order]] = order
    return best


def _dearest_cells(program: Program, weight: _Floats, cost: _Floats) -> _Indices:
    """Return per slot the cell of most weight, the cheapest among equals."""
    order = np.lexsort((-np.arange(program.n_cells), -cost, weight, program.cell_slot))
    return np.asarray(order[program.bundles.first_cell[1:] - 1])


def _slots_of(program: Program, levels: _Indices) -> _Indices:
    first, last = program.bundles.first_slot[levels], program.bundles.first_slot[levels + 1]
    return _ranges(first, last)


def _stages_of(program: Program, jobs: _Indices) -> _Indices:
    return _ranges(program.first_stage[jobs], program.first_stage[jobs + 1])


def _ranges(first: _Indices, last: _Indices) -> _Indices:
    counts = last - first
    ends = np.cumsum(counts)
    return np.repeat(first - (ends - counts), counts) + np.arange(int(counts.sum()))


def _fit(program: Program, residual: Residual, job: int, level_value: _Floats, cell_cost: _Floats, most: int) -> None:
    """Give a waiting job the level up to `most` of most value, at the prices, that fits among those tried; nothing where none does."""
    first = int(program.bundles.first_level[job])
    levels = np.arange(first, most + 1)
    for level in levels[np.argsort(-level_value[first : most + 1], kind="stable")][:_TRIES]:
        cells = residual.pick(job, int(level), cell_cost)
        if cells is not None:
            residual.take(job, cells)
            return
    cells = residual.pick(job, first, cell_cost)
    if cells is not None:
        residual.take(job, cells)


def _fill(program: Program, residual: Residual, level_value: _Floats, cell_cost: _Floats) -> None:
    """Try to raise jobs, those with the most to gain first: a better level, or one to begin with."""
    bundles = program.bundles
    level = program.level(residual.choice)
    top = np.full(program.n_jobs, -1, dtype=np.intp)
    top[bundles.job] = np.arange(len(bundles.job))
    value = np.where(level >= 0, program.gain[level], -program.per_ms * program.wait_ms)
    room = np.where(top >= 0, program.gain[top] - value, 0.0)
    loss = np.zeros(program.n_jobs)
    np.maximum.at(loss, bundles.job, level_value)
    now = np.where(level >= 0, level_value[level], 0.0)
    order = np.lexsort((np.arange(program.n_jobs), loss - now, loss <= 0))
    useful = _useful_levels(program)
    begins = (level >= 0) | _can_begin(program, residual, useful)
    misses = 0
    for job in order[((room > _LEAST_ROOM) & begins)[order]][:_FILLERS].tolist():
        if level[job] < 0 and not residual.has_room(int(useful[job])):
            continue
        misses = 0 if _raise(program, residual, job, int(top[job]), cell_cost) else misses + 1
        if misses >= _MISSES:
            break


def _useful_levels(program: Program) -> _Indices:
    """Return the lowest level at which each job would gain something if it waited; -1 where it has none, shape ``(n_jobs,)``."""
    bundles = program.bundles
    first, last = bundles.first_level[:-1], bundles.first_level[1:]
    level = np.where(first < last, first, -1)
    level[level >= 0] += ((bundles.service[level] <= 0) & (program.wait_ms == 0))[level >= 0]
    return np.where(level < last, level, -1)


def _can_begin(program: Program, residual: Residual, level: _Indices) -> npt.NDArray[np.bool_]:
    """Tell for which jobs every stage by itself fits into what is left at a level, shape ``(n_jobs,)``; a waiting job for which one does not cannot gain."""
    bundles, able = program.bundles, np.flatnonzero(level >= 0)
    slots, first_slot = spans(bundles.first_slot[level[able]], bundles.first_slot[level[able] + 1])
    cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    fits = (program.amount.take(cells, axis=0) <= residual.pool[program.cell_pool[cells]]).all(axis=1)
    can = np.zeros(program.n_jobs, dtype=np.bool_)
    can[able] = np.logical_and.reduceat(np.logical_or.reduceat(fits, first_cell), first_slot)
    return can


def _raise(program: Program, residual: Residual, job: int, top: int, cell_cost: _Floats) -> bool:
    """Give a job the best level that fits, and return whether it gained."""
    now = residual.release(job)
    floor = int(program.cell_level[now[0]]) if len(now) else int(program.bundles.first_level[job]) - 1
    best, best_value = now, residual.value_of(job, now)
    low, high = floor, top
    while low < high:
        middle = high if high == top else (low + high + 1) // 2
        cells = residual.pick(job, middle, cell_cost)
        if cells is None:
            high = middle - 1
            continue
        low = middle
        value = residual.value_of(job, cells)
        if value > best_value + 1e-12 * abs(best_value):
            best, best_value = cells, value
    residual.take(job, best)
    return best is not now
