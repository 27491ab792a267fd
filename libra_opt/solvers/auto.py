"""Prices, fixing by proof, CP-SAT on the core: the combination that is used unless another back-end is asked for."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Program
from libra_opt.solvers import cp_sat
from libra_opt.solvers.greedy import greedy_choice
from libra_opt.solvers.solution import Solution

__all__ = ["solve"]

_Floats = npt.NDArray[np.float64]


def solve(program: Program, options: Options) -> Solution:
    """Return the best plan found and what prices or CP-SAT prove of it."""
    start = greedy_choice(program)
    selected = np.ones(len(program.bundles.job), dtype=np.bool_)
    outcome = cp_sat.solve_selection(program, start, selected, options.effort, options.seed, 0.0)
    limit: Literal["effort"] | None = "effort" if outcome.hit_limit else None
    return Solution(outcome.choice, program.score(outcome.choice), outcome.bounds, "auto", limit, is_fallback=options.effort == 0)
