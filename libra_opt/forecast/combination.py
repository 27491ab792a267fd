"""The combination: every expert's quantiles, averaged with weights by how well each would have done at the latest origins.

Quantiles are averaged, not probabilities (Vincent averaging; Lichtendahl, Grushka-Cockayne, Winkler, *Is It Better to Average Probabilities or
Quantiles?*, Management Science 59, 2013). A weight is a power of the pinball loss, so the best expert leads and close ones share; points are combined
alike, by their mean absolute error, before the spread of the combined errors is taken (Bates and Granger, *The Combination of Forecasts*, 1969).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.rows import own_means, row_means
from libra_opt.forecast.window import SCORED, Floats, Told, Window

__all__ = ["blended", "point_weights", "quantile_weights"]

_POINT_POWER: Final = 6
_QUANTILE_POWER: Final = 8
_DOUBT: Final = 8
_FLOOR: Final = np.float32(1e-6)
"""Loss, as a share of the mean, below which experts are equally good."""


def point_weights(window: Window, members: Sequence[Floats], mean: Floats) -> Floats:
    """Return the weight of each point method by its mean absolute error, shape ``(n_members, n_series)``; the first member is the last value.

    Parameters
    ----------
    mean
        Shape ``(n_series,)``: of everything measured.
    """
    losses, n_changes = [], np.zeros(window.n_series, dtype=np.int64)
    for member, ahead in enumerate(members):
        errors = window.errors(ahead)
        np.abs(errors, out=errors)
        if not member:
            n_changes = _n_changes(errors)
        losses.append(own_means(window, errors, window.first))
    return _shares(np.stack(losses), mean, _POINT_POWER, _caution(n_changes, np.arange(len(members)) > 0))


def quantile_weights(window: Window, told: Sequence[Told], cautious: Sequence[bool], mean: Floats) -> Floats:
    """Return the weight of each expert by the mean pinball loss of its past quantiles, shape ``(n_experts, n_series)``.

    Parameters
    ----------
    cautious
        Which experts must earn their weight: where the series changed once or twice, they are taken to be worse than they were.
    mean
        Shape ``(n_series,)``: of everything measured.
    """
    losses = np.stack([_pinball(window.outcomes, expert) for expert in told])
    n_changes = _n_changes(window.outcomes - window.at_origins(window.filled[:, window.first :]))
    return _shares(losses, mean, _QUANTILE_POWER, _caution(n_changes, np.array(cautious)))


def _n_changes(errors: Floats) -> NDArray[np.int64]:
    """Return how many of the outcomes differ from the value before, shape ``(n_series,)``."""
    n_changes: NDArray[np.int64] = np.count_nonzero(np.abs(errors) > _FLOOR, axis=1)
    return n_changes


def _caution(n_changes: NDArray[np.int64], cautious: NDArray[np.bool_]) -> Floats:
    """Return what losses are multiplied by, shape ``(n_experts, n_series)``.

    After the first change of a flat series all experts have the same loss, though only the last value has seen the new level.
    """
    doubt = (_DOUBT / np.maximum(n_changes, 1) ** 2).astype(np.float32)
    return 1 + cautious[:, None] * doubt


def blended(told: Sequence[Told], weights: Floats, levels: slice) -> Told:
    """Return the weighted mean of the experts' quantiles; of the past ones only those of some of the scored `levels`."""
    past = np.zeros(told[0].past[levels].shape, dtype=np.float32)
    now = np.zeros(told[0].now.shape, dtype=np.float32)
    for expert, weight in zip(told, weights, strict=True):
        heard = weight > 0
        if heard.all():
            past += expert.past[levels] * weight[:, None]
            now += expert.now * weight[:, None]
        elif heard.any():
            past[:, heard] += expert.past[levels][:, heard] * weight[heard, None]
            now[heard] += expert.now[heard] * weight[heard, None]
    return Told(past, now)


def _pinball(outcomes: Floats, expert: Told) -> Floats:
    """Return the mean over levels and origins of ``max(q d, (q - 1) d) = (|d| + (2 q - 1) d) / 2``, with `d` the outcome minus the quantile."""
    total = np.zeros(outcomes.shape, dtype=np.float32)
    for level, quantile in zip(SCORED.tolist(), expert.past, strict=True):
        above = outcomes - quantile
        total += np.abs(above)
        if level != 0.5:
            above *= np.float32(2 * level - 1)
            total += above
    loss = row_means(total)
    loss /= 2 * len(SCORED)
    return loss if expert.able is None else np.where(expert.able, loss, np.float32(np.inf))


def _shares(losses: Floats, mean: Floats, power: int, factor: Floats) -> Floats:
    losses = losses + (_FLOOR * mean + np.float32(1e-30))
    losses *= factor
    ratio = losses.min(axis=0) / losses
    shares: Floats = ratio**power
    shares /= shares.sum(axis=0)
    return shares
