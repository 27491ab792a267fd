"""Staying: where a job's progress says that its phase goes on through the next periods, they are like the last.

Most of what is uncertain about the next period of a job is whether it will be in another phase by then. Where the job tells how far into its phase it is, that
is no question but near the end, so demand is the last of the phase, give or take what one period has changed within it so far, and memory is the last
measured in it and what it grew by. While nothing was measured in it but the period in which it began, which is partly another's, demand is what it was about
there the times before. Near the end, and where progress is not told, nothing is said here: the job's earlier steps know better.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.last_value import LEAST_RATIOS
from libra_opt.forecast.observations import Signals
from libra_opt.forecast.phases import Phases, phases_of
from libra_opt.forecast.recurrence import MOST_STEPS

__all__ = ["Staying", "staying", "within_phase"]

_FASTER: Final = 1.25
"""A phase may go on so many times faster than it did in any period of the latest times it was gone through."""

_TIMES: Final = 3
"""How often a phase was gone through, this time among them, of which the speed counts."""

_LATEST: Final = 1
"""How many periods ago the place may have been told last; the periods since are added to those ahead."""

_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Staying:
    """Which stages stay in their phase through the next periods, and since when they are in it.

    Attributes
    ----------
    stays
        Shape ``(n_stages,)``.
    since
        Shape ``(n_stages,)``: the period with which the present phase began; beyond the last where it is not known to stay.
    run
        Shape ``(n_stages, n_periods)``: the same number where the present phase went on, this time and before; -1 elsewhere, and in periods in which it began,
        as they are partly another's.
    near
        Same shape: where an earlier time of the phase was about as far as this one is, or will be in the next periods.
    """

    stays: NDArray[np.bool_]
    since: NDArray[np.int64]
    run: NDArray[np.int64]
    near: NDArray[np.bool_]


def staying(signals: Signals | None, n_stages: int, horizon: int = 1) -> Staying | None:
    """Tell which stages will be in their present phase to the end of the next `horizon` periods; None where none is known to.

    A phase is taken to go on `_FASTER` times as fast as in the fastest period of the latest `_TIMES` that it was gone through.
    """
    if signals is None or not n_stages:
        return None
    n_periods = signals.phase.shape[1]
    told = np.where((signals.phase >= 0) & ~np.isnan(signals.progress), np.arange(n_periods), -1).max(axis=1, initial=-1)
    age = n_periods - 1 - told
    rows = np.flatnonzero((told >= 0) & (age <= _LATEST))
    if not len(rows):
        return None
    phases = phases_of(signals.step[rows], signals.phase[rows])
    period = np.arange(n_periods)
    number = np.cumsum(phases.lasted == 0, axis=1)
    run = np.where(phases.phase == phases.phase[:, -1:], number, -1)
    done = signals.progress[rows]
    back = _times_back(run)
    lately = np.where(back < _TIMES, run, -1)
    speed = _speed(done, lately, phases)
    here = done[np.arange(len(rows)), told[rows]]
    stays = np.zeros(n_stages, dtype=np.bool_)
    since = np.full(n_stages, _NEVER)
    runs = np.full((n_stages, n_periods), -1)
    reach = _FASTER * speed * (horizon + age[rows])
    goes_on = (speed > 0) & (here + reach < 1) & (run[:, -1] >= 0)
    whole = np.where((phases.lasted == 0) & phases.is_begun, -1, run)
    with np.errstate(invalid="ignore"):
        is_earlier = (whole >= 0) & (run != run[:, -1:]) & (back <= MOST_STEPS)
        near = is_earlier & (done >= (here - speed)[:, None]) & (done <= (here + reach + speed)[:, None])
    stays, since = np.zeros(n_stages, dtype=np.bool_), np.full(n_stages, _NEVER)
    runs, nears = np.full((n_stages, n_periods), -1), np.zeros((n_stages, n_periods), dtype=np.bool_)
    stays[rows], runs[rows], nears[rows] = goes_on, whole, near & goes_on[:, None]
    since[rows] = np.where(goes_on, period[-1] - phases.lasted[:, -1], _NEVER)
    return Staying(stays, since, runs, nears) if goes_on.any() else None


def _times_back(run: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many times the present phase was gone through after each period, shape of `run`."""
    begins = run >= 0
    begins[:, 1:] &= run[:, 1:] != run[:, :-1]
    back: NDArray[np.int64] = begins.sum(axis=1, keepdims=True) - np.cumsum(begins, axis=1)
    return back


