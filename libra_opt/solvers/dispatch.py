"""From a back-end's name to the back-end; its module, and the library behind it, is imported when it is first called."""

from dataclasses import replace
from importlib import import_module
from typing import cast

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Program
from libra_opt.solvers.solution import Backend, Bounds, Solution

__all__ = ["solve"]


def solve(program: Program, options: Options) -> Solution:
    """Solve `program` with the back-end that `options` name.

    Where amounts were rounded in counting (see `Program.is_exact`), what the back-end proves holds only for the rounded program, and the bound is the
    plain one: every job gets all it can use.
    """
    backend = cast("Backend", import_module(f"libra_opt.solvers.{options.backend}").solve)
    solution = backend(program, options)
    if program.is_exact:
        return solution
    return replace(solution, bounds=Bounds(0.0, 0.0, 0.0, program.most_value), limit="effort")
