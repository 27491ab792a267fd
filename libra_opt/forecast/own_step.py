"""Own step: a job's earlier steps as the profile of this one, aligned on the stage of the step it is in and on how far into that it is.

A training step repeats: rollout, reward, update. What followed the last times the job stood at this place of its step says more about the next period than
any smoothing. Places are sorted once per job, so that the same place of the step before is simply the neighbour on the left, for all resources of
the job at once.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.located import spread
from libra_opt.forecast.window import Floats, Told, Window

__all__ = ["Places", "aligned", "own_step"]

_STEP_WEIGHTS: Final = (1.0, 0.6, 0.36)
"""How much the last step counts, the one before it, and the one before that."""

_SCALE_WEIGHTS: Final = (1.0, 0.7)
_OVERALL_WEIGHT: Final = 0.5
_TINY: Final = np.float32(1e-12)

_UNPLACED: Final = np.int64(1) << 62


@dataclass(frozen=True, slots=True)
class Places:
    """The periods of each job, sorted by their place in its step, and by time where the place is the same.

    Attributes
    ----------
    period
        Shape ``(n_jobs, n_periods)``: which period comes at which position; periods of unknown place come last.
    position
        Same shape: the inverse.
    repeats
        Shape ``(len(_STEP_WEIGHTS), n_jobs, n_periods)``: whether the element that many positions before is the same place of an earlier step.
    """

    period: NDArray[np.int64]
    position: NDArray[np.int64]
    repeats: NDArray[np.bool_]


def aligned(step: NDArray[np.int64] | None, phase: NDArray[np.int64] | None, progress: NDArray[np.float64] | None = None) -> Places:
    """Sort periods by place.

    The place is the phase and how many periods it has lasted, or, where `progress` is known, that share of the mean length of the job's phases. The first
    phase in the window has no place, unless its progress is known: when it began is not.

    Parameters
    ----------
    step, phase
        Shape ``(n_jobs, n_periods)``, -1 unknown; at least one of them is given.
    progress
        Same shape: done share of the phase, 0 to 1, NaN unknown.
    """
    given = step if step is not None else phase
    if given is None:
        raise ValueError("a place in a step needs its number or its phase")
    n_jobs, n_periods = given.shape
    steps = np.zeros_like(given) if step is None else step
    phases = np.zeros_like(given) if phase is None else phase
    known = (steps >= 0) & (phases >= 0)
    begins = np.ones(given.shape, dtype=np.bool_)
    begins[:, 1:] = (steps[:, 1:] != steps[:, :-1]) | (phases[:, 1:] != phases[:, :-1]) | ~known[:, :-1]
    run = np.cumsum(begins, axis=1)
    period = np.arange(n_periods)
    lasted = period - np.maximum.accumulate(np.where(begins, period, 0), axis=1)
    placed = known & (np.cumsum(begins & known, axis=1) > 1)
    if progress is not None:
        length = known.sum(axis=1, keepdims=True) / np.maximum((begins & known).sum(axis=1, keepdims=True), 1)
        told = ~np.isnan(progress)
        lasted = np.where(told, np.rint(np.nan_to_num(progress) * length).astype(np.int64), lasted)
        placed |= known & told
    key = np.where(placed, (phases * (n_periods + 1) + lasted) * n_periods + period, _UNPLACED + period)
    key.sort(axis=1)
    place, order = np.divmod(key, n_periods)
    order = np.where(key >= _UNPLACED, key - _UNPLACED, order)
    position = np.empty_like(order)
    np.put_along_axis(position, order, np.broadcast_to(period, order.shape), axis=1)
    run_at = np.take_along_axis(run, order, axis=1)
    repeats = np.zeros((len(_STEP_WEIGHTS), n_jobs, n_periods), dtype=np.bool_)
    for j, same in enumerate(repeats, start=1):
        same[:, j:] = (place[:, j:] == place[:, :-j]) & (key[:, j:] < _UNPLACED) & (run_at[:, j:] != run_at[:, :-j])
    return Places(order, position, repeats)


def own_step(window: Window, places: Places, levels: NDArray[np.float64]) -> Told:
    """Return quantiles around what followed the same place in earlier steps, with the errors made there as scale.

    Parameters
    ----------
    places
        Of the jobs; the rows of `window` are the same number of series for each, those of a job together.
    """
    n_jobs, n_periods = places.period.shape
    shape = (n_jobs, window.n_series // n_jobs, n_periods)
    after = places.period + window.horizon
    outcome = np.minimum(after, n_periods - 1)[:, None, :]
    follows = np.take_along_axis(window.filled.reshape(shape), outcome, axis=2)
    came = follows
    if not window.is_complete:
        came = np.take_along_axis(window.measured.reshape(shape), outcome, axis=2)
        follows = np.nan_to_num(follows)
    usable = places.repeats.copy()
    if window.horizon > 1:
        for j, same in enumerate(usable, start=1):
            same[:, j:] &= after[:, :-j] <= places.period[:, j:]
    point, able = _mean_of_earlier(follows, usable, _STEP_WEIGHTS)
    scored = able & (after < n_periods)
    errors = came - point
    errors += np.where(scored, np.float32(0), np.float32(np.nan))[:, None, :]
    size = np.abs(errors)
    holes = np.isnan(size)
    size[holes] = 0
    known = np.maximum(n_periods - np.count_nonzero(holes, axis=2, keepdims=True), 1).astype(np.float32)
    # What has a place comes first, so a job's own periods are as many columns from the left.
    jobs = [(slice(rows.start // shape[1], rows.stop // shape[1]), n_periods - skipped) for rows, skipped in window.own(0)]
    overall = np.concatenate([size[some, :, :n_own].sum(axis=2, keepdims=True) for some, n_own in jobs]) / known
    scale, _ = _mean_of_earlier(size, usable[: len(_SCALE_WEIGHTS)] & _shifted(scored, len(_SCALE_WEIGHTS)), _SCALE_WEIGHTS, overall, _OVERALL_WEIGHT)
    scale += _TINY
    errors /= scale

    columns = np.append(np.arange(window.n_origins) + window.first_origin, n_periods - 1)
    at = places.position[:, columns]
    unit = np.take_along_axis(scale, at[:, None, :], axis=2).reshape(window.n_series, -1)
    said = np.take_along_axis(point, at[:, None, :], axis=2).reshape(window.n_series, -1)
    says = np.repeat(np.take_along_axis(able, at, axis=1), shape[1], axis=0)
    said = np.where(says, said, window.filled[:, columns])
    told = spread(errors.reshape(window.n_series, n_periods), said[:, :-1], said[:, -1], (unit[:, :-1], unit[:, -1]), levels)
    return Told(told.past, told.now, says[:, -1] & ~np.isnan(told.now).any(axis=1))


def _mean_of_earlier(
    values: Floats, usable: NDArray[np.bool_], weights: tuple[float, ...], overall: Floats | None = None, overall_weight: float = 0
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the weighted mean over the same place of earlier steps, shape of `values`, and where there is one, ``(n_jobs, n_periods)``.

    Parameters
    ----------
    values
        Shape ``(n_jobs, n_each, n_periods)``, sorted by place.
    usable
        Shape ``(n_weights, n_jobs, n_periods)``: whether the element that many positions before counts.
    overall, overall_weight
        What counts with them at every place, shape ``(n_jobs, n_each, 1)``.
    """
    counted = np.full(usable.shape[1:], overall_weight, dtype=np.float32)
    for weight, same in zip(weights, usable, strict=True):
        counted += same * np.float32(weight)
    there = counted > 0
    share = 1 / np.where(there, counted, np.float32(1))
    mean = np.zeros_like(values)
    if overall is not None:
        mean += overall * (share * np.float32(overall_weight))[:, None, :]
    for j, (weight, same) in enumerate(zip(weights, usable, strict=True), start=1):
        factor = same[:, j:] * share[:, j:] * np.float32(weight)
        mean[:, :, j:] += values[:, :, :-j] * factor[:, None, :]
    return mean, there


def _shifted(flags: NDArray[np.bool_], n_shifts: int) -> NDArray[np.bool_]:
    """Return, for every position, the flags of the ones 1 to `n_shifts` before it, shape ``(n_shifts, n_jobs, n_periods)``."""
    shifted = np.zeros((n_shifts, *flags.shape), dtype=np.bool_)
    for j, before in enumerate(shifted, start=1):
        before[:, j:] = flags[:, :-j]
    return shifted
