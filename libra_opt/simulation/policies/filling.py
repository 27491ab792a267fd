"""Progressive filling: everybody starts on the lowest rung, and whoever has least goes up one, until nobody can.

Bertsekas and Gallager, *Data Networks* (1992), section 6.5.2, gives it for max-min fairness; with the dominant share as the measure of having it is the
algorithm of dominant resource fairness (Ghodsi et al., NSDI 2011, algorithm 1).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

from libra_opt.domain import Ledger
from libra_opt.simulation.room import Cells, Room
from libra_opt.simulation.rungs import Ladder

__all__ = ["Measure", "admit_at_least", "fill"]

Measure = Callable[[int, Cells, Fraction], float]
"""A job, what it holds and the level it has, to how much that is."""


def admit_at_least(ledger: Ledger, room: Room, order: Sequence[int]) -> tuple[dict[int, Cells], dict[int, Ladder]]:
    """Give the jobs, in order, the least they can run with, where that fits; return what they hold, and the ladders of those that do."""
    held: dict[int, Cells] = {}
    ladders: dict[int, Ladder] = {}
    for j in order:
        ladder = Ladder(ledger, j)
        cells = ladder.seat(room, 0)
        if cells is not None:
            room.take(j, cells)
            held[j], ladders[j] = cells, ladder
    return held, ladders


def fill(ledger: Ledger, room: Room, order: Sequence[int], measure: Measure) -> dict[int, Cells]:
    """Return what every job that runs holds; jobs earlier in the order win ties.

    Parameters
    ----------
    ledger, room
        The rules, and what is free; it changes.
    order
        The jobs in the order they are admitted in.
    measure
        How much a job has.
    """
    held, ladders = admit_at_least(ledger, room, order)
    rank = {j: i for i, j in enumerate(order)}
    heap = [(measure(j, cells, ladders[j].levels[0]), rank[j], j, 0) for j, cells in held.items()]
    heapify(heap)
    while heap:
        _, _, j, rung = heappop(heap)
        if rung + 1 == len(ladders[j]):
            continue
        larger = ladders[j].at(rung + 1, [k for k, _ in held[j]])
        if larger is None:
            continue
        room.release(j, held[j])
        if room.fits(j, larger):
            held[j] = larger
            heappush(heap, (measure(j, larger, ladders[j].levels[rung + 1]), rank[j], j, rung + 1))
        room.take(j, held[j])
    return held
