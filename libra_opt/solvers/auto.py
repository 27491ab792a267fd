"""Prices, fixing by proof, CP-SAT on the core: the combination that is used unless another back-end is asked for.

A small program goes to CP-SAT whole. A larger one is priced on a coarse grid, made fine where the prices point, and split: jobs whose answer to the prices is clear
take it, the others (the core) are decided by a linear program, rounding and, where the gap asked for is not yet proven, CP-SAT. The bound is the Lagrangian one over the
full grid throughout, so it holds whatever was left out on the way to the plan.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.bundles import Window
from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import TIE_TOLERANCE, Choice, Program, Score
from libra_opt.formulation.restrict import restrict, transfer
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers import cp_sat
from libra_opt.solvers.core import Core, split
from libra_opt.solvers.greedy import greedy_choice, settle
from libra_opt.solvers.guarantees import honour
from libra_opt.solvers.lagrangian import Priced, price_out
from libra_opt.solvers.linear import solve_linear
from libra_opt.solvers.mixed import least_shortfall, solve_mixed
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.realise import polish, realise
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.rounding import fill, round_plan
from libra_opt.solvers.solution import Bounds, Limits, Solution
from libra_opt.solvers.windows import promising_window

__all__ = ["solve"]


_Floats = npt.NDArray[np.float64]

_SMALL = 4000
"""Up to this many cells of a whole grid CP-SAT gets the whole program."""

_MARGIN = 0.1
"""How far below its best a bundle may be, relative to its job's worth, to be on the first fine grid."""

_CORES = ((250, 3_000), (1000, 12_000))
"""Most jobs and cells of the cores that the linear program decides, one after the other while the gap is open."""

_MOST_COUPLED = 600
"""Most cells of a mixed relaxation in which jobs have several stages; their pools multiply."""

_MIX_AFTER = 1
"""After which of the searches the mixed relaxation and the roaming come."""

_ROAM_AMONG, _ROAM_JOBS, _ROAM_CELLS, _ROAM_EFFORT, _ROAM_MISSES = 400, 40, 1_000, 0.04, 12
"""Roaming: jobs drawn from, jobs and most cells of a neighbourhood, effort for each, and how many in a row may bring nothing."""

_MOST_MIXED = 3_000
"""Most cells of a mixed relaxation."""

_MOST_SHORT = 1_000
"""Most cells of the mixed relaxation that bounds tier 3."""

_MOST_REPRICED = 6_000
"""Most cells of a grid that a linear program prices whole."""

_SEARCHES = ((60, 1_000, 0.05), (120, 2_000, 0.1), (250, 3_000, 0.15), (10_000, 6_000, 0.4), (10_000, 15_000, 1.0))
"""Most jobs and cells of the cores that CP-SAT gets, one after the other while the gap is open, and their share of the effort left."""


def solve(program: Program, options: Options) -> Solution:
    """Return the best plan found and what prices or CP-SAT prove of it."""
    if (program.bundles.is_whole and program.n_cells <= _SMALL) or options.effort == 0:
        return _solve_small(program, options)
    return _solve_large(program, options)


def _solve_small(program: Program, options: Options) -> Solution:
    start = greedy_choice(program)
    selected = np.ones(len(program.bundles.job), dtype=np.bool_)
    outcome = cp_sat.solve_selection(program, start, selected, options.effort, options.seed, 0.0)
    limit: Literal["effort"] | None = "effort" if outcome.hit_limit else None
    relaxation = relax(program, selected)
    optimum = solve_linear(relaxation) if program.n_cells and options.effort > 0 else None
    prices = relaxation.prices(program, optimum.duals) if optimum else None
    return Solution(program, outcome.choice, program.score(outcome.choice), outcome.bounds, "auto", limit, is_fallback=options.effort == 0, prices=prices)


@dataclass(frozen=True)
class _Found:
    """The best plan so far, on its grid, with the prices that go with it, the least bound on tier 4 proven for plans like it, and bounds on tiers 1 to 3."""

    program: Program
    choice: Choice
    score: Score
    bound: float
    prices: Prices
    least: Limits = Limits(0.0, 0.0, 0.0)

    @property
    def room(self) -> float:
        """How much value may still be missing."""
        return max(0.0, self.bound - self.score.value)

    def is_done(self, gap: float) -> bool:
        """Return whether the gap asked for is proven, tier by tier."""
        reached, least = self.score, self.least
        is_met = reached.lost <= least.lost * (1 + TIE_TOLERANCE) and reached.over_seconds <= least.over_seconds * (1 + TIE_TOLERANCE)
        return is_met and reached.shortfall <= least.shortfall + gap and self.room <= gap * max(abs(self.bound), abs(reached.value), 1e-9)


