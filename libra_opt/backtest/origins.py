"""Rolling origins: for each series some moments in its second half, what was known then, and what came after.

A cut copies the periods before its origin and nothing else, so whoever predicts from it cannot have seen what is to be predicted.

Source: Tashman, *Out-of-sample tests of forecasting accuracy* (International Journal of Forecasting 16, 2000): rolling origins, with a window of
fixed length.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.series import Series

__all__ = ["Cuts", "cut"]


@dataclass(frozen=True, slots=True)
class Cuts:
    """Cuts through the series of one resource.

    Attributes
    ----------
    row
        Shape ``(n_cuts,)``: whose cut, ascending.
    origin
        Same shape: how many periods of the series lie before the cut, ascending within a row.
    history
        One row per cut: the periods before the origin, newest last; NaN and -1 where the series had not begun.
    future
        Shape ``(n_cuts, horizon)``: what came next; NaN where nothing was measured or the series had ended.
    """

    row: NDArray[np.int64]
    origin: NDArray[np.int64]
    history: Series
    future: NDArray[np.float64]


def cut(series: Series, *, horizon: int, window: int, most_origins: int) -> Cuts:
    """Cut every series at evenly spaced origins in the second half of what was measured of it.

    Parameters
    ----------
    series
        Whole series.
    horizon
        Periods to predict, at least 1.
    window
        Periods of history that are given at most.
    most_origins
        Cuts per series at most; fewer where the half has fewer periods.
    """
    measured = series.measured
    row, origin = _origins(measured, horizon, most_origins)
    back = origin[:, None] + np.arange(-window, 0)
    ahead = origin[:, None] + np.arange(horizon)
    whose = row[:, None]
    inside = back >= 0
    history = Series(
        np.where(inside, measured[whose, np.maximum(back, 0)], np.nan),
        None if series.step is None else np.where(inside, series.step[whose, np.maximum(back, 0)], -1),
        None if series.phase is None else np.where(inside, series.phase[whose, np.maximum(back, 0)], -1),
        None if series.progress is None else np.where(inside, series.progress[whose, np.maximum(back, 0)], np.nan),
    )
    there = ahead < measured.shape[1]
    future = np.where(there, measured[whose, np.minimum(ahead, measured.shape[1] - 1)], np.nan)
    return Cuts(row, origin, history, future)


def _origins(measured: NDArray[np.float64], horizon: int, most_origins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, origins = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for i, values in enumerate(measured):
        known = np.flatnonzero(~np.isnan(values))
        if len(known) < 2:
            continue
        first, last = int(known[0]), int(known[-1])
        middle = first + (last - first + 1) // 2
        latest = max(middle, last - horizon + 1)
        chosen = np.unique(np.linspace(middle, latest, min(most_origins, latest - middle + 1)).round().astype(np.int64))
        origins.append(chosen)
        rows.append(np.full(len(chosen), i, dtype=np.int64))
    return np.concatenate(rows), np.concatenate(origins)
