"""A mixed-integer program in neutral arrays, and how one is written row by row; what the direct form is written in."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["Columns", "DirectForm", "Entries"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]

Entries = tuple[npt.ArrayLike, _Indices, npt.ArrayLike]
"""Rows counted from the first of a block, columns (-1 for one that does not exist and is 0), and coefficients."""


@dataclass(frozen=True)
class DirectForm:
    """``max gain @ x + constant`` under ``low <= A x <= high`` and ``lower <= x <= upper``, some of x whole.

    Attributes
    ----------
    gain, lower, upper, is_whole
        Shape ``(n_columns,)``.
    steps
        In how many whole steps per unit a column counts that need not be told so, in some optimum; 0 where none is known, shape ``(n_columns,)``.
    constant
        What no column decides.
    matrix
        Shape ``(n_rows, n_columns)``.
    low, high
        Shape ``(n_rows,)``; infinite where a row has one side only.
    """

    gain: _Floats
    constant: float
    lower: _Floats
    upper: _Floats
    is_whole: _Flags
    steps: _Floats
    matrix: sparse.csr_array
    low: _Floats
    high: _Floats


@dataclass
class Columns:
    """A form under construction."""

    lower: list[_Floats] = field(default_factory=list)
    upper: list[_Floats] = field(default_factory=list)
    is_whole: list[_Flags] = field(default_factory=list)
    steps: list[_Floats] = field(default_factory=list)
    n_columns: int = 0
    row: list[_Indices] = field(default_factory=list)
    column: list[_Indices] = field(default_factory=list)
    coefficient: list[_Floats] = field(default_factory=list)
    low: list[_Floats] = field(default_factory=list)
    high: list[_Floats] = field(default_factory=list)
    n_rows: int = 0

    def add(
        self,
        shape: tuple[int, ...],
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        where: npt.ArrayLike = True,  # noqa: FBT002 - an array
        *,
        whole: bool,
        steps: float = 0,
    ) -> _Indices:
        """Add columns and return their numbers in an array of that shape, -1 where there is none."""
        exists = np.broadcast_to(np.asarray(where, dtype=np.bool_), shape)
        count = int(exists.sum())
        number = np.full(shape, -1, dtype=np.intp)
        number[exists] = self.n_columns + np.arange(count)
        self.lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), shape)[exists])
        self.upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), shape)[exists])
        self.is_whole.append(np.full(count, whole))
        self.steps.append(np.full(count, 1.0 if whole else float(steps)))
        self.n_columns += count
        return number

    def rows(self, count: int, low: npt.ArrayLike, high: npt.ArrayLike, *entries: Entries) -> None:
        """Add a block of `count` rows."""
        for row, column, coefficient in entries:
            rows, columns, coefficients = np.broadcast_arrays(row, column, np.asarray(coefficient, dtype=np.float64))
            used = (columns >= 0) & (coefficients != 0)
            self.row.append(self.n_rows + rows[used].astype(np.intp))
            self.column.append(columns[used])
            self.coefficient.append(coefficients[used])
        self.low.append(np.broadcast_to(np.asarray(low, dtype=np.float64), (count,)))
        self.high.append(np.broadcast_to(np.asarray(high, dtype=np.float64), (count,)))
        self.n_rows += count

    def form(self, gain: _Floats, constant: float) -> DirectForm:
        """Return the form; entries of one place add up, and rows without entries that hold are left out."""
        entries = np.concatenate(self.coefficient), (np.concatenate(self.row), np.concatenate(self.column))
        matrix = sparse.csr_array(entries, shape=(self.n_rows, self.n_columns))
        low, high = np.concatenate(self.low), np.concatenate(self.high)
        says = ((np.diff(matrix.indptr) > 0) & (np.isfinite(low) | np.isfinite(high))) | (low > 0) | (high < 0)
        return DirectForm(
            gain=gain,
            constant=constant,
            lower=np.concatenate(self.lower),
            upper=np.concatenate(self.upper),
            is_whole=np.concatenate(self.is_whole),
            steps=np.concatenate(self.steps),
            matrix=matrix[says],
            low=low[says],
            high=high[says],
        )
