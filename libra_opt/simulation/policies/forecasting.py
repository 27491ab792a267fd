"""What the baselines that look at demand have in common: the forecast, the rules and the favours that ours has too.

They see the same state as ours and the same forecast of it, grant whole quanta within the same quotas, share out the spare of resources that follow freely
(R14), and release cards lazily: a stage keeps what it holds where nobody else took it, as giving it up and asking again would cost. They differ in how they
divide.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from libra_opt.domain import Ledger, Options, State
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.forecast import forecast
from libra_opt.formulation.spare import share_spare
from libra_opt.formulation.tables import tabulate
from libra_opt.simulation.grant import Decision, Moment
from libra_opt.simulation.room import Cells, Room, holding_of

__all__ = ["Divide", "Forecasting", "in_turn", "weights"]


class Divide(Protocol):
    """Divides a cluster among the jobs of a state."""

    def __call__(self, state: State, ledger: Ledger, room: Room) -> dict[int, Cells]:
        """Return what the jobs that run hold, by their row in the ledger, all of it taken from the room."""


@dataclass(slots=True)
class Forecasting:
    """A policy that divides the cluster anew every period by what it expects.

    Attributes
    ----------
    name
        How tables call it.
    divide
        How it divides.
    options
        What the states ask for; of them only those of the forecast and the base of priorities matter.
    is_lazy
        Stages keep the costly resources that nobody else took.
    """

    name: str
    divide: Divide
    options: Options = field(default_factory=Options)
    is_lazy: bool = True

    def decide(self, moment: Moment) -> Decision:
        """Return what every job holds in the coming period."""
        state = moment.state(self.options)
        ledger = state.ledger.with_forecast(forecast(state))
        room = Room(ledger, ledger.capacity)
        cells = self.divide(state, ledger, room)
        if self.is_lazy:
            cells = _keep(ledger, room, cells)
        index = {job.id: j for j, job in enumerate(moment.workload.jobs)}
        granted = _spread(ledger, cells)
        return Decision({index[ledger.jobs[j]]: holding_of(ledger, held) for j, held in sorted(granted.items())}, None, state)


def in_turn(state: State, ledger: Ledger) -> list[int]:
    """Return the jobs in the order they are admitted in: what runs first, then by submission."""
    submitted = [0.0 if job.submitted is None else job.submitted for job in state.jobs]
    return sorted(range(len(ledger.jobs)), key=lambda j: (not ledger.running[j], submitted[j], j))


def weights(state: State) -> list[float]:
    """Return what every job counts: its weight, times the base to its priority."""
    return [job.weight * state.options.priority_base**job.priority for job in state.jobs]


def _keep(ledger: Ledger, room: Room, cells: dict[int, Cells]) -> dict[int, Cells]:
    """Let stages keep the costly resources they hold beyond what they were given, where there is room for all of a job's."""
    costly = [resource.costly for resource in ledger.resources]
    kept = dict(cells)
    for j, given in sorted(cells.items()):
        wished = tuple((k, _kept(ledger, s, k, row, costly)) for s, (k, row) in zip(ledger.stage_of[j], given, strict=True))
        if wished == given:
            continue
        room.release(j, given)
        kept[j] = wished if room.fits(j, wished) else given
        room.take(j, kept[j])
    return kept


def _kept(ledger: Ledger, s: int, k: int, row: Quanta, costly: Sequence[bool]) -> Quanta:
    current = ledger.current[s]
    if current is None or ledger.current_pool[s] != k:
        return row
    limits = zip(current, row, ledger.lo[s], ledger.hi[s], ledger.unit[s], costly, strict=True)
    is_kept = all(not dear or (most >= have >= max(lo, want) and have % unit == 0) for have, want, lo, most, unit, dear in limits)
    return tuple(have if dear else want for have, want, dear in zip(current, row, costly, strict=True)) if is_kept else row


def _spread(ledger: Ledger, cells: dict[int, Cells]) -> dict[int, Cells]:
    """R14: share out what remains of resources that follow freely."""
    if not cells:
        return cells
    tables = tabulate(ledger)
    placed = {s: cell for j, held in cells.items() for s, cell in zip(ledger.stage_of[j], held, strict=True)}
    positions = np.array([i for i, s in enumerate(tables.stage.tolist()) if s in placed], dtype=np.intp)
    rows = tables.stage[positions].tolist()
    pool = np.array([placed[s][0] for s in rows], dtype=np.intp)
    amount = np.array([placed[s][1] for s in rows], dtype=np.int64).reshape(len(rows), -1)
    shared = share_spare(ledger, tables, positions, pool, amount).tolist()
    found = {s: (k, tuple(row)) for s, k, row in zip(rows, pool.tolist(), shared, strict=True)}
    return {j: tuple(found[s] for s in ledger.stage_of[j]) for j in cells}
