"""The best plan of one job when cards have a price, period by period: what resizing, restarting and holding through a whole period cost it is all in it.

With a price on the cards of every period nothing ties jobs together, and the best that all could earn together, plus the price of all cards there are, is
no less than what any allocator reaches (Lagrangian relaxation of the capacity; Geoffrion, *Mathematical Programming Study* 2, 1974). A job's best plan is
found by dynamic programming backwards over periods and positions in its steps. Everything is rounded in favour of the job: positions up to the next cell,
memory is there as soon as its cards could carry it, a kill costs nothing, moves but resizing and restarting are free.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.domain import WorkloadJob
from libra_opt.simulation.bound.bound_job import BoundJob
from libra_opt.simulation.bound.sizes import Sizes
from libra_opt.simulation.bound.windows import parts_in_order

__all__ = ["Best", "Plans", "resize_seconds"]

_ALMOST: Final = 1e-9
_CELL_SLACK: Final = 1e-7
"""Shares of a cell that rounding a position up may miss; steps count as much earlier as this could add up to."""

_SLACK: Final = 1e-3
_STOPPED: Final = -1
"""Instead of a size: a job that is stopped in the period after its cold start began. Its next start counts as warm, and may be over sooner."""

_Floats: TypeAlias = npt.NDArray[np.float64]
_Cells: TypeAlias = npt.NDArray[np.intp]
_Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Best:
    """The best plan of a job at some prices.

    Attributes
    ----------
    net
        Weighted finished work minus the price of the cards that it holds.
    cards
        What it holds in every period, shape ``(n_periods,)``.
    """

    net: float
    cards: _Floats


def resize_seconds(job: WorkloadJob, resource: str, *, is_costly: bool, n_pools: int) -> float:
    """Return the least that changing a stage's amount of a resource costs."""
    seconds = job.preemption_cost.resize_seconds
    charge = seconds.get(resource, 0.0) if isinstance(seconds, Mapping) else float(seconds) if is_costly else 0.0
    return charge if n_pools == 1 else min(charge, job.preemption_cost.migrate_seconds)


@dataclass(frozen=True)
class _Timeline:
    """The parts a job can come to, one after another: which part, where it ends in seconds of full service, and the finished work from then on."""

    part: _Cells
    ends: _Floats
    finished: _Floats


