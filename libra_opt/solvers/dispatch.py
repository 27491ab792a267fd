"""From a back-end's name to the back-end."""

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Program
from libra_opt.solvers import auto, cp_sat, greedy, lp_relaxation
from libra_opt.solvers.solution import Backend, Solution

__all__ = ["solve"]

_BACKENDS: dict[str, Backend] = {"auto": auto.solve, "cp_sat": cp_sat.solve, "lp_relaxation": lp_relaxation.solve, "greedy": greedy.solve}


def solve(program: Program, options: Options) -> Solution:
    """Solve `program` with the back-end that `options` name."""
    return _BACKENDS[options.backend](program, options)
