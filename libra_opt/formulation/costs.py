"""Prices of the pools as arrays (R16)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger

__all__ = ["Costs", "costs_of"]

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Costs:
    """Prices of a ledger as arrays.

    Attributes
    ----------
    price
        What one quantum costs for one hour, in the ledger's amount of money, shape ``(n_pools, n_resources)``.
    ceiling
        Most that all may cost together, in the same.
    """

    price: _Ints
    ceiling: int


def costs_of(ledger: Ledger) -> Costs | None:
    """Return the prices and the ceiling of a ledger, None where the cost is not limited."""
    cost = ledger.cost
    if cost is None:
        return None
    return Costs(np.array(cost.price, dtype=np.int64).reshape(-1, ledger.n_resources), cost.ceiling)
