"""The combination of methods that is used unless another back-end is asked for.

Without effort the greedy plan is the answer. A small program goes to CP-SAT whole. A larger one takes a straight line that ends as soon as the gap
asked for is proven:

1. dual prices on the grid as encoded, which is coarse where the program is large;
2. the first plan (see `start`): the grid made fine where the prices point, the jobs that they leave open decided by a linear program, dives and exchanges;
3. where tiers 1 to 3 cost something, they are bounded and the grid is priced anew under them;
4. plans put together from dives, the columns of least loss of all jobs, searched in whole numbers, and the mixed relaxation;
5. CP-SAT on cores that grow, and roaming in between (see `improve`).

Bounds are Lagrangian ones over the full grid, so they hold whatever was left out on the way to the plan; CP-SAT and the mixed relaxation lower them only
where nothing was left out.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from libra_opt.domain.options import Options
from libra_opt.formulation.program import Program
from libra_opt.solvers import cp_sat
from libra_opt.solvers.found import NOTHING_SPENT, Found
from libra_opt.solvers.greedy import greedy_choice
from libra_opt.solvers.improve import mix, prove_tiers, reprice, roam, search_columns, search_core
from libra_opt.solvers.linear import solve_linear
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.recombine import DIVES, recombine
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.solution import Bounds, Limits, Solution
from libra_opt.solvers.start import first_plan

__all__ = ["solve"]

_SMALL = 4000
"""Up to this many cells of a whole grid CP-SAT gets the whole program."""

_MOST_REPRICED = 6_000
"""Most cells of a grid that a linear program prices whole."""

_NEARBY = ((300, 1), (600, 2), (1_300, 5))
"""Most columns and nodes of the searches among the columns of least loss."""

_FEW = 300
"""Of up to this many jobs the first of the larger searches looks at all columns that matter, and small ones before it only take time."""

_DRAWN = (400, 1)
"""The same for those that look in other places, drawn by the seed."""

_MIXED = (0.25, 0.02)
"""Parts of the gap asked for to which the mixed relaxation is solved, by turn: the first lowers the bound, the second is for what then is hardly open."""

_CORES = ((60, 1_000, 0.05), (120, 2_000, 0.1), (250, 3_000, 0.15), (10_000, 6_000, 0.4), (10_000, 15_000, 1.0))
"""Most jobs and cells of the cores that CP-SAT gets, one after the other while the gap is open, and their share of the effort left."""

_Search = Callable[[Found, float], tuple[Found, float]]
"""From the plan at hand and the effort left to a plan that is no worse and the effort used."""


def solve(program: Program, options: Options) -> Solution:
    """Return the best plan found and what prices or CP-SAT prove of it."""
    if not program.n_cells or (program.bundles.is_whole and program.n_cells <= _SMALL) or options.effort == 0:
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
    found = first_plan(program, dual_prices(program), options)
    if Limits.of(found.score) != found.least:
        found = prove_tiers(program, found, options)
    if Limits.of(found.score) != NOTHING_SPENT and program.n_cells <= _MOST_REPRICED:
        found = reprice(program, found)
    effort = options.effort
    for search in _searches(program, options):
        if found.is_done(options.gap) or effort <= 0:
            break
        found, used = search(found, effort)
        effort -= used
    limit: Literal["effort"] | None = None if found.is_done(options.gap) else "effort"
    bounds = Bounds(found.least.lost, found.least.over_seconds, found.least.shortfall, found.bound)
    return Solution(found.program, found.choice, found.score, bounds, "auto", limit, prices=found.prices)


def _searches(program: Program, options: Options) -> Iterator[_Search]:
    """Yield the searches in their order, the cheap ones and those that prove most first."""

    def mixed(share: float) -> _Search:
        return lambda found, effort: (mix(program, found, options, share), 0.0)  # noqa: ARG005

    def roaming(found: Found, effort: float) -> tuple[Found, float]:
        return roam(program, found, options, effort / 2)

    def nearby(size: tuple[int, int], drawn: np.random.Generator | None = None) -> _Search:
        return lambda found, effort: search_columns(found, options, *size, drawn)  # noqa: ARG005

    def recombined(dives: tuple[tuple[int, float], ...]) -> _Search:
        return lambda found, effort: recombine(found, options, dives)  # noqa: ARG005

    def core(n_jobs: int, n_cells: int, share: float) -> _Search:
        return lambda found, effort: search_core(program, found, options, n_jobs, n_cells, share * effort)

    drawn, is_many = np.random.default_rng(options.seed), program.n_jobs > _FEW
    yield recombined(DIVES[0])
    if is_many:
        yield nearby(_NEARBY[0])
        yield nearby(_DRAWN, drawn)
        yield recombined(DIVES[1])
        yield nearby(_DRAWN, drawn)
    yield nearby(_NEARBY[1])
    yield mixed(_MIXED[0])
    yield nearby(_NEARBY[2])
    yield from (core(*size) for size in _CORES[:2])
    yield roaming
    yield mixed(_MIXED[1])  # again, closer: nearer to the bound it has fewer bundles to decide
    yield from (core(*size) for size in _CORES[2:])
