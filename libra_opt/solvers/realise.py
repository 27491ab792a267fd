"""From services and pools that a relaxation asks for to a plan.

Every job gets the tick at or below its service, in its pool where that has room; then guarantees are honoured and what is left goes to those who can
use it.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.bundles import Window
from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.restrict import transfer
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.greedy import settle
from libra_opt.solvers.guarantees import honour
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.residual import Residual
from libra_opt.solvers.rounding import fill
from libra_opt.solvers.solution import Limits

__all__ = ["polish", "realise"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_BELOW = 0.02
"""How far below the service asked for, relatively, ticks are looked at."""

_TRIES = 40
"""How many levels below the service asked for are tried before the lowest."""


def realise(program: Program, prices: Prices, service: _Floats, pool: _Indices, effort: float) -> tuple[Program, Choice]:
    """Return a grid around the services, and the choice on it; grid and choice come back finer where more can be handed out.

    Parameters
    ----------
    service
        Wanted service per job, negative for waiting, shape ``(n_jobs,)``.
    pool
        Wanted pool per stage, negative for waiting, shape ``(n_stages,)``.
    effort
        As for `honour`.
    """
    fine = program
    if not program.bundles.is_whole:
        runs = service >= 0
        window = Window(np.where(runs, service * (1 - _BELOW), 1.0), np.where(runs, service, -1.0), service)
        fine = refine(program, window)
    bundles = fine.bundles
    cost = (fine.cell_pool != pool[fine.cell_stage]) * (1e3 + fine.worth[fine.cell_job]) + fine.per_ms[fine.cell_job] * fine.cell_ms
    residual = Residual(fine, fine.nothing)
    for job in np.lexsort((np.arange(fine.n_jobs), -service, -fine.lost)):
        if service[job] < 0:
            continue
        first, last = int(bundles.first_level[job]), int(bundles.first_level[job + 1])
        level = first + int(np.searchsorted(bundles.service[first:last], service[job] + 1e-9)) - 1
        tries = [*range(level, max(first, level - _TRIES) - 1, -1), first] if last > first else []
        for each in tries:
            cells = residual.pick(int(job), max(first, each), cost)
            if cells is not None:
                residual.take(int(job), cells)
                break
    choice = settle(fine, residual.choice)
    return polish(fine, prices, choice, effort)


def polish(program: Program, prices: Prices, choice: Choice, effort: float) -> tuple[Program, Choice]:
    """Return the choice with what it leaves handed out: first on its own grid, then on one that is fine above every job that could use more."""
    priced = price_out(program, prices, Limits.of(program.score(choice)))
    choice = honour(program, choice, priced.job_value, priced.cell_cost, effort)
    choice = settle(program, fill(program, choice, priced.level_value, priced.cell_cost))
    if program.bundles.is_whole:
        return program, choice
    level = program.level(choice)
    runs = level >= 0
    service = np.where(runs, program.bundles.service[level], -1.0)
    can_grow = runs & (service < program.peak - 1e-9)
    finer = refine(program, Window(np.where(can_grow, service, 1.0), np.where(can_grow, program.peak, -1.0), service))
    moved = transfer(choice, program, finer)
    if not finer.score(moved).beats(program.score(choice)) and program.score(choice).beats(finer.score(moved)):
        return program, choice
    priced = price_out(finer, prices, Limits.of(finer.score(moved)))
    return finer, settle(finer, fill(finer, moved, priced.level_value, priced.cell_cost))
