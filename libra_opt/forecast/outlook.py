"""From predicted quantiles to what the program plans with: a demand in whole quanta and equally likely intensities of it (R6)."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.demand import Demand
from libra_opt.forecast.last_value import LARGEST_RATIO, PROBABILITIES
from libra_opt.forecast.method import Outlook
from libra_opt.forecast.observations import UNKNOWN, Observations, Signals
from libra_opt.forecast.quantiles import predict_quantiles
from libra_opt.forecast.series import Series
from libra_opt.forecast.staying import staying, within_phase

__all__ = ["Quantiles", "whole"]

_MIDDLE: Final = PROBABILITIES.index(0.5)
_DECIMALS: Final = 3
_SLACK: Final = 1e-3
"""Demand is rounded up to whole quanta, but not for a thousandth of one."""

_MOST_CUT: Final = 0.1
"""Nor for a share that is within its own scatter, at most a tenth: one card that is measured with an error is not two; the intensities tell the rest."""

_LOOKING_INTO_STEPS: Final = ("auto", "own_step")
_KNOWING: Final = ("own_step", "seasonal_naive")
_CERTAIN: Final = 0.03
"""Intensities that differ by no more are those of a certain demand: so small a difference would only decide between jobs that are equal."""

_CLOSE: Final = 1e-6
_LARGEST: Final = float((1 << 63) - 1024)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Plans with the quantiles that a method of `predict_quantiles` predicts, those of several periods averaged.

    The demand is the median; more, where the highest quantile would else be beyond `LARGEST_RATIO` times it. The intensities are the quantiles over
    the demand, the mean over the compressible resources that have one, as R6 scales all of them by one factor. Where the newest period was held back by
    its allocation, the demand estimated for it is the least, unless what leads the forecast knows what comes after (the job's own steps, the season).

    Attributes
    ----------
    name
        Which method predicts.
    horizon
        Over how many periods the next one's quantiles are averaged.
    lookahead
        How many periods are told of in all, each of those after the next by its own quantiles.
    """

    name: str = "auto"
    horizon: int = 1
    lookahead: int = 1

    def predict(self, observations: Observations, demand: Demand) -> Outlook:
        """Return demand and intensities, these rounded to three decimals (they carry no more)."""
        last = observations.last()[:, observations.compressible].reshape(-1)
        values = _without_spike(demand.values.reshape(-1, demand.values.shape[2]), last)
        predicted = predict_quantiles(_series(values, observations.signals), PROBABILITIES, horizon=max(self.horizon, self.lookahead), method=self.name)
        next_period = _at_least(
            predicted.values[:, : self.horizon].mean(axis=1), np.where(_expects_change(predicted.methods), 0, demand.last_raised.reshape(-1))
        )
        if self.name in _LOOKING_INTO_STEPS and (stay := staying(observations.signals, len(observations.quanta), self.horizon)) is not None:
            within = within_phase(values, stay, PROBABILITIES, LARGEST_RATIO)
            next_period = np.where(np.isnan(within), next_period, within)
        periods = [next_period, *(predicted.values[:, step] for step in range(1, self.lookahead))]
        (first, intensity), *ahead = [_planned(observations, quantiles, last) for quantiles in periods]
        return Outlook(first, intensity, _leading(predicted.methods, np.asarray(~np.isnan(demand.values).all(axis=2))), tuple(ahead))


