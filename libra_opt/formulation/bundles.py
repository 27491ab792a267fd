"""Bundles: for every job the services at which some whole unit ticks, and for every such level the least each way of each stage needs (R5, R7, R8, R9).

Three nested layers, each sorted and contiguous in the one above: *levels* of a job, *slots* (one per stage) of a level, *cells* (one per way of the
stage that reaches the level) of a slot. Choosing a bundle is choosing one level and one cell in each of its slots, so pools are picked stage by stage
and no product of pool choices is ever formed.

A grid need not hold every tick. Between two neighbouring levels a bundle's value is linear in its service, what it uses of passed-over resources grows at
least linearly and of the others not at all; so what is used *surely* at the levels themselves bounds all that lies between (see `surely` in `Bundles`).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.curves import ServiceCurves
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.ways import Ways, cards_for

__all__ = ["SERVICE_TOLERANCE", "TICK_TOLERANCE", "Bundles", "Window", "enumerate_bundles", "least_amounts"]

SERVICE_TOLERANCE = 1e-12
"""Two services of a job that differ by less are one level."""

TICK_TOLERANCE = 1e-9
"""How far, relatively, a need may stick out above a whole unit before the next unit is taken."""

_BEYOND = 4.0e18
_MOST_COSTLY_TICKS = 128
_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Window:
    """Where a grid is fine: services of each job between which ticks become levels, shape ``(n_jobs,)``.

    Attributes
    ----------
    low, high
        Ends of the window; empty where `low` is above `high`.
    anchor
        One service of each job that is a level whatever the grid; negative for none.
    """

    low: _Floats
    high: _Floats
    anchor: _Floats


@dataclass(frozen=True)
class Bundles:
    """Levels, slots and cells.

    Attributes
    ----------
    job, service
        Of every level: position of its job in canonical order, and the job's service, shape ``(n_levels,)``, increasing within a job.
    first_level
        Where each job's levels begin, shape ``(n_jobs + 1,)``.
    first_slot
        Where each level's slots begin, shape ``(n_levels + 1,)``.
    first_cell
        Where each slot's cells begin, shape ``(n_slots + 1,)``.
    way
        Of every cell, its row in the ways, shape ``(n_cells,)``.
    amount
        Of every cell, what the stage holds in quanta, shape ``(n_cells, n_resources)``.
    surely
        Of every cell, what it uses at least where ticks below it were passed over; the same as `amount` where none were,
        shape ``(n_cells, n_resources)``.
    is_whole
        Whether every tick is a level.
    is_complete
        Whether every tick inside the window is a level.
    """

    job: _Indices
    service: _Floats
    first_level: _Indices
    first_slot: _Indices
    first_cell: _Indices
    way: _Indices
    amount: _Ints
    surely: _Floats
    is_whole: bool
    is_complete: bool


@dataclass(frozen=True)
class _Grid:
    """Candidate levels, and of which way and resource every tick inside the window is among them."""

    job: _Indices
    service: _Floats
    is_inside: _Flags
    is_ticked: _Flags
    is_whole: bool


def enumerate_bundles(tables: Tables, curves: ServiceCurves, ways: Ways, most_cells: int, window: Window | None = None) -> Bundles:
    """Return the bundles of all jobs.

    Parameters
    ----------
    most_cells
        About how many cells there may be. Where all ticks inside the window would make more, only those of costly resources become levels; where
        there is no window, none do.
    window
        Where ticks become levels; everywhere unless given.
    """
    demand, unit = tables.demand[ways.stage], tables.unit[ways.stage]
    grid = _levels(tables, curves, ways, demand, unit, most_cells, window)
    return _cells(tables, curves, ways, demand, unit, grid)


def _levels(tables: Tables, curves: ServiceCurves, ways: Ways, demand: _Floats, unit: _Ints, most_cells: int, window: Window | None) -> _Grid:
    wanted = demand > 0
    stage, job = ways.stage, tables.stage_job[ways.stage]
    with np.errstate(divide="ignore", invalid="ignore"):
        per_level = np.where(wanted, ways.speed[:, None] / demand, np.inf)
        at_floor = np.where(wanted, ways.floor * per_level, np.inf)
        lowest = np.minimum(at_floor.min(axis=1, initial=np.inf), curves.top[stage])
        highest = np.minimum(np.where(wanted, ways.ceiling * per_level, np.inf).min(axis=1, initial=np.inf), curves.top[stage])
    least, most = _range(tables, ways, curves.at(stage, lowest), curves.at(stage, highest))
    row, level, is_ticked = _ticks(tables, curves, ways, per_level * unit, wanted, unit, lowest, highest, most_cells, window)
    is_whole = window is None and bool(is_ticked[wanted].all())
    kink_way, kink_resource = np.nonzero(wanted & (ways.floor > 0) & (at_floor > lowest[:, None]) & (at_floor < highest[:, None]))
    every = np.arange(len(stage))
    row = np.concatenate([row, every, every, kink_way])
    level = np.concatenate([level, lowest, highest, at_floor[kink_way, kink_resource]])
    bend_stage, bend = _bends(curves)
    able = np.flatnonzero(most >= 0)
    jobs = [job[row], able, tables.stage_job[bend_stage]]
    services = [curves.at(stage[row], level), most[able], bend]
    if window is not None:
        edged, anchored = able[window.low[able] <= window.high[able]], able[window.anchor[able] >= 0]
        jobs += [edged, edged, anchored]
        services += [
            np.clip(window.low[edged], least[edged], most[edged]),
            np.clip(window.high[edged], least[edged], most[edged]),
            np.minimum(window.anchor[anchored], most[anchored]),
        ]
    level_job, service = _distinct(np.concatenate(jobs), np.concatenate(services), least, most)
    inside = np.full(len(level_job), is_whole)
    if window is not None:
        inside = (service > window.low[level_job] + SERVICE_TOLERANCE) & (service <= window.high[level_job] + SERVICE_TOLERANCE)
    return _Grid(level_job, service, inside, is_ticked, is_whole)


def _ticks(
    tables: Tables,
    curves: ServiceCurves,
    ways: Ways,
    tick: _Floats,
    wanted: _Flags,
    unit: _Ints,
    lowest: _Floats,
    highest: _Floats,
    most_cells: int,
    window: Window | None,
) -> tuple[_Indices, _Floats, _Flags]:
    """Return way and level of the ticks, and of which way and resource none inside the window was passed over."""
    job = tables.stage_job[ways.stage]
    if window is not None:
        lowest = np.maximum(lowest, curves.pace(ways.stage, np.maximum(0.0, window.low[job])))
        highest = np.minimum(highest, np.where(window.high[job] < 0, -1.0, curves.pace(ways.stage, np.maximum(0.0, window.high[job]))))
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(wanted, np.maximum(ways.floor // unit, np.ceil(lowest[:, None] / tick * (1 - TICK_TOLERANCE))), 1)
        last = np.where(wanted, np.minimum(ways.ceiling // unit, np.floor(highest[:, None] / tick * (1 + TICK_TOLERANCE))), 0)
    n_ticks = np.maximum(last - first + 1, 0)
    ways_of_job = np.bincount(job, minlength=tables.n_jobs)[job]
    taken = wanted & (n_ticks <= most_cells)
    if float((n_ticks * ways_of_job[:, None]).sum()) > most_cells:
        taken &= (n_ticks <= _MOST_COSTLY_TICKS) & _matters(tables, wanted)
        if window is None:
            taken[:] = False
    counts = np.where(taken, n_ticks, 0).astype(np.intp)
    row, column = np.divmod(np.repeat(np.arange(counts.size), counts.ravel()), max(1, counts.shape[1]))
    level = (first[row, column] + _ramp(counts.ravel())) * tick[row, column]
    return row, level, taken


def _matters(tables: Tables, wanted: _Flags) -> _Flags:
    """Tell which resources' ticks come first: the costly ones a way wants, or all it wants where none is costly; shape ``(n_ways, n_resources)``."""
    costly = wanted & tables.costly
    has_costly = np.asarray(costly.any(axis=1))
    return np.where(has_costly[:, None], costly, wanted)