class Plans:
    """The plans of a job on its own progress.

    Parameters
    ----------
    one, sizes
        The job, and what it can hold.
    period_seconds, n_periods
        The periods until the horizon.
    cells
        How many positions there are per period of full service.
    resize
        What changing the cards of a stage costs, in seconds.
    """

    def __init__(self, one: BoundJob, sizes: Sizes, period_seconds: float, n_periods: int, cells: int, resize: float) -> None:
        job = one.job
        self.weight = job.weight
        self._n_periods, self._cells = n_periods, cells
        self._arrival = ceil(job.submitted / period_seconds - _ALMOST)
        self._sizes = sizes
        cell = period_seconds / cells
        timeline = _timeline(one, max(0.0, n_periods - self._arrival) * period_seconds)
        self._idle_cold, rest = divmod(job.restart.cold_seconds, period_seconds)
        self._n_cells = ceil(float(timeline.ends[-1]) / cell - _ALMOST) + 1
        position = np.minimum(np.arange(self._n_cells) * cell, timeline.ends[-1])
        credited = np.searchsorted(timeline.ends, position + _SLACK, side="right")
        self._finished: _Floats = job.weight * np.concatenate([[0.0], timeline.finished])[credited]

        def after(seconds: float) -> _Cells:
            """Return the cell that is reached from every cell, per size, shape ``(n_sizes, n_cells)``."""
            reached = np.array([_advance(timeline, pace, position, max(0.0, seconds)) for pace in sizes.pace])
            return np.minimum(self._n_cells - 1, np.ceil(reached / cell - _CELL_SLACK)).astype(np.intp).reshape(len(sizes.pace), -1)

        self._kept = after(period_seconds)
        self._resized = after(period_seconds - resize)
        self._warm = after(period_seconds - job.restart.warm_seconds)
        self._first: _Cells = after(period_seconds - rest)[:, 0]

    def net(self, price: _Floats) -> float:
        """Return the most of weighted finished work minus the price of the cards that are held.

        Parameters
        ----------
        price
            Of a card for each period, shape ``(n_periods,)``.
        """
        return self._backwards(price, None)[0]

    def best(self, price: _Floats) -> Best:
        """Return the plan that earns `net`; it takes memory for a choice per period and position.

        Parameters
        ----------
        price
            Of a card for each period, shape ``(n_periods,)``.
        """
        choices: dict[int, _Choice] = {}
        net, begin = self._backwards(price, choices)
        held = np.zeros(self._n_periods)
        if begin is not None:
            self._follow(held, choices, *begin)
        return Best(net, held)

    def _backwards(self, price: _Floats, choices: dict[int, "_Choice"] | None) -> tuple[float, tuple[int, int] | None]:
        """Return the net worth of the best plan, and the period and size it begins with (None where nothing pays); enter all choices if asked."""
        n_sizes, cards = len(self._sizes.cards), self._sizes.cards
        if not n_sizes or self._arrival >= self._n_periods or not self._finished.any():
            return 0.0, None
        running, waiting = np.tile(self._finished, (n_sizes, 1)), self._finished
        later: dict[int, _Floats] = {self._n_periods: running}
        away = waiting  # of one that was stopped in the period to come
        fresh, begin = 0.0, None
        rows = np.arange(n_sizes)
        idle = int(self._idle_cold)
        for t in range(self._n_periods - 1, self._arrival - 1, -1):
            n = min(self._n_cells, (t - self._arrival) * self._cells + 2)
            pay = price[t] * cards
            kept = np.array([running[k].take(self._kept[k, :n]) - pay[k] for k in range(n_sizes)])
            size, resized = _largest(running, self._resized, pay, n)
            again, restarted = _largest(running, self._warm, pay, n)
            begun = later.get(t + idle + 1)
            if begun is not None:
                through = float(price[t : t + idle].sum()) * float(cards.min())
                net = begun[rows, self._first] - price[t + idle] * cards
                if net.max() - through > fresh:
                    fresh, begin = float(net.max()) - through, (t, int(net.argmax()))
            if away[0] - price[t] * cards.min() > fresh:
                fresh, begin = float(away[0] - price[t] * cards.min()), (t, _STOPPED)
            away = waiting
            later.pop(t + idle + 2, None)
            other = np.maximum(resized, waiting[:n])
            if choices is not None:
                choices[t] = _Choice(np.packbits(kept >= other, axis=1), waiting[:n] > resized, size, restarted > waiting[:n], again)
            running = np.maximum(kept, other)
            waiting = np.maximum(waiting[:n], restarted)
            later[t] = running
        return fresh, begin

    def _follow(self, held: _Floats, choices: Mapping[int, "_Choice"], t: int, k: int) -> None:
        """Enter what is held along the choices of a job that starts cold in period `t`, to size `k` when it begins to make progress, or to be stopped."""
        cards, idle = self._sizes.cards, int(self._idle_cold)
        held[t : t + idle] = cards.min()
        if k == _STOPPED:
            held[t], held[t + 1 : t + idle] = cards.min(), 0.0
            cell, is_running, begin = 0, False, t + 2
        else:
            held[t + idle] = cards[k]
            cell, is_running, begin = int(self._first[k]), True, t + idle + 1
        for u in range(begin, self._n_periods):
            choice = choices[u]
            if is_running and choice.keeps(k, cell):
                cell = int(self._kept[k, cell])
            elif is_running:
                is_running = not choice.stops[cell]
                k = int(choice.size[cell])
                cell = int(self._resized[k, cell]) if is_running else cell
            elif choice.restarts[cell]:
                is_running = True
                k = int(choice.again[cell])
                cell = int(self._warm[k, cell])
            held[u] = cards[k] if is_running else 0.0


