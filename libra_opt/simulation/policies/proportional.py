"""Proportional to demand: of every resource that is short, each job gets the same share of what it is expected to use."""

from libra_opt.domain import Ledger, Options, State
from libra_opt.simulation.policies.filling import admit_at_least
from libra_opt.simulation.policies.forecasting import Forecasting, in_turn
from libra_opt.simulation.room import Cells, Room

__all__ = ["divide_in_proportion", "proportional"]


def proportional(options: Options | None = None) -> Forecasting:
    """Return the policy."""
    return Forecasting("proportional", divide_in_proportion, options or Options())


def divide_in_proportion(state: State, ledger: Ledger, room: Room) -> dict[int, Cells]:
    """Divide each resource in proportion to the demand of those that were admitted with the least they can run with.

    A job's level is the share of its scarcest resource, rounded down to whole units; what rounding leaves goes to those it took most from.
    """
    order = in_turn(state, ledger)
    held, ladders = admit_at_least(ledger, room, order)
    total = [sum(row) for row in zip(*ledger.capacity, strict=True)]
    wanted = [sum(ledger.demand[s][r] for j in held for s in ledger.stage_of[j]) for r in range(ledger.n_resources)]
    share = [min(1.0, have / want) if want else 1.0 for have, want in zip(total, wanted, strict=True)]
    target = {j: min([share[r] for s in ledger.stage_of[j] for r in range(ledger.n_resources) if ledger.demand[s][r] > 0], default=1.0) for j in held}
    rung = dict.fromkeys(held, 0)

    def raise_to(j: int, upper: int) -> None:
        for i in range(upper, rung[j], -1):
            larger = ladders[j].at(i, [k for k, _ in held[j]])
            room.release(j, held[j])
            if larger is not None and room.fits(j, larger):
                held[j], rung[j] = larger, i
            room.take(j, held[j])
            if rung[j] == i:
                return

    for j in held:
        raise_to(j, max(i for i, level in enumerate(ladders[j].levels) if i == 0 or level <= target[j]))
    for j in sorted(held, key=lambda j: (float(ladders[j].levels[rung[j]]) - target[j], order.index(j))):
        if rung[j] + 1 < len(ladders[j]) and ladders[j].levels[rung[j]] < target[j]:
            raise_to(j, rung[j] + 1)
    return held
