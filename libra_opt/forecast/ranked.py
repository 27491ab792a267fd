"""Quantiles of many rows at once: the rows are sorted once, then any level is read off.

Between ranks values are interpolated in Hazen's way: the `i`-th of `n` sorted values, from 0, is the quantile at ``(i + 0.5) / n`` (Hyndman and Fan,
*Sample Quantiles in Statistical Packages*, The American Statistician 50, 1996, definition 5).
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ranked", "rank"]

_Float = TypeVar("_Float", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Ranked(Generic[_Float]):
    """Rows of ascending numbers.

    Attributes
    ----------
    ascending
        Shape ``(n_rows, n_values)``, NaN last.
    n_known
        Shape ``(n_rows,)``: how many numbers each row has; None: as many as there are columns.
    """

    ascending: NDArray[_Float]
    n_known: NDArray[np.int64] | None = None

    def at(self, levels: NDArray[np.float64]) -> NDArray[_Float]:
        """Return the quantiles of each row, shape ``(n_rows, n_levels)``; NaN for a row without a number."""
        n_rows, n_values = self.ascending.shape
        if not n_values:
            return np.full((n_rows, len(levels)), np.nan, dtype=self.ascending.dtype)
        kind = self.ascending.dtype
        if self.n_known is None:
            position = np.minimum(np.maximum(n_values * levels - 0.5, 0), n_values - 1)
            below = position.astype(np.int64)
            share = (position - below).astype(kind)
            lower, upper = self.ascending[:, below], self.ascending[:, np.minimum(below + 1, n_values - 1)]
        else:
            highest = np.maximum(self.n_known - 1, 0)[:, None]
            position = np.minimum(np.maximum(self.n_known[:, None] * levels - 0.5, 0), highest)
            below = position.astype(np.int64)
            share = (position - below).astype(kind)
            row = np.arange(n_rows)[:, None]
            lower, upper = self.ascending[row, below], self.ascending[row, np.minimum(below + 1, highest)]
        upper -= lower
        upper *= share
        upper += lower
        return upper


def rank(values: NDArray[_Float]) -> Ranked[_Float]:
    """Sort every row of ``(n_rows, n_values)``; NaN are left aside."""
    ascending = np.sort(values, axis=1)
    if not ascending.shape[1] or not np.isnan(ascending[:, -1]).any():
        return Ranked(ascending)
    return Ranked(ascending, ascending.shape[1] - np.isnan(ascending).sum(axis=1))
