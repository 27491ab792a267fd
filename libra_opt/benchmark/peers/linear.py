"""The linear relaxation of the direct form through cvxpy, by CLARABEL or HIGHS: a bound and no plan.

R14's least allocations are left out: in a relaxation they say next to nothing, and without them it is smaller.
"""

from time import perf_counter
from typing import Literal

import numpy as np

from libra_opt.benchmark.peers.direct_data import read_direct_data
from libra_opt.benchmark.peers.direct_rules import direct_form
from libra_opt.benchmark.peers.peer import Begin, at_once
from libra_opt.benchmark.requests import PeerRequest
from libra_opt.benchmark.results import PeerMeasurement
from libra_opt.domain import State
from libra_opt.forecast import forecast

__all__ = ["solve_clarabel", "solve_highs"]


def solve_clarabel(state: State, request: PeerRequest, begin: Begin = at_once) -> PeerMeasurement:
    """Bound tier 4 by CLARABEL."""
    return _solve(state, request, begin, "CLARABEL")


def solve_highs(state: State, request: PeerRequest, begin: Begin = at_once) -> PeerMeasurement:
    """Bound tier 4 by HIGHS."""
    return _solve(state, request, begin, "HIGHS")


def _solve(state: State, request: PeerRequest, begin: Begin, solver: Literal["CLARABEL", "HIGHS"]) -> PeerMeasurement:
    import cvxpy as cp  # noqa: PLC0415

    begin()
    start = perf_counter()
    form = direct_form(read_direct_data(state, forecast(state)), request.tiers, with_least=False)
    is_equal = form.low == form.high
    has_low, has_high = np.isfinite(form.low) & ~is_equal, np.isfinite(form.high) & ~is_equal
    x = cp.Variable(len(form.gain), bounds=[form.lower, form.upper])
    rows = (
        (form.matrix[is_equal] @ x == form.low[is_equal]) if is_equal.any() else None,
        (form.matrix[has_low] @ x >= form.low[has_low]) if has_low.any() else None,
        (form.matrix[has_high] @ x <= form.high[has_high]) if has_high.any() else None,
    )
    problem = cp.Problem(cp.Maximize(form.gain @ x), [row for row in rows if row is not None])
    left = max(0.1, request.seconds - (perf_counter() - start))
    problem.solve(solver=solver, time_limit=left)  # type: ignore[no-untyped-call]
    whole_seconds = perf_counter() - start
    stats = problem.solver_stats
    solve_seconds = float(stats.solve_time) if stats is not None and stats.solve_time is not None else whole_seconds
    is_solved = problem.status == cp.OPTIMAL
    return PeerMeasurement(
        build_seconds=max(0.0, whole_seconds - solve_seconds),
        solve_seconds=solve_seconds,
        status="bound only" if is_solved else str(problem.status),
        bound=float(problem.value) + form.constant if is_solved else None,
    )
