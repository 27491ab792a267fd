"""Scores of predicted quantiles against what came: loss, coverage, width, calibration. Arrays in, arrays out.

Sources: the pinball loss of Koenker and Bassett, *Regression Quantiles* (Econometrica 46, 1978), a proper score of quantiles (Gneiting and Raftery, JASA
102, 2007); where predicted quantiles coincide with what came, the probability integral transform spread evenly over them (Czado, Gneiting and Held,
*Predictive Model Assessment for Count Data*, Biometrics 65, 2009).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["below", "covered", "pinball"]

_EQUAL: Final = 1e-9


def pinball(predicted: NDArray[np.float64], levels: NDArray[np.float64], actual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean pinball loss over the levels, in the unit of the values.

    Parameters
    ----------
    predicted
        Shape ``(..., n_levels)``.
    levels
        Shape ``(n_levels,)``.
    actual
        Shape ``(...)``; NaN gives NaN.

    Examples
    --------
    >>> pinball(np.array([[1.0, 3.0]]), np.array([0.5, 0.9]), np.array([2.0]))
    array([0.3])
    """
    error = actual[..., None] - predicted
    loss: NDArray[np.float64] = np.maximum(levels * error, (levels - 1) * error).mean(axis=-1)
    return loss


def covered(low: NDArray[np.float64], high: NDArray[np.float64], actual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 where ``low <= actual <= high`` (up to a relative 1e-9), else 0; NaN where nothing came."""
    slack = _EQUAL * np.abs(actual)
    inside = (low - slack <= actual) & (actual <= high + slack)
    return np.where(np.isnan(actual), np.nan, inside.astype(np.float64))


def below(predicted: NDArray[np.float64], levels: NDArray[np.float64], actual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far what came counts as at or under each predicted quantile: 1 below it, 0 above it, a part where it is tied with several.

    Its mean over many predictions is each level itself where the forecast is calibrated, also where values repeat exactly, as counts and idle
    periods do: a closed interval then covers more than its level without being too wide.

    Parameters
    ----------
    predicted
        Shape ``(..., n_levels)``, ascending along the levels.
    levels
        Shape ``(n_levels,)``, ascending.
    actual
        Shape ``(...)``; NaN gives NaN.

    Examples
    --------
    >>> below(np.array([[0.0, 0.0, 4.0]]), np.array([0.25, 0.5, 0.75]), np.array([0.0])).round(2)
    array([[0.33, 0.67, 1.  ]])
    """
    slack = _EQUAL * np.abs(actual)[..., None]
    edges = np.concatenate([[0.0], levels, [1.0]])
    low = edges[(predicted < actual[..., None] - slack).sum(axis=-1)]
    high = edges[(predicted <= actual[..., None] + slack).sum(axis=-1) + 1]
    share: NDArray[np.float64] = np.clip((levels - low[..., None]) / (high - low)[..., None], 0.0, 1.0)
    return np.where(np.isnan(actual)[..., None], np.nan, share)