def _planned(observations: Observations, quantiles: NDArray[np.float64], last: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return demand and intensities of one period from its predicted quantiles."""
    n_stages, n_resources = len(observations.quanta), int(observations.compressible.sum())
    middle = np.maximum(quantiles[:, _MIDDLE], quantiles[:, -1] / LARGEST_RATIO)
    scatter = (quantiles[:, -1] - quantiles[:, 0]) / np.where(middle > 0, middle, 1)
    quanta = whole(middle, last, np.clip(scatter, 0, _MOST_CUT))
    whole_demand = np.zeros((n_stages, len(observations.compressible)), dtype=np.int64)
    whole_demand[:, observations.compressible] = quanta.reshape(n_stages, n_resources)
    ratios = np.minimum(quantiles / np.maximum(quanta, 1)[:, None], LARGEST_RATIO).reshape(n_stages, n_resources, len(PROBABILITIES))
    wanted = (quanta > 0).reshape(n_stages, n_resources, 1)
    intensity = np.round((ratios * wanted).sum(axis=1) / np.maximum(wanted.sum(axis=1), 1), _DECIMALS)
    intensity[~intensity.any(axis=1) | (np.abs(intensity - 1) <= _CERTAIN).all(axis=1)] = 1
    return whole_demand, intensity


def _expects_change(methods: tuple[str, ...]) -> NDArray[np.bool_]:
    return np.isin(np.array(methods, dtype=np.str_), _KNOWING)


def whole(amounts: NDArray[np.float64], last: NDArray[np.int64], slack: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round amounts in quanta up, but to what is nearer where that is no more than the share `slack` below.

    What is as good as the last value is that, with every digit.
    """
    wanted = np.minimum(amounts * (1 - _CLOSE) - _SLACK, _LARGEST)
    below = np.floor(wanted)
    is_nearer = (below >= 1) & (wanted <= below * (1 + slack)) & (wanted < below + 0.5)
    rounded = np.where(is_nearer, below, np.ceil(wanted)).astype(np.int64)
    return np.where(np.abs(amounts - last) <= _CLOSE * last, last, np.maximum(rounded, 0))


def _series(values: NDArray[np.float64], signals: Signals | None) -> Series:
    """Return the series with the places that are known: one that waits does not get on, so without progress its place is not told by time."""
    if signals is None or not len(values) or not ((signals.step >= 0) | (signals.phase >= 0)).any():
        return Series(values)
    phase = np.where(signals.waited & np.isnan(signals.progress), UNKNOWN, signals.phase)
    return Series(
        values,
        signals.step if (signals.step >= 0).any() else None,
        phase if (signals.phase >= 0).any() else None,
        signals.progress if (signals.progress >= 0).any() else None,
    )


def _without_spike(values: NDArray[np.float64], last: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cut the largest value of a series to `LARGEST_RATIO` times the second largest, or the last where that is more: one spike is no pattern."""
    largest = np.fmax.reduce(values, axis=1, initial=0)
    others = np.nansum(values, axis=1) - largest
    rows = np.flatnonzero(LARGEST_RATIO * others < largest * values.shape[1])
    if not len(rows):
        return values
    known = np.nan_to_num(values[rows], nan=-1)
    known[np.arange(len(rows)), known.argmax(axis=1)] = -1
    cut = values.copy()
    cut[rows] = np.minimum(values[rows], LARGEST_RATIO * np.maximum(known.max(axis=1, initial=-1), last[rows])[:, None])
    return cut


def _at_least(quantiles: NDArray[np.float64], least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Raise the quantiles whose median is below `least`, all in proportion, but none beyond `LARGEST_RATIO` times it, as next to 0 proportions say nothing.

    Where the median is 0, each is raised to `least`.
    """
    middle, least = quantiles[:, _MIDDLE, None], least[:, None]
    scaled = np.minimum(quantiles * (least / np.where(middle > 0, middle, 1)), np.maximum(quantiles, LARGEST_RATIO * least))
    return np.where(middle < least, np.where(middle > 0, scaled, np.maximum(quantiles, least)), quantiles)


def _leading(methods: tuple[str, ...], measured: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return what leads for the first compressible resource of each stage that was measured."""
    n_stages, n_resources = measured.shape
    first = measured.argmax(axis=1) if n_resources else np.zeros(n_stages, dtype=np.int64)
    return tuple(methods[i * n_resources + r] for i, r in enumerate(first.tolist())) if n_resources else ("last_value",) * n_stages