def _bends(curves: ServiceCurves) -> tuple[_Indices, _Floats]:
    inner = curves.service[:, 1:-1]
    stage, point = np.nonzero(np.isfinite(inner))
    return stage, inner[stage, point]


def _range(tables: Tables, ways: Ways, low: _Floats, high: _Floats) -> tuple[_Floats, _Floats]:
    """Return least and most service per job over its ways; a job with a stage without ways has most -1."""
    n_stages = len(tables.stage)
    least, most = np.full(n_stages, -1.0), np.full(n_stages, -1.0)
    starts = np.flatnonzero(np.append(True, ways.stage[1:] != ways.stage[:-1])) if len(ways.stage) else np.zeros(0, dtype=np.intp)
    if len(starts):
        least[ways.stage[starts]] = np.minimum.reduceat(low, starts)
        most[ways.stage[starts]] = np.maximum.reduceat(high, starts)
    if not n_stages:
        return least, most
    job_least, job_most = np.minimum.reduceat(least, tables.first_stage[:-1]), np.minimum.reduceat(most, tables.first_stage[:-1])
    return np.minimum(job_least, job_most), job_most


def _distinct(job: _Indices, service: _Floats, least: _Floats, most: _Floats) -> tuple[_Indices, _Floats]:
    """Return levels within their job's range, sorted, each once."""
    inside = (service >= least[job] - SERVICE_TOLERANCE) & (service <= most[job])
    job, service = job[inside], service[inside]
    order = np.lexsort((service, job))
    job, service = job[order], service[order]
    if len(job):
        last_of_run = np.append((job[1:] != job[:-1]) | (service[1:] - service[:-1] > SERVICE_TOLERANCE), True)
        job, service = job[last_of_run], service[last_of_run]
    return job, service


