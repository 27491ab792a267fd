"""The relaxation solved by HiGHS: the columns of an optimum and its duals."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.solvers.highs import Linear
from libra_opt.solvers.relaxation import Relaxation

__all__ = ["LinearOptimum", "solve_linear"]

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinearOptimum:
    """The columns, and the duals of the inequality rows in value per unit of the row (never negative)."""

    columns: _Floats
    duals: _Floats


def solve_linear(relaxation: Relaxation) -> LinearOptimum | None:
    """Return the optimum of a relaxation, or None where HiGHS reports none."""
    n_rows = relaxation.matrix.shape[0]
    matrix = sparse.vstack([relaxation.matrix, relaxation.equal]).tocsc()
    high = np.concatenate([relaxation.high, relaxation.target])
    low = np.concatenate([np.full(n_rows, -np.inf), relaxation.target])
    optimum = Linear(relaxation.gain, matrix, low, high, relaxation.upper).open()
    return LinearOptimum(optimum.columns, np.maximum(0.0, optimum.duals[:n_rows])) if optimum.is_optimal else None
