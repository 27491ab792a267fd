"""The forest of queues as arrays: sums over all that is below a queue, prices along the way up, and what is reserved below (R10).

Tables of queues have one row more, for jobs outside every queue; it stands for the cluster itself, above every root. Where no queue has a parent the sums
are the tables themselves, so nothing is copied or added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from libra_opt.domain.queue_tree import top_down

__all__ = ["Forest", "plant"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Forest:
    """Who is above whom.

    Attributes
    ----------
    parent
        Of every queue the row above it, the last row for roots and for itself, shape ``(n_queues + 1,)``.
    layers
        Rows that have a queue above them, level by level, the highest first.
    """

    parent: _Indices
    layers: tuple[_Indices, ...]

    @property
    def is_flat(self) -> bool:
        """Whether no queue has another above it."""
        return not self.layers

    @cached_property
    def roots(self) -> _Indices:
        """The rows below which all others are: roots, and the last row."""
        return np.flatnonzero(self.parent == len(self.parent) - 1)

    @cached_property
    def paths(self) -> tuple[slice | _Indices, ...]:
        """Of every row, itself and all above it, to index tables with; the last row is on no path but its own."""
        last = len(self.parent) - 1
        if self.is_flat:
            return tuple(slice(q, q + 1) for q in range(last + 1))
        paths: list[slice | _Indices] = []
        for q in range(last + 1):
            way = [q]
            while self.parent[way[-1]] != last and q != last:
                way.append(int(self.parent[way[-1]]))
            paths.append(np.array(way, dtype=np.intp))
        return tuple(paths)

    def under(self, rows: _Indices, above: int) -> _Flags:
        """Return which of some rows are a given one, or below it."""
        if self.is_flat:
            return np.asarray(rows == above)
        below = np.zeros(len(self.parent), dtype=np.bool_)
        below[above] = True
        for layer in self.layers:
            below[layer] |= below[self.parent[layer]]
        return np.asarray(below[rows])

    def gathered(self, own: _Floats) -> _Floats:
        """Return what every queue and all below it have together, of what each has of its own; shape ``(n_queues + 1, ..)``."""
        if self.is_flat:
            return own
        together = own.copy()
        for layer in reversed(self.layers):
            np.add.at(together, self.parent[layer], together[layer])
        return together

    def inherited(self, price: _Floats) -> _Floats:
        """Return, of every queue, its own price and all those above it, added up; shape ``(n_queues + 1, ..)``."""
        if self.is_flat:
            return price
        added = price.copy()
        for layer in self.layers:
            added[layer] += added[self.parent[layer]]
        return added

    def of_children(self, table: _Floats) -> _Floats:
        """Return what the queues right below each have, added up; nothing for the last row; shape ``(n_queues + 1, ..)``."""
        summed = np.zeros_like(table)
        for layer in self.layers:
            np.add.at(summed, self.parent[layer], table[layer])
        return summed

    def over_roots(self, table: _Floats) -> _Floats:
        """Return the sum over roots and the last row, shape ``(..,)``."""
        return np.asarray(table.sum(axis=0) if self.is_flat else table[self.roots].sum(axis=0))

    def idle(self, together: _Floats, reserved: _Floats) -> _Floats:
        """Return what is reserved below every queue, itself included, and not in use; shape ``(n_queues + 1, ..)``.

        Parameters
        ----------
        together
            What every queue uses with all below it.
        """
        idle = np.maximum(0.0, reserved - together)
        for layer in reversed(self.layers):
            below = np.zeros_like(idle)
            np.add.at(below, self.parent[layer], idle[layer])
            np.maximum(idle, below, out=idle)
        return idle

    def raised(self, reserve: _Floats, ceiling: _Floats) -> _Floats:
        """Return the least prices of reserves, none below those given, at which no queue pays less than what those below it pay beyond its ceiling's price."""
        if self.is_flat:
            return reserve
        raised = reserve.copy()
        for layer in reversed(self.layers):
            above = self.parent[layer]
            np.maximum.at(raised, above, raised[layer] - ceiling[above])
        return raised


def plant(parents: Sequence[int]) -> Forest:
    """Return the forest of queues whose parents are given by index, -1 for a root."""
    last = len(parents)
    parent = np.array([*(last if above < 0 else above for above in parents), last], dtype=np.intp)
    level = np.zeros(last + 1, dtype=np.intp)
    if any(above >= 0 for above in parents):
        for q in top_down(parents):
            level[q] = 0 if parents[q] < 0 else level[parents[q]] + 1
    return Forest(parent, tuple(np.flatnonzero(level == depth) for depth in range(1, int(level.max(initial=0)) + 1)))