def _ramp(counts: _Indices) -> _Indices:
    """Return 0, 1, .., c - 1 for every count c, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def _cells(tables: Tables, curves: ServiceCurves, ways: Ways, demand: _Floats, unit: _Ints, grid: _Grid) -> Bundles:
    n_jobs, job, service = tables.n_jobs, grid.job, grid.service
    first_way = np.searchsorted(tables.stage_job[ways.stage], np.arange(n_jobs + 1))
    per_level = np.diff(first_way)[job]
    level = np.repeat(np.arange(len(job)), per_level)
    way = np.repeat(first_way[job], per_level) + _ramp(per_level)
    pace = curves.pace(ways.stage[way], service[level])
    used = demand[way] * (pace / ways.speed[way])[:, None]
    amount = _rounded_up(tables, ways, unit, way, used)
    fits = (amount <= ways.ceiling[way]).all(axis=1)
    stays = fits & ~_twins(ways, way, amount, fits)
    level, way, amount, used = level[stays], way[stays], amount[stays], used[stays]
    slot_starts = np.append(True, (level[1:] != level[:-1]) | (ways.stage[way[1:]] != ways.stage[way[:-1]])) if len(level) else np.zeros(0, dtype=np.bool_)
    stages = np.diff(tables.first_stage)
    whole = np.bincount(level[slot_starts], minlength=len(job)) == stages[job]
    if grid.is_whole:
        whole &= ~_outdone(job, level, way, amount[:, _counted(tables, ways, way, amount)], whole)
    if not whole.all():
        stays = whole[level]
        level, way, amount, used, slot_starts = (np.cumsum(whole) - 1)[level[stays]], way[stays], amount[stays], used[stays], slot_starts[stays]
        job, service, is_inside = job[whole], service[whole], grid.is_inside[whole]
    else:
        is_inside = grid.is_inside
    surely = amount.astype(np.float64)
    if not grid.is_whole:
        is_known = grid.is_ticked[way] & is_inside[level][:, None]
        surely = np.where(is_known, surely, np.maximum(ways.floor[way], np.minimum(used, surely)))
    first_cell = np.append(np.flatnonzero(slot_starts), len(level))
    first_slot = np.append(0, np.cumsum(stages[job]))
    first_level = np.searchsorted(job, np.arange(n_jobs + 1))
    is_complete = bool(grid.is_ticked[demand > 0].all())
    return Bundles(job, service, first_level, first_slot, first_cell, way, amount, surely, grid.is_whole, is_complete)


def least_amounts(tables: Tables, ways: Ways, way: _Indices, pace: _Floats) -> _Ints:
    """Return the least amounts, in quanta, of each way at each pace level, shape ``(n, n_resources)`` (R5, R8, R9)."""
    used = tables.demand[ways.stage[way]] * (pace / ways.speed[way])[:, None]
    return _rounded_up(tables, ways, tables.unit[ways.stage], way, used)


def _rounded_up(tables: Tables, ways: Ways, unit: _Ints, way: _Indices, used: _Floats) -> _Ints:
    step = unit[way]
    units = used / step
    whole = np.ceil(units - TICK_TOLERANCE * np.maximum(1.0, units))
    np.minimum(whole, _BEYOND / step, out=whole)
    amount = np.maximum(ways.floor[way], whole.astype(np.int64) * step)
    if tables.memory >= 0 and tables.compressible[tables.memory] and (tables.card_ratio[:, 1] > 0).any():
        cards = cards_for(amount[:, tables.memory], tables.card_ratio[ways.pool[way]], step[:, tables.card])
        amount[:, tables.card] = np.where(cards < 0, np.iinfo(np.int64).max, np.maximum(amount[:, tables.card], cards))
    return np.asarray(amount)


def _twins(ways: Ways, way: _Indices, amount: _Ints, fits: _Flags) -> _Flags:
    """Tell which cells hold the same in the same pool as the one before them, which fits too."""
    twin = np.zeros(len(way), dtype=np.bool_)
    if len(way) > 1:
        is_next = (way[1:] == way[:-1] + 1) & (ways.stage[way[1:]] == ways.stage[way[:-1]]) & (ways.pool[way[1:]] == ways.pool[way[:-1]])
        near = np.flatnonzero(is_next & fits[:-1]) + 1
        twin[near] = (amount[near] == amount[near - 1]).all(axis=1)
    return twin


def _counted(tables: Tables, ways: Ways, way: _Indices, amount: _Ints) -> _Flags:
    """Tell which resources count: those that can run short somewhere, are capped or reserved for a queue, or whose change is charged."""
    n_pools = max(1, len(tables.capacity))
    most = np.zeros((len(tables.stage) * n_pools, amount.shape[1]))
    np.maximum.at(most, ways.stage[way] * n_pools + ways.pool[way], amount)
    wanted = most.reshape(-1, n_pools, amount.shape[1]).sum(axis=0)
    short = (wanted[: len(tables.capacity)] > tables.capacity).any(axis=0)
    return np.asarray(tables.limited | tables.costly | tables.resize_ms.any(axis=0) | short)


def _outdone(job: _Indices, level: _Indices, way: _Indices, amount: _Ints, whole: _Flags) -> _Flags:
    """Tell which levels hold cell by cell, of what counts, what the next level of their job holds."""
    n_levels = len(job)
    if n_levels < 2:
        return np.zeros(n_levels, dtype=np.bool_)
    first = np.searchsorted(level, np.arange(n_levels + 1))
    count = np.diff(first)
    candidate = np.append((job[1:] == job[:-1]) & (count[1:] == count[:-1]) & whole[1:], False)
    cell = np.flatnonzero(candidate[level])
    above = cell + count[level[cell]]
    same = (amount[cell] == amount[above]).all(axis=1) & (way[cell] == way[above])
    differing = np.bincount(level[cell[~same]], minlength=n_levels)
    return np.asarray(candidate & (differing == 0))
