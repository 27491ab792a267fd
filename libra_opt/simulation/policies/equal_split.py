"""Equal split: the cluster is cut into equal slots, one per job of the workload, and a job keeps its slot for all its life.

Where a job's minimum, or the memory it asked for, does not fit into so small a slot, it takes the least number of slots that holds it. Who finds too few
free slots waits, in order of submission, and others may start before it. The slots of a job lie in one pool; each pool has as many as its share of all
cards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor

from libra_opt.domain import Ledger
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.grant import Decision, Moment
from libra_opt.simulation.room import Cells, Room, declared, holding_of, in_quanta

__all__ = ["EqualSplit", "slot_for"]


@dataclass(slots=True)
class EqualSplit:
    """Equal slots, held for ever."""

    name: str = "equal_split"
    _ledger: Ledger | None = None
    _slots: dict[int, Cells | None] = field(default_factory=dict)
    _running: dict[int, Cells] = field(default_factory=dict)

    def decide(self, moment: Moment) -> Decision:
        """Return the slots of what runs and of what starts now."""
        if self._ledger is None:
            self._ledger = declared(moment.workload)
            self._slots = equal_slots(self._ledger)
        ledger = self._ledger
        room = Room(ledger, in_quanta(ledger, moment.capacity))
        there = set(moment.arrived)
        running: dict[int, Cells] = {}
        for j in [*(j for j in self._running if j in there), *(j for j in moment.arrived if j not in self._running)]:
            cells = self._slots[j]
            if cells is not None and room.fits(j, cells):
                room.take(j, cells)
                running[j] = cells
        self._running = running
        return Decision({j: holding_of(ledger, cells) for j, cells in running.items()})


def equal_slots(ledger: Ledger) -> dict[int, Cells | None]:
    """Return what every job of a ledger holds; None for one that all slots of no pool hold."""
    return {j: _in_some_pool(ledger, j) for j in range(len(ledger.jobs))}


def _in_some_pool(ledger: Ledger, j: int) -> Cells | None:
    sizes = _sizes(ledger)
    total = sum(sizes) or 1
    n_slots = {k: max(1, round(len(ledger.jobs) * size / total)) for k, size in enumerate(sizes)}
    for n in range(1, max(n_slots.values()) + 1):
        for k in sorted(n_slots, key=lambda k: (-sizes[k], k)):
            slots = tuple(amount * n // n_slots[k] for amount in ledger.capacity[k])
            cells = slot_for(ledger, j, k, slots) if n <= n_slots[k] else None
            if cells is not None:
                return cells
    return None


def _sizes(ledger: Ledger) -> Sequence[float]:
    names = [resource.name for resource in ledger.resources]
    if CARDS in names and any(row[names.index(CARDS)] for row in ledger.capacity):
        return [float(row[names.index(CARDS)]) for row in ledger.capacity]
    totals = [sum(row) for row in zip(*ledger.capacity, strict=True)]
    return [max((a / t for a, t in zip(row, totals, strict=True) if t), default=0.0) for row in ledger.capacity]


def slot_for(ledger: Ledger, j: int, k: int, slot: Quanta) -> Cells | None:
    """Return what the stages of a job hold in its slots of a pool, or None where their minima and the memory they asked for do not fit.

    Stages share the slots in proportion to what they asked for (equally, where they did not say).
    """
    rows = list(ledger.stage_of[j])
    if not all(any(pool == k for pool, _ in ledger.allowed[s]) for s in rows):
        return None
    held = []
    for s in rows:
        amounts = []
        for r, whole in enumerate(slot):
            asked = [ledger.demand[i][r] + ledger.need[i][r] for i in rows]
            share = asked[rows.index(s)] / sum(asked) if sum(asked) else 1 / len(rows)
            unit = ledger.unit[s][r]
            amounts.append(min(ledger.hi[s][r], max(ledger.lo[s][r], floor(whole * share / unit + 1e-9) * unit)))
        held.append(amounts)
    _within_cards(ledger, k, held)
    used = [sum(column) for column in zip(*held, strict=True)]
    if any(amount > most for amount, most in zip(used, slot, strict=True)):
        return None
    if any(amount < max(lo, n) for s, row in zip(rows, held, strict=True) for amount, lo, n in zip(row, ledger.lo[s], ledger.need[s], strict=True)):
        return None
    return tuple((k, tuple(row)) for row in held)


def _within_cards(ledger: Ledger, k: int, held: Sequence[list[int]]) -> None:
    """R9: cut memory to what the cards of each stage carry."""
    ratio = ledger.card_ratio[k]
    if ratio is None:
        return
    names = [resource.name for resource in ledger.resources]
    card, memory = names.index(CARDS), names.index(CARD_MEMORY)
    for row in held:
        row[memory] = min(row[memory], row[card] * ratio[0] // ratio[1])
