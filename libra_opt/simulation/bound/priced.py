"""The bound by prices on cards: what jobs could earn each by itself, plus the price of all the cards there are.

Any prices give a bound; good ones are high when many jobs want cards. They are looked for by column generation (Dantzig and Wolfe, *Operations Research* 8,
1960): the plans that were best at some prices are mixed so that they fit into the cards there are (`Mixture`), and its duals are the next prices. As the
duals of few plans jump, each step goes but a part of the way to them from the best prices so far (Wentges, *International Transactions in Operational
Research* 4, 1997).
"""

from collections.abc import Sequence
from math import ceil
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.domain import Workload
from libra_opt.simulation.bound.bound_job import BoundJob
from libra_opt.simulation.bound.least_use import Pricing, StageLimits
from libra_opt.simulation.bound.mixture import Mixture
from libra_opt.simulation.bound.plans import Plans, resize_seconds
from libra_opt.simulation.bound.served import Served
from libra_opt.simulation.bound.sizes import sizes_of
from libra_opt.simulation.truth import vector

__all__ = ["plans_of", "priced_bound"]

_ALMOST: Final = 1e-9
_COARSE, _FINE = 12, 48
"""Fewest and most positions per period of full service while prices are looked for; the most at those that were found."""
_POSITIONS: Final = 250_000
"""About so many, of all jobs in all periods, are worth their time while prices are looked for."""
_BLOCKS: Final = 160
"""Most prices over time; periods next to each other share one."""
_FIRST: Final = 0.1
"""The first price, of all periods, as a share of the highest weight: where cards cost nothing, jobs hold the most they can, and few such plans fit."""
_PART: Final = 0.3
"""Of the way from the best prices to the duals."""
_CLOSE: Final = 1e-3
"""By so much of it the mixture may lie below the bound when the search ends."""

_Floats: TypeAlias = npt.NDArray[np.float64]


def priced_bound(workload: Workload, period_seconds: float, jobs: Sequence[BoundJob], n_prices: int, known: float) -> float:
    """Return a number that nobody's weighted finished work by the horizon passes.

    Parameters
    ----------
    jobs
        The jobs of the workload.
    n_prices
        How often prices are tried.
    known
        A bound that is known; the search ends where no prices can give a lower one.
    """
    available = _available(workload, period_seconds)
    cells = min(_FINE, max(_COARSE, _POSITIONS // max(1, len(available) * len(jobs))))
    price = _prices(plans_of(workload, period_seconds, jobs, cells), period_seconds, available, n_prices, known)
    return sum(plan.best(price * period_seconds).net for plan in plans_of(workload, period_seconds, jobs, _FINE)) + float(price @ available) * period_seconds


def plans_of(workload: Workload, period_seconds: float, jobs: Sequence[BoundJob], cells: int) -> list[Plans | Served]:
    """Return what knows the best plans of every job, with so many positions per period of full service."""
    pricing = Pricing(workload)
    column, memory = pricing.columns
    resource, n_periods = workload.resources[column], _n_periods(workload, period_seconds)
    found: list[Plans | Served] = []
    for one in jobs:
        limits = pricing.limits(one.job)
        sizes = sizes_of(one.truth, limits, column, memory, float(resource.step))
        if one.job.clock == "wall":
            found.append(Served(one, sizes, period_seconds, n_periods))
        else:
            resize = _resize(one, limits, resource.name, is_costly=resource.costly, n_pools=len(workload.pools))
            found.append(Plans(one, sizes, period_seconds, n_periods, cells, resize))
    return found


def _n_periods(workload: Workload, period_seconds: float) -> int:
    return ceil((workload.horizon_seconds or 0.0) / period_seconds - _ALMOST)


def _prices(plans: Sequence[Plans | Served], period_seconds: float, available: _Floats, n_prices: int, known: float) -> _Floats:
    """Return the prices of a card-second that gave the lowest bound, shape ``(n_periods,)``."""
    block = np.arange(len(available)) // ceil(len(available) / _BLOCKS)
    supply = np.asarray(np.bincount(block, available) * period_seconds, dtype=np.float64)
    mixture = Mixture(len(plans), supply)
    price = at = np.full(len(supply), _FIRST * max((plan.weight for plan in plans), default=0.0))
    lowest = np.inf
    for _ in range(n_prices):
        reached = float(price @ supply)
        for j, plan in enumerate(plans):
            best = plan.best(price[block] * period_seconds)
            used = np.asarray(np.bincount(block, best.cards) * period_seconds, dtype=np.float64)
            mixture.add(j, best.net + float(price @ used), used)
            reached += best.net
        if reached < lowest:
            lowest, at = reached, price
        found = mixture.best()
        if found is None or lowest <= found.value * (1 + _CLOSE) or found.value >= known:
            break
        price = at + _PART * (found.prices - at)
    return at[block]


def _resize(one: BoundJob, limits: Sequence[StageLimits], resource: str, *, is_costly: bool, n_pools: int) -> float:
    """Return what resizing costs at least; nothing where a stage may hold nothing for a while, as starting a stage that held nothing is free."""
    can_drop = any(not any(limit.least) and any(not any(need[s]) for need in one.truth.need) for s, limit in enumerate(limits))
    return 0.0 if len(limits) > 1 and can_drop else resize_seconds(one.job, resource, is_costly=is_costly, n_pools=n_pools)


def _available(workload: Workload, period_seconds: float) -> _Floats:
    """Return the cards of all pools together in every period, shape ``(n_periods,)``."""
    column, _ = Pricing(workload).columns
    n_periods = _n_periods(workload, period_seconds)
    total = np.zeros(n_periods)
    for pool in workload.pools:
        cards = np.full(n_periods, vector(pool.capacity, workload.resources)[column])
        for change in sorted((c for c in workload.changes if c.pool == pool.name), key=lambda c: c.at_seconds):
            cards[ceil(change.at_seconds / period_seconds - _ALMOST) :] = vector(change.capacity, workload.resources)[column]
        total += cards
    return total