def _speed(done: NDArray[np.float64], run: NDArray[np.int64], phases: Phases) -> NDArray[np.float64]:
    """Return the most progress a period that the present phase can have made in the runs given, shape ``(n_rows,)``; 0 where nothing tells.

    It is told by two entries of a run; and a run that was told of in `n` periods lasted more than ``n - 1``.
    """
    period = np.arange(done.shape[1])
    told = (run >= 0) & ~np.isnan(done)
    before = np.full(done.shape, -1)
    before[:, 1:] = np.maximum.accumulate(np.where(told, period, -1), axis=1)[:, :-1]
    earlier = np.maximum(before, 0)
    same = told & (before >= 0) & (np.take_along_axis(run, earlier, axis=1) == run)
    made = np.where(same, (done - np.take_along_axis(done, earlier, axis=1)) / np.maximum(period - before, 1), 0)
    is_over = (run >= 0) & (run != run[:, -1:]) & phases.is_begun
    whole = np.where(is_over, 1 / np.maximum(phases.lasted + phases.left, 1), 0)
    fastest: NDArray[np.float64] = np.maximum(np.nan_to_num(made), whole).max(axis=1, initial=0)
    return fastest


def within_phase(values: NDArray[np.float64], stay: Staying, probabilities: tuple[float, ...], largest: float) -> NDArray[np.float64]:
    """Return quantiles of the next value of series that stay in their phase.

    They are the last value times quantiles of the ratios of successive values about there the times before; with fewer than `LEAST_RATIOS` of them, of those
    anywhere in the phase, this time and before; with fewer of these, the last value alone. Where nothing was measured since the phase began they are the
    values about there the times before.

    Parameters
    ----------
    values
        Shape ``(n_series, n_periods)``, NaN unknown; the same number of series for each stage, those of a stage together.
    largest
        Ratios are cut to this.

    Returns
    -------
    numpy.ndarray
        Shape ``(n_series, n_probabilities)``; NaN where the stage does not stay, or nothing was measured since its phase began, nor about there before.
    """
    n_each = len(values) // len(stay.stays)
    quantiles = np.full((len(values), len(probabilities)), np.nan)
    rows = np.flatnonzero(np.repeat(stay.stays, n_each))
    if not len(rows):
        return quantiles
    of, stage = values[rows], rows // n_each
    run, since = stay.run[stage], stay.since[stage]
    period, known = np.arange(of.shape[1]), ~np.isnan(of)
    newest = np.where(known & (run >= 0), period, -1).max(axis=1, initial=-1)
    last = of[np.arange(len(rows)), np.maximum(newest, 0)]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where((run[:, 1:] == run[:, :-1]) & (run[:, 1:] >= 0) & (of[:, :-1] > 0), of[:, 1:] / of[:, :-1], np.nan)
    there = np.where(stay.near[stage][:, 1:], ratio, np.nan)
    is_tried = (~np.isnan(there)).sum(axis=1, keepdims=True) >= LEAST_RATIOS
    ratio = np.sort(np.minimum(np.where(is_tried, there, ratio), largest), axis=1)
    n_known = (~np.isnan(ratio)).sum(axis=1)
    for k, probability in enumerate(probabilities):
        at = np.clip(np.ceil(probability * n_known).astype(np.int64) - 1, 0, max(ratio.shape[1] - 1, 0))
        factor = np.take_along_axis(ratio, at[:, None], axis=1)[:, 0] if ratio.shape[1] else np.ones(len(rows))
        quantiles[rows, k] = last * np.where(n_known >= LEAST_RATIOS, np.nan_to_num(factor, nan=1.0), 1.0)
    untold = (newest < since) | (newest < 0)
    quantiles[rows[untold]] = _as_before(of[untold], run[untold], stay.near[stage[untold]], probabilities)
    return quantiles


def _as_before(values: NDArray[np.float64], run: NDArray[np.int64], near: NDArray[np.bool_], probabilities: tuple[float, ...]) -> NDArray[np.float64]:
    """Return quantiles of what series had about there the times before, the latest `_TIMES` of them; NaN where nothing is known of any."""
    n_rows, n_periods = values.shape
    earlier = np.where(near & (run >= 0) & ~np.isnan(values), values, np.nan)
    back = _times_back(np.where(np.isnan(earlier), -1, run))
    earlier[back >= _TIMES] = np.nan
    ordered = np.sort(earlier, axis=1)
    n_known = (~np.isnan(ordered)).sum(axis=1)
    quantiles = np.full((n_rows, len(probabilities)), np.nan)
    for k, probability in enumerate(probabilities):
        at = np.clip(np.ceil(probability * n_known).astype(np.int64) - 1, 0, n_periods - 1)
        quantiles[:, k] = np.take_along_axis(ordered, at[:, None], axis=1)[:, 0]
    return quantiles
