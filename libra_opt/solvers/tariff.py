"""What the unknowns of the dual say: the price of a unit in every pool and queue, and what the shared rows are worth at these prices.

Where no queue reserves anything, both are linear in the unknowns, so that a small matrix and a vector, worked out once, stand for all that is done step by
step otherwise; a dual is evaluated some thirty times, and on a thousand jobs these steps took longer than the jobs.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.shadow import Prices
from libra_opt.formulation.shared import SharedRows
from libra_opt.solvers.unknowns import Unknowns

__all__ = ["Tariff", "tariff"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_SMALL = 20_000
"""Up to this many entries the matrix is worked out."""


class Tariff(Protocol):
    """Prices and worth of the shared rows, at a point of the unknowns."""

    def table(self, point: _Floats) -> _Floats:
        """Return the price of a unit by pool, queue and resource, shape ``(n_pools * n_queues * n_resources,)``."""
        ...

    def limits(self, point: _Floats, used: _Floats, spent: float) -> tuple[float, _Floats]:
        """Return what the limits are worth at the prices, and how that less what is used rises along each unknown.

        Parameters
        ----------
        used
            What the jobs use, in the order of `table`.
        spent
            Milliseconds of charges.
        """
        ...


def tariff(rows: Unknowns) -> Tariff:
    """Return the tariff of some unknowns."""
    is_linear = rows.size > 0 and not len(rows.reserving) and rows.size * rows.shared.capacity.shape[0] * rows.shared.ceiling.size <= _SMALL
    return _Linear.of(rows) if is_linear else _Stepwise(rows)


@dataclass(frozen=True)
class _Linear:
    """Of unknowns each of which stands for one price: that of a row is ``unit * point``, those of the table are ``matrix @ point``."""

    matrix: _Floats
    unit: _Floats
    limit: _Floats
    has_budget: bool

    @classmethod
    def of(cls, rows: Unknowns) -> "_Linear":
        shared = rows.shared
        each = [_table(shared, rows.prices(alone)) for alone in np.eye(rows.size)]
        matrix = np.array(each).reshape(rows.size, -1).T
        unit = np.concatenate([rows.pool_unit, rows.ceiling_unit, rows.guarantee_unit, [rows.budget_unit] * rows.has_budget])
        most_ms = [shared.most_ms()] * rows.has_budget
        limit = np.concatenate([shared.capacity[rows.pool], shared.ceiling[rows.ceiling], -shared.floor[rows.guarantee], most_ms])
        return cls(np.ascontiguousarray(matrix), unit, limit, rows.has_budget)

    def table(self, point: _Floats) -> _Floats:
        return np.asarray(self.matrix @ point)

    def limits(self, point: _Floats, used: _Floats, spent: float) -> tuple[float, _Floats]:
        slope = self.unit * self.limit - used @ self.matrix
        if self.has_budget:
            slope[-1] -= spent * self.unit[-1]
        return float((point * self.unit * self.limit).sum()), slope


@dataclass(frozen=True)
class _Stepwise:
    """Of any unknowns."""

    rows: Unknowns

    def table(self, point: _Floats) -> _Floats:
        return _table(self.rows.shared, self.rows.prices(point))

    def limits(self, point: _Floats, used: _Floats, spent: float) -> tuple[float, _Floats]:
        rows, shared, prices = self.rows, self.rows.shared, self.rows.prices(point)
        by_pair = used.reshape(len(shared.capacity), *shared.ceiling.shape)
        in_pool, in_queue = by_pair.sum(axis=1), by_pair.sum(axis=0)
        part = rows.split(point)
        free = np.maximum(0.0, shared.unreserved)[rows.reserving]
        price = part.reserve * rows.reserve_unit
        value = float((prices.pool * shared.capacity).sum() + (prices.ceiling[rows.ceiling] * shared.net_ceiling[rows.ceiling]).sum())
        value += float((prices.reserve * shared.net_reserved).sum() - (prices.guarantee * shared.floor).sum() + (price * free).sum())
        shares = part.share.reshape(len(shared.reserved), -1)
        slope_reserve, passed_on = _slopes(shared, rows.reserving, shares, in_queue)
        below = shared.forest.gathered(in_queue)
        slope_ceiling = np.where(shared.is_reserving, shared.net_ceiling - in_queue, shared.ceiling - below)
        slope_ceiling[:, rows.reserving] += passed_on
        slopes = [
            (shared.capacity - in_pool)[rows.pool] * rows.pool_unit,
            slope_ceiling[rows.ceiling] * rows.ceiling_unit,
            (below - shared.floor)[rows.guarantee] * rows.guarantee_unit,
            (slope_reserve * rows.above(prices, price)).ravel(),
            (shared.forest.over_roots(slope_reserve * shares) + free) * rows.reserve_unit,
        ]
        if rows.has_budget:
            value += prices.ms * shared.most_ms()
            slopes.append(np.array([(shared.most_ms() - spent) * rows.budget_unit]))
        return value, np.concatenate(slopes)


def _table(shared: SharedRows, prices: Prices) -> _Floats:
    return np.asarray((prices.pool[:, None, :] + prices.of_queues(shared)[None, :, :]).ravel())


def _slopes(shared: SharedRows, reserving: _Indices, shares: _Floats, in_queue: _Floats) -> tuple[_Floats, _Floats]:
    """Return the slopes along the prices of reserves, each counting what follows from it below, and that part alone; shapes ``(n_queues + 1, n_reserving)``."""
    slope = (shared.net_reserved - in_queue)[:, reserving]
    passed_on = np.zeros_like(slope)
    for layer in reversed(shared.forest.layers):
        above = shared.forest.parent[layer]
        slope[layer] += passed_on[layer]
        np.add.at(passed_on, above, slope[layer] * shares[layer])
    if not shared.forest.is_flat:
        slope[shared.forest.roots] += passed_on[shared.forest.roots]
    return slope, passed_on
