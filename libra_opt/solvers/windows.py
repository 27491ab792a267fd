"""Where a coarse grid must become fine: the services of each job that could still be its best, given prices.

Between two levels a bundle is worth at most what the line between their sure values says (see `Bundles`). Where that line lies below the best bundle
known for the job, no tick there can be the job's answer to these prices; the rest is the window.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.bundles import Window
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.lagrangian import Priced, cell_cost

__all__ = ["promising_window"]

_Floats = npt.NDArray[np.float64]


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
    np.minimum.at(low, bundles.job[reaches], service[reaches])
    np.maximum.at(high, bundles.job[reaches], service[reaches])
    crossing = np.flatnonzero((bundles.job[1:] == bundles.job[:-1]) & (reaches[1:] != reaches[:-1]))
    if len(crossing):
        share = (threshold[crossing] - value[crossing]) / (value[crossing + 1] - value[crossing])
        at = service[crossing] + np.clip(share, 0.0, 1.0) * (service[crossing + 1] - service[crossing])
        np.minimum.at(low, bundles.job[crossing], at)
        np.maximum.at(high, bundles.job[crossing], at)
    return Window(low, high, np.full(program.n_jobs, -1.0) if anchor is None else anchor)


def _whole_values(program: Program, prices: Prices) -> _Floats:
    """Return the priced value of every level at what it really uses, shape ``(n_levels,)``."""
    bundles = program.bundles
    cost = cell_cost(program, prices, program.per_ms + prices.ms, is_sure=False)
    slots = np.minimum.reduceat(cost, bundles.first_cell[:-1])
    return np.asarray(program.worth[bundles.job] * bundles.service - np.add.reduceat(slots, bundles.first_slot[:-1]))
