"""Prices of the shared rows by a smoothed Lagrangian dual.

Every job answers prices with its best bundle; the dual adds up those answers, and its minimum is the bound. Replacing each maximum by a soft one
(Nesterov, *Smooth minimization of non-smooth functions*, 2005) makes it differentiable, so that L-BFGS-B finds the few dozen prices in a few dozen
evaluations; where the temperature falls, each descent starts from the last.

Large programs are priced on a sample of their jobs first, drawn in proportion to their worth (systematic sampling; Madow 1949) and weighted to stand for all,
and then on the jobs whose answer these prices leave open, while the others keep theirs.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Program
from libra_opt.formulation.restrict import restrict
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.columns import near_best
from libra_opt.solvers.core import split
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import Priced, price_out
from libra_opt.solvers.master import master
from libra_opt.solvers.relaxation import penalties
from libra_opt.solvers.steps import reach, step

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["dual_prices"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_FEW = 3_000
"""Up to this many jobs a linear program prices those that the sample leaves open; of more, the smoothed dual does."""

_ROUNDS = 20
_SAMPLE = 400
_PER_SAMPLED = 25
"""A sample has this many jobs, or one of so many, whichever is more."""

_LEAST_WORTH = 0.05
"""Least worth of a job, relative to the mean, that its chance to be drawn counts with."""

_TEMPERATURES = (0.05,)
_WHOLE_TEMPERATURES, _OPEN_TEMPERATURES = (0.1, 0.02, 0.004), (0.01,)
"""Of a sample, of all jobs where there are few, and of the jobs that are open."""

_FEW_WIDTHS, _OPEN_WIDTHS = (0.25,), (0.35, 0.2)
"""How far below its job's best, relative to its worth, a bundle is open after the sample: of few jobs, and of many, one pass after the other, where the sample
has `_SAMPLE` jobs; less where it has more, as its error falls."""

_MOST_OPEN, _MOST_OPEN_CELLS = 60_000, 400_000
"""How many jobs and cells are open at most."""

_STEPS = 30
_MOST_PRICE = 1e3
"""Prices stay below this many times the value of all jobs per whole row: enough to say "never"."""


def dual_prices(program: Program) -> Prices:
    """Return prices that come near the least bound on tier 4 among plans that spend nothing of tiers 1 to 3."""
    jobs, weights = _sample(program, max(_SAMPLE, program.n_jobs // _PER_SAMPLED))
    dual = _Dual(_small(program, jobs, weights), weights)
    prices = dual.rows.prices(_descend(dual, dual.rows.start(), _TEMPERATURES if len(jobs) < program.n_jobs else _WHOLE_TEMPERATURES))
    priced = price_out(program, prices, NOTHING_SPENT)
    for width in _FEW_WIDTHS if program.n_jobs <= _FEW else _OPEN_WIDTHS:
        prices, priced = _among_open(program, prices, priced, width * min(1.0, (_SAMPLE / len(jobs)) ** 0.25))
    return prices


def _sample(program: Program, n: int) -> tuple[_Indices, _Floats]:
    """Return about `n` jobs, even over queues and numbers of stages, and how many each of them stands for; all where there are not many more."""
    if program.n_jobs <= 2 * n:
        return np.arange(program.n_jobs), np.ones(program.n_jobs)
    size = np.maximum(program.worth, _LEAST_WORTH * program.worth.mean())
    if not size.any():
        size = np.ones(program.n_jobs)
    chance = np.minimum(1.0, n * size / size.sum())
    for _ in range(_ROUNDS):
        is_sure = chance >= 1
        rest = max(0, n - int(is_sure.sum()))
        chance = np.where(is_sure, 1.0, np.minimum(1.0, rest * size / max(1e-300, float(size[~is_sure].sum()))))
    order = np.lexsort((program.worth, np.diff(program.first_stage), program.queue))
    reached = np.floor(np.cumsum(chance[order]) + 0.5)
    jobs = np.sort(order[reached > np.append(0.0, reached[:-1])])
    return jobs, 1.0 / np.maximum(chance[jobs], 1e-12)


def _small(program: Program, jobs: _Indices, weights: _Floats) -> Program:
    """Return the program of a sample, its limits scaled by what the sample, weighted, demands of what all jobs demand (the ratio estimator; Cochran, 1977)."""
    sample = restrict(program, jobs, np.ones(len(program.bundles.job), dtype=np.bool_)).program
    weight = np.zeros(program.n_jobs)
    weight[jobs] = weights
    demand, job = program.tables.demand, program.tables.stage_job
    whole, part = np.zeros((2, *program.shared.floor.shape))
    np.add.at(whole, program.queue[job], demand)
    np.add.at(part, program.queue[job], demand * weight[job][:, None])
    by_queue, by_resource = _ratio(part, whole), _ratio(part.sum(axis=0), whole.sum(axis=0))
    shared = sample.shared
    spent = _ratio(np.array([float((program.wait_ms * weight).sum())]), np.array([float(program.wait_ms.sum())]))
    scaled = replace(
        shared,
        capacity=shared.capacity * by_resource,
        ceiling=shared.ceiling * by_queue,
        reserved=shared.reserved * by_queue,
        floor=shared.floor * by_queue,
        budget_ms=shared.budget_ms * float(spent[0]),
        total=shared.total * by_resource,
    )
    return replace(sample, shared=scaled)


def _ratio(part: _Floats, whole: _Floats) -> _Floats:
    return np.where((part > 0) & (whole > 0), part / np.where(whole > 0, whole, 1.0), 1.0)


def _among_open(program: Program, prices: Prices, priced: Priced, width: float) -> tuple[Prices, Priced]:
    """Price the jobs whose answer is open at `prices`, within a width relative to their worth; the better of the two prices is returned."""
    slack = width * program.worth
    core = split(program, priced, slack, _MOST_OPEN, _MOST_OPEN_CELLS)
    if core is None:
        return prices, priced
    inner = core.inner.program
    if program.n_jobs <= _FEW:
        over = master(near_best(inner, price_out(inner, prices, NOTHING_SPENT), slack[core.inner.jobs]), reach(program, prices))
        after = over.prices(over.linear.open(over.guess(prices)).duals)
    else:
        dual = _Dual(inner, np.ones(inner.n_jobs))
        after = dual.rows.prices(_descend(dual, dual.rows.point(prices), _OPEN_TEMPERATURES))
    return step(program, prices, priced, after)


def _descend(dual: "_Dual", point: _Floats, temperatures: tuple[float, ...]) -> _Floats:
    from scipy.optimize import minimize  # noqa: PLC0415

    options = {"maxiter": _STEPS, "maxcor": 10}
    with _threads().limit(limits=1, user_api="blas"):  # tiny matrices: more threads only wait for each other, and their number must not change a digit
        for temperature in temperatures:
            found = minimize(dual.value_and_slope, point, args=(temperature,), jac=True, method="L-BFGS-B", bounds=dual.rows.bounds(), options=options)
            point = np.asarray(found.x)
    return point


@cache
def _threads() -> "ThreadpoolController":
    """Return the control of the threads of the libraries that are loaded; looking for them takes longer than pricing a small program."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    return ThreadpoolController()


