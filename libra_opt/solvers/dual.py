"""The smoothed dual of a program: every job's best answer to prices, each maximum replaced by a soft one, and the slope.

It is evaluated a hundred times and more on tens of thousands of cells, so cells, slots and levels are laid out rank by rank (see `ranks`).
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.formulation.shared import SharedRows
from libra_opt.solvers.ranks import Ranks
from libra_opt.solvers.relaxation import penalties
from libra_opt.solvers.unknowns import MOST_PRICE, Unknowns

__all__ = ["Dual"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


class Dual:
    """The smoothed dual of one program.

    Parameters
    ----------
    weights
        How many jobs each of its jobs stands for, shape ``(n_jobs,)``.
    """

    def __init__(self, program: Program, weights: _Floats) -> None:
        bundles = program.bundles
        self.rows, self.program = Unknowns(program), program
        has = np.diff(bundles.first_level) > 0
        self.cells, self.slots, self.levels = Ranks(np.diff(bundles.first_cell)), Ranks(np.diff(bundles.first_slot)), Ranks(np.diff(bundles.first_level)[has])
        self.slot_of_cells, self.slot_of_levels = _places(self.cells.run)[self.slots.entry], self.slots.place[self.cells.run]
        self.level_of_slots, self.level_of_jobs = _places(self.slots.run)[self.levels.entry], self.levels.place[self.slots.run]
        self.able = np.flatnonzero(has)[self.levels.run]
        self.weight = weights[self.able]
        cell = self.cells.entry
        self.cell_ms = program.cell_ms[cell]
        self.charge = self.cell_ms * program.per_ms[program.cell_job[cell]]
        self.use = _priced_use(program)[cell]
        gain = program.gain
        self.gain = gain[self.slots.run]
        peak = self.levels.most(gain[self.levels.entry])
        if program.utility.is_curved:
            peak = np.minimum(peak, program.stake[self.able])
        self.scale = np.maximum(1e-9 * max(1e-300, float(peak.max(initial=0.0))), peak)
        self.level_scale = self.levels.spread(self.scale)
        self.slot_scale = self.slots.spread(self.level_scale[self.level_of_jobs])[self.slot_of_levels]
        self.cell_scale = self.cells.spread(self.slot_scale)
        self.lost = penalties(program).lost * program.lost[self.able]

    def value_and_slope(self, point: _Floats, temperature: float) -> tuple[float, _Floats]:
        """Return the smoothed bound and its gradient, both relative to the value of all jobs."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            value, slope = self._value_and_slope(point, temperature)
        return (value, slope) if np.isfinite(value) and np.isfinite(slope).all() else (MOST_PRICE**2, np.zeros_like(point))

    def _value_and_slope(self, point: _Floats, temperature: float) -> tuple[float, _Floats]:
        program, cells, slots, levels = self.program, self.cells, self.slots, self.levels
        prices = self.rows.prices(point)
        table = prices.pool[:, None, :] + prices.of_queues(self.program.shared)[None, :, :]
        cost = self.use @ table.ravel() + self.charge + prices.ms * self.cell_ms
        soft, odds, total = self._softened(cost, temperature)
        level = (self.gain - slots.total(soft[self.slot_of_cells]))[self.level_of_slots]
        wait = -(program.per_ms + prices.ms)[self.able] * program.wait_ms[self.able] - self.lost
        best, heat = np.maximum(levels.most(level), wait), temperature * self.scale
        level_odds = np.exp((level - levels.spread(best)) / (temperature * self.level_scale))
        wait_odds = np.exp((wait - best) / heat)
        sums = levels.total(level_odds) + wait_odds
        value = float((self.weight * (best + heat * np.log(sums))).sum())
        level_share = (level_odds / levels.spread(sums / self.weight))[self.level_of_jobs]
        of_slot = slots.spread(level_share)[self.slot_of_levels]
        share = of_slot if odds is None else odds * cells.spread(of_slot / total)
        used = (self.use.T @ share).reshape(table.shape)
        spent = float((share * self.cell_ms).sum() + (self.weight * wait_odds / sums * program.wait_ms[self.able]).sum())
        return self._add_rows(point, prices, value, used, spent)

    def _softened(self, cost: _Floats, temperature: float) -> tuple[_Floats, _Floats | None, _Floats]:
        """Return the soft least cost of every slot, the odds of each of its cells, and their sum; no odds where no slot has more than one cell."""
        cells = self.cells
        if len(cells.entry) == len(cells.run):
            return cost, None, np.ones(0)
        least = cells.least(cost)
        odds = np.exp((cells.spread(least) - cost) / (temperature * self.cell_scale))
        total = cells.total(odds)
        return least - temperature * self.slot_scale * np.log(total), odds, total

    def _add_rows(self, point: _Floats, prices: Prices, value: float, used: _Floats, spent: float) -> tuple[float, _Floats]:
        rows, shared = self.rows, self.program.shared
        in_pool, in_queue = used.sum(axis=1), used.sum(axis=0)
        part = rows.split(point)
        free = np.maximum(0.0, shared.unreserved)[rows.reserving]
        price = part.reserve * rows.reserve_unit
        value += float((prices.pool * shared.capacity).sum() + (prices.ceiling[rows.ceiling] * shared.net_ceiling[rows.ceiling]).sum())
        value += float((prices.reserve * shared.net_reserved).sum() - (prices.guarantee * shared.floor).sum() + (price * free).sum())
        shares = part.share.reshape(len(shared.reserved), -1)
        slope_reserve, passed_on = _slopes(shared, rows.reserving, shares, in_queue)
        below = shared.forest.gathered(in_queue)
        slope_ceiling = np.where(shared.is_reserving, shared.net_ceiling - in_queue, shared.ceiling - below)
        slope_ceiling[:, rows.reserving] += passed_on
        slopes = [
            (shared.capacity - in_pool)[rows.pool] * rows.pool_unit,
            slope_ceiling[rows.ceiling] * rows.ceiling_unit,
            (below - shared.floor)[rows.guarantee] * rows.guarantee_unit,
            (slope_reserve * rows.above(prices, price)).ravel(),
            (shared.forest.over_roots(slope_reserve * shares) + free) * rows.reserve_unit,
        ]
        if rows.has_budget:
            value += prices.ms * shared.most_ms()
            slopes.append(np.array([(shared.most_ms() - spent) * rows.budget_unit]))
        return value / rows.value, np.concatenate(slopes) / rows.value


