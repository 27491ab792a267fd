"""Runs: consecutive entries that belong together, one run after the other, as levels lie within jobs and cells within slots."""

import numpy as np
import numpy.typing as npt

__all__ = ["first_least", "ramp", "spans"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


def ramp(counts: _Indices) -> _Indices:
    """Return 0, 1, .., c - 1 for every count c, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def spans(first: _Indices, last: _Indices) -> tuple[_Indices, _Indices]:
    """Return the indices from every `first` up to, not including, its `last`, one run after the other, and where each run begins."""
    counts = last - first
    starts = np.cumsum(counts) - counts
    return np.repeat(first - starts, counts) + np.arange(int(counts.sum())), starts


def first_least(values: _Floats, starts: _Indices) -> _Indices:
    """Return where each run, none of them empty, has its least value, the first of equal ones; shape ``(n_runs,)``.

    Parameters
    ----------
    values
        Of all runs, shape ``(n,)``.
    starts
        Where each run begins, shape ``(n_runs,)``.
    """
    if not len(starts):
        return starts
    least = np.repeat(np.minimum.reduceat(values, starts), np.diff(np.append(starts, len(values))))
    where = np.flatnonzero(values == least)
    return np.asarray(where[np.searchsorted(where, starts)])
