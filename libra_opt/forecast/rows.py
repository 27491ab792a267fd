"""Means of rows, each computed from its row alone: the same number whatever rows stand beside it, to the last bit.

So no matrix products here, whose sums are ordered by the shape of the whole.
"""

from collections.abc import Sequence

import numpy as np

from libra_opt.forecast.window import Floats, Window

__all__ = ["own_means", "row_means", "smoothed"]


def row_means(values: Floats) -> Floats:
    """Return the mean of the numbers in each row, shape ``(n_rows,)``; 0 where there is none."""
    mean: Floats = values.sum(axis=1, dtype=np.float32)
    mean /= np.float32(max(values.shape[1], 1))
    broken = np.isnan(mean)
    if broken.any():
        rows = values[broken]
        known = ~np.isnan(rows)
        mean[broken] = np.where(known, rows, np.float32(0)).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return mean


def own_means(window: Window, values: Floats, first: int) -> Floats:
    """Return the mean of the numbers in each row's own periods, shape ``(n_series,)``; the columns of `values` are the periods from `first` on."""
    return np.concatenate([row_means(values[rows, skipped:]) for rows, skipped in window.own(first)])


def smoothed(values: Floats, rates: Sequence[float], first: int = 0) -> list[Floats]:
    """Return the exponentially weighted mean of the values known at every period from `first` on, shape ``(n_series, n_periods - first)``, for each rate.

    It is NaN before the first value. Weights are normalised over what is known, so there is no first value to start from (Brown, *Smoothing, Forecasting
    and Prediction*, 1963).
    """
    gaps = np.isnan(values)
    known = np.ones((values.shape[1], 1), dtype=np.float32)
    if gaps.any():
        values, known = np.where(gaps, np.float32(0), values), ~gaps.T
    sums = _discounted(np.concatenate([values.T, known], axis=1, dtype=np.float32), rates, first)
    total, count = sums[:, :, : len(values)], sums[:, :, len(values) :]
    mean = np.divide(total, count, out=np.full(total.shape, np.nan, dtype=np.float32), where=count > 0)
    return list(np.ascontiguousarray(mean.transpose(1, 2, 0)))


def _discounted(columns: Floats, rates: Sequence[float], first: int) -> Floats:
    """Return the sums of all values up to each period from `first` on, an older one weighing ``1 - rate`` times as much as the next.

    Shape ``(n_periods - first, n_rates, n_columns)``.
    """
    keep = (1 - np.array(rates)).astype(np.float32)[:, None]
    total = np.empty((len(columns) - first, len(rates), columns.shape[1]), dtype=np.float32)
    running = np.repeat(columns[:1], len(rates), axis=0)
    for column in columns[1 : first + 1]:
        running *= keep
        running += column
    total[0] = running
    for column, before, after in zip(columns[first + 1 :], total, total[1:], strict=False):
        np.multiply(before, keep, out=after)
        np.add(after, column, out=after)
    return total
