"""Dominant resource fairness (Ghodsi et al., NSDI 2011): the smallest dominant share is as large as it can be."""

from fractions import Fraction

from libra_opt.domain import Ledger, Options, State
from libra_opt.simulation.policies.filling import fill
from libra_opt.simulation.policies.forecasting import Forecasting, in_turn, weights
from libra_opt.simulation.room import Cells, Room

__all__ = ["divide_drf", "drf"]


def drf(options: Options | None = None) -> Forecasting:
    """Return the policy."""
    return Forecasting("drf", divide_drf, options or Options())


def divide_drf(state: State, ledger: Ledger, room: Room) -> dict[int, Cells]:
    """Fill progressively by dominant share of the cluster over weight; memory that is held counts as any other resource."""
    weight = weights(state)
    total = [sum(row) for row in zip(*ledger.capacity, strict=True)]

    def dominant(j: int, cells: Cells, level: Fraction) -> float:  # noqa: ARG001
        held = [sum(column) for column in zip(*(row for _, row in cells), strict=True)]
        return max((amount / all_of_it for amount, all_of_it in zip(held, total, strict=True) if all_of_it), default=0.0) / max(weight[j], 1e-300)

    return fill(ledger, room, in_turn(state, ledger), dominant)