@dataclass(frozen=True)
class _Split:
    pool: _Floats
    ceiling: _Floats
    guarantee: _Floats
    share: _Floats
    reserve: _Floats
    budget: _Floats


class _Rows:
    """The unknowns: one per shared row, each the value of the whole row relative to the value of all jobs."""

    def __init__(self, program: Program) -> None:
        shared = program.shared
        self.program = program
        self.shared = shared
        self.value = max(1e-300, program.most_value)
        self.pool = np.nonzero(np.ones_like(shared.capacity))
        self.ceiling = np.nonzero(np.isfinite(shared.ceiling))
        self.guarantee = np.nonzero(shared.floor > 0)
        self.reserving = np.flatnonzero(shared.is_reserving)
        self.share = (np.repeat(np.arange(len(shared.reserved)), len(self.reserving)), np.tile(self.reserving, len(shared.reserved)))
        self.has_budget = bool(np.isfinite(shared.budget_ms)) and bool(program.cell_ms.any() or program.wait_ms.any())
        self.pool_unit = self.value / np.maximum(1.0, shared.capacity[self.pool])
        self.ceiling_unit = self.value / np.maximum(1.0, shared.ceiling[self.ceiling])
        self.guarantee_unit = self.value / np.maximum(1.0, shared.floor[self.guarantee])
        self.reserve_unit = self.value / np.maximum(1.0, shared.total[self.reserving])
        self.budget_unit = self.value / max(1000.0, shared.budget_ms) if self.has_budget else 0.0
        sizes = [len(self.pool[0]), len(self.ceiling[0]), len(self.guarantee[0]), len(self.share[0]), len(self.reserving), int(self.has_budget)]
        self.cuts = np.cumsum(sizes)[:-1]
        self.size = int(sum(sizes))
        self.is_share = np.zeros(self.size, dtype=np.bool_)
        self.is_share[self.cuts[2] : self.cuts[3]] = True

    def start(self) -> _Floats:
        point = np.zeros(self.size)
        point[: len(self.pool[0])] = 1.0 / max(1, len(self.pool[0]))
        point[self.is_share] = 0.5
        return point

    def bounds(self) -> list[tuple[float, float]]:
        most = np.where(self.is_share, 1.0, _MOST_PRICE)
        penalty = penalties(self.program)
        most[self.cuts[1] : self.cuts[2]] = penalty.shortfall / self.shared.nominal[self.guarantee] / self.guarantee_unit
        if self.has_budget:
            most[-1] = penalty.ms / self.budget_unit
        return [(0.0, float(limit)) for limit in most]

    def split(self, point: _Floats) -> _Split:
        return _Split(*np.split(point, self.cuts))

    def point(self, prices: Prices) -> _Floats:
        """Return the unknowns that stand for prices, as near as the bounds allow."""
        reserve = prices.reserve[:, self.reserving]
        top = reserve.max(axis=0, initial=0.0)
        parts = [
            prices.pool[self.pool] / self.pool_unit,
            prices.ceiling[self.ceiling] / self.ceiling_unit,
            prices.guarantee[self.guarantee] / self.guarantee_unit,
            np.where(top > 0, reserve / np.where(top > 0, top, 1.0), 0.5).ravel(),
            top / self.reserve_unit,
        ]
        if self.has_budget:
            parts.append(np.array([prices.ms / self.budget_unit]))
        return np.asarray(np.minimum(np.concatenate(parts), [most for _, most in self.bounds()]))

    def prices(self, point: _Floats) -> Prices:
        part, shared = self.split(point), self.shared
        pool, ceiling, guarantee, reserve = (
            np.zeros_like(shared.capacity),
            np.zeros_like(shared.ceiling),
            np.zeros_like(shared.floor),
            np.zeros_like(shared.floor),
        )
        pool[self.pool] = part.pool * self.pool_unit
        ceiling[self.ceiling] = part.ceiling * self.ceiling_unit
        guarantee[self.guarantee] = part.guarantee * self.guarantee_unit
        reserve[self.share] = part.share * np.tile(part.reserve * self.reserve_unit, len(shared.reserved))
        return Prices(pool, ceiling, guarantee, reserve, float(part.budget[0]) * self.budget_unit if self.has_budget else 0.0, penalties(self.program).lost)


