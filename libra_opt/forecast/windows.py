"""Series cut into windows: scaled to 1, a cache's worth at a time; rows of one length together, and few of one length with those a little shorter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.own_step import Places, aligned
from libra_opt.forecast.series import Series, fill
from libra_opt.forecast.window import MOST_ORIGINS, Part

__all__ = ["LONGEST", "Cut", "cut"]

LONGEST: Final = 512
"""Of a longer history only the latest periods are looked at."""

_CELLS_AT_ONCE: Final = 1 << 18
_CELLS_TOGETHER: Final = 1 << 15
_LONGER: Final = 4
"""Rows of different lengths stand together where they are few, and the longest is not longer by this factor than the shortest."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Some rows of a series.

    Attributes
    ----------
    rows
        Which.
    measured, filled
        Shape ``(len(rows), n_periods)``, float32, divided by the largest value of the row; the same array where nothing is missing.
    lead
        Shape of `rows`: periods before the first value.
    moving
        Shape of `rows`: which of them have two different values; the others are ones.
    places
        The periods by place in the job's step; None where no step is recorded.
    parts
        Which rows begin when, where not all begin with the first period.
    """

    rows: NDArray[np.int64]
    measured: NDArray[np.float32]
    filled: NDArray[np.float32]
    lead: NDArray[np.int64]
    moving: NDArray[np.bool_]
    places: Places | None
    parts: tuple[Part, ...] = ()


def cut(series: Series, recent: NDArray[np.float64], largest: NDArray[np.float64], moving: NDArray[np.bool_], horizon: int) -> Iterator[Cut]:
    """Yield cuts that together hold every moving series once, rows of a job together and in their order.

    Parameters
    ----------
    recent
        Shape ``(n_series, n_periods)``: the measured values of the latest periods, at most `LONGEST`.
    largest
        Shape ``(n_series,)``: what each row is divided by; positive where it moves.
    moving
        Shape ``(n_series,)``: which rows have two different values. A row that has not stands with its job, as ones.
    horizon
        How many periods are to be predicted.
    """
    n_series, n_periods = recent.shape
    steps = series.step if series.step is not None else series.phase
    n_jobs = n_series if steps is None else len(steps)
    each = n_series // n_jobs
    jobs, shortest, is_whole = _kinds(recent, moving, n_jobs)
    at_once = max(_CELLS_AT_ONCE // (n_periods * each), 1)
    kinds = [kind[start : start + at_once] for kind in jobs for start in range(0, len(kind), at_once)]
    for together in _together(kinds, n_periods - shortest, each, MOST_ORIGINS + horizon):
        some = np.concatenate(together)
        skip, whole = int(shortest[some[0]]), bool(is_whole[some[0]]) and len(together) == 1
        begins = shortest[some] - skip
        rows = (some[:, None] * each + np.arange(each)).ravel()
        chosen = slice(int(rows[0]), int(rows[-1]) + 1) if (np.diff(rows) == 1).all() else rows
        part = np.empty((len(rows), n_periods - skip), dtype=np.float32)
        np.divide(recent[chosen, skip:], np.where(moving[chosen], largest[chosen], 1)[:, None], out=part, casting="same_kind")
        if not whole:
            still = np.flatnonzero(~moving[rows])
            part[still] = np.where(np.arange(n_periods - skip) < begins[still // each, None], np.float32(np.nan), np.float32(1))
        filled = part if whole else fill(part)
        lead = np.isnan(filled).sum(axis=1) if not whole else np.zeros(len(rows), dtype=np.int64)
        yield Cut(rows, part, filled, lead, moving[rows], _places(series, some, skip, n_periods, begins), _parts(together, begins, each))


def _together(kinds: Sequence[NDArray[np.int64]], lengths: NDArray[np.int64], each: int, least: int) -> Iterator[list[NDArray[np.int64]]]:
    """Yield kinds of jobs that share a window, the longest first: where they are few, of like length, and at least `least` periods long."""
    together: list[NDArray[np.int64]] = []
    for kind in kinds:
        if together:
            longest, length = lengths[together[0][0]], lengths[kind[0]]
            n_cells = (sum(map(len, together)) + len(kind)) * each * longest
            if length < max(least, longest / _LONGER) or n_cells > _CELLS_TOGETHER:
                yield together
                together = []
        together.append(kind)
    if together:
        yield together


def _parts(together: Sequence[NDArray[np.int64]], begins: NDArray[np.int64], each: int) -> tuple[Part, ...]:
    """Return which rows begin when; nothing where all begin at once."""
    if not begins.any():
        return ()
    ends = np.cumsum([len(kind) for kind in together]).tolist()
    return tuple(Part(slice((end - len(kind)) * each, end * each), int(begins[end - 1])) for kind, end in zip(together, ends, strict=True))


def _kinds(recent: NDArray[np.float64], moving: NDArray[np.bool_], n_jobs: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.bool_]]:
    """Sort the jobs that have a moving series by when they begin and whether anything is missing.

    A series is then treated the same whatever other jobs there are.

    Returns
    -------
    tuple
        The jobs of each kind; and for every job the periods before it begins, and whether all its rows move and miss nothing from then on.
    """
    n_periods = recent.shape[1]
    if moving.all() and not np.isnan(recent.sum()):
        return [np.arange(n_jobs)], np.zeros(n_jobs, dtype=np.int64), np.ones(n_jobs, dtype=np.bool_)
    gaps = np.isnan(recent)
    lead = np.where(moving, gaps.argmin(axis=1), n_periods)
    is_whole = (gaps.sum(axis=1) == lead) & moving
    first = lead.reshape(n_jobs, -1)
    shortest = first.min(axis=1)
    whole = is_whole.reshape(n_jobs, -1).all(axis=1) & (first == shortest[:, None]).all(axis=1)
    kind = np.where(shortest < n_periods, 2 * shortest + whole, -1)
    order = np.argsort(kind, kind="stable")
    kinds, starts = np.unique(kind[order], return_index=True)
    return [jobs for number, jobs in zip(kinds, np.split(order, starts[1:]), strict=True) if number >= 0], shortest, whole


def _places(series: Series, jobs: NDArray[np.int64], skip: int, n_recent: int, begins: NDArray[np.int64]) -> Places | None:
    first = series.values.shape[1] - n_recent + skip
    if series.step is None and series.phase is None:
        return None
    before = np.arange(n_recent - skip) < begins[:, None]
    step = None if series.step is None else np.where(before, -1, series.step[jobs, first:])
    phase = None if series.phase is None else np.where(before, -1, series.phase[jobs, first:])
    if not any((codes >= 0).any() for codes in (step, phase) if codes is not None):
        return None
    progress = None if series.progress is None else series.progress[jobs, first:]
    return aligned(step, phase, progress)
