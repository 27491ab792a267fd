"""The cluster: pools of one GPU type, and the queues (tenants) that share them."""

from libra_opt.domain.amounts import Amount, Amounts
from libra_opt.domain.base import Name, NonNegative, Positive, Value

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
        What one card costs for one hour, in any currency; for policies that look at cost.
    """

    name: Name
    capacity: Amounts = Amounts()
    card_mem: Amount | None = None
    price: NonNegative | None = None


class Queue(Value):
    """A tenant, in Kueue's words; quotas count over all pools.

    Attributes
    ----------
    name
        How jobs call it.
    nominal_quota
        Guaranteed per resource; what is missing is 0.
    borrowing_limit
        How much more than nominal the queue may use; a resource that is missing (or no limit at all) borrows freely.
    lending_limit
        How much of the nominal quota others may use while it is idle; the rest stays reserved. Missing: all of it.
    weight
        Its share where a policy divides among queues.
    parent
        The queue above it.
    """

    name: Name
    parent: Name | None = None
    nominal_quota: Amounts = Amounts()
    borrowing_limit: Amounts | None = None
    lending_limit: Amounts | None = None
    weight: Positive = 1
