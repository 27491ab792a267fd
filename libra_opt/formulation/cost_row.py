"""R16, the cost ceiling, as one more row that jobs share.

What a cell costs is one more column beside the resources, and all jobs together stand below one more queue, above every other, whose ceiling in that column is
the ceiling of the cost. So whoever solves, prices or restricts a program knows ceilings of queues, and nothing of money. Without a ceiling nothing is added.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.costs import Costs
from libra_opt.formulation.forest import plant
from libra_opt.formulation.shared import SharedRows

__all__ = ["Counted", "with_cost"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_EXACT_BITS = 53


@dataclass(frozen=True)
class Counted:
    """What cells use of the shared rows, and these, in the units that a program counts in; see `Program`."""

    amount: _Floats
    surely: _Floats
    shared: SharedRows
    scale: _Ints
    is_rounded: npt.NDArray[np.bool_]


def with_cost(costs: Costs, counted: Counted, pool: _Indices, quanta: _Ints, surely: _Floats, capacity: _Ints) -> Counted:
    """Return what was counted with the column of the cost and the queue above all queues added.

    Parameters
    ----------
    counted
        The same without them.
    pool, quanta, surely
        Of every cell its pool, shape ``(n_cells,)``, and what it holds and surely uses in quanta, shape ``(n_cells, n_resources)``.
    capacity
        Of the pools in quanta, shape ``(n_pools, n_resources)``.
    """
    each = (quanta * costs.price[pool]).sum(axis=1)
    most = sum(int(amount) * int(price) for amount, price in zip(capacity.ravel().tolist(), costs.price.ravel().tolist(), strict=True))
    divisor = max(1, int(np.gcd.reduce(each, initial=0)))
    coarser = max(0, (most // divisor).bit_length() - _EXACT_BITS)
    unit = divisor << coarser
    cost = (-(-each // unit)).astype(np.float64)
    least = (surely * costs.price[pool]).sum(axis=1) / unit
    return Counted(
        amount=np.column_stack([counted.amount, cost]),
        surely=np.column_stack([counted.surely, np.minimum(least, cost)]),
        shared=_below_one(counted.shared, float(costs.ceiling // unit), float(most // unit)),
        scale=np.append(counted.scale, unit),
        is_rounded=np.append(counted.is_rounded, coarser > 0),
    )


def _below_one(shared: SharedRows, ceiling: float, most: float) -> SharedRows:
    """Return the shared rows with one more column and, before the last, one more row, above all queues; pools and queues do not limit the column."""
    n_queues, never = len(shared.ceiling) - 1, 2 * most + 1

    def wider(table: _Floats, missing: float) -> _Floats:
        wide = np.full((n_queues + 2, table.shape[1] + 1), missing)
        wide[:n_queues, :-1] = table[:-1]
        return wide

    limits = wider(shared.ceiling, np.inf)
    limits[n_queues, -1] = total = min(ceiling, never)
    parents = shared.forest.parent[:-1].tolist()  # what the last row was to roots, the cluster itself, is now the queue above them
    return replace(
        shared,
        capacity=np.column_stack([shared.capacity, np.full(len(shared.capacity), never)]),
        ceiling=limits,
        reserved=wider(shared.reserved, 0.0),
        is_reserving=np.append(shared.is_reserving, False),
        floor=wider(shared.floor, 0.0),
        nominal=wider(shared.nominal, 1.0),
        total=np.append(shared.total, total),
        forest=plant([*parents, -1]),
        quota=wider(shared.quota, 0.0),
        per_square=wider(shared.per_square, 0.0),
    )
