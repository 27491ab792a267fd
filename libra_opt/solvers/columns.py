"""Columns: the ways to run a whole job that come near its best at given prices, with what each is worth and uses of every shared row.

A column fixes the job's level and one cell for each of its stages; waiting is a column too. Levels and cells keep pools apart, which is what enumerating needs;
searching for a plan needs whole jobs, and near the right prices few of them are left.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.forest import Forest
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.lagrangian import Priced

__all__ = ["Columns", "Rows", "near_best"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]

_MOST_PER_JOB = 40
"""Most columns of one job unless more are asked for."""


@dataclass(frozen=True)
class Rows:
    """The shared rows that columns can overrun, each ``use <= high``: R1, R10's ceilings, R12, and tier 3 with both sides negated.

    Attributes
    ----------
    kind
        ``"pool"``, ``"ceiling"``, ``"budget"`` or ``"guarantee"``, by row.
    index
        Pool or queue, and resource, by row; zeros for the budget, shape ``(n_rows, 2)``.
    high
        Shape ``(n_rows,)``.
    """

    kind: npt.NDArray[np.str_]
    index: _Indices
    high: _Floats

    def of(self, kind: str) -> _Indices:
        """Return the rows of one kind."""
        return np.flatnonzero(self.kind == kind)

    def prices(self, prices: Prices) -> _Floats:
        """Return the price of every row, shape ``(n_rows,)``; reserves, which are no single row, are left out."""
        price, (a, r) = np.zeros(len(self.high)), self.index.T
        for kind, table in (("pool", prices.pool), ("ceiling", prices.ceiling), ("guarantee", prices.guarantee)):
            rows = self.of(kind)
            price[rows] = table[a[rows], r[rows]]
        price[self.of("budget")] = prices.ms
        return price


@dataclass(frozen=True)
class Columns:
    """Columns of all jobs of a program, those of a job side by side, waiting last.

    Attributes
    ----------
    program
        Where the cells lie.
    job
        Shape ``(n_columns,)``, ascending.
    first
        Where each job's columns begin, shape ``(n_jobs + 1,)``.
    cells
        Of every column, the cell of each stage of its job; -1 where there is no such stage, or the job waits; shape ``(n_columns, most_stages)``.
    value
        What it adds to tier 4, shape ``(n_columns,)``.
    lost
        What it adds to tier 1, shape ``(n_columns,)``.
    use
        What it uses of every row, shape ``(n_columns, n_rows)``.
    held
        What it holds of every resource, shape ``(n_columns, n_resources)``.
    rows
        The rows.
    """

    program: Program
    job: _Indices
    first: _Indices
    cells: _Indices
    value: _Floats
    lost: _Floats
    use: _Floats
    held: _Floats
    rows: Rows

    def loss(self, priced: Priced) -> _Floats:
        """Return how far each column is below its job's best, of those here, at the prices of `priced`, shape ``(n_columns,)``."""
        cost = np.append(priced.cell_cost, 0.0)[self.cells].sum(axis=1)
        level = self.program.cell_level[self.cells[:, 0]] if self.program.n_cells else self.cells[:, 0]
        gain = self.program.gain[level] - cost if self.program.n_cells else cost
        reduced = np.where(self.cells[:, 0] >= 0, gain, priced.wait_value[self.job])
        best = np.maximum.reduceat(reduced, self.first[:-1])
        return np.where(np.isfinite(reduced), best[self.job] - reduced, np.inf)

    def choice(self, selected: _Indices) -> Choice:
        """Return the choice that takes one column of each job, given by their indices, shape ``(n_jobs,)``."""
        program = self.program
        within = np.arange(int(program.first_stage[-1])) - program.first_stage[program.tables.stage_job]
        return np.asarray(self.cells[selected[program.tables.stage_job], within])

    def queue_use(self, selected: _Indices) -> _Floats:
        """Return what the selected columns hold per queue, with all below it, and resource, shape ``(n_queues + 1, n_resources)``."""
        used = np.zeros_like(self.program.shared.floor)
        np.add.at(used, self.program.queue, self.held[selected])
        return self.program.shared.forest.gathered(used)

    def select(self, choice: Choice) -> _Indices:
        """Return the columns of a choice, all of whose jobs have theirs here, shape ``(n_jobs,)``."""
        same = (self.cells == _padded(self.program, choice, self.cells.shape[1])[self.job]).all(axis=1)
        found = np.flatnonzero(same)
        selected = np.full(self.program.n_jobs, -1, dtype=np.intp)
        selected[self.job[found]] = found
        return selected


def near_best(program: Program, priced: Priced, slack: _Floats, keep: Choice | None = None, most: int = _MOST_PER_JOB) -> Columns:
    """Return the columns within `slack` of their job's best.

    Parameters
    ----------
    priced
        All bundles at the prices that "best" speaks of.
    slack
        In value, shape ``(n_jobs,)``.
    keep
        A choice whose columns are there whatever they are worth.
    most
        Most columns of one job, the best; at every stage on the way too, so that pools of many stages do not multiply.
    """
    job, cells = _combinations(program, priced, slack, most)
    every = np.arange(program.n_jobs)
    jobs, parts = [job, every], [cells, np.full((program.n_jobs, cells.shape[1]), -1, dtype=np.intp)]
    if keep is not None:
        runs = np.flatnonzero(program.runs(keep))
        jobs.append(runs)
        parts.append(_padded(program, keep, cells.shape[1])[runs])
    job, cells = np.concatenate(jobs), np.concatenate(parts)
    order = np.lexsort((*-cells.T[::-1], cells[:, 0] < 0, job))
    job, cells = job[order], cells[order]
    twin = np.append(False, (job[1:] == job[:-1]) & (cells[1:] == cells[:-1]).all(axis=1))
    return _valued(program, job[~twin], cells[~twin])


