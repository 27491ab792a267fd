"""Policies that divide fairly: exactly where few items share, and by prices where many do.

Exactly, CP-SAT raises the lowest levels one after the other (see `cp_sat.search_fair`). With many items a level is looked for that the relaxation still allows
all to reach (water filling on prices: one pricing a step, a fixed number of steps), and one ordinary solve brings as many jobs as it can up to it, and most
value besides. Items in order take, one after the other, the best that is left.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.bundles import Window
from libra_opt.formulation.encode import bent, refine, revalue, unbent
from libra_opt.formulation.fairness import Fairness
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.utility import Utility, linear_utility
from libra_opt.solvers import auto, cp_sat
from libra_opt.solvers.filling import fill_levels
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.greedy import greedy_choice, settle
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.residual import Residual
from libra_opt.solvers.solution import Bounds, Divided, Limits, Solution

__all__ = ["solve"]

_Floats = npt.NDArray[np.float64]

_MOST_ITEMS, _MOST_CELLS = 24, 4_000
"""Up to so many items and cells of a whole grid the division is exact; `cp_sat` takes any whole grid with so many items."""

_STEPS, _LEAST_LEVEL = 5, 1e-3
"""Steps of the search for a common level, and where it begins, relative to the highest level there is."""

_KEPT = 0.998
"""A level is common when the relaxation brings all but this share of those that it can serve at all up to it."""

_NEAR, _EFFORT = 0.02, 0.02
"""Gap and effort of the solve that brings jobs to the level: what it leaves open is far less than what the level itself does."""

_BESIDE = 0.05
"""What throughput counts beside the level: all of it so much of a job that reaches the level, per job."""


def solve(program: Program, options: Options) -> Solution:
    """Return the fairest plan found, and of those the one of most value."""
    fairness = program.fairness
    if fairness is None:
        raise TypeError("a program without items to divide among")
    if not program.n_cells or options.effort == 0 or options.backend == "greedy":
        start = greedy_choice(program)
        return Solution(program, start, program.score(start), Bounds(0.0, 0.0, 0.0, program.most_value), options.backend, "effort", is_fallback=True)
    n_items = max(fairness.n_items, fairness.then.n_items if fairness.then else 0)
    is_small = program.bundles.is_whole and (program.n_cells <= _MOST_CELLS or options.backend == "cp_sat")
    if is_small and n_items <= _MOST_ITEMS:
        return _exactly(program, fairness, options)
    if fairness.is_ordered:
        return _in_order(program, fairness, options)
    return fill_levels(program, fairness, options) if fairness.then is None else _by_level(program, fairness, options)


def _exactly(program: Program, fairness: Fairness, options: Options) -> Solution:
    outcome, is_proven = cp_sat.search_fair(program, greedy_choice(program), fairness, options.effort, options.seed)
    choice = settle(program, outcome.choice)  # beside jobs worth 1e17 times as much, one that is protected is nothing to the search
    limit: Literal["effort"] | None = "effort" if outcome.hit_limit else None
    bounds = outcome.bounds if is_proven else replace(outcome.bounds, value=program.most_value)
    divided = Divided(0, fairness.top, is_proven and not outcome.hit_limit)
    return Solution(program, choice, program.score(choice), bounds, options.backend, limit, is_exact=outcome.is_exact, divided=divided)


def _by_level(program: Program, fairness: Fairness, options: Options) -> Solution:
    """Bring queues to the highest level that the relaxation lets all of them reach when the jobs inside are served alike, and add value beside."""
    jobs = _as_jobs(program, fairness)
    counts = np.asarray(jobs.item >= 0)

    def reach(level: float) -> float:
        """Return how many jobs, fractions of them counted, no plan brings beyond the level."""
        utility = _up_to(jobs, counts, level, np.zeros(program.n_jobs))
        coarse = bent(program, utility, np.zeros(program.n_jobs))
        return price_out(coarse, dual_prices(coarse), NOTHING_SPENT).bound

    low, high = _LEAST_LEVEL * jobs.top, jobs.top
    most = reach(low)
    if reach(high) >= _KEPT * most:
        low = high
    else:
        for _ in range(_STEPS):
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if reach(middle) >= _KEPT * most else (low, middle)
    most_value = program.most_value
    worth, per_ms = (part / most_value if most_value > 0 else np.zeros(program.n_jobs) for part in (program.worth, program.per_ms))
    beside = _BESIDE * max(1, int(counts.sum()))
    target = bent(program, _up_to(jobs, counts, low, beside * worth), beside * per_ms)
    solution = auto.solve(target, options.replace({"gap": max(options.gap, _NEAR), "effort": min(options.effort, _EFFORT)}))
    plain = unbent(solution.program, program)
    prices = dual_prices(program)
    score = plain.score(solution.choice)
    bound = max(score.value, price_out(program, prices, Limits.of(score)).bound)
    bounds = Bounds(0.0, 0.0, 0.0, bound)
    is_free = Limits.of(score) == NOTHING_SPENT
    divided = Divided(0, _most_level(program, fairness) if is_free else fairness.top, is_proven=False)
    return Solution(plain, solution.choice, score, bounds, "auto", "effort", prices=prices, divided=divided)


def _most_level(program: Program, fairness: Fairness) -> float:
    """Return what the least level of the queues that could use more does not pass in a plan that spends nothing of tiers 1 to 3.

    All levels together are bounded by prices, and no queue has more than its demand.
    """
    counted = np.flatnonzero(fairness.item >= 0)
    each = np.zeros(program.n_jobs)
    each[counted] = fairness.part(counted, np.ones(len(counted)))
    whole = np.sort(fairness.levels(np.ones(program.n_jobs)))
    summed = replace(revalue(program, linear_utility(each)), stake=each, per_ms=np.zeros(program.n_jobs), lost=np.zeros(program.n_jobs))
    most = price_out(summed, dual_prices(summed), NOTHING_SPENT).bound
    alike = (most - np.append(0.0, np.cumsum(whole)[:-1])) / np.arange(len(whole), 0, -1)
    is_open = np.flatnonzero(alike <= whole)  # the queues of less demand have all of it; the first to be so is where the others are alike
    return float(alike[is_open[0]]) if len(is_open) else fairness.top


def _as_jobs(program: Program, fairness: Fairness) -> Fairness:
    """Return the division among jobs in which queues are level when all jobs inside are served alike: a job's level is its queue's at its own service."""
    counted = np.flatnonzero(fairness.item >= 0)
    part = np.zeros(program.n_jobs)
    part[counted] = fairness.part(counted, np.ones(len(counted)))
    whole = np.bincount(fairness.item[counted], part[counted], minlength=fairness.n_items)
    item = np.full(program.n_jobs, -1, dtype=np.intp)
    item[counted] = np.arange(len(counted))
    cost = np.ones(program.n_jobs)
    cost[counted] = 1.0 / np.maximum(1e-300, whole[fairness.item[counted]])
    return Fairness(item, cost, np.zeros(program.n_jobs))


def _up_to(jobs: Fairness, counts: npt.NDArray[np.bool_], level: float, beside: _Floats) -> Utility:
    """Return the utility that counts a job up to a level, as a share of it, and `beside` times its service."""
    pace = jobs.needed(level)
    return Utility(beside, np.where(counts, 1.0 / np.maximum(pace, 1e-12), 0.0)[:, None], pace[:, None], np.zeros(len(pace)))


def _in_order(program: Program, fairness: Fairness, options: Options) -> Solution:
    """Let protected jobs in first, then serve items one after the other as well as what is left allows.

    Where that spends more of tiers 1 to 3 than the greedy plan does (it stops what runs now for jobs that came earlier, and the budget of moves is small),
    the greedy plan is the beginning, and items are raised in their order.
    """
    del options
    every = np.ones(program.n_jobs)
    fine = program if program.bundles.is_whole else refine(program, Window(0 * every, every, -every))
    residual, bundles = Residual(fine, fine.nothing), fine.bundles
    share = np.asarray((fine.amount / np.where(fine.shared.total > 0, fine.shared.total, 1.0)).max(axis=1, initial=0.0))
    cost = share + fine.cell_ms * fine.per_ms[fine.cell_job]
    rank = np.where(fairness.item >= 0, fairness.item, fairness.n_items)
    order = np.lexsort((np.arange(program.n_jobs), rank)).tolist()
    for job in [j for j in order if fine.lost[j] > 0]:
        least = int(bundles.first_level[job])
        _best(residual, job, least, min(least, int(bundles.first_level[job + 1]) - 1), cost)
    for job in order:
        _best(residual, job, int(bundles.first_level[job]), int(bundles.first_level[job + 1]) - 1, cost)
    choice = settle(fine, residual.choice)
    if Limits.of(fine.score(choice)) != NOTHING_SPENT and _spends_more(fine, choice, safe := greedy_choice(fine)):
        residual = Residual(fine, safe)
        for job in order:
            held = residual.choice[fine.first_stage[job]]
            low = int(fine.cell_level[held]) + 1 if held >= 0 else int(bundles.first_level[job])
            _best(residual, job, low, int(bundles.first_level[job + 1]) - 1, cost)
        choice = settle(fine, residual.choice)
        choice = safe if _spends_more(fine, choice, safe) else choice
    prices, score = dual_prices(program), fine.score(choice)
    bound = max(score.value, price_out(program, prices, NOTHING_SPENT).bound)
    divided = Divided(0, fairness.top, is_proven=False)
    return Solution(fine, choice, score, Bounds(0.0, 0.0, 0.0, bound), "auto", "effort", prices=prices, divided=divided)


def _spends_more(program: Program, choice: Choice, other: Choice) -> bool:
    """Return whether a choice spends more of tiers 1 to 3 than another, in their order."""
    one, two = Limits.of(program.score(choice)), Limits.of(program.score(other))
    return (one.lost, one.over_seconds, one.shortfall) > (two.lost, two.over_seconds, two.shortfall)


def _best(residual: Residual, job: int, low: int, high: int, cost: _Floats) -> None:
    """Give a job the highest of some levels that fits, in its cheapest cells; what it has where none does."""
    best, is_first = residual.release(job), True
    while low <= high:
        middle = high if is_first else (low + high + 1) // 2
        is_first = False
        cells = residual.pick(job, middle, cost)
        if cells is None:
            high = middle - 1
            continue
        best, low = cells, middle + 1
    residual.take(job, best)
