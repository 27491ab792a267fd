"""Quantiles by a method's own past errors: the textbook way to put an interval around a point (Hyndman and Athanasopoulos, section 5.5)."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["around", "quantiles_of"]


def around(measured: NDArray[np.float64], ahead: NDArray[np.float64], horizon: int, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of the period that is `horizon` ahead, shape ``(n_series, n_levels)``, not negative.

    Parameters
    ----------
    measured
        Shape ``(n_series, n_periods)``, NaN where nothing was measured.
    ahead
        Same shape: what the method said at each period of the one `horizon` later.
    """
    now = np.nan_to_num(ahead[:, -1:]) if ahead.shape[1] else np.zeros((len(ahead), 1))
    errors = measured[:, horizon:] - ahead[:, : max(ahead.shape[1] - horizon, 0)]
    spread: NDArray[np.float64] = np.maximum(now + np.nan_to_num(quantiles_of(errors, levels)), 0)
    return spread


def quantiles_of(values: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return empirical quantiles of each row, shape ``(n_series, n_levels)``, NaN left aside; NaN where a row has no number.

    Between ranks they are interpolated in Hazen's way: the `i`-th of `n` sorted values (from 0) is the quantile at ``(i + 0.5) / n``.
    """
    n_rows, n_values = values.shape
    if not n_values:
        return np.full((n_rows, len(levels)), np.nan)
    ascending = np.sort(values, axis=1)
    n_known = n_values - np.isnan(ascending).sum(axis=1)
    highest = np.maximum(n_known - 1, 0)[:, None]
    rank = np.clip(n_known[:, None] * levels - 0.5, 0, highest)
    below = rank.astype(np.int64)
    lower = np.take_along_axis(ascending, below, axis=1)
    upper = np.take_along_axis(ascending, np.minimum(below + 1, highest), axis=1)
    between: NDArray[np.float64] = lower + (rank - below) * (upper - lower)
    return between
