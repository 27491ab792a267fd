"""Where a coarse grid must become fine: the services of each job that could still be its best, given prices.

Between two levels a bundle is worth at most what the line between their sure values says (see `Bundles`). Where that line lies below the best bundle
known for the job, no tick there can be the job's answer to these prices; the rest is the window.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.bundles import Window
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.lagrangian import Priced, cell_cost, savings

__all__ = ["promising_window"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_HALVINGS = 20
"""Steps to where a curved value falls below what is promising."""


def promising_window(program: Program, prices: Prices, priced: Priced, slack: _Floats, anchor: _Floats | None = None) -> Window:
    """Return, per job, the services whose sure value comes within `slack` of its best known bundle.

    Parameters
    ----------
    priced
        All bundles at `prices`.
    slack
        In value, shape ``(n_jobs,)``.
    anchor
        One service of each job that stays a level, negative for none, shape ``(n_jobs,)``; none at all unless given.
    """
    bundles = program.bundles
    best = priced.wait_value.copy()
    np.maximum.at(best, bundles.job, _whole_values(program, prices))
    threshold = (best - slack)[bundles.job]
    low, high = np.full(program.n_jobs, np.inf), np.full(program.n_jobs, -1.0)
    value, service = priced.level_value, bundles.service
    reaches = value >= threshold
    if program.utility.is_curved:
        job, least, most = _curved_ends(program, prices, value, threshold, np.flatnonzero(reaches))
        np.minimum.at(low, job, least)
        np.maximum.at(high, job, most)
        return Window(low, high, np.full(program.n_jobs, -1.0) if anchor is None else anchor)
    np.minimum.at(low, bundles.job[reaches], service[reaches])
    np.maximum.at(high, bundles.job[reaches], service[reaches])
    crossing = np.flatnonzero((bundles.job[1:] == bundles.job[:-1]) & (reaches[1:] != reaches[:-1]))
    if len(crossing):
        share = (threshold[crossing] - value[crossing]) / (value[crossing + 1] - value[crossing])
        at = service[crossing] + np.clip(share, 0.0, 1.0) * (service[crossing + 1] - service[crossing])
        np.minimum.at(low, bundles.job[crossing], at)
        np.maximum.at(high, bundles.job[crossing], at)
    return Window(low, high, np.full(program.n_jobs, -1.0) if anchor is None else anchor)


def _curved_ends(program: Program, prices: Prices, value: _Floats, threshold: _Floats, levels: _Indices) -> tuple[_Indices, _Floats, _Floats]:
    """Return jobs and the ends of the services that reach the threshold below each of some levels, which do so themselves or by what was passed over."""
    bundles, utility = program.bundles, program.utility
    job, below, above = bundles.job[levels], bundles.below[levels], bundles.service[levels]
    saved = savings(program, prices)[levels]
    best = utility.best_between(job, below, above, saved)

    def priced(service: _Floats) -> _Floats:
        return np.asarray(utility.at(job, service) + saved * (best - service))

    peak = np.maximum(value[levels], threshold[levels])
    missing = priced(best) - (peak - threshold[levels])
    ends = []
    for far in (below, above):
        inside, outside = best, np.where(priced(far) >= missing, best, far)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            is_in = priced(middle) >= missing
            inside, outside = np.where(is_in, middle, inside), np.where(is_in, outside, middle)
        ends.append(np.where(priced(far) >= missing, far, outside))
    return job, ends[0], ends[1]


def _whole_values(program: Program, prices: Prices) -> _Floats:
    """Return the priced value of every level at what it really uses, shape ``(n_levels,)``."""
    bundles = program.bundles
    cost = cell_cost(program, prices, program.per_ms + prices.ms, is_sure=False)
    slots = np.minimum.reduceat(cost, bundles.first_cell[:-1])
    return np.asarray(program.gain - np.add.reduceat(slots, bundles.first_slot[:-1]))
