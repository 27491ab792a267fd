"""From usage to demand: what a stage used is all it could use only where nothing held it back.

Usage is censored by the allocation: where a stage ran at it, demand was at least that. How much more is estimated, in this order, from the requests
that waited beside those that ran and from the CPU queue; from the tool calls and what one cost in free periods; from free periods in which more was used
(mass of censored values goes to the free ones above them: Efron, *The Two Sample Problem with Censored Data*, 1967; Buckley and James, *Linear Regression with
Censored Data*, 1979); and where nothing is known, by a probe upward, so that no stage stays small because it was small. Where it held nothing at all, demand
is what it used at that place when it ran. The scarcest resource holds back the use of all, so beside it the room of the others tells nothing.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.observations import Observations, Signals
from libra_opt.forecast.phases import phases_of
from libra_opt.forecast.waiting import would_use

__all__ = ["MOST_FACTOR", "PROBE", "ROOM", "Demand", "demand_of"]

PROBE: Final = 1.5
"""What usage at the allocation is multiplied by where nothing tells how much more was asked."""

MOST_FACTOR: Final = 4.0
"""Demand is estimated at most this many times the usage."""

_AT_LIMIT: Final = 0.95
_LIKE: Final = 1.05
_LOOK_BACK: Final = 24
_LOOK_BACK_IN_STEPS: Final = 128
"""Where phases are told, only what was measured in the same one counts, and the last time it was gone through is a step ago."""

_LONG_RUN: Final = 3
"""A stage that had no room for so many periods in a row is probed upward although it once used no more when it had; the longer the more often that was seen."""

ROOM: Final = 0.85
"""Who used less than this share of its allocation had room. Between it and the limit an error of measurement looks like room, so it tells neither."""

_ESTIMATED: Final = 128


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand of a block of stages for their compressible resources.

    Attributes
    ----------
    values
        Shape ``(n_stages, n_compressible, n_periods)``, float64 quanta; NaN where nothing was measured.
    last_raised
        Shape ``(n_stages, n_compressible)``: the demand of the newest known period where it was estimated above the usage, else 0. Also 0 where a phase
        ended with that period, as another comes next.
    """

    values: NDArray[np.float64]
    last_raised: NDArray[np.float64]


def demand_of(observations: Observations, ceiling: NDArray[np.int64], per_thread: NDArray[np.float64]) -> Demand:
    """Estimate demand in every period observed.

    Parameters
    ----------
    ceiling
        Shape ``(n_stages, n_resources)``: the most that can be allocated; no estimate goes beyond it unless usage did.
    per_thread
        Shape ``(n_resources,)``: quanta that one thread of the CPU queue waits for; 0 for other resources than cores.
    """
    compressible = observations.compressible
    usage = np.ascontiguousarray(observations.used.transpose(0, 2, 1))
    signals = observations.signals
    demand = Demand(usage, np.zeros(usage.shape[:2]))
    if signals is None:
        return demand
    waited = signals.waited
    queued = (signals.requests_waiting > 0) | (signals.cpu_queue > 0)
    rows = np.flatnonzero((signals.held > 0).any(axis=(1, 2)) | queued.any(axis=1))
    if len(rows):
        most = ceiling[:, compressible].astype(np.float64)
        demand.values[rows], demand.last_raised[rows] = _uncensored(usage[rows], signals.of(rows, compressible), most[rows], per_thread[compressible])
    rows = np.flatnonzero(waited.any(axis=1) & (signals.phase >= 0).any(axis=1))
    if len(rows):
        demand.values[rows], elsewhere = would_use(demand.values[rows], waited[rows], phases_of(signals.step[rows], signals.phase[rows]))
        demand.last_raised[rows] = np.where(elsewhere, 0, demand.last_raised[rows])
    return demand


