"""The LP relaxation through cvxpy, its only door: a bound, shadow prices, and a feasible plan by rounding and repair."""

import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Program
from libra_opt.solvers.greedy import greedy_choice, settle
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.relaxation import Relaxation, relax
from libra_opt.solvers.rounding import fill, round_plan
from libra_opt.solvers.solution import Bounds, Limits, Solution

__all__ = ["solve"]

_Floats = npt.NDArray[np.float64]


def solve(program: Program, options: Options) -> Solution:
    """Return a rounded plan with the relaxation's bound, or the greedy plan where the relaxation within its tiers is not solved."""
    start = greedy_choice(program)
    score = program.score(start)
    if not program.n_cells or options.effort == 0:
        limit: Literal["effort"] | None = "effort" if options.effort == 0 and program.n_cells else None
        return Solution(program, start, score, _unpriced(program), "lp_relaxation", limit, is_fallback=program.n_cells > 0)
    relaxation = relax(program)
    solved = _solve_with_cvxpy(relaxation, options.effort)
    if solved is None:
        return Solution(program, start, score, _unpriced(program), "lp_relaxation", "effort", is_fallback=True)
    solution, duals = solved
    prices = relaxation.prices(program, duals)
    priced = price_out(program, prices, Limits.of(score))
    rounded = round_plan(program, *relaxation.rounded(program, solution), priced.level_value, priced.cell_cost)
    choice = settle(program, fill(program, rounded, priced.level_value, priced.cell_cost))
    best = choice if program.score(choice).beats(score) else start
    reached = program.score(best)
    bound = price_out(program, prices, Limits.of(reached)).bound
    return Solution(program, best, reached, Bounds(0.0, 0.0, 0.0, bound), "lp_relaxation", prices=prices)


def _unpriced(program: Program) -> Bounds:
    return Bounds(0.0, 0.0, 0.0, program.most_value)


def _solve_with_cvxpy(relaxation: Relaxation, effort: float) -> tuple[_Floats, _Floats] | None:
    """Return the solution and the duals of the inequality rows, or None where the solver stopped without an optimum."""
    import cvxpy as cp  # noqa: PLC0415

    scale = max(1e-12, float(np.abs(relaxation.gain).max(initial=0.0)))
    row_scale = np.maximum(1e-12, np.abs(relaxation.matrix).max(axis=1).toarray().ravel()) if relaxation.matrix.shape[0] else np.ones(0)
    x = cp.Variable(len(relaxation.gain), bounds=[np.zeros(len(relaxation.gain)), relaxation.upper])
    matrix = relaxation.matrix.multiply(1.0 / row_scale[:, None]).tocsr() if len(row_scale) else relaxation.matrix
    rows = matrix @ x <= relaxation.high / row_scale
    constraints = [rows]
    if relaxation.equal.shape[0]:
        constraints.append(relaxation.equal @ x == relaxation.target)
    problem = cp.Problem(cp.Maximize((relaxation.gain / scale) @ x), constraints)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate answer is used as prices only, and any prices give a true bound
            problem.solve(solver=cp.CLARABEL, max_iter=max(10, min(500, int(200 * effort))))  # type: ignore[no-untyped-call]
    except cp.error.SolverError:
        return None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) or x.value is None or rows.dual_value is None:
        return None
    return np.clip(np.asarray(x.value), 0.0, None), np.asarray(rows.dual_value) * scale / row_scale