@dataclass(frozen=True)
class _Choice:
    """What is best in one period from every cell.

    Attributes
    ----------
    kept
        Per size, in bits: to go on at it.
    stops, size
        Of one that does not go on at its size: to stop, or the size to take.
    restarts, again
        Of one that waits: to start again, and the size to take.
    """

    kept: npt.NDArray[np.uint8]
    stops: _Flags
    size: npt.NDArray[np.int8]
    restarts: _Flags
    again: npt.NDArray[np.int8]

    def keeps(self, k: int, cell: int) -> bool:
        return bool(self.kept[k, cell >> 3] >> (7 - (cell & 7)) & 1)


def _largest(running: _Floats, after: _Cells, pay: _Floats, n: int) -> tuple[npt.NDArray[np.int8], _Floats]:
    """Return the best size to take from each of the first cells, and what it earns."""
    most, size = np.full(n, -np.inf), np.zeros(n, dtype=np.int8)
    for k in range(len(pay)):
        earned = running[k].take(after[k, :n]) - pay[k]
        size[earned > most] = k
        np.maximum(most, earned, out=most)
    return size, most


def _timeline(one: BoundJob, seconds: float) -> _Timeline:
    """Return the parts of a job up to its end, or the first that lies beyond so many seconds of full service."""
    job, truth = one.job, one.truth
    parts, ends, finished = [0], [0.0], [0.0]
    end = counted = 0.0
    for p, length, served, is_last in parts_in_order(job, truth):
        if end > seconds:
            break
        end += length
        if is_last or p + 1 == len(truth.ends) or truth.step[p + 1] != truth.step[p]:
            counted = served
        parts.append(p)
        ends.append(end)
        finished.append(counted)
    return _Timeline(np.array(parts[1:], dtype=np.intp), np.array(ends[1:]), np.array(finished[1:]))


def _advance(timeline: _Timeline, pace: _Floats, position: _Floats, seconds: float) -> _Floats:
    """Return where a job is after so many seconds from every position, at the pace of each part; it stops before a part that it cannot do."""
    begins = np.concatenate([[0.0], timeline.ends[:-1]])
    paces = pace[timeline.part]
    takes = np.divide(timeline.ends - begins, paces, out=np.zeros(len(paces)), where=paces > 0)
    edges, clock = np.concatenate([[0.0], timeline.ends]), np.concatenate([[0.0], np.cumsum(takes)])
    part = np.minimum(np.searchsorted(timeline.ends, position, side="right"), len(paces) - 1)
    stops = np.where(paces > 0, np.inf, begins)
    nearest = np.minimum.accumulate(stops[::-1])[::-1]
    is_stuck = (paces[part] <= 0) & (position < timeline.ends[part])
    limit = np.where(is_stuck, position, np.minimum(np.where(position > nearest[part], np.inf, nearest[part]), timeline.ends[-1]))
    now = clock[part] + np.divide(position - begins[part], paces[part], out=np.zeros(len(position)), where=paces[part] > 0)
    return np.minimum(limit, np.maximum(position, _where(now + seconds, clock, edges)))


def _where(time: _Floats, clock: _Floats, edges: _Floats) -> _Floats:
    """Return the furthest position at a time of running; parts that take no time here are those it stops before anyway."""
    i = np.clip(np.searchsorted(clock, time, side="right") - 1, 0, len(clock) - 2)
    length = clock[i + 1] - clock[i]
    share = np.divide(time - clock[i], length, out=np.ones(len(time)), where=length > 0)
    return np.asarray(edges[i] + np.minimum(1.0, share) * (edges[i + 1] - edges[i]))
