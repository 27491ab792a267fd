"""A linear program under construction: columns with a gain and a limit, rows that say at most, and what columns take of every set of pools in every block."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.simulation.truth import Vector
from libra_opt.solvers.highs import Linear

__all__ = ["Entries", "Rows"]

Entries: TypeAlias = Sequence[tuple[int, float]]
"""Columns and their coefficients."""


@dataclass(slots=True)
class Rows:
    """The program so far."""

    _entries: list[tuple[int, int, float]] = field(default_factory=list)
    _high: list[float] = field(default_factory=list)
    _gain: list[float] = field(default_factory=list)
    _upper: list[float] = field(default_factory=list)
    _taken: dict[tuple[int, int, int], list[tuple[int, float]]] = field(default_factory=dict)

    def column(self, upper: float, gain: float = 0.0) -> int:
        """Return a new column from 0 to `upper`."""
        self._gain.append(gain)
        self._upper.append(upper)
        return len(self._gain) - 1

    def row(self, entries: Entries, high: float) -> None:
        """Hold a sum of columns at or below a number."""
        self._entries += [(len(self._high), column, value) for column, value in entries]
        self._high.append(high)

    def at_most(self, column: int, other: int) -> None:
        """Hold a column at or below another one."""
        self.row([(column, 1.0), (other, -1.0)], 0.0)

    def least(self, columns: Sequence[int]) -> int:
        """Return a column that is at or below all of these."""
        if len(columns) == 1:
            return columns[0]
        least = self.column(1.0)
        for column in columns:
            self.at_most(least, column)
        return least

    def credit(self, worth: float, columns: Entries) -> int:
        """Return a column that counts a worth in proportion to the least of these columns times its lead, or whole."""
        credited = self.column(1.0, worth)
        for column, lead in columns:
            if lead < np.inf:
                self.row([(credited, 1.0), (column, -lead)], 0.0)
        return credited

    def take(self, use: Sequence[Vector], block: int, entries: Entries) -> None:
        """Enter what columns take in a block.

        Parameters
        ----------
        use
            Per set of pools, unit-seconds of every resource per unit of the entries; a set without stages of the job has no amounts.
        """
        for which, amounts in enumerate(use):
            for r, amount in enumerate(amounts):
                if amount > 0:
                    self._taken.setdefault((which, r, block), []).extend((column, amount * value) for column, value in entries)

    def linear(self, capacity: npt.NDArray[np.float64]) -> Linear:
        """Return the program, with what is taken held at or below capacity.

        Parameters
        ----------
        capacity
            Unit-seconds, shape ``(n_sets, n_resources, n_blocks)``.
        """
        for at, entries in sorted(self._taken.items()):
            available = float(capacity[at])
            unit = available or 1.0
            self.row([(column, amount / unit) for column, amount in entries], available / unit)
        self._taken = {}
        row, column, value = zip(*self._entries, strict=True) if self._entries else ((), (), ())
        shape = (len(self._high), len(self._gain))
        matrix = sparse.csc_array((np.array(value, dtype=np.float64), (np.array(row, dtype=np.intp), np.array(column, dtype=np.intp))), shape=shape)
        high = np.array(self._high)
        return Linear(np.array(self._gain), matrix, np.full(len(high), -np.inf), high, np.array(self._upper))
