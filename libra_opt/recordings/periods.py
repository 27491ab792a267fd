"""Samples to periods: means of what is compressible, highest values of what is not, NaN where nothing was sampled."""

from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.errors import Fault, InputError

__all__ = ["mean_per_period", "overlap_per_period", "peak_per_period", "shape_of"]

_MOST_CELLS: Final = 50_000_000


def shape_of(name: str, n_rows: int, n_periods: float) -> tuple[int, int]:
    """Return ``(n_rows, n_periods)``, the periods that have begun counted whole.

    Raises
    ------
    InputError
        There would be more than 50 million cells: the times of document `name` are hardly what they should be.
    """
    if max(1, n_rows) * n_periods > _MOST_CELLS:
        raise InputError(
            name, (Fault("", f"its times span {n_periods:.3g} periods of {n_rows:,} series, more than {_MOST_CELLS:,} values; are they in seconds?"),)
        )
    return n_rows, ceil(n_periods)


def mean_per_period(row: NDArray[np.int64], period: NDArray[np.int64], values: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the mean of the samples of each row in each period.

    Parameters
    ----------
    row, period, values
        Shape ``(n_samples,)``: whose sample, in which period, how much; NaN is no sample.
    shape
        ``(n_rows, n_periods)``.

    Examples
    --------
    >>> mean_per_period(np.array([0, 0, 0]), np.array([0, 0, 2]), np.array([1.0, 2.0, 5.0]), (1, 3))
    array([[1.5, nan, 5. ]])
    """
    known = ~np.isnan(values)
    cell = row[known] * shape[1] + period[known]
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, weights=values[known], minlength=shape[0] * shape[1])
    mean = np.full(count.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean.reshape(shape)


def peak_per_period(row: NDArray[np.int64], period: NDArray[np.int64], values: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the highest sample of each row in each period; parameters as in `mean_per_period`."""
    peak = np.full(shape, -np.inf)
    known = ~np.isnan(values)
    np.maximum.at(peak, (row[known], period[known]), values[known])
    return np.where(peak == -np.inf, np.nan, peak)


def overlap_per_period(
    start: NDArray[np.float64], end: NDArray[np.float64], weight: NDArray[np.float64], period_seconds: float, n_periods: int
) -> NDArray[np.float64]:
    """Return the mean, per period, of the sum of the weights of all intervals that are open, exact however short they are.

    Parameters
    ----------
    start, end
        Shape ``(n_intervals,)``, seconds from the start of period 0.
    weight
        Same shape: what an interval counts for while it is open.

    Returns
    -------
    ndarray
        Shape ``(n_periods,)``.

    Examples
    --------
    >>> overlap_per_period(np.array([5.0, 0.0]), np.array([15.0, 5.0]), np.array([1.0, 4.0]), 10.0, 2)
    array([2.5, 0.5])
    """
    moment = np.concatenate([start, end])
    change = np.concatenate([weight, -weight])
    order = np.argsort(moment, kind="stable")
    moment, level = moment[order], np.cumsum(change[order])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(moment))]) if len(moment) else np.zeros(0)
    edges = np.arange(n_periods + 1) * period_seconds
    until = np.interp(edges, moment, area) if len(moment) else np.zeros(n_periods + 1)
    mean: NDArray[np.float64] = np.maximum(np.diff(until), 0.0) / period_seconds
    return mean
