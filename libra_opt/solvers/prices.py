"""Prices of the shared rows by a smoothed Lagrangian dual.

Every job answers prices with its best bundle; the dual adds up those answers, and its minimum is the bound. Replacing each maximum by a soft one
(Nesterov, *Smooth minimization of non-smooth functions*, 2005) makes it differentiable, so that L-BFGS-B finds the few dozen prices in a few dozen
evaluations (see `dual`); where the temperature falls, each descent starts from the last.

Large programs are priced on a sample of their jobs first, drawn in proportion to their size (systematic sampling; Madow 1949) and weighted to stand for all,
and then on the jobs whose answer these prices leave open, while the others keep theirs.
"""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Program
from libra_opt.formulation.restrict import restrict
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.columns import near_best
from libra_opt.solvers.core import split
from libra_opt.solvers.dual import Dual
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import Priced, price_out
from libra_opt.solvers.master import master
from libra_opt.solvers.steps import reach, step

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["descended", "dual_prices", "n_rows", "sharpened"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_FEW = 3_000
"""Up to this many jobs a linear program prices those that the sample leaves open; of more, the smoothed dual does."""

_FEW_ROWS = 8
"""Of so few shared rows, all shared by all jobs, the coarse grid tells the prices well enough for the linear program that follows."""

_ROUNDS = 20
_SAMPLE = 400
_PER_SAMPLED = 25
"""A sample has this many jobs, or one of so many, whichever is more."""

_LEAST_SIZE = 0.05
"""Least size of a job, relative to the mean, that its chance to be drawn counts with."""

_TEMPERATURES = (0.05,)
_WHOLE_TEMPERATURES, _OPEN_TEMPERATURES = (0.1, 0.02, 0.004), (0.01,)
"""Of a sample, of all jobs where there are few, and of the jobs that are open."""

_FEW_WIDTHS, _OPEN_WIDTHS = (0.12, 0.25), (0.35, 0.2)
"""How far below its job's best, relative to its worth, a bundle is open after the sample: of few jobs, where few rows are shared and where more are, and of
many, one pass after the other, the second on the fine grid, where the sample has `_SAMPLE` jobs; less where it has more, as its error falls."""

_MOST_OPEN, _MOST_OPEN_CELLS = 60_000, 400_000
"""How many jobs and cells are open at most."""

_STEPS, _OPEN_STEPS, _MANY = 30, 16, 30_000
"""Most steps of a descent, and among the jobs that are open, where prices are near already and what the last steps bring is less than what the linear program
brings that follows; of many jobs too few are in that one, so every step is taken."""


def dual_prices(program: Program) -> Prices:
    """Return prices that come near the least bound on tier 4 among plans that spend nothing of tiers 1 to 3."""
    jobs, weights = _sample(program, _sample_size(program))
    dual = Dual(_small(program, jobs, weights), weights)
    prices = dual.rows.prices(_descend(dual, dual.rows.start(), _TEMPERATURES if len(jobs) < program.n_jobs else _WHOLE_TEMPERATURES))
    width = _OPEN_WIDTHS[0] if program.n_jobs > _FEW else _FEW_WIDTHS[n_rows(program) > _FEW_ROWS]
    return _among_open(program, prices, price_out(program, prices, NOTHING_SPENT), width * min(1.0, (_SAMPLE / len(jobs)) ** 0.25))[0]


def sharpened(program: Program, prices: Prices, priced: Priced) -> tuple[Prices, Priced]:
    """Return prices nearer to the least bound, and all bundles at them; the same ones where there are few jobs or rows, as a linear program follows.

    Parameters
    ----------
    prices, priced
        From `dual_prices`, on a coarser grid perhaps, and all bundles at them.
    """
    if program.n_jobs <= _FEW or n_rows(program) <= _FEW_ROWS:
        return prices, priced
    return _among_open(program, prices, priced, _OPEN_WIDTHS[1] * min(1.0, (_SAMPLE / _sample_size(program)) ** 0.25))


def descended(inner: Program, prices: Prices, n_steps: int) -> Prices:
    """Return where the smoothed dual of a program descends to from prices, in at most so many steps."""
    dual = Dual(inner, np.ones(inner.n_jobs))
    return dual.rows.prices(_descend(dual, dual.rows.point(prices), _OPEN_TEMPERATURES, n_steps))


def n_rows(program: Program) -> int:
    """Return how many rows jobs share: those of pools, ceilings, guarantees and the budget."""
    shared = program.shared
    return int(shared.capacity.size + np.isfinite(shared.ceiling).sum() + (shared.floor > 0).sum() + np.isfinite(shared.budget_ms))


def _sample_size(program: Program) -> int:
    return max(_SAMPLE, program.n_jobs // _PER_SAMPLED)


def _sample(program: Program, n: int) -> tuple[_Indices, _Floats]:
    """Return about `n` jobs, even over queues and numbers of stages, and how many each of them stands for; all where there are not many more."""
    if program.n_jobs <= 2 * n:
        return np.arange(program.n_jobs), np.ones(program.n_jobs)
    size = np.maximum(program.size, _LEAST_SIZE * program.size.mean())
    if not size.any():
        size = np.ones(program.n_jobs)
    chance, were_sure = np.minimum(1.0, n * size / size.sum()), -1
    for _ in range(_ROUNDS):
        is_sure = chance >= 1
        if int(is_sure.sum()) == were_sure:
            break
        were_sure = int(is_sure.sum())
        rest = max(0, n - int(is_sure.sum()))
        chance = np.where(is_sure, 1.0, np.minimum(1.0, rest * size / max(1e-300, float(size[~is_sure].sum()))))
    order = np.lexsort((program.size, np.diff(program.first_stage), program.queue))
    reached = np.floor(np.cumsum(chance[order]) + 0.5)
    jobs = np.sort(order[reached > np.append(0.0, reached[:-1])])
    return jobs, 1.0 / np.maximum(chance[jobs], 1e-12)


def _small(program: Program, jobs: _Indices, weights: _Floats) -> Program:
    """Return the program of a sample, its limits scaled by what the sample, weighted, demands of what all jobs demand (the ratio estimator; Cochran, 1977)."""
    sample = restrict(program, jobs, np.ones(len(program.bundles.job), dtype=np.bool_)).program
    weight = np.zeros(program.n_jobs)
    weight[jobs] = weights
    demand, job, forest = program.with_cost(program.tables.demand), program.tables.stage_job, program.shared.forest
    whole, part = np.zeros((2, *program.shared.floor.shape))
    np.add.at(whole, program.queue[job], demand)
    np.add.at(part, program.queue[job], demand * weight[job][:, None])
    whole, part = forest.gathered(whole), forest.gathered(part)
    by_queue, by_resource = _ratio(part, whole), _ratio(forest.over_roots(part), forest.over_roots(whole))
    shared = sample.shared
    spent = _ratio(np.array([float((program.wait_ms * weight).sum())]), np.array([float(program.wait_ms.sum())]))
    reserved = shared.reserved * by_queue
    scaled = replace(
        shared,
        capacity=shared.capacity * by_resource,
        ceiling=shared.ceiling * by_queue if forest.is_flat else np.maximum(shared.ceiling * by_queue, forest.of_children(forest.gathered(reserved))),
        reserved=reserved,
        floor=shared.floor * by_queue,
        budget_ms=shared.budget_ms * float(spent[0]),
        total=shared.total * by_resource,
    )
    return replace(sample, shared=scaled)


def _ratio(part: _Floats, whole: _Floats) -> _Floats:
    return np.where((part > 0) & (whole > 0), part / np.where(whole > 0, whole, 1.0), 1.0)


def _among_open(program: Program, prices: Prices, priced: Priced, width: float) -> tuple[Prices, Priced]:
    """Price the jobs whose answer is open at `prices`, within a width relative to their worth; the better of the two prices is returned."""
    slack = width * program.stake
    core = split(program, priced, slack, _MOST_OPEN, _MOST_OPEN_CELLS)
    if core is None:
        return prices, priced
    inner = core.inner.program
    if program.n_jobs <= _FEW:
        over = master(near_best(inner, price_out(inner, prices, NOTHING_SPENT), slack[core.inner.jobs]), reach(program, prices))
        opened = over.linear.open(over.guess(prices))
        if len(opened.duals) != over.linear.matrix.shape[0]:  # HiGHS refuses a coefficient above 1e15, and then says nothing
            return prices, priced
        after = over.prices(opened.duals)
    else:
        after = descended(inner, prices, _OPEN_STEPS if program.n_jobs <= _MANY else _STEPS)
    return step(program, prices, priced, after)


def _descend(dual: "Dual", point: _Floats, temperatures: tuple[float, ...], most_steps: int = _STEPS) -> _Floats:
    from scipy.optimize import minimize  # noqa: PLC0415

    if not len(point):  # nothing is shared, so nothing has a price
        return point
    options = {"maxiter": most_steps, "maxcor": 10}
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
