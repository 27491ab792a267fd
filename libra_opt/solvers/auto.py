"""Prices, fixing by proof, CP-SAT on the core: the combination that is used unless another back-end is asked for.

A small program goes to CP-SAT whole. A larger one is priced on a coarse grid, made fine where the prices point, and split: jobs whose answer to the prices is clear
take it, the others (the core) are decided by a linear program, rounding and, where the gap asked for is not yet proven, CP-SAT. The bound is the Lagrangian one over the
full grid throughout, so it holds whatever was left out on the way to the plan.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import Choice, Program, Score
from libra_opt.formulation.restrict import Restricted, restrict
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers import cp_sat
from libra_opt.solvers.core import split
from libra_opt.solvers.greedy import greedy_choice, settle
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.linear import solve_linear
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.rounding import fill, round_plan
from libra_opt.solvers.solution import Bounds, Limits, Solution
from libra_opt.solvers.windows import promising_window

__all__ = ["solve"]


_SMALL = 4000
"""Up to this many cells of a complete grid CP-SAT gets the whole program."""

_MARGIN = 0.1
"""How far below its best a bundle may be, relative to its job's worth, to be on the fine grid."""

_CORES = (250, 500, 1000)
"""How many jobs the core has, round by round."""

_SEARCHES = ((250, 2_000), (600, 6_000), (1500, 15_000))
"""Jobs and most cells of the cores that CP-SAT gets, one after the other."""


def solve(program: Program, options: Options) -> Solution:
    """Return the best plan found and what prices or CP-SAT prove of it."""
    if program.bundles.is_complete and program.n_cells <= _SMALL:
        return _solve_small(program, options)
    return _solve_large(program, options)


def _solve_small(program: Program, options: Options) -> Solution:
    start = greedy_choice(program)
    selected = np.ones(len(program.bundles.job), dtype=np.bool_)
    outcome = cp_sat.solve_selection(program, start, selected, options.effort, options.seed, 0.0)
    limit: Literal["effort"] | None = "effort" if outcome.hit_limit else None
    optimum = solve_linear(relax(program, selected)) if program.n_cells and options.effort > 0 else None
    prices = relax(program, selected).prices(program, optimum.duals) if optimum else None
    return Solution(program, outcome.choice, program.score(outcome.choice), outcome.bounds, "auto", limit, is_fallback=options.effort == 0, prices=prices)


@dataclass(frozen=True)
class _Found:
    """The best plan so far, on its grid, and the least bound on tier 4 proven for plans like it."""

    program: Program
    choice: Choice
    score: Score
    bound: float
    prices: Prices

    @property
    def gap(self) -> float:
        return (self.bound - self.score.value) / max(abs(self.bound), abs(self.score.value), 1e-9)


def _solve_large(program: Program, options: Options) -> Solution:
    if options.effort == 0:
        return cp_sat.solve(program, options)
    prices = dual_prices(program)
    found = _round(program, prices, _CORES[0])
    for size in _CORES[1:]:
        if found.gap <= options.gap and _is_met(found.score):
            break
        found = _better(found, _round(program, found.prices, size))
    effort = options.effort
    for size, most_cells in _SEARCHES:
        if effort <= 0 or (found.gap <= options.gap and _is_met(found.score)):
            break
        found, used = _search(found, options, size, most_cells, effort)
        effort -= used
    limit: Literal["effort"] | None = "effort" if found.gap > options.gap or not _is_met(found.score) else None
    bounds = Bounds(0.0, 0.0, 0.0, found.bound)
    return Solution(found.program, found.choice, found.score, bounds, "auto", limit, prices=found.prices)


def _is_met(score: Score) -> bool:
    return score.lost == 0 and score.over_seconds == 0 and score.shortfall == 0


def _better(one: _Found, other: _Found) -> _Found:
    """Return the better plan with the lower bound, where both bounds speak of the same tiers."""
    best, rest = (other, one) if other.score.beats(one.score) else (one, other)
    is_same = Limits.of(best.score) == Limits.of(rest.score)
    if is_same and rest.bound < best.bound:
        return _Found(best.program, best.choice, best.score, rest.bound, rest.prices)
    return best


def _round(program: Program, prices: Prices, core_size: int) -> _Found:
    """Refine the grid at `prices`, decide the core by a linear program and rounding, and price the grid again at the duals."""
    limits = Limits(0.0, 0.0, 0.0)
    fine = program
    if not program.bundles.is_complete:
        fine = refine(program, promising_window(program, prices, price_out(program, prices, limits), _MARGIN))
    priced = price_out(fine, prices, limits)
    core, rest = split(fine, priced, core_size)
    optimum = None
    if core is not None:
        relaxation = relax(core.program, np.ones(len(core.program.bundles.job), dtype=np.bool_))
        optimum = solve_linear(relaxation)
    if core is None or optimum is None:
        choice = fill(fine, greedy_choice(fine), priced.level_value, priced.cell_cost)
    else:
        prices = relaxation.prices(core.program, optimum.duals)
        inner = price_out(core.program, prices, limits)
        weights = relaxation.rounded(core.program, optimum.columns)
        choice = core.widen(round_plan(core.program, *weights, inner.level_value, inner.cell_cost), rest)
        priced_again = price_out(fine, prices, limits)
        choice = settle(fine, fill(fine, settle(fine, choice), priced_again.level_value, priced_again.cell_cost))
    score = fine.score(choice)
    reached = Limits.of(score)
    bound = min(price_out(fine, each, reached).bound for each in (prices,))
    return _Found(fine, choice, score, bound, prices)


def _search(found: _Found, options: Options, size: int, most_cells: int, effort: float) -> tuple[_Found, float]:
    """Give CP-SAT a core, with the plan at hand as a hint and the other jobs as they are; return the better plan and the effort used."""
    priced = price_out(found.program, found.prices, Limits.of(found.score))
    core, rest = split(found.program, priced, size, keep=found.choice, most_cells=most_cells)
    if core is None:
        return found, effort
    inner = core.program
    start = core.shrink(found.choice)
    selected = np.ones(len(inner.bundles.job), dtype=np.bool_)
    room = options.gap * abs(found.bound) / max(1e-12, abs(inner.score(start).value))
    outcome = cp_sat.solve_selection(inner, start, selected, effort, options.seed, min(0.5, max(1e-6, room / 2)))
    choice = core.widen(outcome.choice, rest)
    score = found.program.score(choice)
    if not score.beats(found.score):
        return found, outcome.effort_used
    bound = price_out(found.program, found.prices, Limits.of(score)).bound
    return _Found(found.program, choice, score, bound, found.prices), outcome.effort_used
