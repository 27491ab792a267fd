"""The bound by a price on cards: what jobs could earn each by itself, plus the price of all the cards there are."""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.domain import Workload
from libra_opt.simulation.bound.bound_job import BoundJob
from libra_opt.simulation.bound.least_use import Pricing, StageLimits
from libra_opt.simulation.bound.plans import Plans, Served, resize_seconds
from libra_opt.simulation.bound.sizes import Sizes, sizes_of
from libra_opt.simulation.truth import vector

__all__ = ["priced_bound"]

_ALMOST: Final = 1e-9
_GOLDEN: Final = (5**0.5 - 1) / 2
_COARSE, _FINE = 12, 60
"""Positions per period while the price is looked for, and at the price that was found."""
_NEAR: Final = 1.05
"""Finer positions gain a few in a hundred at most."""

_Floats: TypeAlias = npt.NDArray[np.float64]


def priced_bound(workload: Workload, period_seconds: float, jobs: Sequence[BoundJob], n_prices: int, known: float) -> float:
    """Return a number that nobody's weighted finished work by the horizon passes.

    Any price gives a bound; one that is the same in all periods is looked for by golden section, as the bound is convex in it.

    Parameters
    ----------
    jobs
        The jobs of the workload.
    n_prices
        How many prices are tried.
    known
        A bound that is known; where the prices come nowhere near it, the last step is saved.
    """
    horizon = workload.horizon_seconds or 0.0
    n_periods = ceil(horizon / period_seconds - _ALMOST)
    pricing = Pricing(workload)
    column, memory = pricing.columns
    resource = workload.resources[column]
    limits = [pricing.limits(one.job) for one in jobs]
    sizes = [sizes_of(one.truth, limit, column, memory, float(resource.step)) for one, limit in zip(jobs, limits, strict=True)]
    is_costly, n_pools = resource.costly, len(workload.pools)
    resize = [_resize(one, limit, resource.name, is_costly=is_costly, n_pools=n_pools) for one, limit in zip(jobs, limits, strict=True)]
    available = _available(workload, column, period_seconds, n_periods)

    def plans(cells: int) -> list[Plans | Served]:
        return [_plans(one, size, period_seconds, n_periods, cells, charge) for one, size, charge in zip(jobs, sizes, resize, strict=True)]

    def bound(of: Sequence[Plans | Served], price: float) -> float:
        prices = np.full(n_periods, price * period_seconds)
        return sum(one.best(prices) for one in of) + float(prices @ available)

    coarse = plans(_COARSE)
    price, reached = _golden(lambda price: bound(coarse, price), max((one.job.weight for one in jobs), default=0.0), n_prices)
    return reached if reached > _NEAR * known else min(reached, bound(plans(_FINE), price))


def _plans(one: BoundJob, sizes: Sizes, period_seconds: float, n_periods: int, cells: int, resize: float) -> Plans | Served:
    if one.job.clock == "wall":
        return Served(one, sizes, period_seconds, n_periods)
    return Plans(one, sizes, period_seconds, n_periods, cells, resize)


def _resize(one: BoundJob, limits: Sequence[StageLimits], resource: str, *, is_costly: bool, n_pools: int) -> float:
    """Return what resizing costs at least; nothing where a stage may hold nothing for a while, as starting a stage that held nothing is free."""
    can_drop = any(not any(limit.least) and any(not any(need[s]) for need in one.truth.need) for s, limit in enumerate(limits))
    return 0.0 if len(limits) > 1 and can_drop else resize_seconds(one.job, resource, is_costly=is_costly, n_pools=n_pools)


def _available(workload: Workload, column: int, period_seconds: float, n_periods: int) -> _Floats:
    """Return the cards of all pools together in every period, shape ``(n_periods,)``."""
    total = np.zeros(n_periods)
    for pool in workload.pools:
        cards = np.full(n_periods, vector(pool.capacity, workload.resources)[column])
        for change in sorted((c for c in workload.changes if c.pool == pool.name), key=lambda c: c.at_seconds):
            cards[ceil(change.at_seconds / period_seconds - _ALMOST) :] = vector(change.capacity, workload.resources)[column]
        total += cards
    return total


def _golden(bound: Callable[[float], float], most: float, n: int) -> tuple[float, float]:
    """Return the best of `n` points of a convex function on 0..most, and its value there, by golden section."""
    low, high = 0.0, most
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    known = {0.0: bound(0.0), left: bound(left), right: bound(right)}
    for _ in range(n - 3):
        if known[left] <= known[right]:
            high, right = right, left
            left = high - _GOLDEN * (high - low)
            known.setdefault(left, bound(left))
        else:
            low, left = left, right
            right = low + _GOLDEN * (high - low)
            known.setdefault(right, bound(right))
    best = min(known, key=lambda price: (known[price], price))
    return best, known[best]
