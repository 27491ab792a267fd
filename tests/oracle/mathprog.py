"""Solves `models/allocation.mod` with GLPK, tier by tier; the data come from the state itself and never from the encoded program."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import swiglpk as glpk

from libra_opt.adapters.mathprog import write_data
from libra_opt.domain import State

__all__ = ["MODEL", "TIERS", "Answer", "OracleError", "OracleGaveUpError", "solve"]

MODEL = Path(__file__).parents[2] / "models" / "allocation.mod"
TIERS = ("protected_lost", "over_budget_seconds", "guarantee_shortfall", "value")
INTEGRALITY = 1e-7
FEASIBILITY = 1e-9
ROUNDING = 1e-6
TIME_LIMIT_MS = 60_000


class OracleError(Exception):
    """GLPK refused the model or the data, or says that a valid state has no plan."""


class OracleGaveUpError(OracleError):
    """GLPK hit its time limit or a numerical difficulty: there is no answer, neither right nor wrong."""


@dataclass(frozen=True)
class Answer:
    """The optimum of every tier, and the values of all variables in the last one."""

    tiers: tuple[float, float, float, float]
    variables: dict[str, float]


def solve(state: State, free: Callable[[str], bool] | None = None, time_limit_ms: int = TIME_LIMIT_MS) -> Answer:
    """Solve a state; constraints whose name `free` accepts are dropped (to see whether they bind)."""
    glpk.glp_term_out(glpk.GLP_OFF)
    best: list[float] = []
    variables: dict[str, float] = {}
    with TemporaryDirectory() as place:
        data, order = Path(place, "state.dat"), Path(place, "tier.dat")
        data.write_text(write_data(state), encoding="ascii")
        for tier, name in enumerate(TIERS, start=1):
            reached = " ".join(f"{i} {value!r}" for i, value in enumerate(best, start=1))
            order.write_text(f"data;\nparam tier := {tier};\n" + (f"param best := {reached};\n" if best else "") + "end;\n", encoding="ascii")
            variables = _optimise((data, order), free, time_limit_ms)
            best.append(variables[name])
    return Answer((best[0], best[1], best[2], best[3]), variables)


def _optimise(data: tuple[Path, ...], free: Callable[[str], bool] | None, time_limit_ms: int) -> dict[str, float]:
    workspace, problem = glpk.glp_mpl_alloc_wksp(), glpk.glp_create_prob()
    try:
        _must(glpk.glp_mpl_read_model(workspace, str(MODEL), 1), "read the model")
        for path in data:
            _must(glpk.glp_mpl_read_data(workspace, str(path)), f"read {path.name}:\n{path.read_text()}")
        _must(glpk.glp_mpl_generate(workspace, None), "generate the model")
        glpk.glp_mpl_build_prob(workspace, problem)
        for i in range(1, glpk.glp_get_num_rows(problem) + 1):
            if free is not None and free(glpk.glp_get_row_name(problem, i)):
                glpk.glp_set_row_bnds(problem, i, glpk.GLP_FR, 0, 0)
        _branch_and_cut(problem, time_limit_ms)
        _settle(problem)
        return {glpk.glp_get_col_name(problem, i): glpk.glp_get_col_prim(problem, i) for i in range(1, glpk.glp_get_num_cols(problem) + 1)}
    finally:
        glpk.glp_delete_prob(problem)
        glpk.glp_mpl_free_wksp(workspace)


def _branch_and_cut(problem: object, time_limit_ms: int) -> None:
    """Solve without the presolver, which takes a row as satisfied that is broken by a thousandth."""
    if not _relaxation_is_solved(problem):
        raise OracleError("GLPK finds no optimum of the relaxation, yet every valid state has a plan")
    parameters = glpk.glp_iocp()
    glpk.glp_init_iocp(parameters)
    parameters.mip_gap = 0.0
    parameters.tol_int = INTEGRALITY
    parameters.tol_obj = FEASIBILITY
    parameters.tm_lim = time_limit_ms
    code = glpk.glp_intopt(problem, parameters)
    status = glpk.glp_mip_status(problem)
    if status == glpk.GLP_NOFEAS:
        raise OracleError("GLPK says the state has no plan, yet every valid state has one")
    if code or status != glpk.GLP_OPT:
        raise OracleGaveUpError(f"GLPK stopped with code {code} and status {status}")


def _settle(problem: object) -> None:
    """Round what must be whole and solve for the rest again, so that no integer is bought with a tolerance."""
    found = glpk.glp_mip_obj_val(problem)
    for i in range(1, glpk.glp_get_num_cols(problem) + 1):
        if glpk.glp_get_col_kind(problem, i) != glpk.GLP_CV:
            whole = round(glpk.glp_mip_col_val(problem, i))
            glpk.glp_set_col_bnds(problem, i, glpk.GLP_FX, whole, whole)
    if not _relaxation_is_solved(problem):
        raise OracleGaveUpError("GLPK's integers do not hold once they are rounded")
    if abs(glpk.glp_get_obj_val(problem) - found) > ROUNDING * max(1, abs(found)):
        raise OracleGaveUpError(f"GLPK's objective moves from {found} to {glpk.glp_get_obj_val(problem)} once integers are rounded")


def _relaxation_is_solved(problem: object) -> bool:
    parameters = glpk.glp_smcp()
    glpk.glp_init_smcp(parameters)
    parameters.tol_bnd = FEASIBILITY
    glpk.glp_adv_basis(problem, 0)
    code = glpk.glp_simplex(problem, parameters)
    return code == 0 and glpk.glp_get_status(problem) == glpk.GLP_OPT


def _must(code: int, step: str) -> None:
    if code:
        raise OracleError(f"GLPK could not {step}")
