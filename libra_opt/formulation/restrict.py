"""A smaller program inside a program: some jobs, some of their bundles, and what the others leave of the shared rows."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.bundles import Bundles
from libra_opt.formulation.program import Choice, Program, Usage
from libra_opt.formulation.runs import spans
from libra_opt.formulation.shared import SharedRows

__all__ = ["Restricted", "restrict", "transfer"]

_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Restricted:
    """A smaller program and where its parts lie in the larger one.

    Attributes
    ----------
    program
        The smaller program, for solving and not for decoding: curves, ways, and of the tables all but the order of jobs and stages and the queues,
        are still the larger one's.
    jobs, stages, cells
        Indices in the larger program, in the order of the smaller.
    """

    program: Program
    jobs: _Indices
    stages: _Indices
    cells: _Indices

    def shrink(self, choice: Choice) -> Choice:
        """Return the part of a choice of the larger program; every chosen cell must be among the smaller one's."""
        inside = choice[self.stages]
        return np.where(inside >= 0, np.searchsorted(self.cells, inside), -1)

    def widen(self, choice: Choice, rest: Choice) -> Choice:
        """Return a choice of the larger program: `choice` for the jobs inside, `rest` for the others."""
        whole = rest.copy()
        whole[self.stages] = np.where(choice >= 0, self.cells[choice], -1) if len(self.cells) else -1
        return whole


def restrict(program: Program, jobs: _Indices, levels: _Flags, fixed: Usage | None = None, cells: _Flags | None = None) -> Restricted:
    """Return the program over some jobs and bundles.

    Parameters
    ----------
    jobs
        Jobs to keep, increasing.
    levels
        Levels to keep, shape ``(n_levels,)``; of other jobs they are ignored.
    fixed
        What the other jobs use of the shared rows; nothing unless given.
    cells
        Cells to keep within those levels, shape ``(n_cells,)``; all unless given. A level that loses a slot is dropped.
    """
    tables, bundles = program.tables, program.bundles
    is_job = np.zeros(program.n_jobs, dtype=np.bool_)
    is_job[jobs] = True
    stages = np.flatnonzero(is_job[tables.stage_job])
    kept_levels = np.flatnonzero(levels & is_job[bundles.job])
    slots, first_slot = spans(bundles.first_slot[kept_levels], bundles.first_slot[kept_levels + 1])
    kept_cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    in_slot = np.diff(np.append(first_cell, len(kept_cells)))
    if cells is not None and len(kept_cells):
        is_kept, all_in_slot = cells[kept_cells], in_slot
        in_slot = np.add.reduceat(is_kept, first_cell, dtype=np.intp)
        is_filled = np.logical_and.reduceat(in_slot > 0, first_slot)
        of_filled = np.repeat(is_filled, np.diff(np.append(first_slot, len(slots))))
        kept_levels, kept_cells = kept_levels[is_filled], kept_cells[is_kept & np.repeat(of_filled, all_in_slot)]
        in_slot = in_slot[of_filled]
    position = np.cumsum(is_job) - 1
    job = position[bundles.job[kept_levels]]
    counts = np.diff(tables.first_stage)[jobs]
    small = replace(
        program,
        tables=replace(
            tables,
            job_order=tables.job_order[jobs],
            stage=tables.stage[stages],
            stage_job=position[tables.stage_job[stages]],
            first_stage=np.append(0, np.cumsum(counts)).astype(np.intp),
            queue=tables.queue[jobs],
        ),
        bundles=Bundles(
            job=job,
            service=bundles.service[kept_levels],
            first_level=np.searchsorted(job, np.arange(len(jobs) + 1)),
            first_slot=np.append(0, np.cumsum(counts[job])).astype(np.intp),
            first_cell=np.append(0, np.cumsum(in_slot)).astype(np.intp),
            way=bundles.way[kept_cells],
            amount=bundles.amount.take(kept_cells, axis=0),
            surely=bundles.surely.take(kept_cells, axis=0),
            below=bundles.below[kept_levels],
            is_inside=bundles.is_inside[kept_levels],
            is_ticked=bundles.is_ticked,
            is_whole=False,
            is_complete=bundles.is_complete,
        ),
        shared=program.shared if fixed is None else _left(program.shared, fixed),
        is_original=False,
        fairness=None,
        utility=program.utility.take(jobs),
        gain=program.gain[kept_levels],
        most_gain=program.most_gain[kept_levels],
        worth=program.worth[jobs],
        size=program.size[jobs],
        stake=program.stake[jobs],
        per_ms=program.per_ms[jobs],
        wait_ms=program.wait_ms[jobs],
        lost=program.lost[jobs],
        n_wait_moves=program.n_wait_moves[jobs],
        cell_ms=program.cell_ms[kept_cells],
        cell_moved=program.cell_moved[kept_cells],
        amount=program.amount.take(kept_cells, axis=0),
        surely=program.surely.take(kept_cells, axis=0),
    )
    return Restricted(small, jobs, stages, kept_cells)


def _left(shared: SharedRows, fixed: Usage) -> SharedRows:
    """Return what fixed use leaves; for reserves, max(f + u, reserved) = f + max(u, reserved - f)."""
    return replace(
        shared,
        capacity=shared.capacity - fixed.pool,
        ceiling=shared.ceiling - fixed.queue,
        reserved=np.maximum(0.0, shared.reserved - fixed.queue),
        floor=np.maximum(0.0, shared.floor - fixed.queue),
        budget_ms=shared.budget_ms - fixed.ms,
        total=shared.total - shared.forest.over_roots(fixed.queue),
        quota=shared.quota - fixed.queue,
    )


def transfer(choice: Choice, source: Program, target: Program) -> Choice:
    """Return the choice of `target` that holds what `choice` holds in `source`, a program of the same jobs on another grid.

    The target has a level at the service of every job that runs (see `Window.anchor`); a job whose cells are not found there waits.
    """
    moved = target.nothing
    old, new = source.bundles, target.bundles
    level = source.level(choice)
    for job in np.flatnonzero(level >= 0):
        levels = np.arange(new.first_level[job], new.first_level[job + 1])
        nearest = levels[np.argmin(np.abs(new.service[levels] - old.service[level[job]]))]
        for slot, stage in zip(
            range(new.first_slot[nearest], new.first_slot[nearest + 1]), range(source.first_stage[job], source.first_stage[job + 1]), strict=True
        ):
            cells = np.arange(new.first_cell[slot], new.first_cell[slot + 1])
            same = (target.cell_pool[cells] == source.cell_pool[choice[stage]]) & (new.amount[cells] == old.amount[choice[stage]]).all(axis=1)
            moved[stage] = cells[np.argmax(same)] if same.any() else -1
        if (moved[source.first_stage[job] : source.first_stage[job + 1]] < 0).any():
            moved[source.first_stage[job] : source.first_stage[job + 1]] = -1
    return moved