def _solve_large(program: Program, options: Options) -> Solution:
    prices = dual_prices(program)
    found: _Found | None = None
    for n_jobs, n_cells in _CORES:
        found = _better(found, _round(program, found.prices if found else prices, n_jobs, n_cells))
        if found.is_done(options.gap):
            break
    assert found is not None
    if Limits.of(found.score) != found.least:
        found = _prove_tiers(program, found, options)
    if Limits.of(found.score) != Limits(0.0, 0.0, 0.0) and program.n_cells <= _MOST_REPRICED:
        found = _reprice(program, found)
    effort = options.effort
    for step, (n_jobs, n_cells, share) in enumerate(_SEARCHES):
        if found.is_done(options.gap) or effort <= 0:
            break
        found, used = _search(program, found, options, n_jobs, n_cells, share * effort)
        effort -= used
        if step == _MIX_AFTER and not found.is_done(options.gap):
            found = _mix(program, found, options, options.effort)
            found, used = _roam(program, found, options, effort / 2)
            effort -= used
    limit: Literal["effort"] | None = None if found.is_done(options.gap) else "effort"
    bounds = Bounds(found.least.lost, found.least.over_seconds, found.least.shortfall, found.bound)
    return Solution(found.program, found.choice, found.score, bounds, "auto", limit, prices=found.prices)


def _prove_tiers(program: Program, found: _Found, options: Options) -> _Found:
    """Bound tiers 1 to 3 from below, and take a plan that reaches them where one is found.

    Tiers 1 and 2 speak of jobs that run now, and none of these ever needs more than its lowest level for them; so CP-SAT decides both over lowest levels alone.
    """
    running = np.flatnonzero(program.n_wait_moves > 0)
    lowest = np.zeros(len(program.bundles.job), dtype=np.bool_)
    has = np.diff(program.bundles.first_level) > 0
    lowest[program.bundles.first_level[:-1][has]] = True
    essence = restrict(program, running, lowest)
    selected = np.ones(len(essence.levels), dtype=np.bool_)
    outcome = cp_sat.solve_selection(essence.program, greedy_choice(essence.program), selected, options.effort, options.seed, 1.0)
    least = Limits(outcome.bounds.lost, outcome.bounds.over_seconds, 0.0)
    found = _accept(replace(found, least=least), *polish(program, found.prices, essence.widen(outcome.choice, program.nothing)))
    if found.score.shortfall == 0 or program.n_cells > _MOST_SHORT:
        return found
    mixture = least_shortfall(program, Limits.of(found.score), options.effort)
    if mixture is None:
        return found
    found = replace(found, least=replace(least, shortfall=max(0.0, -mixture.bound)))
    return _accept(found, *realise(program, found.prices, mixture.service, mixture.pool))


def _accept(found: _Found, program: Program, choice: Choice) -> _Found:
    """Return the better of the plan at hand and another one, with a bound for its tiers."""
    score = program.score(choice)
    if not score.beats(found.score):
        return found
    bound = price_out(program, found.prices, Limits.of(score)).bound
    if Limits.of(score) == Limits.of(found.score):
        bound = min(bound, found.bound)
    return replace(found, program=program, choice=choice, score=score, bound=bound)


def _mix(program: Program, found: _Found, options: Options, effort: float) -> _Found:
    """Bound what lies within the room left by a mixed relaxation, and take the plan it points to."""
    limits = Limits.of(found.score)
    if program.bundles.is_whole:
        every = np.ones(program.n_jobs)
        program = refine(program, Window(every, -every, -every))
    priced = price_out(program, found.prices, limits)
    core = split(program, priced, _slack(program, priced, found), program.n_jobs, _MOST_MIXED, with_neighbours=True)
    if core is None or not core.is_all or (np.diff(core.inner.program.first_stage).max() > 1 and core.inner.program.n_cells > _MOST_COUPLED):
        return found
    inner = core.inner
    outside = _value_outside(program, core)
    limits_inside = replace(limits, lost=max(0.0, limits.lost - float(program.lost[~program.runs(core.rest)].sum() - inner.program.lost.sum())))
    mixture = solve_mixed(inner.program, limits_inside, effort, options.gap / 4)
    if mixture is None:
        return found
    found = replace(found, bound=min(found.bound, max(found.score.value, mixture.bound + outside)))
    level = program.level(core.rest)
    service = np.where(level >= 0, program.bundles.service[level], -1.0)
    pool = np.where(core.rest >= 0, program.cell_pool[core.rest], -1)
    service[inner.jobs], pool[inner.stages] = mixture.service, mixture.pool
    return _accept(found, *realise(program, found.prices, service, pool))


def _value_outside(program: Program, core: Core) -> float:
    """Return the value of the jobs outside a core, at what they do there."""
    inside = float((program.per_ms[core.inner.jobs] * program.wait_ms[core.inner.jobs]).sum())
    return program.score(core.rest).value + inside


def _better(one: _Found | None, other: _Found) -> _Found:
    """Return the better plan, with the lower bound where both speak of the same tiers."""
    if one is None:
        return other
    best, rest = (other, one) if other.score.beats(one.score) else (one, other)
    is_same = Limits.of(best.score) == Limits.of(rest.score)
    return replace(best, bound=rest.bound, prices=rest.prices) if is_same and rest.bound < best.bound else best


