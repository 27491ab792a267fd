"""The best fixed quotas in hindsight, replayed: jobs start in the order and with the quotas that the search found, and keep them."""

from dataclasses import dataclass, field

from libra_opt.domain import Ledger
from libra_opt.simulation.grant import Decision, Moment
from libra_opt.simulation.room import Cells, Room, declared, holding_of, in_quanta
from libra_opt.simulation.static.reservation import Reservation, start_waiting
from libra_opt.simulation.static.search import EFFORT, Fixed, search_static

__all__ = ["StaticBest", "StaticPolicy"]


@dataclass(slots=True)
class StaticPolicy:
    """Holds fixed quotas: what runs keeps them, what waits starts in the order of the queue where it fits.

    Attributes
    ----------
    name
        How tables call it.
    reservation
        Quotas, order and backfill.
    """

    name: str
    reservation: Reservation
    _ledger: Ledger | None = None
    _running: dict[int, Cells] = field(default_factory=dict)

    def decide(self, moment: Moment) -> Decision:
        """Return the quotas of what runs and of what starts now."""
        if self._ledger is None:
            self._ledger = declared(moment.workload)
        ledger, quotas = self._ledger, self.reservation.quotas
        room = Room(ledger, in_quanta(ledger, moment.capacity))
        there = set(moment.arrived)
        running: dict[int, Cells] = {}
        for j, cells in self._running.items():
            if j in there and room.place(j, [row for _, row in cells], [k for k, _ in cells]) == cells:
                room.take(j, cells)
                running[j] = cells
        order = [j for j in self.reservation.order if j in there and j not in running]
        running.update(start_waiting(room, order, quotas, backfill=self.reservation.backfill))
        self._running = running
        return Decision({j: holding_of(ledger, cells) for j, cells in running.items()})


class StaticBest:
    """Searches the best fixed quotas of the workload when it first decides, and holds them.

    Parameters
    ----------
    effort
        Most static answers that are evaluated.
    fixed
        What a search found before; missing: it searches.
    """

    name = "static_best"

    def __init__(self, effort: int = EFFORT, fixed: Fixed | None = None) -> None:
        self._effort, self.fixed = effort, fixed
        self._policy: StaticPolicy | None = None

    def decide(self, moment: Moment) -> Decision:
        """Return the quotas of what runs and of what starts now."""
        if self.fixed is None:
            self.fixed = search_static(moment.workload, moment.seconds, effort=self._effort)
        if self._policy is None:
            self._policy = StaticPolicy(self.name, self.fixed.reservation)
        return self._policy.decide(moment)
