"""For every level of a job the least each way of each stage needs (R5, R8, R9, R15).

Worked out block by block of levels, so that what is needed on the way stays small and near, and resource by resource, as most need only a part
of the work: one that nobody demands is held at its floor, and where units are single quanta there is nothing to divide by.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.curves import ServiceCurves
from libra_opt.formulation.levels import SERVICE_TOLERANCE, Grid, tick_slack
from libra_opt.formulation.runs import ramp
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.ways import Ways, cards_for

__all__ = ["Cells", "fill_levels", "least_amounts"]

_BEYOND = 4.0e18
_BLOCK = 50_000
"""About how many cells are worked out at once."""

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
    """The cells of some levels.

    Attributes
    ----------
    is_reached
        Of every level, whether each stage of its job has a way that reaches it, shape ``(n_levels,)``; only such levels have cells.
    is_first
        Of every cell, whether a slot begins with it, shape ``(n_cells,)``.
    way, amount, surely
        As in `Bundles`.
    """

    is_reached: _Flags
    is_first: _Flags
    way: _Indices
    amount: _Ints
    surely: _Floats


def fill_levels(tables: Tables, curves: ServiceCurves, ways: Ways, grid: Grid) -> Cells:
    """Return the cells of all levels of a grid."""
    first_way = np.searchsorted(tables.stage_job[ways.stage], np.arange(tables.n_jobs + 1))
    n_ways, n_stages = np.diff(first_way)[grid.job], np.diff(tables.first_stage)[grid.job]
    ends = np.cumsum(n_ways)
    n_cells = int(ends[-1]) if len(ends) else 0
    # A whole grid is small, and which of its levels are outdone shows only in what all cells together may ask for.
    n_blocks = 1 if grid.is_whole else 1 + n_cells // _BLOCK
    borders = np.searchsorted(ends, np.linspace(0, n_cells, n_blocks + 1)[1:-1])
    blocks = zip([0, *borders.tolist()], [*borders.tolist(), len(grid.job)], strict=True)
    filled = []
    for begin, end in blocks:
        at = slice(begin, end)
        level = np.repeat(np.arange(end - begin), n_ways[at])
        way = np.repeat(first_way[grid.job[at]], n_ways[at]) + ramp(n_ways[at])
        filled.append(_fill(tables, curves, ways, grid, at, n_stages[at], level, way))
    reached, first, way, amount, surely = (np.concatenate(parts) for parts in zip(*filled, strict=True))
    return Cells(reached, first, way, amount, surely)


def _fill(
    tables: Tables, curves: ServiceCurves, ways: Ways, grid: Grid, at: slice, n_stages: _Indices, level: _Indices, way: _Indices
) -> tuple[_Flags, _Flags, _Indices, _Ints, _Floats]:
    """Return the fields of `Cells` for some levels of a grid, given how many stages each has, and level and way of every candidate for a cell."""
    job, service = grid.job[at], grid.service[at]
    used, amount = _rounded_up(tables, ways, way, curves.pace(ways.stage[way], service[level]))
    fits = np.ones(len(way), dtype=np.bool_)
    for column, ceiling in zip(amount, ways.ceiling.T, strict=True):
        fits &= column <= ceiling[way]
    if ways.serves is not None:
        fits &= _serves(tables, ways.serves[way], job[level], service[level])
    stays = fits & ~_twins(ways, way, amount, fits)
    level, way, amount, used = level[stays], way[stays], amount[:, stays], used[:, stays]
    stage = ways.stage[way]
    is_first = np.append(True, (level[1:] != level[:-1]) | (stage[1:] != stage[:-1])) if len(level) else np.zeros(0, dtype=np.bool_)
    reached = np.bincount(level[is_first], minlength=len(job)) == n_stages
    if grid.is_whole:
        reached &= ~_outdone(job, level, way, amount[_counted(tables, ways, way, amount)], reached)
    if not reached.all():
        stays = reached[level]
        level, way, amount, used, is_first = level[stays], way[stays], amount[:, stays], used[:, stays], is_first[stays]
    surely = amount.astype(np.float64) if grid.is_whole else _surely(tables, ways, way, amount, used, grid.is_ticked, grid.is_inside[at][level])
    return reached, is_first, way, np.ascontiguousarray(amount.T), np.ascontiguousarray(surely.T)


def _serves(tables: Tables, serves: _Floats, job: _Indices, service: _Floats) -> _Flags:
    """R15: tell which entries of profiles serve a level, given the service of each and the job and service of its level.

    An entry that serves more is left to higher levels where the job has no other stage that could hold it back.
    """
    is_alone = np.diff(tables.first_stage)[job] == 1
    below, above = service * (1 - SERVICE_TOLERANCE), service * (1 + SERVICE_TOLERANCE)
    return np.asarray((serves >= below) & ((serves <= above) | ~is_alone | np.isinf(serves)))


def _surely(tables: Tables, ways: Ways, way: _Indices, amount: _Ints, used: _Floats, is_ticked: _Flags, is_inside: _Flags) -> _Floats:
    """Return what every cell uses at least where ticks below it were passed over, shape ``(n_resources, n_cells)`` as `amount` and `used`."""
    surely = np.empty(amount.shape)
    for r, floor in enumerate(ways.floor.T):
        surely[r] = floor[way]
        if tables.is_demanded[r]:
            is_known = is_ticked[r][way] & is_inside
            surely[r] = np.where(is_known, amount[r], np.maximum(surely[r], np.minimum(used[r], amount[r])))
    return surely


def least_amounts(tables: Tables, ways: Ways, way: _Indices, pace: _Floats) -> _Ints:
    """Return the least amounts, in quanta, of each way at each pace level, shape ``(n, n_resources)`` (R5, R8, R9)."""
    return np.ascontiguousarray(_rounded_up(tables, ways, way, pace)[1].T)


def _rounded_up(tables: Tables, ways: Ways, way: _Indices, pace: _Floats) -> tuple[_Floats, _Ints]:
    """Return what each way uses at each pace level, and what it must hold for it, both of shape ``(n_resources, n)``."""
    stage, ratio = ways.stage[way], pace / ways.speed[way]
    used, amount = np.zeros((len(tables.costly), len(way))), np.empty((len(tables.costly), len(way)), dtype=np.int64)
    for r, floor in enumerate(ways.floor.T):
        amount[r] = floor[way]
        if tables.is_demanded[r]:
            np.multiply(tables.demand[:, r][stage], ratio, out=used[r])
            if tables.has_units[r]:
                step = tables.unit[:, r][stage]
                np.maximum(amount[r], _whole_units(used[r] / step, _BEYOND / step) * step, out=amount[r])
            else:
                np.maximum(amount[r], _whole_units(used[r], _BEYOND), out=amount[r])
    if tables.memory >= 0 and tables.compressible[tables.memory] and (tables.card_ratio[:, 1] > 0).any():
        cards = cards_for(amount[tables.memory], tables.card_ratio[ways.pool[way]], tables.unit[:, tables.card][stage])
        amount[tables.card] = np.where(cards < 0, np.iinfo(np.int64).max, np.maximum(amount[tables.card], cards))
    return used, amount


def _whole_units(units: _Floats, most: _Floats | float) -> _Ints:
    """Return needs rounded up to whole units, up to `most` of them."""
    slack = tick_slack(units)
    whole = np.ceil(np.subtract(units, slack, out=slack), out=slack)
    np.maximum(whole, units > 0, out=whole)
    np.minimum(whole, most, out=whole)
    return whole.astype(np.int64)


def _twins(ways: Ways, way: _Indices, amount: _Ints, fits: _Flags) -> _Flags:
    """Tell which cells hold the same in the same pool as the one before them, which fits too."""
    twin = np.zeros(len(way), dtype=np.bool_)
    near = np.flatnonzero((way[1:] == way[:-1] + 1) & fits[:-1]) + 1
    near = near[(ways.stage[way[near]] == ways.stage[way[near] - 1]) & (ways.pool[way[near]] == ways.pool[way[near] - 1])]
    for column in amount:
        near = near[column[near] == column[near - 1]]
    twin[near] = True
    return twin


def _counted(tables: Tables, ways: Ways, way: _Indices, amount: _Ints) -> _Flags:
    """Tell which resources count: those that can run short somewhere, are capped or reserved for a queue, or whose change is charged."""
    n_pools = max(1, len(tables.capacity))
    most = np.zeros((len(tables.stage) * n_pools, len(amount)))
    np.maximum.at(most, ways.stage[way] * n_pools + ways.pool[way], amount.T)
    wanted = most.reshape(-1, n_pools, len(amount)).sum(axis=0)
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
    same = way[cell] == way[above]
    for column in amount:
        same &= column[cell] == column[above]
    differing = np.bincount(level[cell[~same]], minlength=n_levels)
    return np.asarray(candidate & (differing == 0))
