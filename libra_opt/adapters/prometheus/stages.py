"""From the series of a stage to one number per period; what cannot be known stays NaN."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.quantity import unit_factor

__all__ = ["StageValues", "across", "rounded", "together", "unit_ratio"]

StageValues: TypeAlias = dict[tuple[str, str | None], NDArray[np.float64]]
"""By field and resource what was measured of a stage, shape ``(n_periods,)``, NaN where nothing was."""

_DIGITS: Final = 9
_LARGEST: Final = 1e15


def across(series: Sequence[NDArray[np.float64]], how: str, longest_hole: int) -> NDArray[np.float64]:
    """Return what the series of one stage make together in each period, shape ``(n_periods,)``.

    A sum that lacks a part is no sum. So it is NaN where a series that is there has no value: inside a hole of at most `longest_hole` periods, and in the
    newest period alone, where it may be late. Before its first value, after its last and in longer holes a series is not there.
    """
    values = np.stack(series)
    lacking = np.isnan(values) & _is_there(values, longest_hole)
    known = ~np.isnan(values)
    total = np.where(known, values, 0).sum(axis=0)
    n_known = np.count_nonzero(known, axis=0)
    if how == "max":
        total = np.where(known, values, -np.inf).max(axis=0)
    elif how == "mean":
        total = total / np.maximum(n_known, 1)
    return np.where((n_known > 0) & ~lacking.any(axis=0), total, np.nan)


def _is_there(values: NDArray[np.float64], longest_hole: int) -> NDArray[np.bool_]:
    n_periods = values.shape[1]
    period, known = np.arange(n_periods), ~np.isnan(values)
    before = np.maximum.accumulate(np.where(known, period, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, period, n_periods)[:, ::-1], axis=1)[:, ::-1]
    hole: NDArray[np.bool_] = (before >= 0) & (after < n_periods) & (after - before - 1 <= longest_hole)
    if n_periods > 1:
        hole[:, -1] |= known[:, -2]
    return hole


def together(values: Sequence[NDArray[np.float64]], how: str) -> NDArray[np.float64]:
    """Return what several metrics of one stage make, in the order of the metrics, shape ``(n_periods,)``.

    Of the larger, one that is known is enough; a sum needs all.
    """
    if how == "first":
        return next((each for each in values if not np.isnan(each).all()), values[0])
    if how == "larger":
        return np.asarray(np.fmax.reduce(values))
    return np.asarray(np.sum(values, axis=0))


def unit_ratio(given: str, wanted: str) -> float | None:
    """Return how many of the unit of a resource one of the given unit is; none where the two are not of one kind."""
    if not given:
        return 1.0
    ours, theirs = unit_factor(wanted), unit_factor(given)
    if ours is None or theirs is None or wanted.endswith("/s") != given.endswith("/s"):
        return None
    return theirs / ours


def rounded(value: float) -> float | None:
    """Return a value as it is written: nine digits, so that a sum of floats does not tip an amount into the next quantum; none where it is no amount."""
    return float(f"{value:.{_DIGITS}g}") if 0 <= value <= _LARGEST else None
