"""Max-min fairness of levels: the share of its demand that the worst-off job gets is as large as it can be, then that of the next."""

from libra_opt.domain import Ledger, Options, State
from libra_opt.simulation.policies.filling import fill
from libra_opt.simulation.policies.forecasting import Forecasting, in_turn, weights
from libra_opt.simulation.room import Cells, Room

__all__ = ["divide_max_min", "max_min"]


def max_min(options: Options | None = None) -> Forecasting:
    """Return the policy."""
    return Forecasting("max_min", divide_max_min, options or Options())


def divide_max_min(state: State, ledger: Ledger, room: Room) -> dict[int, Cells]:
    """Fill progressively by level over weight."""
    weight = weights(state)
    return fill(ledger, room, in_turn(state, ledger), lambda j, _, level: float(level) / max(weight[j], 1e-300))
