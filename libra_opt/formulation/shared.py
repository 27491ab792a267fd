"""The rows that jobs share: capacity (R1), queue ceilings and reserves (R10), the preemption budget (R12) and the guarantees of tier 3.

In a tree of queues every row of a queue speaks of it and all below it together. Reserves below a queue count against its ceiling as if they were in use, so
rows that solvers add up from parts have other right-hand sides there, the `net` ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.curves import ServiceCurves
from libra_opt.formulation.forest import Forest, plant
from libra_opt.formulation.levels import tick_slack
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.ways import Ways

__all__ = ["SharedRows", "shared_rows"]

_Floats = npt.NDArray[np.float64]

_HAIR = 1e-12
"""Relative slack for rounding, far below one step."""


@dataclass(frozen=True)
class SharedRows:
    """Limits on what all jobs use together, in quanta; infinity where there is none.

    Attributes
    ----------
    capacity
        R1, shape ``(n_pools, n_resources)``.
    ceiling
        R10, shape ``(n_queues + 1, n_resources)``; the last row is for jobs outside every queue and holds infinities.
    reserved
        R10, what of each queue's quota is never lent, cut to fit the cluster, shape ``(n_queues + 1, n_resources)``.
    is_reserving
        Of every resource, whether some queue reserves of it, shape ``(n_resources,)``.
    floor
        Tier 3: min(nominal quota, ask), shape ``(n_queues + 1, n_resources)``; 0 where nothing is guaranteed.
    nominal
        Tier 3's scale, positive, shape ``(n_queues + 1, n_resources)``.
    budget_ms
        R12; infinity without a budget.
    total
        Capacity per resource over all pools, shape ``(n_resources,)``.
    step_ms
        R11's charges are whole multiples of this many milliseconds; 1 where nothing is charged.
    forest
        Which queue is above which.
    quota
        What each queue has with all below it, before it borrows, shape ``(n_queues + 1, n_resources)``.
    per_square
        Tier 5: what the square of one quantum borrowed weighs, 0 where no queue has a quota, shape ``(n_queues + 1, n_resources)``.
    """

    capacity: _Floats
    ceiling: _Floats
    reserved: _Floats
    is_reserving: npt.NDArray[np.bool_]
    floor: _Floats
    nominal: _Floats
    budget_ms: float
    total: _Floats
    step_ms: float
    forest: Forest
    quota: _Floats
    per_square: _Floats

    @cached_property
    def net_ceiling(self) -> _Floats:
        """The ceilings less what the queues right below reserve: limits on a queue's own use and what each queue right below books above its reserve."""
        return self.ceiling if self.forest.is_flat else self.ceiling - self.forest.of_children(self.reserved)

    @cached_property
    def net_reserved(self) -> _Floats:
        """The reserves less what the queues right below reserve."""
        return self.reserved if self.forest.is_flat else self.reserved - self.forest.of_children(self.reserved)

    @cached_property
    def unreserved(self) -> _Floats:
        """What no root reserves of the cluster, shape ``(n_resources,)``; negative where reserves add up to more than is left."""
        return np.asarray(self.total - self.forest.over_roots(self.reserved))

    def keeps_reserves(self, used: _Floats) -> bool:
        """Return whether the cluster, and every queue under its ceiling, holds what is used or, where that is more, reserved (R10).

        Parameters
        ----------
        used
            What every queue and all below it use together, shape ``(n_queues + 1, n_resources)``.
        """
        if not self.is_reserving.any():
            return True
        if self.forest.is_flat:
            return bool(((np.maximum(used, self.reserved).sum(axis=0) <= self.total) | ~self.is_reserving).all())
        idle = self.forest.idle(used, self.reserved)
        booked = self.forest.over_roots(used + idle)
        return bool(((booked <= self.total) | ~self.is_reserving).all() and (used + self.forest.of_children(idle) <= self.ceiling).all())

    def borrowed(self, used: _Floats) -> float:
        """Tier 5: return the squares of what queues use beyond their quotas, each as a share of the cluster and over its weight, added up."""
        return 0.0 if self.forest.is_flat else float((self.per_square * np.maximum(0.0, used - self.quota) ** 2).sum())

    def most_ms(self, over_seconds: float = 0.0) -> float:
        """Return the most that charges can add up to within the budget and what may be spent over it: a whole number of steps."""
        allowed = self.budget_ms + 1000 * over_seconds
        return float(np.floor(allowed / self.step_ms * (1 + _HAIR)) * self.step_ms) if np.isfinite(allowed) else allowed


