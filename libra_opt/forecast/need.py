"""Need: how much of an incompressible resource covers the next period (R5).

Short of memory a stage dies, so its need is not a mean but an upper quantile of what was measured, with a margin on top, and never under
what it holds by the last measurement. Where the job's place in its step is known, and asked to count, it is the most of what was measured at that place of
earlier steps instead.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.observations import UNKNOWN, Observations
from libra_opt.forecast.phases import phases_of
from libra_opt.forecast.recurrence import LEAST_STEPS, Recurrence
from libra_opt.forecast.series import Series, fill
from libra_opt.forecast.staying import Staying

__all__ = ["COVERAGE", "MARGIN", "RECENT", "STATED", "Cover", "cover", "cover_values", "until_it_waits", "untold"]

_Number = TypeVar("_Number", np.int64, np.float64)

COVERAGE: Final = 0.99
"""Share of next periods that the need is to cover unless asked otherwise."""

MARGIN: Final = 0.1
"""Share added where a history is not constant, unless asked otherwise: a short history has not seen its own maximum. A first, modest choice; a closed
loop under memory pressure gains from more."""

RECENT: Final = 8
"""What was used in the latest so many periods is always covered."""

_SEEN: Final = 3
"""Within a phase what was measured in the latest so many periods is covered, as measurements err."""

STATED: Final = -1
"""Stands for a number of steps where the stage states its need itself."""

_A_TENTH_MORE: Final = 11
"""One part in so many is what an amount that is a tenth above another has more: memory is measured with an error."""

_PARTS: Final = 10**9
"""A margin is a whole number of such parts; a rest of fewer than that many quanta times four such wholes stays below 2^63."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Needs of a block of stages.

    Attributes
    ----------
    need
        Shape ``(n_stages, n_resources)``, int64, whole quanta, never above the ceiling; 0 for compressible resources.
    short
        Same shape: where the ceiling is under what the history, without the margin, asks for; the stage may run out of memory.
    risk
        Same shape: estimate of the share of periods in which more than the ceiling is used; 0 where it is not short.
    steps
        Same shape: how many earlier steps of the job the need rests on, 0 where it is the whole history, `STATED` where it is stated; None: not
        asked for.
    """

    need: NDArray[np.int64]
    short: NDArray[np.bool_]
    risk: NDArray[np.float64]
    steps: NDArray[np.int64] | None = None


def cover(
    observations: Observations,
    ceiling: NDArray[np.int64],
    coverage: float = COVERAGE,
    margin: float = MARGIN,
    like: Recurrence | None = None,
    stay: Staying | None = None,
) -> Cover:
    """Return the needs that cover the next period, without the memory of phases that a stage waits for (see `until_it_waits`).

    The quantile is the order statistic of rank ``ceil(coverage * (n + 1))`` among `n` known values, which the next of exchangeable values exceeds in at
    most ``1 - coverage`` of cases (Vovk, Gammerman, Shafer, *Algorithmic Learning in a Random World*, 2005); with too few values for that it is their
    maximum. It is never under the latest watermark, the most that was used in the last `RECENT` periods and by the last measurement.

    Parameters
    ----------
    ceiling
        Shape ``(n_stages, n_resources)``: the most that can be allocated.
    coverage
        In (0, 1).
    margin
        Share added where the history is not constant, from 0 to 4; all of it, as one period that is left of it tells nothing of how measurements err.
    like
        The past periods that are like the next, of each stage. Where a resource was measured in those of `LEAST_STEPS` earlier steps, the most of them and
        of the last measurement is covered, in place of the quantile and the latest watermark.
    stay
        Which stages stay in their phase: there what was measured in it lately and what it grew by is covered, in place of all that.
    """
    memory = ~observations.compressible
    counting = until_it_waits(observations)
    quanta = np.ascontiguousarray(counting.quanta[:, :, memory].transpose(0, 2, 1))
    n_stages, n_memory, n_periods = quanta.shape
    rows, most = quanta.reshape(-1, n_periods), ceiling[:, memory].reshape(-1)
    ascending = np.sort(rows, axis=1)  # what is unknown comes first, as it is negative
    counted, n_steps = rows != UNKNOWN, np.zeros(len(rows), dtype=np.int64)
    n_known = np.count_nonzero(counted, axis=1)
    highest = _pick(ascending, np.maximum(n_periods - n_known + _rank(n_known, coverage) - 1, 0))
    lowest = _pick(ascending, np.minimum(n_periods - n_known, n_periods - 1))
    covered = np.maximum(np.maximum(highest, counting.last()[:, memory].reshape(-1)), rows[:, -RECENT:].max(axis=1))
    if like is not None:
        counted, n_steps = _counted(counted, like)
        covered = np.where(n_steps > 0, np.where(counted, rows, UNKNOWN).max(axis=1), covered)
    if stay is not None:
        grown = _grown(rows, stay)
        covered = np.where(grown >= 0, grown, covered)
    varies = ascending[:, -1] != lowest if counting is observations else _varies(observations, memory)
    more = np.where(varies, _margin(covered, margin), 0)
    short = covered > most
    risk = np.where(short, (np.count_nonzero(counted & (rows > most[:, None]), axis=1) + 1) / (np.count_nonzero(counted, axis=1) + 1), 0)
    steps = None if like is None else np.zeros(ceiling.shape, np.int64)
    answer = Cover(np.zeros(ceiling.shape, np.int64), np.zeros(ceiling.shape, np.bool_), np.zeros(ceiling.shape), steps)
    for whole, part in ((answer.need, np.minimum(covered + more, most)), (answer.short, short), (answer.risk, risk), (answer.steps, n_steps)):
        if whole is not None:
            whole[:, memory] = part.reshape(n_stages, n_memory)
    return answer


def _varies(observations: Observations, memory: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which histories of memory are not constant, shape ``(n_stages * n_memory,)``."""
    quanta = observations.quanta[:, :, memory]
    lowest = np.where(quanta == UNKNOWN, np.iinfo(np.int64).max, quanta).min(axis=1)
    return np.asarray(quanta.max(axis=1) > lowest).reshape(-1)


