"""What a backtest found: per set, resource and method one score per series, so that any mean can be taken of them later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libra_opt.recordings.recording import Recording

__all__ = ["Backtest", "Example", "Intervals", "Need", "ResourceResult", "SetResult", "judged"]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Scores of one method on the series of one resource, each the mean over the series' predictions, shape ``(n_series,)``.

    Attributes
    ----------
    loss
        Mean pinball loss over the levels, divided by the mean of the series over its whole record.
    covered
        Share of values inside the interval, bounds included.
    calibrated
        The same with ties shared out over the levels that are tied.
    width
        Width of the interval, divided as the loss.
    below
        Shape ``(n_series, n_levels)``: share of values at or under each predicted quantile, ties shared out.
    """

    loss: NDArray[np.float64]
    covered: NDArray[np.float64]
    calibrated: NDArray[np.float64]
    width: NDArray[np.float64]
    below: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Need:
    """How the need covered the next period, shape ``(n_series,)``.

    Attributes
    ----------
    exceeded, periods
        Periods in which more was used than the need, of how many.
    excess
        Mean need over mean use, less 1: what the cover costs.
    """

    exceeded: NDArray[np.int64]
    periods: NDArray[np.int64]
    excess: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """One series with its predictions one period ahead, for a plot: that of the median loss.

    Attributes
    ----------
    label
        Whose it is.
    origin, actual, low, middle, high
        Shape ``(n_cuts,)``: which period, what came, and the interval and median predicted for it.
    """

    label: str
    origin: NDArray[np.int64]
    actual: NDArray[np.float64]
    low: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ResourceResult:
    """What was found about one resource of a set.

    Attributes
    ----------
    resource, unit, compressible
        As in the recording.
    labels
        The series scored.
    n_predictions
        Values predicted and measured, over all series.
    constant, short
        Series left out: those of one single value, which every method gets right, and those without a period to predict.
    methods
        Scores by method.
    need
        Of incompressible resources.
    example
        One series, as the method that is judged predicts it; None without series.
    """

    resource: str
    unit: str
    compressible: bool
    labels: tuple[str, ...]
    n_predictions: int
    constant: int
    short: int
    methods: Mapping[str, Intervals]
    need: Need | None
    example: Example | None


@dataclass(frozen=True, slots=True)
class SetResult:
    """What was found about one recording."""

    recording: Recording
    resources: tuple[ResourceResult, ...]


@dataclass(frozen=True, slots=True)
class Backtest:
    """A whole backtest.

    Attributes
    ----------
    sets
        By recording, in the order given.
    methods
        Their names; one of them is `judged`.
    levels
        Of the pinball loss.
    interval
        Levels of the bounds of the interval.
    horizon, window, most_origins
        As asked.
    coverage
        Of the need.
    """

    sets: tuple[SetResult, ...]
    methods: tuple[str, ...]
    levels: tuple[float, ...]
    interval: tuple[float, float]
    horizon: int
    window: int
    most_origins: int
    coverage: float


def judged(methods: Sequence[str]) -> str:
    """Return the method that is compared with the baselines: ``auto`` if it is there, else the last."""
    return "auto" if "auto" in methods else methods[-1]
