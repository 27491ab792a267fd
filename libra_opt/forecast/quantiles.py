"""Predicted quantiles of series: one door to every method, at the level of plain arrays.

Pure: all that is chosen or calibrated is so by rolling origins inside the history that is given, and nothing is kept between calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast import holt_winters, points
from libra_opt.forecast.auto import EXPERTS
from libra_opt.forecast.combined import predict_combined
from libra_opt.forecast.empirical import around
from libra_opt.forecast.series import Series, fill
from libra_opt.forecast.statistical import STATISTICAL, predict_statistical

__all__ = ["METHODS", "Predicted", "predict_quantiles"]

_POINTS: Final[dict[str, points.PointMethod]] = {
    "last_value": points.last_value,
    "ewma": points.ewma,
    "ewma_reset": holt_winters.ewma_reset,
    "seasonal_naive": points.seasonal_naive,
    "holt_winters": holt_winters.holt_winters,
}
"""Methods that say a point; their own past errors make the spread around it."""

_FAMILIES: Final[dict[str, tuple[str, ...]]] = {
    "quantile_tracking": ("quantile_tracking",),
    "own_step": ("last_value", "own_step"),
    "auto": EXPERTS,
}
"""Methods that are combinations of experts."""

_CELLS_AT_ONCE: Final = 1 << 20

METHODS: Final = (*_POINTS, *_FAMILIES)
"""What `predict_quantiles` can be asked for without an extra."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """Quantiles of the next periods.

    Attributes
    ----------
    levels
        Shape ``(n_levels,)``, ascending, in (0, 1).
    values
        Shape ``(n_series, horizon, n_levels)``, finite, not negative, ascending along the levels.
    methods
        Which method was used for each series; of a combination, the one with the most weight.
    """

    levels: NDArray[np.float64]
    values: NDArray[np.float64]
    methods: tuple[str, ...]


def predict_quantiles(series: Series, levels: Sequence[float], *, horizon: int = 1, method: str = "auto", period: NDArray[np.int64] | None = None) -> Predicted:
    """Predict quantiles of the `horizon` periods after the last.

    Parameters
    ----------
    levels
        Ascending, in (0, 1).
    horizon
        How many periods, at least 1.
    method
        One of `METHODS`, or of `statistical.STATISTICAL`.
    period
        The season of each series where it is known, for ``seasonal_naive``; None: as detected.

    Raises
    ------
    MissingExtraError
        The method needs a package that is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> predict_quantiles(Series(np.array([[2.0, 2.0, 2.0]])), [0.1, 0.5, 0.9]).values[0, 0]
    array([2., 2., 2.])
    """
    asked = np.asarray(levels, dtype=np.float64)
    if method in _FAMILIES:
        values, methods = predict_combined(series, asked, horizon, _FAMILIES[method])
        return Predicted(asked, values, methods)
    measured = series.measured
    is_statistical = method in STATISTICAL
    values = predict_statistical(measured, asked, horizon, method) if is_statistical else _around_points(measured, asked, horizon, method, period)
    return Predicted(asked, values, (method,) * len(values))


def _around_points(
    measured: NDArray[np.float64], levels: NDArray[np.float64], horizon: int, method: str, period: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Return the quantiles of a method that says a point, shape ``(n_series, horizon, n_levels)``; some series at a time, as a method holds several arrays."""
    values = np.empty((len(measured), horizon, len(levels)))
    at_once = max(_CELLS_AT_ONCE // max(measured.shape[1], 1), 1)
    for start in range(0, len(measured), at_once):
        some = slice(start, start + at_once)
        filled = fill(measured[some])
        ahead = points.seasonal_naive(filled, None if period is None else period[some]) if method == "seasonal_naive" else _POINTS[method](filled)
        for h in range(1, horizon + 1):
            values[some, h - 1] = around(measured[some], ahead(h), h, levels)
    return values
