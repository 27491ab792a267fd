"""Last value: the next period is like the last one measured, give or take what one step has changed so far.

The naive forecast (Hyndman and Athanasopoulos, *Forecasting: Principles and Practice*, 3rd ed., section 5.2) with empirical one-step
uncertainty: relative changes instead of residuals, as demand is never negative and its swings grow with it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.demand import Demand
from libra_opt.forecast.method import Outlook
from libra_opt.forecast.observations import Observations

__all__ = ["LARGEST_RATIO", "LEAST_RATIOS", "PROBABILITIES", "LastValue"]

PROBABILITIES: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Middles of five equally likely classes, at which the ratios' quantiles become intensities."""

LEAST_RATIOS: Final = 4
"""With fewer ratios than this nothing is said about the spread."""

LARGEST_RATIO: Final = 4.0
"""Ratios are clamped to this: a start from next to nothing (one quantum, then a hundred) says little about a stage at work, and the factor it
would give multiplies every compressible resource."""

_DECIMALS: Final = 3


@dataclass(frozen=True, slots=True)
class LastValue:
    """Demand is the last known value; gaps are skipped, and what was never measured is 0.

    The intensities are quantiles of the ratios ``value[t + 1] / value[t]`` between successive known values, those of all compressible
    resources of a stage together, as R6 scales all of them by one factor. They describe what follows a demand above zero, so ratios
    from zero, which do not exist, are not missed. A ratio over a gap counts like any other: it errs to the wide side, while leaving it out would
    call a stage certain that is measured every other period. Where the outer fifths hold single ratios the spread is as rough as they are.

    The demand is taken as certain where fewer than `LEAST_RATIOS` ratios are known, where all five quantiles are 1, and where all are 0:
    a stage that always fell to nothing after a period of work is still at work now, and must not be planned as idle.
    """

    name: str = "last_value"

    def predict(self, observations: Observations, _demand: Demand | None = None) -> Outlook:
        """Return last values as they were used, and intensities rounded to three decimals (ratios of measurements carry no more)."""
        demand = np.where(observations.compressible, observations.last(), 0)
        return Outlook(demand, _intensity(*_ratios(observations)))


def _ratios(observations: Observations) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the clamped ratios of each stage, ascending and padded at the end, shape ``(n_stages, n_ratios)``, and how many each has."""
    quanta = observations.quanta[:, :, observations.compressible]
    n_stages, n_periods, _ = quanta.shape
    known = observations.known[:, :, observations.compressible]
    newest = np.maximum.accumulate(np.where(known, np.arange(n_periods)[:, None], 0), axis=1)
    before = np.take_along_axis(quanta, newest[:, :-1], axis=1)
    usable = known[:, 1:] & (before > 0)
    ratios = np.full(usable.shape, LARGEST_RATIO)
    np.divide(quanta[:, 1:], before, out=ratios, where=usable)
    ratios = np.minimum(ratios, LARGEST_RATIO).reshape(n_stages, -1)
    ratios.sort(axis=1)
    return ratios, usable.sum(axis=(1, 2), dtype=np.int64)


def _intensity(ratios: NDArray[np.float64], n_usable: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return quantiles of the first `n_usable` ratios of each row, shape ``(n_stages, n_factors)``.

    Between ranks they are interpolated in Hazen's way, so that five ratios are their own five quantiles.
    """
    certain = np.ones((len(ratios), len(PROBABILITIES)))
    if ratios.shape[1] < LEAST_RATIOS:
        return certain
    highest = np.maximum(n_usable - 1, 0)[:, None]
    rank = np.clip(n_usable[:, None] * np.array(PROBABILITIES) - 0.5, 0, highest)
    below = np.floor(rank).astype(np.int64)
    lower = np.take_along_axis(ratios, below, axis=1)
    upper = np.take_along_axis(ratios, np.minimum(below + 1, highest), axis=1)
    factors = np.round(lower + (rank - below) * (upper - lower), _DECIMALS)
    says_something = (n_usable >= LEAST_RATIOS) & factors.any(axis=1)
    return np.where(says_something[:, None], factors, certain)
