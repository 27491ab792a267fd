"""The bound by prices on cards: what jobs could earn each by itself, plus the price of all the cards there are.

Any prices give a bound; good ones are high when many jobs want cards. First the best price that is the same in all periods is looked for by golden section,
as the bound is convex in prices, then prices that differ, by column generation (Dantzig and Wolfe, *Operations Research* 8,
1960): the plans that were best at some prices are mixed so that they fit into the cards there are (`Mixture`), and its duals are the next prices. As the
duals of few plans jump, each step goes but a part of the way to them from the best prices so far (Wentges, *International Transactions in Operational
Research* 4, 1997).
"""

from collections.abc import Callable, Sequence
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
_POSITIONS: Final = 1_000_000
"""More than the fewest where the positions of all jobs, in all periods, are still no more than about so many."""
_BLOCKS: Final = 48
"""Most prices over time; periods next to each other share one, as with more of them the search takes far longer than they are worth."""
_GOLDEN: Final = (5**0.5 - 1) / 2
_PART: Final = 0.25
"""Of the way from the best prices to the duals."""
_CLOSE: Final = 2e-3
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
    cells = min(_FINE, max(_COARSE, _POSITIONS // max(1, len(available) ** 2 * len(jobs))))
    price = _Search(plans_of(workload, period_seconds, jobs, cells), period_seconds, available).run(n_prices, known)
    return sum(plan.net(price * period_seconds) for plan in plans_of(workload, period_seconds, jobs, _FINE)) + float(price @ available) * period_seconds


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


class _Search:
    """Looks for the prices that give the lowest bound.

    Attributes
    ----------
    lowest, prices
        The lowest bound that was found, and its prices of a card-second, shape ``(n_blocks,)``.
    """

    def __init__(self, plans: Sequence[Plans | Served], period_seconds: float, available: _Floats) -> None:
        self._plans, self._seconds = plans, period_seconds
        self._block = np.arange(len(available)) // max(1, ceil(len(available) / _BLOCKS))
        self._supply = np.asarray(np.bincount(self._block, available) * period_seconds, dtype=np.float64)
        self._mixture = Mixture(len(plans), self._supply)
        self.lowest, self.prices = np.inf, np.zeros(len(self._supply))

    def run(self, n_prices: int, known: float) -> _Floats:
        """Return the best of so many prices for each period: some are the same in all of them, as the others are found sooner from there."""
        n_even = max(3, n_prices // 8)
        _golden(lambda price: self._try(np.full(len(self._supply), price)), max((plan.weight for plan in self._plans), default=0.0), n_even)
        for _ in range(n_even, n_prices):
            found = self._mixture.best()
            if found is None or self.lowest <= found.value * (1 + _CLOSE) or found.value >= known:
                break
            self._try(self.prices + _PART * (found.prices - self.prices))
        return self.prices[self._block]

    def _try(self, prices: _Floats) -> float:
        """Return the bound that prices give, and remember the plans that are best at them."""
        reached = float(prices @ self._supply)
        for j, plan in enumerate(self._plans):
            best = plan.best(prices[self._block] * self._seconds)
            used = np.asarray(np.bincount(self._block, best.cards) * self._seconds, dtype=np.float64)
            self._mixture.add(j, best.net + float(prices @ used), used)
            reached += best.net
        if reached < self.lowest:
            self.lowest, self.prices = reached, prices
        return reached


def _golden(bound: Callable[[float], float], most: float, n: int) -> None:
    """Try `n` points of a convex function on 0..most, closer and closer to its lowest, by golden section."""
    low, high = 0.0, most
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    bound(0.0)
    at_left, at_right = bound(left), bound(right)
    for _ in range(n - 3):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = bound(right)


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
