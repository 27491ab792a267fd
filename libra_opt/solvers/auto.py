"""The combination of methods that is used unless another back-end is asked for.

Without effort the greedy plan is the answer. A small program goes to CP-SAT whole. A larger one takes a straight line that ends as soon as the gap
asked for is proven:

1. dual prices on the grid as encoded, which is coarse where the program is large;
2. windows: the grid made fine where the prices point, and split at them; jobs whose answer to the prices is clear take it;
3. the others, the core, are decided by a linear program and rounding, and guarantees that this leaves short are seen to by hand; a second time with a
   larger core;
4. where tiers 1 to 3 cost something, they are bounded and the grid is priced anew under them;
5. CP-SAT on cores that grow, and in between the mixed relaxation and roaming (see `improve`).

Bounds are Lagrangian ones over the full grid, so they hold whatever was left out on the way to the plan; CP-SAT and the mixed relaxation lower them only
where nothing was left out.
"""

from typing import Literal

from libra_opt.domain.options import Options
from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers import cp_sat
from libra_opt.solvers.core import split
from libra_opt.solvers.found import NOTHING_SPENT, Found, better
from libra_opt.solvers.greedy import greedy_choice, settle
from libra_opt.solvers.guarantees import honour
from libra_opt.solvers.improve import mix, prove_tiers, reprice, roam, search_core
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.linear import solve_linear
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.rounding import fill, round_plan
from libra_opt.solvers.solution import Bounds, Limits, Solution
from libra_opt.solvers.windows import promising_window

__all__ = ["solve"]

_SMALL = 4000
"""Up to this many cells of a whole grid CP-SAT gets the whole program."""

_MARGIN = 0.1
"""How far below its best a bundle may be, relative to its job's worth, to be on the first fine grid."""

_FIRST_CORE, _SECOND_CORE = (250, 3_000), (1000, 12_000)
"""Most jobs and cells of the cores that the linear program decides, the second where the gap is still open."""

_MOST_REPRICED = 6_000
"""Most cells of a grid that a linear program prices whole."""

_SEARCHES = ((60, 1_000, 0.05), (120, 2_000, 0.1), (250, 3_000, 0.15), (10_000, 6_000, 0.4), (10_000, 15_000, 1.0))
"""Most jobs and cells of the cores that CP-SAT gets, one after the other while the gap is open, and their share of the effort left."""

_MIX_AFTER = 1
"""After which of the searches the mixed relaxation and the roaming come."""


def solve(program: Program, options: Options) -> Solution:
    """Return the best plan found and what prices or CP-SAT prove of it."""
    if (program.bundles.is_whole and program.n_cells <= _SMALL) or options.effort == 0:
        return _solve_small(program, options)
    return _solve_large(program, options)


def _solve_small(program: Program, options: Options) -> Solution:
    start = greedy_choice(program)
    outcome = cp_sat.search(program, start, options.effort, options.seed, 0.0)
    limit: Literal["effort"] | None = "effort" if outcome.hit_limit else None
    relaxation = relax(program)
    optimum = solve_linear(relaxation) if program.n_cells and options.effort > 0 else None
    prices = relaxation.prices(program, optimum.duals) if optimum else None
    return Solution(
        program,
        outcome.choice,
        program.score(outcome.choice),
        outcome.bounds,
        "auto",
        limit,
        is_fallback=options.effort == 0,
        prices=prices,
        is_exact=outcome.is_exact,
    )


def _solve_large(program: Program, options: Options) -> Solution:
    found = _round(program, dual_prices(program), *_FIRST_CORE)
    if not found.is_done(options.gap):
        found = better(found, _round(program, found.prices, *_SECOND_CORE))
    if Limits.of(found.score) != found.least:
        found = prove_tiers(program, found, options)
    if Limits.of(found.score) != NOTHING_SPENT and program.n_cells <= _MOST_REPRICED:
        found = reprice(program, found)
    effort = options.effort
    for step, (n_jobs, n_cells, share) in enumerate(_SEARCHES):
        if found.is_done(options.gap) or effort <= 0:
            break
        found, used = search_core(program, found, options, n_jobs, n_cells, share * effort)
        effort -= used
        if step == _MIX_AFTER and not found.is_done(options.gap):
            found = mix(program, found, options)
            found, used = roam(program, found, options, effort / 2)
            effort -= used
    limit: Literal["effort"] | None = None if found.is_done(options.gap) else "effort"
    bounds = Bounds(found.least.lost, found.least.over_seconds, found.least.shortfall, found.bound)
    return Solution(found.program, found.choice, found.score, bounds, "auto", limit, prices=found.prices)


def _round(program: Program, prices: Prices, n_jobs: int, n_cells: int) -> Found:
    """Refine the grid at `prices`, decide the core by a linear program and rounding, see to guarantees by hand, and price the grid again at the duals."""
    slack = _MARGIN * program.worth
    fine = program if program.bundles.is_whole else refine(program, promising_window(program, prices, price_out(program, prices, NOTHING_SPENT), slack))
    priced = price_out(fine, prices, NOTHING_SPENT)
    core = split(fine, priced, slack, n_jobs, n_cells)
    choice, candidates = None, [prices]
    if core is not None:
        inner = core.inner.program
        relaxation = relax(inner)
        optimum = solve_linear(relaxation)
        if optimum is not None:
            duals = relaxation.prices(inner, optimum.duals)
            candidates.append(duals)
            at_duals = price_out(inner, duals, NOTHING_SPENT)
            rounded = round_plan(inner, *relaxation.rounded(inner, optimum.columns), at_duals.level_value, at_duals.cell_cost)
            choice = settle(fine, core.inner.widen(rounded, core.rest))
            priced = price_out(fine, duals, NOTHING_SPENT)
    choice = honour(fine, greedy_choice(fine) if choice is None else choice, priced.job_value, priced.cell_cost)
    choice = settle(fine, fill(fine, choice, priced.level_value, priced.cell_cost))
    score = fine.score(choice)
    bound, best = min(((price_out(fine, each, Limits.of(score)).bound, i) for i, each in enumerate(candidates)))
    return Found(fine, choice, score, bound, candidates[best])
