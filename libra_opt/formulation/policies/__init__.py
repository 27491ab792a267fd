"""Policies: what service is worth, by the name that `options.objective` has for it. The rules stay the same whichever is chosen.

Each is a small pure function from a state to a `Valuation`, one a file, with its definition and source; `models/policies.md` has them all side by side.
"""

from collections.abc import Callable, Mapping
from typing import Final

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.options import Objective
from libra_opt.domain.state import State
from libra_opt.formulation.policies.fair import drf, fifo_backfill, finish_time_fairness, makespan, max_min
from libra_opt.formulation.policies.least_completion_time import least_completion_time
from libra_opt.formulation.policies.on_time import on_time
from libra_opt.formulation.policies.proportional_fairness import proportional_fairness
from libra_opt.formulation.policies.valuation import Valuation
from libra_opt.formulation.policy import weighted_throughput
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.utility import linear_utility

__all__ = ["Valuation", "valued"]


def _weighted_throughput(state: State, ledger: Ledger, tables: Tables) -> Valuation:
    worth = weighted_throughput(state, ledger, tables)
    return Valuation(linear_utility(worth), charge=worth, size=worth)


_POLICIES: Final[Mapping[Objective, Callable[[State, Ledger, Tables], Valuation]]] = {
    "weighted_throughput": _weighted_throughput,
    "proportional_fairness": proportional_fairness,
    "on_time": on_time,
    "least_completion_time": least_completion_time,
    "max_min": max_min,
    "drf": drf,
    "finish_time_fairness": finish_time_fairness,
    "makespan": makespan,
    "fifo_backfill": fifo_backfill,
}


def valued(state: State, ledger: Ledger, tables: Tables) -> Valuation:
    """Return what the policy that the options name makes of a state."""
    return _POLICIES[state.options.objective](state, ledger, tables)