def _uncensored(
    usage: NDArray[np.float64], signals: Signals, most: NDArray[np.float64], per_thread: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the demand, and that of the newest known period where it is above the usage and its phase goes on, else 0."""
    held = signals.held.transpose(0, 2, 1)
    censored = (held > 0) & (usage >= _AT_LIMIT * held)
    can_grow = censored & (held < most[:, :, None])
    has_room = ((usage < ROOM * held) | (held < 0)) & ~can_grow.any(axis=1, keepdims=True)
    most = np.minimum(most[:, :, None], MOST_FACTOR * usage)
    estimate = np.minimum(_estimated(usage, censored, has_room, _signalled(signals, usage, held, censored, per_thread), signals.phase), most)
    estimate = np.where(np.isnan(estimate), np.nan, np.fmax(usage, np.minimum(np.fmax(estimate, usage * _held_back(usage, can_grow, estimate)), most)))
    goes_on = ~((signals.progress >= 1) & (signals.phase.max(axis=1, keepdims=True) != signals.phase.min(axis=1, keepdims=True)))
    return estimate, _newest(np.where((estimate > usage) & goes_on[:, None, :], estimate, 0), ~np.isnan(usage))


def _held_back(usage: NDArray[np.float64], can_grow: NDArray[np.bool_], estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many times as much a stage could have used of everything, by what it ran at its allocation of, shape ``(n_stages, 1, n_periods)``; at least 1.

    The scarcest resource holds back the use of all (R5): cores that are half idle beside cards that are all in use are no sign that so many cores will do.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(can_grow & (usage > 0), estimate / usage, 1.0)
    return np.asarray(np.fmax(1.0, np.nan_to_num(factor, nan=1.0).max(axis=1, keepdims=True)))


def _signalled(
    signals: Signals, usage: NDArray[np.float64], held: NDArray[np.int64], censored: NDArray[np.bool_], per_thread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the demand that queues and tool calls tell of, shape of `usage`; NaN where they say nothing.

    A queue speaks of every resource, also of one that is not at its allocation: the scarcest holds back the use of all (R5), and the slowest stage that of its
    job's others (R7).
    """
    running, waiting = signals.requests_running[:, None, :], signals.requests_waiting[:, None, :]
    held_back = censored | (held < 0)
    has_queue = held_back | (waiting > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        queued = np.where(has_queue & (running > 0), usage * (1 + waiting / running), np.nan)
    threads = np.where(held_back, usage + per_thread[:, None] * signals.cpu_queue[:, None, :], np.nan)
    queued = np.where((per_thread > 0)[:, None] & ~np.isnan(threads), threads, queued)
    calls = signals.tool_calls[:, None, :]
    free = ~censored & (calls > 0) & (usage > 0)
    n_free = free.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_call = np.where(free, usage / calls, 0).sum(axis=2, keepdims=True) / n_free
    called = np.where(censored & (n_free > 0), per_call * calls, np.nan)
    return np.fmax(queued, np.where(called > usage, called, np.nan))


def _estimated(
    usage: NDArray[np.float64], censored: NDArray[np.bool_], has_room: NDArray[np.bool_], signalled: NDArray[np.float64], phase: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the demand in the latest periods; a value further back that was held back tells too little, and is left out."""
    estimate = usage.copy()
    first = max(usage.shape[2] - _ESTIMATED, 0)
    latest = slice(first, None)
    measured_lately = ~np.isnan(usage[:, :, latest]).all(axis=2, keepdims=True)
    estimate[:, :, :first] = np.where(censored[:, :, :first] & measured_lately, np.nan, usage[:, :, :first])
    used, held_back, told = usage[:, :, latest], censored[:, :, latest], signalled[:, :, latest]
    above, n_above, n_like = _free_neighbours(used, has_room[:, :, latest], phase[:, latest])
    seen_free = _run(~has_room[:, :, latest]) < _LONG_RUN * n_like
    known = np.where(n_above > 0, (above + (n_like - n_above) * used) / np.maximum(n_like, 1), np.where(seen_free, used, PROBE * used))
    estimate[:, :, latest] = np.where(np.isnan(told), np.where(held_back, known, used), np.fmax(used, told))
    return estimate


def _free_neighbours(
    usage: NDArray[np.float64], has_room: NDArray[np.bool_], phase: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.float32]]:
    """Return the sum and the number of the latest values with room clearly above each, and how many are like it or above; of the same stage of the step.

    The period in which a stage of the step began is partly another's and does not count.
    """
    used = usage.astype(np.float32)
    begins = np.zeros(phase.shape, dtype=np.bool_)
    begins[:, 1:] = (phase[:, 1:] != phase[:, :-1]) & (phase[:, 1:] >= 0) & (phase[:, :-1] >= 0)
    is_free = has_room & ~np.isnan(used) & ~begins[:, None, :]
    free, amount = np.where(is_free, used, np.float32(np.nan)), np.where(is_free, used, np.float32(0))
    total, n_above, n_like = (np.zeros(usage.shape, dtype=np.float32) for _ in range(3))
    like, most = used / np.float32(_LIKE), used * np.float32(_LIKE)
    has_phases = (phase >= 0).any(axis=1)
    latest = usage.shape[2] - _LOOK_BACK
    for t in range(max(usage.shape[2] - _LOOK_BACK_IN_STEPS if has_phases.any() else latest, 0), usage.shape[2]):
        now = slice(t, t + 1)
        near, above = free[:, :, now] >= like, free[:, :, now] > most
        if has_phases.any():
            same = (phase[:, None, now] == phase[:, None, :]) & (has_phases | (t >= latest))[:, None, None]
            near &= same
            above &= same
        n_like += near
        n_above += above
        total += amount[:, :, now] * above
    return total.astype(np.float64), n_above, n_like


def _run(without_room: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for how many periods in a row, up to each, there was no room, shape of `without_room`."""
    period = np.arange(1, without_room.shape[2] + 1)
    run: NDArray[np.int64] = period - np.maximum.accumulate(np.where(without_room, 0, period), axis=2)
    return run


def _newest(values: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    newest = known.shape[2] - 1 - known[:, :, ::-1].argmax(axis=2)
    found: NDArray[np.float64] = np.take_along_axis(values, newest[:, :, None], axis=2)[:, :, 0]
    return found