def untold(observations: Observations) -> NDArray[np.bool_]:
    """Tell what was not measured since the present phase began, shape ``(n_stages, n_resources)``; nothing where no phase is told.

    What was measured in a period at whose end nothing of the phase was done is that of the one before. Of a phase that is new to it, or of which news is late,
    a history knows only what other phases needed. What a stage holds there it may need.
    """
    signals = observations.signals
    if signals is None:
        return np.zeros((len(observations.quanta), len(observations.compressible)), dtype=np.bool_)
    phases = phases_of(signals.step, signals.phase)
    n_periods = phases.phase.shape[1]
    present = (np.arange(n_periods) >= n_periods - 1 - phases.lasted[:, -1:]) & ~(signals.progress <= 0)
    answer: NDArray[np.bool_] = (phases.phase[:, -1:] >= 0) & ~(observations.known & present[:, :, None]).any(axis=1) & ~observations.compressible
    return answer


def until_it_waits(observations: Observations) -> Observations:
    """Return the observations without the memory of phases for which the stages wait, but where they stand in them: it is not needed before.

    With such a phase goes the period after it, which is partly it, where the phase that began then was measured later on, or was over before it was, and hardly
    more was measured than in the phase itself. What was never measured anywhere else is left as it is, and so is a stage of which the last period tells
    nothing: it may have begun such a phase since.
    """
    signals, waits = observations.signals, observations.waits
    if signals is None or waits is None:
        return observations
    phases = phases_of(signals.step, signals.phase)
    apart = waits & (phases.phase != phases.phase[:, -1:]) & (signals.phase[:, -1:] >= 0)
    n_known = np.cumsum((observations.known & ~observations.compressible).any(axis=2), axis=1)
    last = np.arange(n_known.shape[1]) + phases.left
    is_measured_later = np.take_along_axis(n_known, last, axis=1) > n_known
    after = np.zeros_like(apart)
    after[:, 1:] = apart[:, :-1] & (phases.lasted[:, 1:] == 0)
    is_over = ~is_measured_later & (last < n_known.shape[1] - 1)
    is_no_more = observations.quanta - observations.quanta // _A_TENTH_MORE <= _most_before(observations.quanta, apart)
    partly = (after & is_measured_later)[:, :, None] | ((after & is_over)[:, :, None] & is_no_more)
    kept = np.where((apart[:, :, None] | partly) & ~observations.compressible, UNKNOWN, observations.quanta)
    is_left = (kept != UNKNOWN).any(axis=1, keepdims=True)
    return replace(observations, quanta=np.where(is_left, kept, observations.quanta))


