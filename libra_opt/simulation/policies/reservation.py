"""Static reservation: a job holds what it asked for, or its maximum, from the moment all of it is free until it is done.

What clusters do that give each job fixed cards: gangs, first in, first out; strictly, or with backfill, where a job may start before an earlier one that
does not fit yet.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Literal

from libra_opt.domain import Ledger
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.grant import Decision, Moment
from libra_opt.simulation.room import Cells, Room, declared, holding_of, in_quanta

__all__ = ["Reserving", "reserved"]

Size = Literal["request", "maximum"]


@dataclass(slots=True)
class Reserving:
    """Fixed reservations in order of submission.

    Attributes
    ----------
    size
        What a job reserves: its request, or its maximum.
    backfill
        Whether a job may start before an earlier one that does not fit yet.
    """

    size: Size = "maximum"
    backfill: bool = False
    _ledger: Ledger | None = None
    _amounts: dict[int, tuple[Quanta, ...] | None] = field(default_factory=dict)
    _running: dict[int, Cells] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How tables call it."""
        return "reservation" + ("_of_request" if self.size == "request" else "") + ("_backfill" if self.backfill else "")

    def decide(self, moment: Moment) -> Decision:
        """Return the reservations of what runs and of what starts now."""
        if self._ledger is None:
            ledger = self._ledger = declared(moment.workload)
            empty = Room(ledger, ledger.capacity)
            amounts = {j: reserved(ledger, j, self.size) for j in range(len(ledger.jobs))}
            self._amounts = {j: row if empty.place(j, row) is not None else None for j, row in amounts.items()}
        ledger = self._ledger
        room = Room(ledger, in_quanta(ledger, moment.capacity))
        there = set(moment.arrived)
        running: dict[int, Cells] = {}
        for j, cells in self._running.items():
            if j in there and room.fits(j, cells):
                room.take(j, cells)
                running[j] = cells
        for j in moment.arrived:
            row = self._amounts[j]
            if j in running or row is None:
                continue
            found = room.place(j, row)
            if found is not None:
                room.take(j, found)
                running[j] = found
            elif not self.backfill:
                break
        self._running = running
        return Decision({j: holding_of(ledger, cells) for j, cells in running.items()})


def reserved(ledger: Ledger, j: int, size: Size) -> tuple[Quanta, ...]:
    """Return what a job's stages reserve, in whole units: the maximum quota or the request, the other where one is not stated, and at least the minimum.

    With exclusive cards memory is cut to what the reserved cards carry (R9), as far as the request allows; the cards are raised for what it asked for.
    """
    names = [resource.name for resource in ledger.resources]
    found = []
    for s in ledger.stage_of[j]:
        asked = [d + n for d, n in zip(ledger.demand[s], ledger.need[s], strict=True)]
        row = []
        for lo, most, request, unit in zip(ledger.lo[s], ledger.hi[s], asked, ledger.unit[s], strict=True):
            wished = request if most == UNLIMITED or (size == "request" and request) else most
            row.append(min(most, -(-max(lo, wished) // unit) * unit))
        ratios = [ledger.card_ratio[k] for k, _ in ledger.allowed[s]]
        if ratios and CARDS in names and CARD_MEMORY in names and all(ratio is not None and ratio[0] for ratio in ratios):
            card, memory = names.index(CARDS), names.index(CARD_MEMORY)
            p, q = min((ratio for ratio in ratios if ratio), key=lambda ratio: ratio[0] / ratio[1])
            unit = ledger.unit[s][card]
            needed = ceil(Fraction(asked[memory] * q, p * unit)) * unit
            row[card] = min(ledger.hi[s][card], max(row[card], needed))
            row[memory] = min(row[memory], row[card] * p // q)
        found.append(tuple(row))
    return tuple(found)
