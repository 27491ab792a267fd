"""From a back-end's name to the back-end; its module, and the library behind it, is imported when it is first called."""

from dataclasses import replace
from importlib import import_module
from typing import cast

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Program
from libra_opt.solvers.greedy import settle
from libra_opt.solvers.solution import Backend, Bounds, Solution

__all__ = ["solve"]


def solve(program: Program, options: Options) -> Solution:
    """Solve `program` with the back-end that `options` name.

    Where amounts were rounded in counting (see `Program.is_rounded`), what the back-end proves holds only for the rounded program, and the bound is the
    plain one: every job gets all it can use.
    """
    name = "fair" if program.fairness is not None else options.backend
    backend = cast("Backend", import_module(f"libra_opt.solvers.{name}").solve)
    solution = _settled(backend(program, options))
    if program.is_exact or solution.is_exact:
        return solution
    return replace(solution, bounds=Bounds(0.0, 0.0, 0.0, program.most_value), limit="effort")


def _settled(solution: Solution) -> Solution:
    """R12 and R13: a search that was cut short may have left a needless move or a protected job outside; the plan that mends it is better."""
    if solution.limit is None or solution.program.fairness is not None:
        return solution
    choice = settle(solution.program, solution.choice)
    score = solution.program.score(choice)
    return replace(solution, choice=choice, score=score) if score.beats(solution.score) else solution
