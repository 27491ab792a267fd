"""Two policies on the same seeds: how they differ, and how sure that is.

Seeds are paired: both policies met the same workload and the same noise, so seeds are resampled in pairs and what they share cancels out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal, Protocol
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interval", "difference", "ratio", "spread"]

_RESAMPLES: Final = 9999
_SAME: Final = 1e-12
_METHODS: Final[tuple[Literal["BCa", "percentile"], ...]] = ("BCa", "percentile")

_Sample = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its bootstrap interval.

    Attributes
    ----------
    value
        The estimate.
    low, high
        Ends of the interval; None where fewer than two seeds, or none in which the other did anything, say nothing of it.
    n
        Seeds it is from.
    method
        ``BCa``; ``percentile`` where that is not defined; ``exact`` where all seeds say the same; ``none`` where there is no interval.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    method: Literal["BCa", "percentile", "exact", "none"]


def ratio(ours: Sequence[float], theirs: Sequence[float], generator: np.random.Generator, *, level: float = 0.95) -> Interval | None:
    """Return the mean of ours over the mean of theirs, in pairs; None where theirs is nothing at all.

    A ratio of means, not a mean of ratios: a seed in which the other finishes next to nothing must not decide.

    Parameters
    ----------
    ours, theirs
        The measure of the same seeds in the same order, shape ``(n_seeds,)``.
    generator
        Draws the resamples.
    level
        Confidence of the interval.
    """
    if not theirs or float(np.mean(theirs)) == 0:
        return None
    return _interval(ours, theirs, _ratio_of_means, generator, level)


def difference(ours: Sequence[float], theirs: Sequence[float], generator: np.random.Generator, *, level: float = 0.95) -> Interval | None:
    """Return the mean of ours less theirs, in pairs; None without a seed. Parameters as for `ratio`."""
    return _interval(ours, theirs, _difference_of_means, generator, level) if ours else None


def spread(values: Sequence[float], generator: np.random.Generator, *, level: float = 0.95) -> Interval | None:
    """Return the mean over seeds with its interval; None without a seed."""
    return _interval(values, [0.0] * len(values), _difference_of_means, generator, level) if values else None


class _Statistic(Protocol):
    def __call__(self, ours: _Sample, theirs: _Sample, axis: int = -1) -> _Sample: ...


def _ratio_of_means(ours: _Sample, theirs: _Sample, axis: int = -1) -> _Sample:
    below = np.mean(theirs, axis=axis)
    return np.asarray(np.mean(ours, axis=axis) / np.where(below == 0, np.nan, below))


def _difference_of_means(ours: _Sample, theirs: _Sample, axis: int = -1) -> _Sample:
    return np.asarray(np.mean(ours - theirs, axis=axis))


def _interval(ours: Sequence[float], theirs: Sequence[float], statistic: _Statistic, generator: np.random.Generator, level: float) -> Interval:
    first, second = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    value, n = float(statistic(first, second)), len(ours)
    if n < 2:
        return Interval(value, None, None, n, "none")
    each = [float(statistic(np.delete(first, i), np.delete(second, i))) for i in range(n)]
    if all(abs(one - value) <= _SAME * max(1.0, abs(value)) for one in each):
        return Interval(value, value, value, n, "exact")
    for method in _METHODS:
        low, high = _bootstrap(first, second, statistic, method, level, generator)
        if isfinite(low) and isfinite(high):
            return Interval(value, low, high, n, method)
    return Interval(value, None, None, n, "none")


def _bootstrap(
    first: _Sample, second: _Sample, statistic: _Statistic, method: Literal["BCa", "percentile"], level: float, generator: np.random.Generator
) -> tuple[float, float]:
    from scipy.stats import bootstrap  # noqa: PLC0415 - heavy, and only comparisons need it

    with catch_warnings(), np.errstate(all="ignore"):
        simplefilter("ignore")  # a sample for which a method is not defined is told by its answer
        found = bootstrap(
            (first, second), statistic, paired=True, vectorized=True, n_resamples=_RESAMPLES, confidence_level=level, method=method, rng=generator
        ).confidence_interval
    return float(found.low), float(found.high)
