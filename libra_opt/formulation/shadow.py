"""Shadow prices of the shared rows: what the relaxation gives, and how a plan writes them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Price
from libra_opt.formulation.program import Program
from libra_opt.formulation.shared import SharedRows

__all__ = ["Prices", "shadow_prices"]

_Floats = npt.NDArray[np.float64]

_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Prices:
    """Multipliers of the shared rows, never negative, in value per scaled unit (see `Program.scale`).

    Attributes
    ----------
    pool
        R1, shape ``(n_pools, n_resources)``.
    ceiling, guarantee, reserve
        R10's ceilings, tier 3's guarantees and R10's reserves, shape ``(n_queues + 1, n_resources)``. In a tree, the price of a reserve is what a queue pays
        for a unit to all that is above it; of resources that no queue reserves it is 0, and the ceilings above count by themselves.
    ms
        R12, value per millisecond.
    lost
        Tier 1, value per value of protected jobs lost.
    """

    pool: _Floats
    ceiling: _Floats
    guarantee: _Floats
    reserve: _Floats
    ms: float
    lost: float

    def of_queues(self, shared: SharedRows) -> _Floats:
        """Return what a unit used by a job of each queue costs beyond the pool's price, shape ``(n_queues + 1, n_resources)``; guarantees lower it."""
        if shared.forest.is_flat:
            return self.ceiling - self.guarantee + self.reserve
        inherited = shared.forest.inherited(np.where(shared.is_reserving, 0.0, self.ceiling) - self.guarantee)
        return inherited + np.where(shared.is_reserving, self.ceiling, 0.0) + self.reserve


def shadow_prices(ledger: Ledger, program: Program, prices: Prices) -> tuple[Price, ...]:
    """Return the positive prices per unit of each resource, in the order of the state."""
    return tuple(_written(ledger, program, prices))


def _written(ledger: Ledger, program: Program, prices: Prices) -> Iterator[Price]:
    per_unit = 1.0 / (program.scale[: ledger.n_resources] * np.array([float(resource.step) for resource in ledger.resources]))
    tables = (("pool", ledger.pools, prices.pool), ("queue_ceiling", ledger.queues, prices.ceiling), ("queue_guarantee", ledger.queues, prices.guarantee))
    for kind, names, table in (*tables, ("reserve", ledger.queues, prices.reserve)):
        for i, name in enumerate(names):
            for r, resource in enumerate(ledger.resources):
                price = float(table[i, r] * per_unit[r])
                if price > _NEGLIGIBLE:
                    yield Price.model_validate({"kind": kind, "name": name, "resource": resource.name, "price": price})
    if ledger.cost is not None:
        price = float(prices.ceiling[len(ledger.queues), -1] / (program.scale[-1] * float(ledger.cost.unit)))
        if price > _NEGLIGIBLE:
            yield Price(kind="cost_ceiling", name="", resource="money", price=price)
    if prices.ms * 1000 > _NEGLIGIBLE:
        yield Price(kind="preemption_budget", name="", resource="seconds", price=prices.ms * 1000)
