"""Waiting: what a stage would have used in periods in which it held nothing.

A job whose gang does not fit holds nothing and uses nothing, which tells nothing of its demand. While it waits it stays where it is in its step, so
what it would have used is what it did use in this phase: after the wait, before it, or, where the phase could not even begin, when it began the last time.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.phases import Phases

__all__ = ["would_use"]

_BEGINNING: Final = 2
"""The most of so many values measured first is what a phase begins with: the first may be a part of a period."""


def would_use(values: NDArray[np.float64], waited: NDArray[np.bool_], phases: Phases) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Fill in the periods of waiting in phases that are known.

    Parameters
    ----------
    values
        Shape ``(n_stages, n_resources, n_periods)``, NaN where nothing was measured or the stage waited.
    waited
        Shape ``(n_stages, n_periods)``.

    Returns
    -------
    tuple
        The values, shape of `values`; and whether the last period was filled from an earlier phase, shape ``(n_stages, n_resources)``.
    """
    n_periods = values.shape[2]
    period, known = np.arange(n_periods), ~np.isnan(values)
    first, last = period - phases.lasted, period + phases.left
    before = np.maximum.accumulate(np.where(known, period, -1), axis=2)
    after = np.minimum.accumulate(np.where(known, period, n_periods)[:, :, ::-1], axis=2)[:, :, ::-1]
    source = np.where(after <= last[:, None, :], after, np.where(before >= first[:, None, :], before, -1))
    held = np.take_along_axis(values, np.maximum(source, 0), axis=2)
    fillable = waited & (phases.phase >= 0)
    filled = np.where(fillable[:, None, :] & (source >= 0), held, values)
    unbegun = fillable[:, None, -1] & (source[:, :, -1] < 0)
    begun_with = _begun_with(values, known, phases)
    tail = unbegun[:, :, None] & (fillable & (period >= first[:, -1:]))[:, None, :]
    filled = np.where(tail, begun_with[:, :, None], filled)
    return filled, unbegun & ~np.isnan(begun_with)


def _begun_with(values: NDArray[np.float64], known: NDArray[np.bool_], phases: Phases) -> NDArray[np.float64]:
    """Return what the present phase began with the last time it was measured, shape ``(n_stages, n_resources)``; NaN where it never was."""
    period = np.arange(values.shape[2])
    earlier = (phases.phase == phases.phase[:, -1:]) & (period < period[-1] - phases.lasted[:, -1:])
    seen = known & earlier[:, None, :]
    newest = np.where(seen, period, -1).max(axis=2, initial=-1)
    began = newest - np.take_along_axis(phases.lasted, np.maximum(newest, 0), axis=1)
    within = seen & (period >= began[:, :, None])
    beginning = within & (np.cumsum(within, axis=2) <= _BEGINNING)
    most: NDArray[np.float64] = np.where(beginning, values, -1).max(axis=2, initial=-1)
    return np.where(most >= 0, most, np.nan)
