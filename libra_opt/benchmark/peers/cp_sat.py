"""CP-SAT on the direct form, one worker, no hint: what a user who knows OR-Tools writes first.

CP-SAT counts in whole numbers: services and levels are counted in millionths, charges in milliseconds, all else is whole anyway. OR-Tools itself scales the
rows.
"""

from time import perf_counter
from typing import Final

import numpy as np
from scipy import sparse

from libra_opt.benchmark.peers.direct_data import read_direct_data
from libra_opt.benchmark.peers.direct_rules import direct_form
from libra_opt.benchmark.peers.peer import Begin, at_once, relative_gap
from libra_opt.benchmark.requests import PeerRequest
from libra_opt.benchmark.results import PeerMeasurement
from libra_opt.domain import State
from libra_opt.forecast import forecast

__all__ = ["solve"]

_PER_ONE: Final = 1e6
_GRAIN: Final = 2 / _PER_ONE


def solve(state: State, request: PeerRequest, begin: Begin = at_once) -> PeerMeasurement:
    """Solve the direct form to the gap asked for."""
    from ortools.linear_solver.python import model_builder_helper  # noqa: PLC0415

    begin()
    start = perf_counter()
    form = direct_form(read_direct_data(state, forecast(state)), request.tiers, with_least=True, grain=_GRAIN)
    scale = np.where(form.steps > 0, form.steps, _PER_ONE)
    model = model_builder_helper.ModelBuilderHelper()
    matrix = sparse.csr_matrix(form.matrix @ sparse.diags_array(1 / scale))
    lower, upper = np.ceil(form.lower * scale), np.floor(form.upper * scale)
    model.fill_model_from_sparse_data(lower, upper, form.gain / scale, form.low, form.high, matrix)  # type: ignore[arg-type]  # the stubs mix up shape and type
    for column in range(len(scale)):
        model.set_var_integrality(column, True)  # noqa: FBT003 - the library's own
    model.set_maximize(True)
    solver = model_builder_helper.ModelSolverHelper("sat")
    solver.set_solver_specific_parameters(f"num_workers:1 random_seed:0 relative_gap_limit:{request.gap!r}")
    build_seconds = perf_counter() - start
    limit = max(0.1, request.seconds - build_seconds)
    solver.set_time_limit_in_seconds(limit)
    start = perf_counter()
    solver.solve(model)
    seconds = perf_counter() - start
    has_plan = solver.has_solution()
    objective = float(solver.objective_value()) + form.constant if has_plan else None
    bound = float(solver.best_objective_bound()) + form.constant if has_plan else None
    gap = relative_gap(objective, bound)
    return PeerMeasurement(
        build_seconds=build_seconds,
        solve_seconds=seconds,
        status=str(solver.status().name).lower().replace("_", " "),
        objective=objective,
        bound=bound,
        gap=gap,
        is_within_gap=gap is not None and gap <= request.gap + 1e-9,
        is_cut=seconds >= limit,
    )
