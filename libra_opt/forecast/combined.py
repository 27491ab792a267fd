"""Whole series through the windows: what is constant or unknown is told exactly, all else by the experts, and the amounts come back in their own unit."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.auto import predict_window
from libra_opt.forecast.series import Series, fill
from libra_opt.forecast.window import Window
from libra_opt.forecast.windows import LONGEST, cut

__all__ = ["LEAST_ERRORS", "predict_combined"]

LEAST_ERRORS: Final = 4
"""With fewer past errors than this a series is told by its last value, and nothing is said about the spread: two changes are no trend."""

_CLOSE: Final = 1e-6
"""Amounts nearer to the last value than this share of it are the last value: single precision tells no more."""


def predict_combined(series: Series, levels: NDArray[np.float64], horizon: int, families: Sequence[str]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return quantiles, shape ``(n_series, horizon, n_levels)``, and what leads for each series.

    Parameters
    ----------
    families
        Experts to combine, of `auto.EXPERTS`.
    """
    measured = series.measured
    n_series, n_periods = measured.shape
    if not n_series or not n_periods:
        return np.zeros((n_series, horizon, len(levels))), ("last_value",) * n_series
    last = np.nan_to_num(fill(measured)[:, -1])
    recent = measured[:, -LONGEST:]
    largest, smallest = np.fmax.reduce(recent, axis=1), np.fmin.reduce(recent, axis=1)
    moving = largest > smallest
    values = np.repeat(last, horizon * len(levels)).reshape(n_series, horizon, len(levels))
    methods = np.full(n_series, "last_value", dtype=object)
    for part in cut(series, recent, largest, moving, horizon):
        rows = part.rows[part.moving]
        n_ahead = min(horizon, part.measured.shape[1] - LEAST_ERRORS)
        if n_ahead < 1:
            continue
        for h in range(1, n_ahead + 1):
            told, names = predict_window(Window(part.measured, part.filled, part.lead, h, part.parts), part.places, levels, families)
            values[rows, h - 1] = told[part.moving] * largest[rows, None]
            if h == 1:
                methods[rows] = np.array(names, dtype=object)[part.moving]
        values[rows, n_ahead:] = values[rows, n_ahead - 1, None]
    np.maximum(values, 0, out=values)
    np.maximum.accumulate(values, axis=2, out=values)
    close = np.abs(values - last[:, None, None]) <= _CLOSE * last[:, None, None]
    np.copyto(values, last[:, None, None], where=close)
    return values, tuple(methods.tolist())
