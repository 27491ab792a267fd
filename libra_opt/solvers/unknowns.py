"""The unknowns of the dual: prices of the shared rows, scaled so that they are of like size."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.relaxation import penalties

__all__ = ["MOST_PRICE", "Parts", "Unknowns"]

_Floats = npt.NDArray[np.float64]

MOST_PRICE = 1e3
"""Prices stay below this many times the value of all jobs per whole row: enough to say "never"."""


@dataclass(frozen=True)
class Parts:
    """The unknowns by kind: prices of the pools' rows, ceilings, guarantees, each queue's share of its resource's reserve price, these prices, the budget.

    The share of a queue below another is one of what that one pays.
    """

    pool: _Floats
    ceiling: _Floats
    guarantee: _Floats
    share: _Floats
    reserve: _Floats
    budget: _Floats


class Unknowns:
    """One per shared row, each the value of the whole row relative to the value of all jobs.

    Attributes
    ----------
    pool, ceiling, guarantee, share
        Which rows of the tables of `SharedRows` have a price, as pairs of index arrays.
    reserving
        Of which resources queues reserve, shape ``(n_reserving,)``.
    pool_unit, ceiling_unit, guarantee_unit, reserve_unit, budget_unit
        The price that an unknown of one stands for.
    size
        How many there are.
    """

    def __init__(self, program: Program) -> None:
        shared = program.shared
        self.program = program
        self.shared = shared
        self.value = max(1e-300, program.most_value)
        self.pool = np.nonzero(np.ones_like(shared.capacity))
        self.ceiling = np.nonzero(np.isfinite(shared.ceiling))
        self.guarantee = np.nonzero(shared.floor > 0)
        self.reserving = np.flatnonzero(shared.is_reserving)
        self.share = (np.repeat(np.arange(len(shared.reserved)), len(self.reserving)), np.tile(self.reserving, len(shared.reserved)))
        self.has_budget = bool(np.isfinite(shared.budget_ms)) and bool(program.cell_ms.any() or program.wait_ms.any())
        self.pool_unit = self.value / np.maximum(1.0, shared.capacity[self.pool])
        self.ceiling_unit = self.value / np.maximum(1.0, shared.ceiling[self.ceiling])
        self.guarantee_unit = self.value / np.maximum(1.0, shared.floor[self.guarantee])
        self.reserve_unit = self.value / np.maximum(1.0, shared.total[self.reserving])
        self.budget_unit = self.value / max(1000.0, shared.budget_ms) if self.has_budget else 0.0
        sizes = [len(self.pool[0]), len(self.ceiling[0]), len(self.guarantee[0]), len(self.share[0]), len(self.reserving), int(self.has_budget)]
        self.cuts = np.cumsum(sizes)[:-1]
        self._parts = [slice(end - size, end) for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True)]
        self._penalty = penalties(program)
        self.size = int(sum(sizes))
        self.is_share = np.zeros(self.size, dtype=np.bool_)
        self.is_share[self.cuts[2] : self.cuts[3]] = True

    def start(self) -> _Floats:
        """Return where to begin when nothing is known."""
        point = np.zeros(self.size)
        point[: len(self.pool[0])] = 1.0 / max(1, len(self.pool[0]))
        point[self.is_share] = 0.5
        return point

    def bounds(self) -> list[tuple[float, float]]:
        """Return the least and the most of each."""
        most = np.where(self.is_share, 1.0, MOST_PRICE)
        penalty = self._penalty
        most[self.cuts[1] : self.cuts[2]] = penalty.shortfall / self.shared.nominal[self.guarantee] / self.guarantee_unit
        if self.has_budget:
            most[-1] = penalty.ms / self.budget_unit
        return [(0.0, float(limit)) for limit in most]

    def split(self, point: _Floats) -> Parts:
        """Return them by kind."""
        return Parts(*(point[part] for part in self._parts))

    def point(self, prices: Prices) -> _Floats:
        """Return the unknowns that stand for prices, as near as the bounds allow."""
        reserve = prices.reserve[:, self.reserving]
        top = reserve[self.shared.forest.roots].max(axis=0, initial=0.0)
        whole = self.above(prices, top)
        parts = [
            prices.pool[self.pool] / self.pool_unit,
            prices.ceiling[self.ceiling] / self.ceiling_unit,
            prices.guarantee[self.guarantee] / self.guarantee_unit,
            np.where(whole > 0, reserve / np.where(whole > 0, whole, 1.0), 0.5).ravel(),
            top / self.reserve_unit,
        ]
        if self.has_budget:
            parts.append(np.array([prices.ms / self.budget_unit]))
        return np.asarray(np.minimum(np.concatenate(parts), [most for _, most in self.bounds()]))

    def above(self, prices: Prices, top: _Floats) -> _Floats:
        """Return what the price of each reserve is a share of: what the queue above pays for a unit, and of roots the price of the resource's reserves.

        Parameters
        ----------
        top
            The latter, shape ``(n_reserving,)``.

        Returns
        -------
        Shape ``(n_queues + 1, n_reserving)``.
        """
        forest = self.shared.forest
        whole = np.broadcast_to(top, (len(forest.parent), len(top)))
        if forest.is_flat:
            return whole
        paid = (prices.reserve + prices.ceiling)[:, self.reserving]
        return np.where((forest.parent == len(forest.parent) - 1)[:, None], whole, paid[forest.parent])

    def prices(self, point: _Floats) -> Prices:
        """Return the prices that they stand for."""
        part, shared = self.split(point), self.shared
        pool, ceiling, guarantee, reserve = (
            np.zeros_like(shared.capacity),
            np.zeros_like(shared.ceiling),
            np.zeros_like(shared.floor),
            np.zeros_like(shared.floor),
        )
        pool[self.pool] = part.pool * self.pool_unit
        ceiling[self.ceiling] = part.ceiling * self.ceiling_unit
        guarantee[self.guarantee] = part.guarantee * self.guarantee_unit
        reserve[self.share] = part.share * np.tile(part.reserve * self.reserve_unit, len(shared.reserved))
        for layer in shared.forest.layers:
            above = shared.forest.parent[layer][:, None]
            shares = part.share.reshape(len(shared.reserved), -1)[layer]
            reserve[layer[:, None], self.reserving] = shares * (reserve + ceiling)[above, self.reserving]
        return Prices(pool, ceiling, guarantee, reserve, float(part.budget[0]) * self.budget_unit if self.has_budget else 0.0, self._penalty.lost)
