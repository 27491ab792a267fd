"""Greedy: protected jobs first, then what guarantees owe, then by value per dominant share; a plan at once, whatever the size.

It is the fallback that is always at hand and a baseline to beat; its bound is the simplest there is.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Choice, Program
from libra_opt.solvers.residual import Residual
from libra_opt.solvers.solution import Bounds, Solution

__all__ = ["greedy_choice", "settle", "solve"]

_Floats = npt.NDArray[np.float64]

_PASSES, _TRIES = 5, 6
"""How often the charged jobs are gone through, and at how many levels each is tried, when a plan overruns its budget."""


def solve(program: Program, options: Options) -> Solution:  # noqa: ARG001
    """Return the greedy plan, with the bound that every job gets all it can use for nothing."""
    choice = greedy_choice(program)
    bounds = Bounds(0.0, 0.0, 0.0, program.most_value)
    return Solution(program, choice, program.score(choice), bounds, "greedy", is_fallback=True)


def greedy_choice(program: Program) -> Choice:
    """Return the better of two plans: built up greedily, or what runs now kept as it is."""
    built = settle(program, _build(program))
    if not program.n_cells:
        return built
    kept = _still(program)
    if not program.fits(program.usage(kept)):
        return built
    kept = settle(program, kept)
    return kept if program.score(kept).beats(program.score(built)) else built


def settle(program: Program, choice: Choice) -> Choice:
    """Return `choice` with what R12 and R13 ask of any plan, however it was found.

    R13: a protected job that waits is let in, and others give way, where it fits beside the other protected jobs. R12: charged jobs are left as they
    are, the dearest first, while the budget is overrun and they fit.
    """
    choice = _let_in(program, choice)
    if program.usage(choice).ms <= program.shared.budget_ms or not program.n_cells:
        return choice
    residual = Residual(program, choice)
    cost = np.where(program.cell_ms > 0, np.inf, _dominant_share(program))
    first = program.first_stage
    for _ in range(_PASSES):
        before = residual.ms
        cell_ms = np.append(program.cell_ms, 0.0)[residual.choice]
        charge = np.add.reduceat(cell_ms, first[:-1]) + np.where(program.runs(residual.choice), 0.0, program.wait_ms)
        for job in np.lexsort((np.arange(program.n_jobs), -charge)):
            if residual.ms <= program.shared.budget_ms or charge[job] <= 0:
                break
            _leave_as_it_is(program, residual, int(job), cost)
        if residual.ms <= program.shared.budget_ms or residual.ms == before:
            break
    return residual.choice


def _leave_as_it_is(program: Program, residual: Residual, job: int, cost: _Floats) -> None:
    """Let a job hold what it has, at the best of a few levels at which it fits without a charge; nothing changes where there is none."""
    first, last = int(program.bundles.first_level[job]), int(program.bundles.first_level[job + 1])
    now = residual.release(job)
    for level in dict.fromkeys(np.linspace(last - 1, first, min(_TRIES, last - first)).astype(int).tolist()):
        cells = residual.pick(job, level, cost)
        if cells is not None and not program.cell_ms[cells].any():
            residual.take(job, cells)
            return
    residual.take(job, now)


def _let_in(program: Program, choice: Choice) -> Choice:
    waiting = np.flatnonzero((program.lost > 0) & ~program.runs(choice) & (np.diff(program.bundles.first_level) > 0))
    if not len(waiting):
        return choice
    is_protected = program.lost[program.tables.stage_job] > 0
    residual = Residual(program, np.where(is_protected, choice, -1), keeps_budget=False)
    cost = _dominant_share(program) + program.cell_ms * program.per_ms[program.cell_job]
    entered = False
    for job in waiting[np.lexsort((waiting, -program.lost[waiting]))]:
        cells = residual.pick(int(job), int(program.bundles.first_level[job]), cost)
        if cells is not None:
            residual.take(int(job), cells)
            entered = True
    if not entered:
        return choice
    others = np.flatnonzero((program.lost == 0) & program.runs(choice))
    for job in others[np.lexsort((others, -program.worth[others]))]:
        cells = choice[program.first_stage[job] : program.first_stage[job + 1]]
        if residual.allows(int(job), cells):
            residual.take(int(job), cells)
    return residual.choice


def _still(program: Program) -> Choice:
    """Return the choice that leaves what runs as it is, each job at its highest level that costs nothing; it need not fit any more."""
    choice = program.nothing
    still = (program.cell_ms == 0) & (program.wait_ms[program.cell_job] + program.n_wait_moves[program.cell_job] > 0)
    first_cell, first_slot = program.bundles.first_cell[:-1], program.bundles.first_slot[:-1]
    cell = np.where(still, np.arange(program.n_cells), -1)
    by_slot = np.maximum.reduceat(cell, first_cell)
    complete = np.flatnonzero(np.minimum.reduceat(by_slot, first_slot) >= 0)
    best = np.full(program.n_jobs, -1, dtype=np.intp)
    best[program.bundles.job[complete]] = complete
    for job in np.flatnonzero(best >= 0):
        slots = slice(program.bundles.first_slot[best[job]], program.bundles.first_slot[best[job] + 1])
        choice[program.first_stage[job] : program.first_stage[job + 1]] = by_slot[slots]
    return choice


def _build(program: Program) -> Choice:
    residual = Residual(program, program.nothing, keeps_budget=False)
    if not program.n_cells:
        return residual.choice
    share = _dominant_share(program)
    cost = share + program.cell_ms * program.per_ms[program.cell_job]
    order = _order(program, share)
    shared = program.shared
    owed = shared.forest.inherited(np.asarray(shared.floor.any(axis=1), dtype=np.float64)) > 0
    first = [j for j in order if program.lost[j] > 0]
    second = [j for j in order if owed[program.queue[j]]]
    for turn, jobs in enumerate((first, second, order)):
        residual.keeps_budget = turn > 0
        for job in jobs:
            waits = residual.choice[program.first_stage[job]] < 0
            can_run = program.bundles.first_level[job] < program.bundles.first_level[job + 1]
            path = shared.forest.paths[program.queue[job]]
            is_settled = turn == 1 and bool((residual.used[path] >= shared.floor[path]).all())
            if waits and can_run and not is_settled:
                cells = residual.pick(job, int(program.bundles.first_level[job]), cost)
                if cells is not None:
                    residual.take(job, cells)
    for job in order:
        _grow(program, residual, job, cost)
    return residual.choice


def _order(program: Program, share: _Floats) -> list[int]:
    """Return the jobs by falling value per dominant share, both at their highest level in its cheapest cells; ties by id."""
    density = np.zeros(program.n_jobs)
    top = program.bundles.first_level[1:] - 1
    has = program.bundles.first_level[1:] > program.bundles.first_level[:-1]
    per_slot = np.minimum.reduceat(share, program.bundles.first_cell[:-1])
    per_level = np.add.reduceat(per_slot, program.bundles.first_slot[:-1])
    density[has] = (program.gain[top[has]] + 1e-12) / (per_level[top[has]] + 1e-12)
    return list(np.lexsort((np.arange(program.n_jobs), -density)).tolist())


def _dominant_share(program: Program) -> _Floats:
    """Return the largest share of the whole cluster's capacity that each cell takes of any resource, shape ``(n_cells,)``."""
    total = program.shared.total
    return np.asarray((program.amount / np.where(total > 0, total, 1.0)).max(axis=1, initial=0.0))


def _grow(program: Program, residual: Residual, job: int, cost: _Floats) -> None:
    """Raise a running job to the highest level that fits and is worth its charge, by bisection over its levels."""
    now = residual.release(job)
    if not len(now):
        return
    low, high = int(program.cell_level[now[0]]), int(program.bundles.first_level[job + 1]) - 1
    best, best_value = now, residual.value_of(job, now)
    while low < high:
        middle = (low + high + 1) // 2 if best is not now or high - low < 2 else high
        cells = residual.pick(job, middle, cost)
        if cells is None:
            high = middle - 1
            continue
        low = middle
        value = residual.value_of(job, cells)
        if value > best_value:
            best, best_value = cells, value
    residual.take(job, best)
