"""Greedy: in order of submission each job gets what it is expected to use, or the most of it that is left, until the cluster is full."""

from libra_opt.domain import Ledger, Options, State
from libra_opt.simulation.policies.forecasting import Forecasting, in_turn
from libra_opt.simulation.room import Cells, Room
from libra_opt.simulation.rungs import Ladder

__all__ = ["divide_greedily", "greedy"]


def greedy(options: Options | None = None) -> Forecasting:
    """Return the policy."""
    return Forecasting("greedy_fifo", divide_greedily, options or Options())


def divide_greedily(state: State, ledger: Ledger, room: Room) -> dict[int, Cells]:
    """Give every job in turn the highest rung that fits, jobs that run first."""
    held: dict[int, Cells] = {}
    for j in in_turn(state, ledger):
        ladder = Ladder(ledger, j)
        for rung in reversed(range(len(ladder))):
            cells = ladder.seat(room, rung)
            if cells is not None:
                room.take(j, cells)
                held[j] = cells
                break
    return held
