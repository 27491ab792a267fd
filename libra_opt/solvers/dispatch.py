"""From a back-end's name to the back-end; its module, and the library behind it, is imported when it is first called."""

from importlib import import_module
from typing import cast

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Program
from libra_opt.solvers.solution import Backend, Solution

__all__ = ["solve"]


def solve(program: Program, options: Options) -> Solution:
    """Solve `program` with the back-end that `options` name."""
    backend = cast("Backend", import_module(f"libra_opt.solvers.{options.backend}").solve)
    return backend(program, options)
