"""Adaptive intervals: wider after misses, narrower after a long time without.

Each side of the interval is stretched by a factor that follows its own misses, as in adaptive conformal inference (Gibbs and Candes, *Adaptive
Conformal Inference Under Distribution Shift*, NeurIPS 2021), with the factor in place of the level (the "quantile tracker" of Angelopoulos, Candes,
Tibshirani, *Conformal PID Control for Time Series Prediction*, NeurIPS 2023). Computed anew from the history at every call: nothing is kept.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.window import SCORED, Floats, Told, Window

__all__ = ["SIDES", "adapted"]

_RATE: Final = 0.15
"""The logarithm of a factor grows by this at a miss, less this times the share of misses aimed at in every period."""

_MOST: Final = float(np.log(2.5))
_TINY: Final = np.float32(1e-9)

SIDES: Final = slice(0, None, 2)
"""Which of the scored levels are read: the lowest, the median and the highest."""


def adapted(window: Window, told: Told, levels: NDArray[np.float64]) -> Floats:
    """Return the quantiles of now, stretched away from the median on either side as the misses at past origins ask for, shape ``(n_series, n_levels)``.

    Parameters
    ----------
    told
        With the past quantiles of `SIDES`.
    """
    low, middle, high = told.past
    beyond = window.outcomes - middle
    reach = np.stack([middle - low, high - middle])
    np.maximum(reach, _TINY, out=reach)
    misses = np.maximum(np.stack([-beyond, beyond]) / reach, _TINY)
    factor = _stretch(np.ascontiguousarray(np.log(misses).transpose(2, 0, 1)))
    centre = _median(told.now, levels)
    stretched = told.now - centre
    stretched *= np.where(levels < 0.5, factor[0][:, None], factor[1][:, None])
    stretched += centre
    return stretched


def _stretch(misses: Floats) -> Floats:
    """Return the factor on the width of either side after all origins, shape ``(2, n_series)``.

    Parameters
    ----------
    misses
        Shape ``(n_origins, 2, n_series)``: logarithm of how far the outcome lay to that side, in widths of it; NaN where nothing was measured.
    """
    log_factor = np.zeros(misses.shape[1:], dtype=np.float32)
    aim = np.float32(SCORED[0] * _RATE)
    known = ~np.isnan(misses)
    steady = known.all()
    for outcome, seen in zip(misses, known, strict=True):
        step = (outcome > log_factor) * np.float32(_RATE)
        step -= aim
        log_factor += step if steady else step * seen
        np.minimum(log_factor, _MOST, out=log_factor)
    factor: Floats = np.exp(np.maximum(log_factor, -_MOST))
    return factor


def _median(now: Floats, levels: NDArray[np.float64]) -> Floats:
    """Return the median, or what the levels asked for allow to say of it, shape ``(n_series, 1)``."""
    right = int(np.searchsorted(levels, 0.5))
    if right == len(levels):
        return now[:, -1:]
    if right == 0 or levels[right] == 0.5:
        return now[:, right : right + 1]
    share = np.float32((0.5 - levels[right - 1]) / (levels[right] - levels[right - 1]))
    between: Floats = now[:, right - 1 : right] + share * (now[:, right : right + 1] - now[:, right - 1 : right])
    return between
