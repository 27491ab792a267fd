"""What prices prove: a bound for every job at once, over the full grid of levels.

For any prices p >= 0 on the shared rows, `sum over jobs of (best priced bundle) + p * limits` is at least the value of every plan that keeps the limits
(Lagrangian duality; Geoffrion 1974). Bundles are priced at what they *surely* use and *at most* gain, so ticks that were passed over are
covered too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Program
from libra_opt.formulation.runs import least, total
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.solution import Limits

__all__ = ["Priced", "cell_cost", "price_out", "savings"]

_Floats = npt.NDArray[np.float64]

_BLOCK = 16_384
"""How many cells are priced at once, so that what is needed on the way stays in the processor's cache."""


@dataclass(frozen=True)
class Priced:
    """All bundles at given prices.

    Attributes
    ----------
    bound
        Most value of any plan within the limits.
    cell_cost
        Of every cell, its charge and what it surely uses, priced, shape ``(n_cells,)``.
    level_value
        Of every level, what it, or what was passed over below it, is worth at most less its cheapest cells, shape ``(n_levels,)``.
    wait_value
        Of every job, what waiting is worth at these prices; minus infinity where it may not, shape ``(n_jobs,)``.
    job_value
        Of every job, the better of waiting and its best level, shape ``(n_jobs,)``.
    """

    bound: float
    cell_cost: _Floats
    level_value: _Floats
    wait_value: _Floats
    job_value: _Floats


def price_out(program: Program, prices: Prices, limits: Limits) -> Priced:
    """Price all bundles and return the bound they prove for tier 4 among plans within `limits`."""
    bundles = program.bundles
    per_ms = program.per_ms + prices.ms
    cost = cell_cost(program, prices, per_ms, is_sure=True)
    wait_value = -per_ms * program.wait_ms - prices.lost * program.lost
    if limits.lost <= 0:
        wait_value = np.where(program.lost > 0, -np.inf, wait_value)
    level_value = np.zeros(0)
    job_value = wait_value.copy()
    if len(bundles.job):
        slot_cost = least(cost, bundles.first_cell[:-1])
        level_value = program.gain + _excess(program, prices) - total(slot_cost, bundles.first_slot[:-1])
        able = np.flatnonzero(np.diff(bundles.first_level) > 0)
        job_value[able] = np.maximum(job_value[able], np.maximum.reduceat(level_value, bundles.first_level[able]))
    job_value = np.where(np.isfinite(job_value), job_value, 0.0)
    bound = float(job_value.sum()) + _limits_value(program, prices, limits)
    return Priced(bound, cost, level_value, wait_value, job_value)


def _excess(program: Program, prices: Prices) -> _Floats:
    """Return how much more than each level what was passed over below it can be worth at these prices, shape ``(n_levels,)``.

    Down to the level before, resources without passed-over ticks cost what they cost at the level, and the others save so much per unit of service; only a
    value that is curved in between can be better off there.
    """
    bundles, utility = program.bundles, program.utility
    if not utility.is_curved or not (bundles.below < bundles.service).any():
        return np.zeros(len(bundles.job))
    saved = savings(program, prices)
    best = utility.best_between(bundles.job, bundles.below, bundles.service, saved)
    return np.maximum(0.0, utility.at(bundles.job, best) - program.gain + saved * (bundles.service - best))


def savings(program: Program, prices: Prices) -> _Floats:
    """Return what a unit of service less saves, at most, of the resources whose ticks below a level were passed over, priced, shape ``(n_levels,)``."""
    bundles = program.bundles
    net = np.maximum(0.0, (prices.pool[:, None, :] + prices.of_queues(program.shared)[None, :, :]).reshape(-1, prices.pool.shape[1]))
    saved = np.einsum("cr,cr->c", program.passed_use, net[program.cell_pair])
    return np.add.reduceat(np.maximum.reduceat(saved, bundles.first_cell[:-1]), bundles.first_slot[:-1])


def cell_cost(program: Program, prices: Prices, per_ms: _Floats, *, is_sure: bool) -> _Floats:
    """Return charge and priced use of every cell, shape ``(n_cells,)``; block by block, as cells may be millions.

    Parameters
    ----------
    per_ms
        What a millisecond of charge costs, shape ``(n_jobs,)``.
    is_sure
        Count what is surely used, as a bound must, and not what is used; where a price is below zero all that is used counts anyway.
    """
    cost = per_ms[program.cell_job] * program.cell_ms if program.cell_ms.any() else np.zeros(program.n_cells)
    net = (prices.pool[:, None, :] + prices.of_queues(program.shared)[None, :, :]).reshape(-1, prices.pool.shape[1])
    parts = [(program.surely if is_sure else program.amount, np.maximum(0.0, net)), (program.amount, np.minimum(0.0, net))]
    for used, price in parts:
        if price.any():
            for first in range(0, len(cost), _BLOCK):
                block = slice(first, first + _BLOCK)
                cost[block] += np.einsum("cr,cr->c", used[block], price.take(program.cell_pair[block], axis=0))
    return cost


def _limits_value(program: Program, prices: Prices, limits: Limits) -> float:
    shared = program.shared
    finite = np.isfinite(shared.ceiling)
    value = float((prices.pool * shared.capacity).sum()) + float((prices.ceiling[finite] * shared.net_ceiling[finite]).sum())
    reserve = shared.forest.raised(prices.reserve, prices.ceiling)
    value += float((reserve * shared.net_reserved).sum())
    value += float((np.maximum(0.0, shared.unreserved) * reserve[shared.forest.roots].max(axis=0, initial=0.0)).sum())
    value -= float((prices.guarantee * shared.floor).sum())
    value += limits.shortfall * float((prices.guarantee * shared.nominal).max(initial=0.0))
    if prices.ms > 0:
        value += prices.ms * shared.most_ms(limits.over_seconds)
    return value + prices.lost * limits.lost