def _slopes(shared: SharedRows, reserving: _Indices, shares: _Floats, in_queue: _Floats) -> tuple[_Floats, _Floats]:
    """Return the slopes along the prices of reserves, each counting what follows from it below, and that part alone; shapes ``(n_queues + 1, n_reserving)``."""
    slope = (shared.net_reserved - in_queue)[:, reserving]
    passed_on = np.zeros_like(slope)
    for layer in reversed(shared.forest.layers):
        above = shared.forest.parent[layer]
        slope[layer] += passed_on[layer]
        np.add.at(passed_on, above, slope[layer] * shares[layer])
    if not shared.forest.is_flat:
        slope[shared.forest.roots] += passed_on[shared.forest.roots]
    return slope, passed_on


def _places(order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return where each number is in an order of all numbers up to its length."""
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def _priced_use(program: Program) -> sparse.csr_array:
    """Return what every cell surely uses, in the column of its pool, its queue and the resource, shape ``(n_cells, n_pools * n_queues * n_resources)``."""
    n_resources, n_pairs = program.surely.shape[1], len(program.shared.capacity) * len(program.shared.ceiling)
    column = program.cell_pair[:, None] * n_resources + np.arange(n_resources)
    starts = np.arange(0, program.surely.size + 1, n_resources) if n_resources else np.zeros(program.n_cells + 1, dtype=np.intp)
    return sparse.csr_array((program.surely.ravel(), column.ravel(), starts), shape=(program.n_cells, n_pairs * n_resources))
