"""Point forecasts from every origin at once: what a method would have said in each past period, and what it says now.

Each method takes filled values of shape ``(n_series, n_periods)``, does once what is the same for every horizon, and returns a function of the horizon. Its
result has the same shape: column `t` is the prediction of period ``t + horizon`` made when only the periods up to `t` were known. So the differences to what
came are honest errors of past forecasts, at no further cost.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.period import detect_period

__all__ = ["RATES", "Ahead", "PointMethod", "ewma", "last_value", "seasonal_naive", "smooth"]

Ahead: TypeAlias = Callable[[int], NDArray[np.float64]]
PointMethod: TypeAlias = Callable[[NDArray[np.float64]], Ahead]

RATES: Final = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""Smoothing rates that `ewma` chooses from."""


def last_value(filled: NDArray[np.float64]) -> Ahead:
    """Predict the last value (Hyndman and Athanasopoulos, *Forecasting: Principles and Practice*, 3rd ed., section 5.2: naive method)."""
    return lambda _horizon: filled


def ewma(filled: NDArray[np.float64]) -> Ahead:
    """Predict the exponentially weighted mean, with the rate of `RATES` that has the least squared error on the series (ibid., section 8.1)."""
    levels = [smooth(filled, rate) for rate in RATES]

    def ahead(horizon: int) -> NDArray[np.float64]:
        chosen = np.full(filled.shape, np.nan)
        least = np.full(len(filled), np.inf)
        for level in levels:
            error = np.nansum((filled[:, horizon:] - level[:, :-horizon]) ** 2, axis=1)
            better = error < least
            chosen[better] = level[better]
            least = np.where(better, error, least)
        return chosen

    return ahead


def seasonal_naive(filled: NDArray[np.float64], period: NDArray[np.int64] | None = None) -> Ahead:
    """Predict what was one period of the season ago (ibid., section 5.2: seasonal naive method); the last value before there is one.

    Parameters
    ----------
    period
        Shape ``(n_series,)``, in periods of the series; None: as detected on the series.
    """
    season = np.maximum(detect_period(filled) if period is None else np.asarray(period, dtype=np.int64), 1)
    origin = np.arange(filled.shape[1])[None, :]

    def ahead(horizon: int) -> NDArray[np.float64]:
        back = (-(-horizon // season) * season)[:, None] - horizon
        seasonal = np.take_along_axis(filled, np.maximum(origin - back, 0), axis=1)
        predicted: NDArray[np.float64] = np.where((origin >= back) & ~np.isnan(seasonal), seasonal, filled)
        return predicted

    return ahead


def smooth(filled: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return the exponentially weighted mean of each series up to every period, begun at its first known value."""
    level = np.array(filled.T, order="C")
    for t in range(1, len(level)):
        before = level[t - 1]
        np.copyto(level[t], before + rate * (level[t] - before), where=~np.isnan(before))
    smoothed: NDArray[np.float64] = np.ascontiguousarray(level.T)
    return smoothed
