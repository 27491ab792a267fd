"""Dividing fairly among many: water filling, level after level, as one concave sum over a ladder of levels.

The ladder leads in equal ratios from the lowest level a job can have to the highest. A job gains up to every rung, by a constant factor less than up to the
rung below, and most for being served at all; so the lowest come first, those that something holds down stay where they are, and the others go on. It is the
progressive filling of Bertsekas and Gallager (*Data Networks*, 1992, section 6.5.2) as one sum, the way alpha-fairness comes near max-min (Mo and Walrand,
*Fair end-to-end window-based congestion control*, 2000). Few rungs and a mild factor: what gains too little to be told from the gap is a tie, and ties are what
makes such sums slow to solve.

What no plan can pass is priced on bundles: how many can be served, and, of plans that serve as many, at which level those that reach it are fewer.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.encode import bent, unbent
from libra_opt.formulation.fairness import FULL, Fairness
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.restrict import restrict
from libra_opt.formulation.shadow import Prices
from libra_opt.formulation.utility import Utility
from libra_opt.solvers import auto
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.prices import dual_prices, sharpened
from libra_opt.solvers.solution import Bounds, Divided, Limits, Solution
from libra_opt.solvers.start import first_plan

__all__ = ["fill_levels"]

_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]

_RUNGS: Final = 3
"""How many rungs the ladder has above being served."""

_FIRST, _LESS = 0.25, 3.0
"""What the first rung is worth, where being served is worth 1, and by which factor each is worth less than the one below."""

_BESIDE: Final = 1e-3
"""What throughput counts beside: all of it so much of serving every job."""

_LOWEST: Final = 1e-3
"""A level this low, relative to the highest there is, counts as served."""

_GAP, _EFFORT = 5e-4, 0.02
"""Gap and effort of the solve."""

_SMALL: Final = 4_000
"""From so many cells on, the first plan is taken, which is near the bound where many divide; a smaller program is searched as others are."""

_TRIES: Final = 2
"""How many levels between the one reached and the highest there is are tried as bounds."""

_NEARLY_NONE: Final = 1e-9
"""The service of a job that may have as little as it likes."""


def fill_levels(program: Program, fairness: Fairness, options: Options) -> Solution:
    """Return a plan that divides fairly among single jobs, and what prices prove of it."""
    counts = np.asarray((fairness.item >= 0) & (program.peak > 0))
    lowest = _lowest(program, fairness, _LOWEST * fairness.top)
    beside = _BESIDE * max(1, int(counts.sum())) / max(1e-300, program.most_value)
    paces = np.column_stack([lowest, _rungs(fairness, counts, lowest, program.peak)])
    target = bent(program, _ladder(counts, paces, beside * program.worth), beside * program.per_ms)
    made, choice = _planned(target, options)
    best, prices = unbent(made, program), dual_prices(program)
    score = best.score(choice)
    bound = max(score.value, price_out(program, prices, Limits.of(score)).bound)
    is_free = Limits.of(score) == NOTHING_SPENT  # what is priced here holds of plans that spend nothing of tiers 1 to 3
    divided = _proven(program, fairness, counts, _service(best, choice)) if is_free else Divided(0, fairness.top, is_proven=False)
    return Solution(best, choice, score, Bounds(0.0, 0.0, 0.0, bound), "auto", "effort", prices=prices, divided=divided)


def _planned(target: Program, options: Options) -> tuple[Program, Choice]:
    """Return the plan of most value found; where a first one spends something of tiers 1 to 3, one that was searched for."""
    wanted = options.replace({"gap": max(options.gap, _GAP), "effort": min(options.effort, _EFFORT)})
    if target.n_cells > _SMALL:
        found = first_plan(target, dual_prices(target), wanted)
        if Limits.of(found.score) == NOTHING_SPENT:
            return found.program, found.choice
    solution = auto.solve(target, wanted)
    return solution.program, solution.choice


def _ladder(counts: _Flags, paces: _Floats, beside: _Floats) -> Utility:
    """Return the utility that gains at every pace, and `beside` times service."""
    worth = np.append(1.0, _FIRST * _LESS ** -np.arange(paces.shape[1] - 1, dtype=np.float64))
    return Utility(beside, np.where(counts[:, None], worth / paces, 0.0), paces, np.zeros(len(paces)))


def _lowest(program: Program, fairness: Fairness, level: float) -> _Floats:
    """Return the lowest service of every job that is more than none, or that of a level where it can be as low as it likes, shape ``(n_jobs,)``."""
    bundles, has = program.bundles, np.diff(program.bundles.first_level) > 0
    lowest = np.zeros(program.n_jobs)
    lowest[has] = bundles.service[bundles.first_level[:-1][has]]
    return np.clip(np.maximum(lowest, np.minimum(fairness.needed(level), program.peak)), _NEARLY_NONE, 1.0)


def _rungs(fairness: Fairness, counts: _Flags, lowest: _Floats, peak: _Floats) -> _Floats:
    """Return the service at which every job has each level of the ladder, within its lowest and highest service, shape ``(n_jobs, n_rungs)``."""
    counted = np.flatnonzero(counts)
    low, high = (fairness.part(counted, service[counted]) for service in (lowest, np.maximum(lowest, peak)))
    ratio = float(high.max(initial=1.0) / low.min(initial=1.0))
    levels = float(low.min(initial=1.0)) * ratio ** (np.arange(1, _RUNGS + 1) / _RUNGS)
    return np.clip(np.stack([fairness.needed(float(level)) for level in levels], axis=1), lowest[:, None], np.maximum(lowest, peak)[:, None])


def _service(program: Program, choice: Choice) -> _Floats:
    level = program.level(choice)
    return np.where(level >= 0, program.bundles.service[level], 0.0)


def _proven(program: Program, fairness: Fairness, counts: _Flags, service: _Floats) -> Divided:
    unserved, level = fairness.summary(service)
    n_served = fairness.n_items - unserved
    most, prices = _most_at(program, fairness, counts, 0.0, None)
    low, high = level, fairness.top
    for _ in range(_TRIES):
        tried = float(np.sqrt(low * high))
        reached, prices = _most_at(program, fairness, counts, tried, prices)
        if reached < n_served * (1 - 1e-9):
            high = tried
        else:
            low = tried
    return Divided(max(0, fairness.n_items - int(np.floor(most + 1e-6))), high, is_proven=False)


def _most_at(program: Program, fairness: Fairness, counts: _Flags, level: float, prices: Prices | None) -> tuple[float, Prices]:
    """Return how many jobs no plan passes in which each is at a level, is served in full, or waits; and the prices that prove it.

    Parameters
    ----------
    prices
        Where to begin; nothing is known unless given.
    """
    pace = np.minimum(_lowest(program, fairness, 0.0), FULL) if level == 0 else np.clip(fairness.needed(level), _NEARLY_NONE, FULL)
    nothing = np.zeros(program.n_jobs)
    coarse = bent(program, Utility(nothing, np.where(counts, 1.0 / pace, 0.0)[:, None], pace[:, None], nothing), 0.0 * program.per_ms)
    reaches = ~counts[coarse.bundles.job] | (coarse.bundles.service >= pace[coarse.bundles.job] - 1e-12)
    inside = restrict(coarse, np.arange(program.n_jobs), reaches).program
    prices = dual_prices(inside) if prices is None else prices
    prices, priced = sharpened(inside, prices, price_out(inside, prices, NOTHING_SPENT))
    return priced.bound, prices
