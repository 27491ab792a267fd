"""Runs: consecutive entries that belong together, one run after the other, as levels lie within jobs and cells within slots."""

import numpy as np
import numpy.typing as npt

__all__ = ["first_least", "least", "ramp", "spans", "total"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


def ramp(counts: _Indices) -> _Indices:
    """Return 0, 1, .., c - 1 for every count c, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def spans(first: _Indices, last: _Indices) -> tuple[_Indices, _Indices]:
    """Return the indices from every `first` up to, not including, its `last`, one run after the other, and where each run begins."""
    counts = last - first
    if (counts == 1).all():
        return first, np.arange(len(first))
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
    if len(starts) == len(values):
        return starts
    lowest = np.repeat(np.minimum.reduceat(values, starts), np.diff(np.append(starts, len(values))))
    where = np.flatnonzero(values == lowest)
    return np.asarray(where[np.searchsorted(where, starts)])


def least(values: _Floats, starts: _Indices) -> _Floats:
    """Return the least value of each run, none of them empty, shape ``(n_runs,)``; where every run is one entry, the values themselves."""
    return values if len(starts) == len(values) else np.minimum.reduceat(values, starts)


def total(values: _Floats, starts: _Indices) -> _Floats:
    """Return the sum of each run, none of them empty, shape ``(n_runs,)``; where every run is one entry, the values themselves."""
    return values if len(starts) == len(values) else np.add.reduceat(values, starts)