def _padded(program: Program, choice: Choice, width: int) -> _Indices:
    """Return the cells of each job's stages side by side, shape ``(n_jobs, width)``."""
    table = np.full((program.n_jobs, width), -1, dtype=np.intp)
    job = program.tables.stage_job
    table[job, np.arange(len(job)) - program.first_stage[job]] = choice
    return table


def _combinations(program: Program, priced: Priced, slack: _Floats, most: int) -> tuple[_Indices, _Indices]:
    """Return jobs and cells of the columns of running jobs, stage by stage: shapes ``(n,)`` and ``(n, most_stages)``."""
    bundles, n_stages = program.bundles, np.diff(program.first_stage)
    width = int(n_stages.max(initial=1))
    best = priced.job_value[bundles.job] if len(bundles.job) else np.zeros(0)
    level = np.flatnonzero(priced.level_value >= best - slack[bundles.job])
    loss = (best - priced.level_value)[level]
    cells = np.full((len(level), width), -1, dtype=np.intp)
    if program.n_cells:
        extra = priced.cell_cost - np.repeat(np.minimum.reduceat(priced.cell_cost, bundles.first_cell[:-1]), np.diff(bundles.first_cell))
    for s in range(width):
        has = n_stages[bundles.job[level]] > s
        slot = bundles.first_slot[level] + s
        low = np.where(has, bundles.first_cell[np.where(has, slot, 0)], 0) if len(level) else level
        count = np.where(has, np.diff(bundles.first_cell)[np.where(has, slot, 0)], 1) if len(level) else level
        origin = np.repeat(np.arange(len(level)), count)
        ramp = np.arange(len(origin)) - np.repeat(np.cumsum(count) - count, count)
        cell = np.where(has[origin], low[origin] + ramp, -1)
        level, cells = level[origin], cells[origin]
        loss = loss[origin] + (np.append(extra, 0.0)[cell] if program.n_cells else 0.0)
        cells[:, s] = cell
        kept = _best_of_each(bundles.job[level], loss, slack, most)
        level, loss, cells = level[kept], loss[kept], cells[kept]
    return bundles.job[level], cells


def _best_of_each(job: _Indices, loss: _Floats, slack: _Floats, most: int) -> _Indices:
    """Return, in order, the indices of those within the slack, at most so many of a job."""
    order = np.lexsort((np.arange(len(job)), loss, job))
    order = order[loss[order] <= slack[job[order]]]
    sorted_job = job[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_job, sorted_job)
    return np.sort(order[rank < most])


def _is_under(forest: Forest, queue: _Indices, above: _Indices) -> _Flags:
    """Return of every column and row whether the column's queue is the row's, or below it, shape ``(n_columns, n_rows)``."""
    if forest.is_flat:
        return np.asarray(queue[:, None] == above)
    return np.stack([forest.under(queue, q) for q in above.tolist()], axis=1) if len(above) else np.zeros((len(queue), 0), dtype=np.bool_)


def _valued(program: Program, job: _Indices, cells: _Indices) -> Columns:
    shared, runs = program.shared, cells[:, 0] >= 0
    n_pools, n_resources = shared.capacity.shape
    n = len(job)
    pool, ms, charge = np.zeros((n, n_pools, n_resources)), np.where(runs, 0.0, program.wait_ms[job]), np.zeros(n)
    for s in range(cells.shape[1]):
        at = np.flatnonzero(cells[:, s] >= 0)
        cell = cells[at, s]
        pool[at, program.cell_pool[cell]] += program.amount[cell]
        ms[at] += program.cell_ms[cell]
    charge = program.per_ms[job] * ms
    gain = np.zeros(n)
    gain[runs] = program.gain[program.cell_level[cells[runs, 0]]]
    held = np.asarray(pool.sum(axis=1))
    queue = program.queue[job]
    kinds = ["pool"] * (n_pools * n_resources)
    index: list[_Indices] = [np.argwhere(np.ones_like(shared.capacity))]
    parts: list[_Floats] = [pool.reshape(n, -1)]
    high: list[_Floats] = [shared.capacity.ravel()]
    for kind, where, limit, sign in (
        ("ceiling", np.argwhere(np.isfinite(shared.ceiling)), shared.ceiling, 1.0),
        ("guarantee", np.argwhere(shared.floor > 0), shared.floor, -1.0),
    ):
        kinds += [kind] * len(where)
        index.append(where)
        parts.append(sign * held[:, where[:, 1]] * _is_under(shared.forest, queue, where[:, 0]))
        high.append(sign * limit[where[:, 0], where[:, 1]])
    if np.isfinite(shared.budget_ms):
        kinds.append("budget")
        index.append(np.zeros((1, 2), dtype=np.intp))
        parts.append(ms[:, None])
        high.append(np.array([shared.most_ms()]))
    first = np.searchsorted(job, np.arange(program.n_jobs + 1))
    use, most = np.concatenate(parts, axis=1), np.concatenate(high)
    can = np.maximum.reduceat(use, first[:-1], axis=0).sum(axis=0) > most if n else np.zeros(len(most), dtype=np.bool_)
    live = np.flatnonzero(can | (np.array(kinds) == "ceiling") & (not shared.forest.is_flat) & bool(shared.is_reserving.any()))
    rows = Rows(np.array(kinds)[live], np.concatenate(index)[live], most[live])
    lost = np.where(runs, 0.0, program.lost[job])
    return Columns(program, job, first, cells, gain - charge, lost, np.ascontiguousarray(use[:, live]), held, rows)
