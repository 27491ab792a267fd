"""`auto`: the experts that the history of a series allows, combined by how well each would have done on it, with adaptive intervals.

The experts are the last value, a combination of smoothings and the season, the latest values themselves (quantile tracking), and the job's own earlier steps
where they are recorded. Every one is cheap, as past forecasts fall out of the same arrays as the present one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.combination import blended, point_weights, quantile_weights
from libra_opt.forecast.conformal import SIDES, adapted
from libra_opt.forecast.located import located
from libra_opt.forecast.own_step import Places, own_step
from libra_opt.forecast.period import detect_period
from libra_opt.forecast.rows import own_means, smoothed
from libra_opt.forecast.tracking import tracked_always, tracked_long, tracked_short
from libra_opt.forecast.window import Floats, Told, Window

__all__ = ["EXPERTS", "predict_window"]

EXPERTS: Final = ("last_value", "smoothing", "quantile_tracking", "own_step")
"""Families that ``auto`` combines."""

_RATES: Final = (0.1, 0.35)
_POINTS: Final = ("last_value", *("ewma",) * len(_RATES), "seasonal_naive")


@dataclass(frozen=True, slots=True)
class Season:
    """The season of each series of a window.

    Attributes
    ----------
    rows
        Which series have one.
    period
        Shape of `rows`: how long it is.
    """

    rows: NDArray[np.int64]
    period: NDArray[np.int64]


def season_of(window: Window, places: Places | None) -> Season:
    """Detect which series have a season, but for jobs whose steps are known, as these say more."""
    stepless = np.ones(window.n_series, dtype=np.bool_)
    if places is not None:
        stepless = np.repeat(~places.repeats[0].any(axis=1), window.n_series // len(places.period))
    period = np.ones(window.n_series, dtype=np.int64)
    for rows, skipped in window.own(0):
        filled = window.filled[rows, skipped:]
        period[rows][stepless[rows]] = detect_period(filled if stepless[rows].all() else filled[stepless[rows]])
    seasonal = np.flatnonzero(period > 1)
    return Season(seasonal, period[seasonal])


def seasonal(window: Window, season: Season) -> Floats:
    """Return the mean of two views: what was one season ago, and the last value plus the change one season ago; without a season, the last value."""
    ahead = window.filled[:, window.first :].copy()
    if not len(season.rows):
        return ahead
    filled = window.filled[season.rows]
    origin = np.arange(window.first, window.n_periods)
    back = (-(-window.horizon // season.period) * season.period)[:, None]
    before = origin - back
    then = np.take_along_axis(filled, np.maximum(before, 0), axis=1)
    later = np.take_along_axis(filled, np.maximum(before + window.horizon, 0), axis=1)
    last = ahead[season.rows]
    view = np.maximum(last + later - then, 0)
    view += later
    view *= np.float32(0.5)
    ahead[season.rows] = np.where((before >= 0) & ~np.isnan(view), view, last)
    return ahead


@dataclass(frozen=True, slots=True)
class Expert:
    """What one expert says, and how it is called.

    Attributes
    ----------
    told
        Its quantiles.
    names
        What it is called, for each series.
    is_cautious
        Whether it must earn its weight (see `quantile_weights`).
    """

    told: Told
    names: NDArray[np.str_]
    is_cautious: bool = False


def predict_window(window: Window, places: Places | None, levels: NDArray[np.float64], families: Sequence[str] = EXPERTS) -> tuple[Floats, list[str]]:
    """Return the quantiles at `levels`, shape ``(n_series, n_levels)``, and the name of what leads for each series."""
    mean = own_means(window, window.measured, 0)
    experts = list(_experts(window, places, levels, families, mean))
    told = [expert.told for expert in experts]
    weights = quantile_weights(window, told, [expert.is_cautious for expert in experts], mean)
    leader = np.stack([expert.names for expert in experts])[weights.argmax(axis=0), np.arange(window.n_series)]
    return adapted(window, blended(told, weights, SIDES), levels), leader.tolist()


def _experts(window: Window, places: Places | None, levels: NDArray[np.float64], families: Sequence[str], mean: Floats) -> Iterator[Expert]:
    last = window.filled[:, window.first :]
    if "last_value" in families:
        yield Expert(located(window, last, window.errors(last), levels, scaled=False), np.full(window.n_series, "last_value"))
    if "smoothing" in families:
        members = [last, *smoothed(window.measured, _RATES, window.first), seasonal(window, season_of(window, places))]
        weights = point_weights(window, members, mean)
        ahead = members[0] * weights[0][:, None]
        for member, weight in zip(members[1:], weights[1:], strict=True):
            ahead += member * weight[:, None]
        names = np.array(_POINTS)[weights.argmax(axis=0)]
        yield Expert(located(window, ahead, window.errors(ahead), levels, scaled=True), names)
    if "quantile_tracking" in families:
        for told in (tracked_short(window, levels), tracked_long(window, levels), tracked_always(window, levels)):
            yield Expert(told, np.full(window.n_series, "quantile_tracking"), is_cautious=True)
    if "own_step" in families and places is not None:
        yield Expert(own_step(window, places, levels), np.full(window.n_series, "own_step"))
