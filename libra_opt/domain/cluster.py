"""The cluster: pools of one GPU type, and the queues (tenants) that share them."""

from collections.abc import Mapping

from libra_opt.domain.amounts import Amount, Amounts
from libra_opt.domain.base import Name, NonNegative, Positive, Value
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.resource import CARDS

__all__ = ["Pool", "Queue"]


class Pool(Value):
    """Nodes of one GPU type.

    Attributes
    ----------
    name
        How stages and plans call it.
    capacity
        What can be handed out per resource; a resource that is missing is 0.
    card_mem
        Memory of one card, where cards are exclusive; then `gpu_mem` is at most `card_mem` times `gpu` (R9).
    price
        What one card costs for one hour, in any currency: the same as ``price_per_hour`` of ``gpu`` alone.
    price_per_hour
        What one unit of each resource costs for one hour while it is allocated, all in the currency of `price`; a resource that is missing is free. What
        all allocations cost together may be limited (R16, ``options.cost_ceiling``).
    """

    name: Name
    capacity: Amounts = Amounts()
    card_mem: Amount | None = None
    price: NonNegative | None = None
    price_per_hour: FrozenMapping[Name, NonNegative] = FrozenMapping()

    @property
    def prices(self) -> Mapping[str, float]:
        """What one unit costs for one hour, by resource.

        Examples
        --------
        >>> dict(Pool(name="a100", price=2.5, price_per_hour={"cpu": 0.03}).prices)
        {'gpu': 2.5, 'cpu': 0.03}
        """
        return self.price_per_hour if self.price is None else {CARDS: self.price, **self.price_per_hour}


class Queue(Value):
    """A tenant, in Kueue's words; quotas count over all pools.

    Queues may stand below others, as in Kueue's hierarchical cohorts, and jobs in any of them. The limits of a queue then speak of it and all below it
    together; its nominal quota is its own, and is shared by all below it.

    Attributes
    ----------
    name
        How jobs call it.
    nominal_quota
        Guaranteed per resource; what is missing is 0.
    borrowing_limit
        How much more than its quota, with that of all below it, the queue and all below it may use; a resource that is missing (or no limit at all) borrows
        freely.
    lending_limit
        How much of the quota, with that of all below it, others may use while it is idle; the rest stays reserved. Missing: all of it.
    weight
        Its share where a policy divides among queues.
    parent
        The queue above it; a tree has at most 16 levels.
    """

    name: Name
    parent: Name | None = None
    nominal_quota: Amounts = Amounts()
    borrowing_limit: Amounts | None = None
    lending_limit: Amounts | None = None
    weight: Positive = 1
