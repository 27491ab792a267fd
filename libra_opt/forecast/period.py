"""The period of a series: the lag at which it is most like itself.

Autocorrelation by the Wiener-Khinchin theorem (Box, Jenkins, Reinsel, *Time Series Analysis*, 5th ed., ch. 2): the inverse transform of the
power spectrum, all series and lags at once.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

__all__ = ["LEAST_CORRELATION", "detect_period"]

LEAST_CORRELATION: Final = 0.3
"""A lag at which the series is less like itself than this is no period."""

_LEAST_CYCLES: Final = 2
_SMALLEST: Final = 2
_ALMOST: Final = 0.95
_LANES: Final = 16
"""Rows are transformed this many at a time, so that none is treated otherwise because it is among the last."""


def detect_period(filled: NDArray[Any]) -> NDArray[np.int64]:
    """Return the period of each series, shape ``(n_series,)``; 1 where there is none.

    A period is a peak of the autocorrelation at a lag of 2 to half the history: the highest one that is above `LEAST_CORRELATION` and
    above both its neighbours; of two almost equal ones the shorter.

    Parameters
    ----------
    filled
        Shape ``(n_series, n_periods)``; leading NaN count as the first known value.
    """
    n_series, n_periods = filled.shape
    most = n_periods // _LEAST_CYCLES
    if most < _SMALLEST or not n_series:
        return np.ones(n_series, dtype=np.int64)
    centred = np.zeros((-(-n_series // _LANES) * _LANES, n_periods), dtype=np.float32)
    centred[:n_series] = _centred(filled)
    n_padded = next_fast_len(n_periods + most + 2, real=True)
    spectrum = rfft(centred, n_padded, axis=1)
    power = spectrum.real**2
    power += spectrum.imag**2
    covariance = irfft(power, n_padded, axis=1)[:n_series, : most + 2]
    covariance *= n_periods / (n_periods - np.arange(most + 2, dtype=np.float32))
    inner = covariance[:, _SMALLEST : most + 1]
    peak = inner > covariance[:, _SMALLEST - 1 : most]
    peak &= inner >= covariance[:, _SMALLEST + 1 :]
    peak &= inner > LEAST_CORRELATION * covariance[:, :1]
    height = inner * peak
    best = height.max(axis=1, keepdims=True)
    found: NDArray[np.int64] = np.where(best[:, 0] > 0, (height >= _ALMOST * best).argmax(axis=1) + _SMALLEST, 1)
    return found


def _centred(filled: NDArray[Any]) -> NDArray[np.float32]:
    """Return the values minus their mean, of the order of 1, with 0 where nothing is known."""
    if np.isnan(filled[:, 0]).any():
        known = ~np.isnan(filled)
        mean = np.where(known, filled, 0).sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
        centred = np.nan_to_num(filled - mean.astype(filled.dtype))
    else:
        centred = filled - filled.mean(axis=1, keepdims=True)
    if filled.dtype != np.float32:
        centred = centred / np.maximum(np.abs(centred).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    single: NDArray[np.float32] = centred.astype(np.float32, copy=False)
    return single
