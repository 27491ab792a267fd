"""Prices where value is curved: the grid follows the prices, and the prices the grid.

Under a straight value a job's best service lies at an end or at a tick, which a coarse grid has; under a logarithm nearly every job is best somewhere in
between, where only a fine grid has a level. So the grid is made fine where the prices point, the prices descend on it as far as they like, and the grid is
made fine again where they have come to, until the bound hardly falls; what is proven at the end is proven on the full grid as always.
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

_MARGIN: Final = 0.1
"""How far below its best a bundle may be, relative to its job's worth, to be on the fine grid."""

_WIDTHS: Final = (1.0, 0.5, 0.2)
"""How far, likewise, it may be to be open in a descent, one after the other: at first prices whole pools that come to matter may lie far below."""

_MOST_JOBS, _MOST_CELLS = 60_000, 400_000
"""How many jobs and cells are open at most."""

_STEPS: Final = 30
"""Steps of a descent."""

_SMALL: Final = 0.5
"""A descent that changes the bound on the grid at hand by less than so many gaps ends them; one that raises it may have left what is fine."""


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
    best = here = _fine(program, prices)
    for width in _WIDTHS:
        fine, prices, priced = here
        core = split(fine, priced, width * fine.stake, _MOST_JOBS, _MOST_CELLS)
        if core is None:
            break
        inner = core.inner.program
        lower = descended(inner, prices, _STEPS)
        promised = price_out(inner, prices, NOTHING_SPENT).bound - price_out(inner, lower, NOTHING_SPENT).bound
        if abs(promised) <= _SMALL * gap * abs(priced.bound):
            break
        here = _fine(program, lower)
        best = min(best, here, key=lambda each: each[2].bound)
    return best


def _fine(program: Program, prices: Prices) -> tuple[Program, Prices, Priced]:
    window = promising_window(program, prices, price_out(program, prices, NOTHING_SPENT), np.asarray(_MARGIN * program.stake))
    fine = refine(program, window)
    return fine, prices, price_out(fine, prices, NOTHING_SPENT)
