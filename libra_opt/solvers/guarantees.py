"""Tier 3 by hand: where rounding left a queue short of its guarantee, its jobs are raised, and where there is no room borrowers make it.

Each change is kept only if it lowers the shortfall, so the result is never worse in tier 3; the charges of R12 are kept within the budget. Effort is counted
in placements of stages.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Choice, Program
from libra_opt.solvers.residual import Residual

__all__ = ["PLACEMENTS", "honour"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_CLAIMANTS, _DONORS, _PASSES = 40, 60, 2
_LEAST_GAIN = 1e-9

PLACEMENTS = 30_000
"""Placements of stages that may be tried per unit of effort, which are about seconds of an idle core."""


def honour(program: Program, choice: Choice, job_value: _Floats, cell_cost: _Floats, effort: float) -> Choice:
    """Return `choice` with less, or the same, of its guarantees short.

    Parameters
    ----------
    job_value
        What each job's best bundle is worth at the relaxation's prices, shape ``(n_jobs,)``: claimants with most come first, donors with least.
    cell_cost
        Priced cost of every cell, shape ``(n_cells,)``.
    effort
        Deterministic effort of the whole call: `PLACEMENTS` times as many placements are tried at most.
    """
    residual = Residual(program, choice)
    if not program.n_cells or _shortfall(program, residual) <= _LEAST_GAIN:
        return choice
    most = int(PLACEMENTS * effort)
    for _ in range(_PASSES):
        for queue in _short_queues(program, residual):
            claimants = np.flatnonzero(program.shared.forest.under(program.queue, queue))
            claimants = claimants[np.lexsort((claimants, -job_value[claimants]))]
            for job in claimants:
                if residual.placements >= most or not _is_short(program, residual, int(queue)):
                    break
                _raise(program, residual, int(job), cell_cost)
            if _is_short(program, residual, int(queue)):
                _make_room(program, residual, int(queue), claimants[:_CLAIMANTS], job_value, cell_cost, most)
    return residual.choice


def _shortfall(program: Program, residual: Residual) -> float:
    return float((np.maximum(0.0, program.shared.floor - residual.used) / program.shared.nominal).sum())


def _is_short(program: Program, residual: Residual, queue: int) -> bool:
    return bool((residual.used[queue] < program.shared.floor[queue]).any())


def _short_queues(program: Program, residual: Residual) -> _Indices:
    short = (np.maximum(0.0, program.shared.floor - residual.used) / program.shared.nominal).sum(axis=1)
    return np.flatnonzero(short > _LEAST_GAIN)[np.argsort(-short[short > _LEAST_GAIN], kind="stable")]


def _raise(program: Program, residual: Residual, job: int, cell_cost: _Floats) -> bool:
    """Give a job the highest level that fits, if that lowers the shortfall."""
    before = _shortfall(program, residual)
    now = residual.release(job)
    first = int(program.bundles.first_level[job])
    low = int(program.cell_level[now[0]]) if len(now) else first - 1
    high = top = int(program.bundles.first_level[job + 1]) - 1
    best = now
    while low < high:
        middle = high if high == top else (low + high + 1) // 2
        cells = residual.pick(job, middle, cell_cost)
        if cells is None:
            high = middle - 1
        else:
            low, best = middle, cells
    residual.take(job, best)
    if _shortfall(program, residual) < before - _LEAST_GAIN:
        return True
    residual.release(job)
    residual.take(job, now)
    return False


def _make_room(program: Program, residual: Residual, queue: int, claimants: _Indices, job_value: _Floats, cell_cost: _Floats, most: int) -> None:
    runs = program.runs(residual.choice)
    donors = np.flatnonzero(runs & ~program.shared.forest.under(program.queue, queue) & (program.lost == 0))
    for donor in donors[np.lexsort((donors, job_value[donors]))][:_DONORS]:
        if residual.placements >= most or not _is_short(program, residual, queue):
            return
        _trade(program, residual, int(donor), claimants, cell_cost, most)


def _trade(program: Program, residual: Residual, donor: int, claimants: _Indices, cell_cost: _Floats, most: int) -> None:
    """Let a donor give way to a claimant, and come back as far as it still fits; undo it all unless the shortfall falls."""
    before, ms_before = _shortfall(program, residual), residual.ms
    given = residual.release(donor)
    for job in claimants:
        if residual.placements >= most:
            break
        now = residual.choice[program.first_stage[job] : program.first_stage[job + 1]].copy()
        if not _raise(program, residual, int(job), cell_cost):
            continue
        level = int(program.cell_level[given[0]])
        for each in range(level, int(program.bundles.first_level[donor]) - 1, -1):
            cells = residual.pick(donor, each, cell_cost)
            if cells is not None:
                residual.take(donor, cells)
                break
        if _shortfall(program, residual) < before - _LEAST_GAIN and residual.ms <= max(program.shared.budget_ms, ms_before):
            return
        residual.release(donor)
        residual.release(int(job))
        residual.take(int(job), now[now >= 0])
    residual.take(donor, given)