def _round(program: Program, prices: Prices, n_jobs: int, n_cells: int) -> _Found:
    """Refine the grid at `prices`, decide the core by a linear program and rounding, and price the grid again at the duals."""
    limits = Limits(0.0, 0.0, 0.0)
    slack = _MARGIN * program.worth
    fine = program if program.bundles.is_whole else refine(program, promising_window(program, prices, price_out(program, prices, limits), slack))
    priced = price_out(fine, prices, limits)
    core = split(fine, priced, slack, n_jobs, n_cells)
    choice, candidates = None, [prices]
    if core is not None:
        inner = core.inner.program
        relaxation = relax(inner, np.ones(len(inner.bundles.job), dtype=np.bool_))
        optimum = solve_linear(relaxation)
        if optimum is not None:
            duals = relaxation.prices(inner, optimum.duals)
            candidates.append(duals)
            at_duals = price_out(inner, duals, limits)
            rounded = round_plan(inner, *relaxation.rounded(inner, optimum.columns), at_duals.level_value, at_duals.cell_cost)
            choice = settle(fine, core.inner.widen(rounded, core.rest))
            priced = price_out(fine, duals, limits)
    choice = honour(fine, greedy_choice(fine) if choice is None else choice, priced.job_value, priced.cell_cost)
    choice = settle(fine, fill(fine, choice, priced.level_value, priced.cell_cost))
    score = fine.score(choice)
    bound, best = min(((price_out(fine, each, Limits.of(score)).bound, i) for i, each in enumerate(candidates)))
    return _Found(fine, choice, score, bound, candidates[best])


def _reprice(program: Program, found: _Found) -> _Found:
    """Price the grid by a linear program that holds tiers 1 to 3 where the plan at hand has them; penalties bound nothing once a tier costs."""
    limits = Limits.of(found.score)
    optimum = solve_linear(relaxation := relax(program, np.ones(len(program.bundles.job), dtype=np.bool_), limits=limits, is_bound=True))
    if optimum is None:
        return found
    prices = relaxation.prices(program, optimum.duals)
    bound = price_out(program, prices, limits).bound
    return replace(found, prices=prices, bound=bound) if bound < found.bound else found


def _search(program: Program, found: _Found, options: Options, n_jobs: int, n_cells: int, effort: float) -> tuple[_Found, float]:
    """Give CP-SAT a core around the plan at hand, as fine as the room left allows; return the better plan and the effort used."""
    limits = Limits.of(found.score)
    fine, start, priced = _around(program, found)
    core = split(fine, priced, _slack(fine, priced, found), n_jobs, n_cells, keep=start)
    if core is None:
        return found, effort
    inner = core.inner.program
    begin = core.inner.shrink(start)
    selected = np.ones(len(inner.bundles.job), dtype=np.bool_)
    room = options.gap * abs(found.bound) / max(1e-12, abs(inner.score(begin).value))
    outcome = cp_sat.solve_selection(inner, begin, selected, effort, options.seed, min(0.5, max(1e-7, room / 2)))
    found = _accept(found, fine, core.inner.widen(outcome.choice, core.rest))
    if core.is_all and fine.bundles.is_complete and limits == found.least == Limits.of(found.score):
        proven = outcome.bounds.value + _value_outside(fine, core)
        found = replace(found, bound=min(found.bound, max(found.score.value, proven)))
    return found, outcome.effort_used


def _around(program: Program, found: _Found) -> tuple[Program, Choice, Priced]:
    """Return a grid that is fine wherever a better plan could lie, the plan at hand on it, and the grid at the prices at hand."""
    limits = Limits.of(found.score)
    priced = price_out(program, found.prices, limits)
    if program.bundles.is_whole:
        return program, found.choice, priced
    level = found.program.level(found.choice)
    anchor = np.where(level >= 0, found.program.bundles.service[level], -1.0)
    fine = refine(program, promising_window(program, found.prices, priced, _slack(program, priced, found), anchor))
    return fine, transfer(found.choice, found.program, fine), price_out(fine, found.prices, limits)


def _roam(program: Program, found: _Found, options: Options, effort: float) -> tuple[_Found, float]:
    """Give CP-SAT one small neighbourhood after another: some of the jobs that are not clear, drawn by the seed (Shaw's large neighbourhood search, 1998)."""
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
        selected = np.ones(len(inner.bundles.job), dtype=np.bool_)
        outcome = cp_sat.solve_selection(inner, core.inner.shrink(best), selected, min(_ROAM_EFFORT, effort - spent), options.seed, 1e-4)
        spent += max(outcome.effort_used, 1e-3)
        other = core.inner.widen(outcome.choice, core.rest)
        other_score = fine.score(other)
        misses += 1
        if other_score.beats(score):
            best, score, misses = other, other_score, 0
    return _accept(found, fine, best), spent


def _slack(program: Program, priced: Priced, found: _Found) -> _Floats:
    """Return how far below its job's best a bundle may be in a plan better than the one at hand: the room between that plan and what these prices prove."""
    return np.full(program.n_jobs, max(0.0, priced.bound - found.score.value))
