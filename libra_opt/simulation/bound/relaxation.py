"""The linear program over the whole horizon that every schedule is a point of, and more than these.

Time is cut into blocks of whole periods. For a job on its own progress, ``W[c, t]`` is the share of class c (see `windows`) that is done by the end of block t, for one on the
wall clock ``v[i]`` the seconds at full service it gets in a stretch of a block in which its demand stays the same. Of any schedule these satisfy

- ``0 <= W[c, t-1] <= W[c, t] <= 1``, and ``W[c, t] <= M[t] <= W[b, t]`` for every class b of the window before: a window begins after the one before;
- per job and block, seconds of all classes (at their fastest pace) fit into the block after the job came and started cold, which happens at the beginning of a period;
- per block and resource, what the classes take at least (`least_use`) is no more than the capacity over the block: over all pools, and over every set of pools that some
  stage is bound to. Longer blocks only add up the rows of their periods, so they are a relaxation too;
- the work of a window that counts as finished is at most its share that is done of any of its classes, times the most that finished steps can be ahead of that class; and all that
  finished steps take, part for part, fits into the capacity until the end;
- work on the wall clock counts as served, and ends with the job's work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.domain import Workload
from libra_opt.simulation.bound.least_use import Price, Pricing
from libra_opt.simulation.bound.windows import Window, whole_steps, windows_of
from libra_opt.simulation.truth import Truth, Vector, cluster_total, truth_of, vector
from libra_opt.solvers.highs import Linear

__all__ = ["Limits", "Relaxer"]

_ALMOST: Final = 1e-9
_Floats: TypeAlias = npt.NDArray[np.float64]
_Entry: TypeAlias = tuple[int, int, float]
_Use: TypeAlias = dict[tuple[int, int, int], list[tuple[int, float]]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How fine the program is.

    Attributes
    ----------
    blocks
        Most blocks of time.
    columns
        About how many columns; windows have fewer classes where there are many jobs.
    """

    blocks: int = 16
    columns: int = 10_000


@dataclass(slots=True)
class _Rows:
    """A program under construction: entries (row, column, value), and the limits of rows and columns."""

    entries: list[_Entry] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def column(self, upper: float) -> int:
        self.gain.append(0.0)
        self.upper.append(upper)
        return len(self.gain) - 1

    def row(self, high: float) -> int:
        self.high.append(high)
        return len(self.high) - 1

    def at_most(self, column: int, other: int) -> None:
        """Hold a column at or below another one."""
        row = self.row(0.0)
        self.entries += [(row, column, 1.0), (row, other, -1.0)]

    def least(self, columns: Sequence[int]) -> int:
        """Return a column that is at or below all of these."""
        if len(columns) == 1:
            return columns[0]
        least = self.column(1.0)
        for column in columns:
            self.at_most(least, column)
        return least

    def credit(self, worth: float, columns: Sequence[tuple[int, float]]) -> int:
        """Return a column that counts a worth in proportion to the least of these columns times its lead, or whole."""
        credited = self.column(1.0)
        self.gain[credited] = worth
        for column, lead in columns:
            if lead < np.inf:
                row = self.row(0.0)
                self.entries += [(row, credited, 1.0), (row, column, -lead)]
        return credited

    def linear(self) -> Linear:
        row, column, value = zip(*self.entries, strict=True) if self.entries else ((), (), ())
        shape = (len(self.high), len(self.gain))
        matrix = sparse.csc_array((np.array(value, dtype=np.float64), (np.array(row, dtype=np.intp), np.array(column, dtype=np.intp))), shape=shape)
        high = np.array(self.high)
        return Linear(np.array(self.gain), matrix, np.full(len(high), -np.inf), high, np.array(self.upper))


