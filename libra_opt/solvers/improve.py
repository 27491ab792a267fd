"""How `auto` improves a plan and proves more of it: tiers 1 to 3, prices that hold them, CP-SAT on cores, the mixed relaxation, roaming.

Every function takes the plan at hand and returns one that is no worse, with a bound that is no higher as long as tiers 1 to 3 stay what they are.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.bundles import Window
from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.restrict import restrict, transfer
from libra_opt.solvers import cp_sat
from libra_opt.solvers.columns import near_best
from libra_opt.solvers.core import split, value_outside
from libra_opt.solvers.found import Found, accept
from libra_opt.solvers.greedy import greedy_choice, settle
from libra_opt.solvers.lagrangian import Priced, price_out
from libra_opt.solvers.linear import solve_linear
from libra_opt.solvers.mixed import least_shortfall, solve_mixed
from libra_opt.solvers.nearby import search_nearby
from libra_opt.solvers.realise import polish, realise
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.rounding import fill
from libra_opt.solvers.solution import Limits
from libra_opt.solvers.windows import promising_window

__all__ = ["mix", "prove_tiers", "reprice", "roam", "search_columns", "search_core"]

_Floats = npt.NDArray[np.float64]

_NEAR, _SMALL_SHARE, _MOST_NEAR = 0.1, 3e-4, 12_000
"""How far below its job's best a column may be, relative to the job's worth, or to the bound for small jobs, and most cells of such columns."""

_DRAWN = 10.0
"""Columns count up to so many times nearer or farther than they are."""

_MOST_SHORT = 1_000
"""Most cells of the mixed relaxation that bounds tier 3."""

_MOST_MIXED = 3_000
"""Most cells of a mixed relaxation."""

_MOST_COUPLED = 600
"""Most cells of a mixed relaxation in which jobs have several stages; their pools multiply."""

_ROAM_AMONG, _ROAM_JOBS, _ROAM_CELLS, _ROAM_EFFORT, _ROAM_MISSES = 400, 40, 1_000, 0.04, 12
"""Roaming: jobs drawn from, jobs and most cells of a neighbourhood, effort for each, and how many in a row may bring nothing."""


def prove_tiers(program: Program, found: Found, options: Options) -> Found:
    """Bound tiers 1 to 3 from below, and take a plan that reaches them where one is found.

    Tiers 1 and 2 speak of jobs that run now, and none of these ever needs more than its lowest level for them; so CP-SAT decides both over lowest levels alone.
    """
    running = np.flatnonzero(program.n_wait_moves > 0)
    lowest = np.zeros(len(program.bundles.job), dtype=np.bool_)
    has = np.diff(program.bundles.first_level) > 0
    lowest[program.bundles.first_level[:-1][has]] = True
    essence = restrict(program, running, lowest)
    outcome = cp_sat.search(essence.program, greedy_choice(essence.program), options.effort, options.seed, 1.0)
    least = Limits(outcome.bounds.lost, outcome.bounds.over_seconds, 0.0)
    found = accept(replace(found, least=least), *polish(program, found.prices, essence.widen(outcome.choice, program.nothing), options.effort))
    if found.score.shortfall == 0 or program.n_cells > _MOST_SHORT:
        return found
    mixture = least_shortfall(program, Limits.of(found.score), options.effort)
    if mixture is None:
        return found
    found = replace(found, least=replace(least, shortfall=max(0.0, -mixture.bound)))
    return accept(found, *realise(program, found.prices, mixture.service, mixture.pool, options.effort))


def reprice(program: Program, found: Found) -> Found:
    """Price the grid by a linear program that holds tiers 1 to 3 where the plan at hand has them; penalties bound little once a tier costs."""
    limits = Limits.of(found.score)
    relaxation = relax(program, limits=limits, is_bound=True)
    optimum = solve_linear(relaxation)
    if optimum is None:
        return found
    prices = relaxation.prices(program, optimum.duals)
    bound = price_out(program, prices, limits).bound
    return replace(found, prices=prices, bound=bound) if bound < found.bound else found


def search_columns(found: Found, options: Options, n_columns: int, n_nodes: int, drawn: np.random.Generator | None = None) -> tuple[Found, float]:
    """Search among the columns of least loss on the grid of the plan at hand; return the better plan and the effort used.

    Parameters
    ----------
    drawn
        Draws of every job how much nearer or farther its columns count than they are, so that searches of the same size look in other places.
    """
    program, limits = found.program, Limits.of(found.score)
    priced = price_out(program, found.prices, limits)
    slack = np.minimum(_slack(program, priced, found), np.maximum(_NEAR * program.stake, _SMALL_SHARE * abs(found.bound)))
    core = split(program, priced, slack, program.n_jobs, _MOST_NEAR, keep=found.choice)
    if core is None:
        return found, 0.0
    inner = core.inner.program
    at_prices = price_out(inner, found.prices, limits)
    columns = near_best(inner, at_prices, slack[core.inner.jobs], keep=core.inner.shrink(found.choice))
    start = columns.select(core.inner.shrink(found.choice))
    room = options.gap * abs(found.bound) / max(1e-12, abs(float(columns.value[start].sum())))
    nearness = np.ones(inner.n_jobs) if drawn is None else _DRAWN ** drawn.uniform(-1.0, 1.0, inner.n_jobs)
    near = search_nearby(columns, columns.loss(at_prices), nearness, start, n_columns, n_nodes, min(0.5, max(1e-7, room / 2)))
    choice = settle(program, core.inner.widen(columns.choice(near.selected), core.rest))
    return accept(found, program, fill(program, choice, priced.level_value, priced.cell_cost)), near.effort_used


def search_core(program: Program, found: Found, options: Options, n_jobs: int, n_cells: int, effort: float) -> tuple[Found, float]:
    """Give CP-SAT a core around the plan at hand, as fine as the room left allows; return the better plan and the effort used.

    Where nothing was left out of the core, what CP-SAT proves bounds every plan.

    Parameters
    ----------
    n_jobs, n_cells
        Most jobs and cells of the core.
    effort
        Deterministic time; all of it counts as used where there is no core.
    """
    limits = Limits.of(found.score)
    fine, start, priced = _around(program, found)
    core = split(fine, priced, _slack(fine, priced, found), n_jobs, n_cells, keep=start)
    if core is None:
        return found, effort
    inner = core.inner.program
    begin = core.inner.shrink(start)
    room = options.gap * abs(found.bound) / max(1e-12, abs(inner.score(begin).value))
    outcome = cp_sat.search(inner, begin, effort, options.seed, min(0.5, max(1e-7, room / 2)))
    found = accept(found, fine, core.inner.widen(outcome.choice, core.rest))
    if core.is_all and fine.bundles.is_complete and limits == found.least == Limits.of(found.score):
        proven = outcome.bounds.value + value_outside(fine, core)
        found = replace(found, bound=min(found.bound, max(found.score.value, proven)))
    return found, outcome.effort_used


def mix(program: Program, found: Found, options: Options, share: float) -> Found:
    """Bound what lies within the room left by a mixed relaxation, and take the plan it points to.

    Parameters
    ----------
    share
        The relaxation is solved to this part of the gap asked for.
    """
    limits = Limits.of(found.score)
    if program.bundles.is_whole:  # mixtures stand for what lies between, so few levels do
        every = np.ones(program.n_jobs)
        program = refine(program, Window(every, -every, -every))
    priced = price_out(program, found.prices, limits)
    core = split(program, priced, _slack(program, priced, found), program.n_jobs, _MOST_MIXED, with_neighbours=True)
    if core is None or not core.is_all or (np.diff(core.inner.program.first_stage).max() > 1 and core.inner.program.n_cells > _MOST_COUPLED):
        return found
    inner = core.inner
    outside = value_outside(program, core)
    limits_inside = replace(limits, lost=max(0.0, limits.lost - float(program.lost[~program.runs(core.rest)].sum() - inner.program.lost.sum())))
    mixture = solve_mixed(inner.program, limits_inside, options.effort, share * options.gap)
    if mixture is None:
        return found
    found = replace(found, bound=min(found.bound, max(found.score.value, mixture.bound + outside)))
    level = program.level(core.rest)
    service = np.where(level >= 0, program.bundles.service[level], -1.0)
    pool = np.where(core.rest >= 0, program.cell_pool[core.rest], -1)
    service[inner.jobs], pool[inner.stages] = mixture.service, mixture.pool
    return accept(found, *realise(program, found.prices, service, pool, options.effort))


def roam(program: Program, found: Found, options: Options, effort: float) -> tuple[Found, float]:
    """Give CP-SAT one small neighbourhood after another: some of the jobs that are not clear, drawn by the seed; return the better plan and the effort used.

    This is Shaw's large neighbourhood search (1998); it proves nothing.
    """
    fine, start, priced = _around(program, found)
    slack = _slack(fine, priced, found)
    wide = split(fine, priced, slack, _ROAM_AMONG, _ROAM_AMONG * 10, keep=start)
    if wide is None or len(wide.inner.jobs) <= _ROAM_JOBS:
        return found, 0.0
    drawn, spent, best = np.random.default_rng(options.seed), 0.0, start
    score, misses = fine.score(start), 0
    goal = found.bound - options.gap * abs(found.bound)
    while spent < effort and misses < _ROAM_MISSES and score.value < goal:
        among = np.zeros(program.n_jobs, dtype=np.bool_)
        among[drawn.choice(wide.inner.jobs, _ROAM_JOBS, replace=False)] = True
        core = split(fine, priced, slack, _ROAM_JOBS, _ROAM_CELLS, keep=best, among=among)
        if core is None:
            break
        inner = core.inner.program
        outcome = cp_sat.search(inner, core.inner.shrink(best), min(_ROAM_EFFORT, effort - spent), options.seed, 1e-4)
        spent += max(outcome.effort_used, 1e-3)
        other = core.inner.widen(outcome.choice, core.rest)
        other_score = fine.score(other)
        misses += 1
        if other_score.beats(score):
            best, score, misses = other, other_score, 0
    return accept(found, fine, best), spent


def _around(program: Program, found: Found) -> tuple[Program, Choice, Priced]:
    """Return a grid that is fine wherever a better plan could lie, the plan at hand on it, and the grid at the prices at hand."""
    limits = Limits.of(found.score)
    priced = price_out(program, found.prices, limits)
    if program.bundles.is_whole:
        return program, found.choice, priced
    level = found.program.level(found.choice)
    anchor = np.where(level >= 0, found.program.bundles.service[level], -1.0)
    fine = refine(program, promising_window(program, found.prices, priced, _slack(program, priced, found), anchor))
    return fine, transfer(found.choice, found.program, fine), price_out(fine, found.prices, limits)


def _slack(program: Program, priced: Priced, found: Found) -> _Floats:
    """Return how far below its job's best a bundle may be in a plan better than the one at hand: the room between that plan and what these prices prove."""
    return np.full(program.n_jobs, max(0.0, priced.bound - found.score.value))