class _Dual:
    """The smoothed dual of one program; `weights` are how many jobs each of its jobs stands for, shape ``(n_jobs,)``."""

    def __init__(self, program: Program, weights: _Floats) -> None:
        bundles = program.bundles
        self.rows = _Rows(program)
        self.program = program
        self.n_queues = len(program.shared.ceiling)
        self.pair = program.cell_pair
        self.per_cell = program.per_ms[program.cell_job]
        self.first_cell, self.first_slot = bundles.first_cell[:-1], bundles.first_slot[:-1]
        self.cells_in_slot, self.slots_in_level = np.diff(bundles.first_cell), np.diff(bundles.first_slot)
        self.level_gain = program.worth[bundles.job] * bundles.service
        has = np.diff(bundles.first_level) > 0
        self.able = np.flatnonzero(has)
        self.weight = weights[self.able]
        self.first_level = bundles.first_level[:-1][has]
        self.levels_in_job = np.diff(bundles.first_level)[has]
        peak = np.maximum.reduceat(self.level_gain, self.first_level) if len(self.able) else np.zeros(0)
        self.scale = np.maximum(1e-9 * max(1e-300, float(peak.max(initial=0.0))), peak)
        penalty = penalties(program)
        self.lost = penalty.lost * program.lost[self.able]

    def value_and_slope(self, point: _Floats, temperature: float) -> tuple[float, _Floats]:
        """Return the smoothed bound and its gradient, both relative to the value of all jobs."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            value, slope = self._value_and_slope(point, temperature)
        return (value, slope) if np.isfinite(value) and np.isfinite(slope).all() else (_MOST_PRICE**2, np.zeros_like(point))

    def _value_and_slope(self, point: _Floats, temperature: float) -> tuple[float, _Floats]:
        rows, program, shared = self.rows, self.program, self.program.shared
        prices = rows.prices(point)
        table = (prices.pool[:, None, :] + prices.queue[None, :, :]).reshape(-1, shared.capacity.shape[1])
        cost = np.einsum("cr,cr->c", program.surely, table[self.pair]) + program.cell_ms * (self.per_cell + prices.ms)
        heat = temperature * self.scale
        heat_level = np.repeat(heat, self.levels_in_job)
        heat_slot = np.repeat(heat_level, self.slots_in_level)
        least = np.minimum.reduceat(cost, self.first_cell)
        odds = np.exp((np.repeat(least, self.cells_in_slot) - cost) / np.repeat(heat_slot, self.cells_in_slot))
        total = np.add.reduceat(odds, self.first_cell)
        level = self.level_gain - np.add.reduceat(least - heat_slot * np.log(total), self.first_slot)
        wait = -(program.per_ms + prices.ms)[self.able] * program.wait_ms[self.able] - self.lost
        best = np.maximum(np.maximum.reduceat(level, self.first_level), wait)
        level_odds = np.exp((level - np.repeat(best, self.levels_in_job)) / heat_level)
        wait_odds = np.exp((wait - best) / heat)
        sums = np.add.reduceat(level_odds, self.first_level) + wait_odds
        value = float((self.weight * (best + heat * np.log(sums))).sum())
        level_share = level_odds / np.repeat(sums / self.weight, self.levels_in_job)
        share = odds * np.repeat(np.repeat(level_share, self.slots_in_level) / total, self.cells_in_slot)
        by_pair = [np.bincount(self.pair, weights=share * program.surely[:, r], minlength=len(table)) for r in range(table.shape[1])]
        used = np.stack(by_pair, axis=1).astype(np.float64).reshape(*shared.capacity.shape[:1], self.n_queues, -1)
        spent = float((share * program.cell_ms).sum() + (self.weight * wait_odds / sums * program.wait_ms[self.able]).sum())
        return self._add_rows(point, prices, value, used, spent)

    def _add_rows(self, point: _Floats, prices: Prices, value: float, used: _Floats, spent: float) -> tuple[float, _Floats]:
        rows, shared = self.rows, self.program.shared
        in_pool, in_queue = used.sum(axis=1), used.sum(axis=0)
        part = rows.split(point)
        free = np.maximum(0.0, shared.total - shared.reserved.sum(axis=0))[rows.reserving]
        price = part.reserve * rows.reserve_unit
        value += float((prices.pool * shared.capacity).sum() + (prices.ceiling[rows.ceiling] * shared.ceiling[rows.ceiling]).sum())
        value += float((prices.reserve * shared.reserved).sum() - (prices.guarantee * shared.floor).sum() + (price * free).sum())
        slope_reserve = (shared.reserved - in_queue)[:, rows.reserving]
        shares = part.share.reshape(len(shared.reserved), -1)
        slopes = [
            (shared.capacity - in_pool)[rows.pool] * rows.pool_unit,
            (shared.ceiling - in_queue)[rows.ceiling] * rows.ceiling_unit,
            (in_queue - shared.floor)[rows.guarantee] * rows.guarantee_unit,
            (slope_reserve * price).ravel(),
            ((slope_reserve * shares).sum(axis=0) + free) * rows.reserve_unit,
        ]
        if rows.has_budget:
            value += prices.ms * shared.most_ms()
            slopes.append(np.array([(shared.most_ms() - spent) * rows.budget_unit]))
        return value / rows.value, np.concatenate(slopes) / rows.value