class Relaxer:
    """Makes the program of a workload for any horizon.

    Parameters
    ----------
    workload
        The cluster and its jobs.
    period_seconds
        The rebalancing period: grants change and jobs start at its multiples.
    limits
        How fine.
    """

    def __init__(self, workload: Workload, period_seconds: float, limits: Limits) -> None:
        self.workload, self.seconds, self.limits = workload, period_seconds, limits
        pricing = Pricing(workload)
        self.truths: list[Truth] = [truth_of(workload, job) for job in workload.jobs]
        self.prices: list[list[Price]] = [pricing.prices(job, truth) for job, truth in zip(workload.jobs, self.truths, strict=True)]
        self.starts = [seconds * ceil(job.submitted / seconds - _ALMOST) + job.restart.cold_seconds for job in workload.jobs for seconds in (period_seconds,)]
        self._bound_to = [[pricing.pools(stage) for stage in job.stages] for job in workload.jobs]
        names = frozenset(pool.name for pool in workload.pools)
        self._sets = sorted({names, *(pools for job in self._bound_to for pools in job)}, key=sorted)
        self._scale: Vector = tuple(1 / amount if amount else 0.0 for amount in cluster_total(workload))

    def can_finish(self, j: int) -> bool:
        """Return whether a job could ever be done, alone and with the whole cluster."""
        job, truth = self.workload.jobs[j], self.truths[j]
        if job.clock == "wall":
            worth = [rate * price.pace for rate, price in zip(truth.rate, self.prices[j], strict=True)]
            return job.work is None or (any(worth) and (job.repeats or self._served(j, truth.seconds) >= job.work * (1 - _ALMOST)))
        if job.repeats and not truth.work:
            return False
        return self._reaches_end(j)

    def earliest_end(self, j: int) -> float:
        """Return when a job that can finish could be done at the earliest, alone."""
        job, truth = self.workload.jobs[j], self.truths[j]
        if job.clock == "wall":
            return self._wall_end(j)
        return self.starts[j] + sum(seconds / price.pace for parts, _, _ in whole_steps(job, truth, self.prices[j], np.inf) for price, seconds in parts)

    def program(self, end: float, *, is_share: bool) -> Linear:
        """Return the program of what can be done by `end`.

        Parameters
        ----------
        end
            Seconds on the simulated clock.
        is_share
            Every job counts 1 when it is done whole, in proportion to the seconds done; else finished work counts, times the job's weight.
        """
        edges = self._edges(end)
        rows = _Rows()
        use: _Use = {}
        for j, job in enumerate(self.workload.jobs):
            if self.starts[j] < end:
                add = self._add_wall if job.clock == "wall" else self._add_progress
                add(rows, use, j, edges, is_share)
        total = self._capacity_seconds(edges)
        for (which, r, t), entries in sorted(use.items()):
            available = total[which, r, t]
            unit = available or 1.0
            row = rows.row(available / unit)
            rows.entries += [(row, column, amount / unit) for column, amount in entries]
        return rows.linear()

    def _edges(self, end: float) -> _Floats:
        periods = ceil(end / self.seconds - _ALMOST)
        size = ceil(periods / self.limits.blocks)
        return np.minimum(end, np.arange(0, periods + size, size)[: ceil(periods / size) + 1] * self.seconds)

    def _capacity_seconds(self, edges: _Floats) -> _Floats:
        """Return the capacity of every set of pools over every block, a change counting from the next period on, and last over all blocks, shape ``(n_sets, n_resources, n_blocks + 1)``."""
        found = np.zeros((len(self._sets), len(self._scale), len(edges) - 1))
        for pool in self.workload.pools:
            changes = sorted((c for c in self.workload.changes if c.pool == pool.name), key=lambda c: c.at_seconds)
            since = [0.0, *(self.seconds * ceil(c.at_seconds / self.seconds - _ALMOST) for c in changes)]
            amounts = [vector(pool.capacity, self.workload.resources), *(vector(c.capacity, self.workload.resources) for c in changes)]
            for begin, stop, amount in zip(since, [*since[1:], np.inf], amounts, strict=True):
                overlap = np.maximum(0.0, np.minimum(edges[1:], stop) - np.maximum(edges[:-1], begin))
                for which, pools in enumerate(self._sets):
                    if pool.name in pools:
                        found[which] += np.outer(amount, overlap)
        return np.concatenate([found, found.sum(axis=2, keepdims=True)], axis=2)

    def _add_use(self, use: _Use, j: int, taken: Sequence[Vector], t: int, entries: Sequence[tuple[int, float]]) -> None:
        """Enter what columns take in a block: of every set of pools, the stages that are bound to it."""
        for which, pools in enumerate(self._sets):
            inside = [row for row, bound in zip(taken, self._bound_to[j], strict=True) if bound <= pools]
            for r, amounts in enumerate(zip(*inside, strict=True)):
                amount = sum(amounts)
                if amount > 0:
                    use.setdefault((which, r, t), []).extend((column, amount * value) for column, value in entries)

    def _windows(self, j: int, edges: _Floats) -> list[Window]:
        job, start, end = self.workload.jobs[j], self.starts[j], float(edges[-1])
        steps = whole_steps(job, self.truths[j], self.prices[j], end - start)
        mine = int((edges[1:] > start).sum())
        columns = 2 * self.limits.columns / len(self.workload.jobs) / max(1, mine)
        n_windows = max(1, min(len(steps), mine, floor(columns / 4)))
        return windows_of(steps, n_windows, max(3, floor(columns / n_windows)), self._scale)

    def _add_progress(self, rows: _Rows, use: _Use, j: int, edges: _Floats, is_share: bool) -> None:  # noqa: FBT001
        job, start = self.workload.jobs[j], self.starts[j]
        n_blocks = len(edges) - 1
        windows = self._windows(j, edges)
        worth = sum(window.takes for window in windows)
        busy: dict[int, list[tuple[int, float]]] = {}
        before: dict[int, int] = {}
        elapsed = start
        for n, window in enumerate(windows):
            last: list[tuple[int, float]] = []
            done: dict[int, list[int]] = {}
            for one in window.classes:
                takes = one.seconds / one.pace
                earlier = -1
                for t in range(n_blocks):
                    upper = min(1.0, (float(edges[t + 1]) - elapsed) / takes)
                    if upper <= _ALMOST:
                        continue
                    column = rows.column(upper)
                    done.setdefault(t, []).append(column)
                    entries = [(column, one.seconds)]
                    if earlier >= 0:
                        rows.at_most(earlier, column)
                        entries.append((earlier, -one.seconds))
                    if n:
                        rows.at_most(column, before[t])
                    busy.setdefault(t, []).extend((c, value / one.pace) for c, value in entries)
                    self._add_use(use, j, one.use, t, entries)
                    earlier = column
                if earlier >= 0:
                    last.append((earlier, 1.0 if is_share else one.lead))
            if len(last) == len(window.classes) and (is_share or window.credit > 0):
                credited = rows.credit(window.takes / worth if is_share else job.weight * window.credit, last)
                self._add_use(use, j, window.whole, n_blocks, [(credited, 1.0)])
            if n + 1 < len(windows):
                before = {t: rows.least(columns) for t, columns in done.items() if len(columns) == len(window.classes)}
            elapsed += window.takes
        for t, entries in busy.items():
            length = float(edges[t + 1] - edges[t])
            row = rows.row(min(length, float(edges[t + 1]) - start) / length)
            rows.entries += [(row, column, value / length) for column, value in entries]

    def _add_wall(self, rows: _Rows, use: _Use, j: int, edges: _Floats, is_share: bool) -> None:  # noqa: FBT001
        job, truth = self.workload.jobs[j], self.truths[j]
        worth = job.work if is_share and job.work is not None else 1.0 / job.weight if job.weight else np.inf
        limit = None if job.work is None else rows.row(1.0)
        for t in range(len(edges) - 1):
            for p, seconds in self._stretches(j, float(edges[t]), float(edges[t + 1])).items():
                price, rate = self.prices[j][p], truth.rate[p]
                if price.pace <= 0 or seconds <= 0 or rate <= 0:
                    continue
                column = rows.column(seconds * price.pace)
                rows.gain[column] = rate / worth
                if limit is not None:
                    rows.entries.append((limit, column, rate / (job.work or 1.0)))
                self._add_use(use, j, price.use, t, [(column, 1.0)])

    def _stretches(self, j: int, begin: float, end: float) -> dict[int, float]:
        """Return how long every part of a job on the wall clock lasts within a block, once the job may have started."""
        job, truth = self.workload.jobs[j], self.truths[j]
        found: dict[int, float] = {}
        now, end = max(begin, self.starts[j]) - job.submitted, end - job.submitted
        if not job.repeats:
            end = min(end, truth.seconds)
        while now < end - _ALMOST:
            cycle = floor(now / truth.seconds + _ALMOST) if job.repeats else 0
            within = max(0.0, now - cycle * truth.seconds)
            p = truth.part_at(within)
            stop = min(end, cycle * truth.seconds + truth.ends[p])
            found[p] = found.get(p, 0.0) + stop - now
            now = max(stop, now + _ALMOST)
        return found

    def _served(self, j: int, seconds: float) -> float:
        """Return the work that a job on the wall clock could be served by so many seconds after it was submitted, alone."""
        job, truth = self.workload.jobs[j], self.truths[j]
        stretches = self._stretches(j, 0.0, job.submitted + seconds)
        return sum(truth.rate[p] * self.prices[j][p].pace * length for p, length in stretches.items())

    def _wall_end(self, j: int) -> float:
        job, truth = self.workload.jobs[j], self.truths[j]
        if job.work is None:
            return max(self.starts[j], job.submitted + truth.seconds)
        periods = 1
        while self._served(j, periods * truth.seconds) < job.work * (1 - _ALMOST):
            periods += 1
        low, high = 0.0, periods * truth.seconds
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self._served(j, middle) >= job.work * (1 - _ALMOST) else (middle, high)
        return job.submitted + low

    def _reaches_end(self, j: int) -> bool:
        """Return whether a job that ends with its work, or its steps, meets no part that cannot be done before."""
        job, truth = self.workload.jobs[j], self.truths[j]
        served, before = 0.0, 0.0
        for end, rate, price in zip(truth.ends, truth.rate, self.prices[j], strict=True):
            if price.pace <= 0:
                return False
            served, before = served + rate * (end - before), end
            if served >= (job.work or 0.0) * (1 - _ALMOST):
                return True
        return True
