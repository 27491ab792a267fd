"""Cards are exclusive where a pool states their memory: whoever holds a card has all the memory on it, whatever less was asked for."""

from libra_opt.domain import Workload
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.quantity import parse
from libra_opt.simulation.truth import Vector

__all__ = ["ExclusiveCards"]


class ExclusiveCards:
    """The memory of cards, pool by pool.

    Parameters
    ----------
    workload
        Its pools and resources.
    """

    def __init__(self, workload: Workload) -> None:
        names = [resource.name for resource in workload.resources]
        self._cards = names.index(CARDS) if CARDS in names else -1
        self._memory = names.index(CARD_MEMORY) if CARD_MEMORY in names else -1
        self._per_card: dict[str, float] = {}
        if self._cards >= 0 and self._memory >= 0:
            unit = workload.resources[self._memory].unit
            self._per_card = {pool.name: float(parse(pool.card_mem, unit)) for pool in workload.pools if pool.card_mem is not None}

    def held(self, pool: str, amounts: Vector) -> Vector:
        """Return what a stage really has that was granted these amounts in a pool."""
        per_card = self._per_card.get(pool)
        if per_card is None or amounts[self._memory] >= per_card * amounts[self._cards]:
            return amounts
        return (*amounts[: self._memory], per_card * amounts[self._cards], *amounts[self._memory + 1 :])
