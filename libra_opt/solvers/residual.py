"""What is left of the shared rows while a plan is put together job by job."""

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Choice, Program

__all__ = ["Residual"]

_Indices = npt.NDArray[np.intp]
_Floats = npt.NDArray[np.float64]

_STEPS = 64


class Residual:
    """A choice under construction and what it leaves of the shared rows.

    It changes its own state, so it lives inside one call, and only its choice leaves.

    Attributes
    ----------
    placements
        How many placements of a stage were tried so far: the measure of effort where no clock is read.
    """

    def __init__(self, program: Program, choice: Choice, *, keeps_budget: bool = True) -> None:
        usage = program.usage(choice)
        self.program = program
        self.choice = choice.copy()
        self.pool = program.shared.capacity - usage.pool
        self.used = usage.queue
        self.ms = usage.ms
        self.keeps_budget = keeps_budget
        self.placements = 0
        self._ms_before: float | None = None

    def release(self, job: int) -> _Indices:
        """Take back all a job holds and return its cells."""
        cells = self._cells(job)
        self._ms_before = self.ms
        self._book(job, cells, -1)
        self.choice[self._rows(job)] = -1
        return cells

    def take(self, job: int, cells: _Indices) -> None:
        """Give a waiting job the cells of one level; nothing for an empty selection."""
        self._ms_before = None
        if len(cells):
            self._book(job, cells, 1)
            self.choice[self._rows(job)] = cells

    def pick(self, job: int, level: int, cost: _Floats) -> _Indices | None:
        """Return cells at which a waiting job fits at a level, cheap ones by `cost` (shape ``(n_cells,)``) first; None if none are found.

        Stages are placed one after the other, going back where one fits nowhere any more, for at most `_STEPS` placements.
        """
        program, bundles = self.program, self.program.bundles
        last_slot, steps = int(bundles.first_slot[level + 1]), 0
        open_pools = [self.pool]
        waiting = [self._fitting(int(bundles.first_slot[level]), self.pool, cost)]
        picked: list[int] = []
        while waiting and steps < _STEPS:
            steps += 1
            self.placements += 1
            if not waiting[-1]:
                waiting.pop()
                open_pools.pop()
                if picked:
                    picked.pop()
                continue
            cell = waiting[-1].pop()
            slot = int(bundles.first_slot[level]) + len(picked) + 1
            if slot == last_slot:
                cells = np.array([*picked, cell], dtype=np.intp)
                if self._budget_allows(job, cells) and self._queue_allows(job, program.amount[cells].sum(axis=0)):
                    return cells
                continue
            picked.append(cell)
            pool = open_pools[-1].copy()
            pool[program.cell_pool[cell]] -= program.amount[cell]
            open_pools.append(pool)
            waiting.append(self._fitting(slot, pool, cost))
        return None

    def has_room(self, level: int) -> bool:
        """Return whether every stage of a waiting job by itself fits at a level: what must hold for `pick` to find anything at this level or a higher one."""
        program, first = self.program, self.program.bundles.first_cell
        slots = range(int(program.bundles.first_slot[level]), int(program.bundles.first_slot[level + 1]))
        return all(
            (program.amount[first[slot] : first[slot + 1]] <= self.pool[program.cell_pool[first[slot] : first[slot + 1]]]).all(axis=1).any() for slot in slots
        )

    def _fitting(self, slot: int, pool: _Floats, cost: _Floats) -> list[int]:
        """Return the cells of a slot that fit, the cheapest last."""
        program = self.program
        first, last = int(program.bundles.first_cell[slot]), int(program.bundles.first_cell[slot + 1])
        cells = np.arange(first, last)[(program.amount[first:last] <= pool[program.cell_pool[first:last]]).all(axis=1)]
        return list(cells[np.lexsort((-cells, -cost[cells]))].tolist())

    def value_of(self, job: int, cells: _Indices) -> float:
        """Return what a job adds to tier 4 with these cells of one level; what waiting costs it for an empty selection."""
        program = self.program
        if not len(cells):
            return float(-program.per_ms[job] * program.wait_ms[job])
        return float(program.gain[program.cell_level[cells[0]]] - program.per_ms[job] * program.cell_ms[cells].sum())

    def allows(self, job: int, cells: _Indices) -> bool:
        """Return whether a waiting job fits with exactly these cells."""
        program, pool = self.program, self.pool.copy()
        np.subtract.at(pool, program.cell_pool[cells], program.amount[cells])
        fits = bool((pool >= 0).all()) and self._budget_allows(job, cells)
        return fits and self._queue_allows(job, program.amount[cells].sum(axis=0))

    def _budget_allows(self, job: int, cells: _Indices) -> bool:
        """R12: whether taking the cells keeps the budget, or at least does not add to what was over it before the job was released."""
        if not self.keeps_budget:
            return True
        after = self.ms + float(self.program.cell_ms[cells].sum() - self.program.wait_ms[job])
        before = self.ms if self._ms_before is None else self._ms_before
        return after <= max(self.program.shared.budget_ms, before)

    def _queue_allows(self, job: int, amount: _Floats) -> bool:
        """R10: whether a job's queue, and all above it, may hold so much more."""
        shared, path = self.program.shared, self._path(job)
        used = self.used[path] + amount
        if (used > shared.ceiling[path]).any():
            return False
        if not shared.is_reserving.any():
            return True
        all_used = self.used.copy()
        all_used[path] = used
        return shared.keeps_reserves(all_used)

    def _path(self, job: int) -> slice | _Indices:
        path: slice | _Indices = self.program.shared.forest.paths[self.program.queue[job]]
        return path

    def _rows(self, job: int) -> slice:
        first = self.program.first_stage
        return slice(int(first[job]), int(first[job + 1]))

    def _cells(self, job: int) -> _Indices:
        cells = self.choice[self._rows(job)]
        return cells[cells >= 0].copy()

    def _book(self, job: int, cells: _Indices, sign: int) -> None:
        if not len(cells):
            return
        program = self.program
        np.subtract.at(self.pool, program.cell_pool[cells], sign * program.amount[cells])
        self.used[self._path(job)] += sign * program.amount[cells].sum(axis=0)
        self.ms += sign * float(program.cell_ms[cells].sum() - program.wait_ms[job])
