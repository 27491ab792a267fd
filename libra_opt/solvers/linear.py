"""The relaxation solved by HiGHS, called directly (through SciPy): the columns of an optimum and its duals."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.solvers.relaxation import Relaxation

__all__ = ["LinearOptimum", "solve_linear"]

_Floats = npt.NDArray[np.float64]

_ITERATIONS = 2_000
"""Iterations that any relaxation gets; larger ones get more by their rows and columns, and none cycles for ever."""


@dataclass(frozen=True)
class LinearOptimum:
    """The columns, and the duals of the inequality rows in value per unit of the row (never negative)."""

    columns: _Floats
    duals: _Floats


def solve_linear(relaxation: Relaxation) -> LinearOptimum | None:
    """Return the optimum of a relaxation, or None where HiGHS reports none."""
    from scipy.optimize import linprog  # noqa: PLC0415

    scale = max(1e-300, float(np.abs(relaxation.gain).max(initial=0.0)))
    has_equal = relaxation.equal.shape[0] > 0
    found = linprog(
        -relaxation.gain / scale,
        A_ub=relaxation.matrix if relaxation.matrix.shape[0] else None,
        b_ub=relaxation.high if relaxation.matrix.shape[0] else None,
        A_eq=relaxation.equal if has_equal else None,
        b_eq=relaxation.target if has_equal else None,
        bounds=np.stack([np.zeros(len(relaxation.upper)), relaxation.upper], axis=1),
        method="highs",
        options={"maxiter": _ITERATIONS + 20 * sum(relaxation.matrix.shape)},
    )
    if found.status != 0:
        return None
    duals = -np.asarray(found.ineqlin.marginals) * scale if relaxation.matrix.shape[0] else np.zeros(0)
    return LinearOptimum(np.asarray(found.x), np.maximum(0.0, duals))