def _most_before(quanta: NDArray[np.int64], apart: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the most measured in the phases that stages waited for, up to the period before, shape of `quanta`; `UNKNOWN` after other phases."""
    most = np.full_like(quanta, UNKNOWN)
    for t in np.flatnonzero(apart[:, :-1].any(axis=0)) + 1:
        most[:, t] = np.where(apart[:, t - 1, None], np.maximum(most[:, t - 1], quanta[:, t - 1]), UNKNOWN)
    return most


def _grown(rows: NDArray[np.int64], stay: Staying) -> NDArray[np.int64]:
    """Return the most that was measured in the present phase in the last `_SEEN` periods, and about there the times before; `UNKNOWN` where it may end.

    Where there was no time before, what it grew by last is added; and until the phase was measured, what was measured while it began counts, though that is
    partly the phase before: unless the phase took less than half of it about there the times before.

    Parameters
    ----------
    rows
        Shape ``(n_rows, n_periods)``; the same number of neighbouring rows for each stage.
    """
    n_each = len(rows) // max(len(stay.stays), 1)
    since, run, near = np.repeat(stay.since, n_each), np.repeat(stay.run, n_each, axis=0), np.repeat(stay.near, n_each, axis=0)
    known, period = rows != UNKNOWN, np.arange(rows.shape[1])
    present = known & (period >= since[:, None])
    seen = present & (run >= 0)
    later = np.cumsum(seen[:, ::-1], axis=1)[:, ::-1]
    last, before = (np.where(seen & (later == k), rows, UNKNOWN).max(axis=1, initial=UNKNOWN) for k in (1, 2))
    began, once = (np.where(chosen, rows, UNKNOWN).max(axis=1, initial=UNKNOWN) for chosen in (present, known & near))
    growth = np.where((before != UNKNOWN) & (once == UNKNOWN), np.maximum(last - before, 0), 0)
    most = np.where(seen & (later <= _SEEN), rows, UNKNOWN).max(axis=1, initial=UNKNOWN)
    grown = np.maximum(most, np.minimum(last, np.iinfo(np.int64).max - growth) + growth)
    covered: NDArray[np.int64] = np.maximum(np.where(last != UNKNOWN, grown, np.where((once != UNKNOWN) & (once < began // 2), UNKNOWN, began)), once)
    return covered


def cover_values(series: Series, coverage: float = COVERAGE, margin: float = MARGIN, like: Recurrence | None = None) -> NDArray[np.float64]:
    """Return what covers the next period of each series with that probability, as `cover` does, shape ``(n_series,)``; 0 where nothing was measured."""
    measured = series.measured
    if not measured.shape[1]:
        return np.zeros(len(measured))
    ascending = np.sort(measured, axis=1)
    n_known = (~np.isnan(ascending)).sum(axis=1)
    highest = _pick(ascending, np.maximum(_rank(n_known, coverage) - 1, 0))
    recent = np.fmax.reduce(measured[:, -RECENT:], axis=1)
    covered = np.fmax(np.fmax(highest, fill(measured)[:, -1]), recent)
    if like is not None:
        counted, n_steps = _counted(~np.isnan(measured), like)
        covered = np.where(n_steps > 0, np.where(counted, measured, 0).max(axis=1), covered)
    varies = np.fmax.reduce(measured, axis=1) != ascending[:, 0]
    return np.nan_to_num(np.where(varies, covered * (1 + margin), covered))


def _counted(known: NDArray[np.bool_], like: Recurrence) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which measured periods count, shape of `known`, and in how many earlier steps they lie, 0 where that is too few and all periods count.

    Parameters
    ----------
    known
        Shape ``(n_rows, n_periods)``: what was measured; the same number of neighbouring rows for each job.
    """
    n_rows, n_periods = known.shape
    n_each = n_rows // max(len(like.steps), 1)
    steps = np.where(known, np.repeat(like.steps, n_each, axis=0), np.uint8(0))
    n_steps = np.bitwise_count(np.bitwise_or.reduce(steps, axis=1)).astype(np.int64)
    n_steps[n_steps < LEAST_STEPS] = 0
    counted = steps > 0
    newest = n_periods - 1 - known[:, ::-1].argmax(axis=1)
    at = np.arange(n_rows)
    counted[at, newest] |= known[at, newest] & (newest >= np.repeat(like.since, n_each))
    return np.where((n_steps > 0)[:, None], counted, known), n_steps


def _rank(n_known: NDArray[np.int64], coverage: float) -> NDArray[np.int64]:
    """Return the rank, from 1, of the order statistic that covers the next value; a billionth is forgiven, as 0.99 is no binary number."""
    rank: NDArray[np.int64] = np.minimum(n_known, np.ceil(coverage * (n_known + 1) - 1e-9).astype(np.int64))
    return rank


def _margin(quanta: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """Return that share of `quanta`, rounded up, at most what is left to 2^63; wholes and rest apart, as their product would overflow.

    The share is the decimal number that was written, not the binary one next to it, rounded up to a billionth.
    """
    parts = math.ceil(Fraction(repr(float(share))) * _PARTS)
    wholes, rest = np.divmod(quanta, _PARTS)
    of_rest = -(-(rest * parts) // _PARTS)
    room = np.iinfo(np.int64).max - quanta
    fits = wholes <= np.maximum(room - of_rest, 0) // max(parts, 1)
    margin: NDArray[np.int64] = np.minimum(np.where(fits, wholes, 0) * parts + of_rest, room)
    return np.where(fits | (parts == 0), margin, room)


def _pick(ascending: NDArray[_Number], period: NDArray[np.int64]) -> NDArray[_Number]:
    picked: NDArray[_Number] = np.take_along_axis(ascending, period[:, None], axis=1)[:, 0]
    return picked
