"""The rows that jobs share: capacity (R1), queue ceilings and reserves (R10), the preemption budget (R12) and the guarantees of tier 3."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.curves import ServiceCurves
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

    def most_ms(self, over_seconds: float = 0.0) -> float:
        """Return the most that charges can add up to within the budget and what may be spent over it: a whole number of steps."""
        allowed = self.budget_ms + 1000 * over_seconds
        return float(np.floor(allowed / self.step_ms * (1 + _HAIR)) * self.step_ms) if np.isfinite(allowed) else allowed


def shared_rows(ledger: Ledger, tables: Tables, curves: ServiceCurves, ways: Ways, budget_seconds: float | None) -> SharedRows:
    """Return the shared rows of a ledger; amounts up to 2^53 quanta are exact.

    Parameters
    ----------
    budget_seconds
        R12's budget, held to the millisecond; None for no budget.
    """
    n = ledger.n_resources
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
        promised = sum(kept)
        reserved[:-1, r] = [part * available // promised if promised > available else part for part in kept]
    floor = np.zeros_like(ceiling)
    floor[:-1] = _guarantee_floors(ledger, tables, curves, ways)
    budget = np.inf if budget_seconds is None else float(round(budget_seconds * 1000))
    return SharedRows(capacity, ceiling, reserved, np.asarray(reserved.any(axis=0)), floor, nominal, budget, capacity.sum(axis=0), _step_ms(tables))


def _step_ms(tables: Tables) -> float:
    """Return the largest number of milliseconds of which all charges of jobs that run are whole multiples (R11)."""
    charges = [table[tables.running] for table in (tables.evict_ms, tables.migrate_ms, tables.resize_ms)]
    return float(np.gcd.reduce(np.concatenate([table.ravel() for table in charges]).astype(np.int64), initial=0)) or 1.0


def _guarantee_floors(ledger: Ledger, tables: Tables, curves: ServiceCurves, ways: Ways) -> _Floats:
    """Return min(nominal quota, ask) per queue and resource, shape ``(n_queues, n_resources)``."""
    n_queues, n = len(ledger.queues), ledger.n_resources
    nominal = np.array(ledger.nominal, dtype=np.float64).reshape(n_queues, n)
    if not nominal.any():
        return np.zeros((n_queues, n))
    fastest = np.array([_fastest(allowed) for allowed in tables.placings])[tables.placing]
    used = tables.demand * (np.minimum(1.0, curves.top) / fastest)[:, None]
    used = np.where(tables.demand > 0, used, tables.wish)
    wanted = np.maximum(np.maximum(tables.lo, tables.need), used)
    units = wanted / tables.unit
    ask = np.minimum(tables.hi.astype(np.float64), np.ceil(units - 1e-9 * np.maximum(1.0, units)) * tables.unit)
    queue = tables.queue[tables.stage_job]
    is_stuck = np.ones(len(tables.stage), dtype=np.bool_)
    is_stuck[ways.stage] = False
    can_run = np.ones(tables.n_jobs, dtype=np.bool_)
    can_run[tables.stage_job[is_stuck]] = False
    ask[~can_run[tables.stage_job]] = 0.0
    asked = np.zeros((n_queues + 1, n))
    np.add.at(asked, queue, ask)
    return np.asarray(np.minimum(nominal, asked[:-1]))


def _fastest(allowed: tuple[tuple[int, Fraction], ...]) -> float:
    return max((float(v) for _, v in allowed), default=1.0)
