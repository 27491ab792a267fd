"""Runs of entries laid out rank by rank: the first entries of all runs, then the second ones of those that have one, and so on, the longest runs first.

What is done to every run then is done to few whole arrays, one for each rank, however short the runs are (the jagged diagonals of Saad, *Krylov subspace
methods on supercomputers*, 1989).
"""

import numpy as np
import numpy.typing as npt

__all__ = ["Ranks"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


class Ranks:
    """The layout of runs that follow each other, none of them empty.

    Attributes
    ----------
    run
        The runs in the order of this layout, shape ``(n_runs,)``.
    entry
        The entries in the order of this layout, shape ``(n_entries,)``.
    place
        Where in `entry` each entry is, shape ``(n_entries,)``.
    """

    def __init__(self, counts: _Indices) -> None:
        self.run = np.argsort(-counts, kind="stable")
        ordered, first = counts[self.run], (np.cumsum(counts) - counts)[self.run]
        n_ranks = int(ordered[0]) if len(ordered) else 0
        lengths = np.searchsorted(-ordered, -np.arange(n_ranks))
        ends = np.cumsum(lengths)
        self._parts = [(slice(0, n), slice(end - n, end)) for n, end in zip(lengths.tolist(), ends.tolist(), strict=True)]
        self.entry = np.concatenate([first[runs] + rank for rank, (runs, _) in enumerate(self._parts)]) if n_ranks else np.zeros(0, dtype=np.intp)
        self.place = np.empty(len(self.entry), dtype=np.intp)
        self.place[self.entry] = np.arange(len(self.entry))

    def least(self, values: _Floats) -> _Floats:
        """Return the least of each run."""
        least = values[: len(self.run)].copy()
        for runs, entries in self._parts[1:]:
            np.minimum(least[runs], values[entries], out=least[runs])
        return least

    def most(self, values: _Floats) -> _Floats:
        """Return the most of each run."""
        most = values[: len(self.run)].copy()
        for runs, entries in self._parts[1:]:
            np.maximum(most[runs], values[entries], out=most[runs])
        return most

    def total(self, values: _Floats) -> _Floats:
        """Return the sum of each run."""
        total = values[: len(self.run)].copy()
        for runs, entries in self._parts[1:]:
            total[runs] += values[entries]
        return total

    def spread(self, values: _Floats) -> _Floats:
        """Return for every entry the value of its run."""
        spread = np.empty(len(self.entry))
        for runs, entries in self._parts:
            spread[entries] = values[runs]
        return spread
