"""The smoothed dual of a program: every job's best answer to prices, each maximum replaced by a soft one, and the slope.

It is evaluated a hundred times and more on tens of thousands of cells, so cells, slots and levels are laid out rank by rank (see `ranks`).
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.formulation.program import Program
from libra_opt.solvers.ranks import Ranks
from libra_opt.solvers.relaxation import penalties
from libra_opt.solvers.tariff import tariff
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
        self.cell_ms, self.wait_ms = program.cell_ms[cell], program.wait_ms[self.able]
        self.charge = self.cell_ms * program.per_ms[program.cell_job[cell]]
        self.tariff, self.use = tariff(self.rows), _priced_use(program, cell)
        self.used = self.use.T
        gain = program.gain
        self.gain = gain[self.slots.run]
        peak = self.levels.most(gain[self.levels.entry])
        if program.utility.is_curved:
            peak = np.minimum(peak, program.stake[self.able])
        self.scale = np.maximum(1e-9 * max(1e-300, float(peak.max(initial=0.0))), peak)
        self.level_scale = self.levels.spread(self.scale)
        self.slot_scale = self.slots.spread(self.level_scale[self.level_of_jobs])[self.slot_of_levels]
        self.cell_scale = self.cells.spread(self.slot_scale)
        self.wait = -program.per_ms[self.able] * self.wait_ms - penalties(program).lost * program.lost[self.able]

    def value_and_slope(self, point: _Floats, temperature: float) -> tuple[float, _Floats]:
        """Return the smoothed bound and its gradient, both relative to the value of all jobs."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            value, slope = self._value_and_slope(point, temperature)
        return (value, slope) if np.isfinite(value) and np.isfinite(slope).all() else (MOST_PRICE**2, np.zeros_like(point))

    def _value_and_slope(self, point: _Floats, temperature: float) -> tuple[float, _Floats]:
        cells, slots, levels, has_budget = self.cells, self.slots, self.levels, self.rows.has_budget
        cost, wait = self.use @ self.tariff.table(point) + self.charge, self.wait
        if has_budget:
            ms = float(point[-1]) * self.rows.budget_unit
            cost, wait = cost + ms * self.cell_ms, wait - ms * self.wait_ms
        soft, odds, total = self._softened(cost, temperature)
        level = (self.gain - slots.total(soft[self.slot_of_cells]))[self.level_of_slots]
        best, heat = np.maximum(levels.most(level), wait), temperature * self.scale
        level_odds = np.exp((level - levels.spread(best)) / (temperature * self.level_scale))
        wait_odds = np.exp((wait - best) / heat)
        sums = levels.total(level_odds) + wait_odds
        value = float((self.weight * (best + heat * np.log(sums))).sum())
        level_share = (level_odds / levels.spread(sums / self.weight))[self.level_of_jobs]
        of_slot = slots.spread(level_share)[self.slot_of_levels]
        share = of_slot if odds is None else odds * cells.spread(of_slot / total)
        spent = float((share * self.cell_ms).sum() + (self.weight * wait_odds / sums * self.wait_ms).sum()) if has_budget else 0.0
        limits, slope = self.tariff.limits(point, self.used @ share, spent)
        return (value + limits) / self.rows.value, slope / self.rows.value

    def _softened(self, cost: _Floats, temperature: float) -> tuple[_Floats, _Floats | None, _Floats]:
        """Return the soft least cost of every slot, the odds of each of its cells, and their sum; no odds where no slot has more than one cell."""
        cells = self.cells
        if len(cells.entry) == len(cells.run):
            return cost, None, np.ones(0)
        least = cells.least(cost)
        odds = np.exp((cells.spread(least) - cost) / (temperature * self.cell_scale))
        total = cells.total(odds)
        return least - temperature * self.slot_scale * np.log(total), odds, total


def _places(order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return where each number is in an order of all numbers up to its length."""
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def _priced_use(program: Program, cells: _Indices) -> _Floats | sparse.csr_array:
    """Return what some cells surely use, in the column of their pool, queue and resource, shape ``(n_cells, n_pools * n_queues * n_resources)``."""
    n_resources, n_pairs = program.surely.shape[1], len(program.shared.capacity) * len(program.shared.ceiling)
    surely = program.surely.take(cells, axis=0)
    if n_pairs == 1:
        return np.asarray(surely)
    column = program.cell_pair[cells, None] * n_resources + np.arange(n_resources)
    starts = np.arange(0, surely.size + 1, n_resources) if n_resources else np.zeros(len(cells) + 1, dtype=np.intp)
    return sparse.csr_array((surely.ravel(), column.ravel(), starts), shape=(len(cells), n_pairs * n_resources))