def shared_rows(ledger: Ledger, tables: Tables, curves: ServiceCurves, ways: Ways, budget_seconds: float | None, weights: Sequence[float] = ()) -> SharedRows:
    """Return the shared rows of a ledger; amounts up to 2^53 quanta are exact.

    Parameters
    ----------
    budget_seconds
        R12's budget, held to the millisecond; None for no budget.
    weights
        Of the queues, for tier 5; 1 each unless given.
    """
    n, forest = ledger.n_resources, plant(ledger.parent)
    capacity = np.array(ledger.capacity, dtype=np.float64).reshape(-1, n)
    ceiling = np.full((len(ledger.queues) + 1, n), np.inf)
    reserved = np.zeros((len(ledger.queues) + 1, n))
    nominal = np.ones((len(ledger.queues) + 1, n))
    for q in range(len(ledger.queues)):
        ceiling[q] = [np.inf if limit == UNLIMITED else limit for limit in ledger.ceiling[q]]
        nominal[q] = np.maximum(1, ledger.nominal[q])
    for r in range(n):
        available = sum(row[r] for row in ledger.capacity)
        kept = [row[r] for row in ledger.reserved]
        promised = ledger.booked_at_rest(r)
        reserved[:-1, r] = [part * available // promised if promised > available else part for part in kept]
    floor, quota, per_square = np.zeros_like(ceiling), np.zeros_like(ceiling), np.zeros_like(ceiling)
    floor[:-1] = _guarantee_floors(ledger, tables, curves, ways, forest, ceiling, reserved)
    quota[:-1] = np.array(ledger.nominal, dtype=np.float64).reshape(-1, n)
    total = capacity.sum(axis=0)
    if not forest.is_flat:
        each = np.asarray(weights or [1.0] * len(ledger.queues))[:, None] * np.maximum(1.0, total) ** 2
        per_square[:-1] = np.where(quota.any(axis=0), 1.0 / each, 0.0)
    budget = np.inf if budget_seconds is None else float(round(budget_seconds * 1000))
    is_reserving = np.asarray(reserved.any(axis=0))
    return SharedRows(capacity, ceiling, reserved, is_reserving, floor, nominal, budget, total, _step_ms(tables), forest, quota, per_square)


def _step_ms(tables: Tables) -> float:
    """Return the largest number of milliseconds of which all charges of jobs that run are whole multiples (R11)."""
    charges = [table[tables.running] for table in (tables.evict_ms, tables.migrate_ms, tables.resize_ms)]
    return float(np.gcd.reduce(np.concatenate([table.ravel() for table in charges]).astype(np.int64), initial=0)) or 1.0


def _guarantee_floors(ledger: Ledger, tables: Tables, curves: ServiceCurves, ways: Ways, forest: Forest, ceiling: _Floats, reserved: _Floats) -> _Floats:
    """Return what guarantees are asked for per queue and resource, shape ``(n_queues, n_resources)``: at most the quota and the ask."""
    n_queues, n = len(ledger.queues), ledger.n_resources
    nominal = np.array(ledger.nominal, dtype=np.float64).reshape(n_queues, n)
    if not nominal.any():
        return np.zeros((n_queues, n))
    fastest = np.array([_fastest(allowed) for allowed in tables.placings])[tables.placing]
    used = tables.demand * (np.minimum(1.0, curves.top) / fastest)[:, None]
    used = np.where(tables.demand > 0, used, tables.wish)
    wanted = np.maximum(np.maximum(tables.lo, tables.need), used)
    units = wanted / tables.unit
    whole = np.maximum(np.ceil(units - tick_slack(units)), units > 0)  # however little is wanted, a unit is
    ask = np.minimum(tables.hi.astype(np.float64), whole * tables.unit)
    queue = tables.queue[tables.stage_job]
    is_stuck = np.ones(len(tables.stage), dtype=np.bool_)
    is_stuck[ways.stage] = False
    can_run = np.ones(tables.n_jobs, dtype=np.bool_)
    can_run[tables.stage_job[is_stuck]] = False
    ask[~can_run[tables.stage_job]] = 0.0
    asked = np.zeros((n_queues + 1, n))
    np.add.at(asked, queue, ask)
    if forest.is_flat:
        return np.asarray(np.minimum(nominal, asked[:-1]))
    claimed, spared = _claims(forest, asked, ceiling, reserved)
    return np.asarray(np.minimum(nominal - spared[:-1], claimed[:-1]))


def _claims(forest: Forest, asked: _Floats, ceiling: _Floats, reserved: _Floats) -> tuple[_Floats, _Floats]:
    """Return what every queue asks for with all below it, each of those no more than its ceiling lets it use, and what stays reserved below it all the same."""
    claimed, spared = asked.copy(), np.zeros_like(asked)
    for layer in reversed(forest.layers):
        above = forest.parent[layer]
        claims = np.minimum(claimed[layer], ceiling[layer] - spared[layer])
        np.add.at(claimed, above, claims)
        np.add.at(spared, above, np.maximum(spared[layer], reserved[layer] - claims))
    return claimed, spared


def _fastest(allowed: tuple[tuple[int, Fraction], ...]) -> float:
    return max((float(v) for _, v in allowed), default=1.0)
