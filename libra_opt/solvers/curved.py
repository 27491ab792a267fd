"""Prices where value is curved: the grid follows the prices, and the prices the grid.

Under a straight value a job's best service lies at an end or at a tick, which a coarse grid has; under a logarithm nearly every job is best somewhere in between,
where only a fine grid has a level. So the grid is made fine where the prices point, the prices descend on it as far as they like, and the grid is made fine again
where they have come to, until the bound hardly falls; what is proven at the end is proven on the full grid as always.
"""

from typing import Final

import numpy as np

from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.core import split
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import Priced, price_out
from libra_opt.solvers.prices import descended
from libra_opt.solvers.windows import promising_window

__all__ = ["follow"]

_ROUNDS: Final = 3
_MARGIN: Final = 0.1
"""How far below its best a bundle may be, relative to its job's worth, to be on the fine grid."""

_WIDTH: Final = 0.2
"""How far, likewise, it may be to be open in a descent."""

_MOST_JOBS, _MOST_CELLS = 60_000, 400_000
"""How many jobs and cells are open at most."""

_SMALL: Final = 0.5
"""A fall of the bound by less than so many gaps ends the rounds."""


def follow(program: Program, prices: Prices, gap: float) -> tuple[Program, Prices, Priced]:
    """Return a grid that is fine where the best prices found point, these prices, and all its bundles at them.

    Parameters
    ----------
    program
        On a coarse grid.
    prices
        Where to begin.
    gap
        The gap asked for.
    """
    best = _fine(program, prices)
    for _ in range(_ROUNDS):
        fine, prices, priced = best
        core = split(fine, priced, _WIDTH * fine.stake, _MOST_JOBS, _MOST_CELLS)
        if core is None:
            break
        reached = _fine(program, descended(core.inner.program, prices))
        fall = priced.bound - reached[2].bound
        if fall > 0:
            best = reached
        if fall <= _SMALL * gap * abs(priced.bound):
            break
    return best


def _fine(program: Program, prices: Prices) -> tuple[Program, Prices, Priced]:
    window = promising_window(program, prices, price_out(program, prices, NOTHING_SPENT), np.asarray(_MARGIN * program.stake))
    fine = refine(program, window)
    return fine, prices, price_out(fine, prices, NOTHING_SPENT)
