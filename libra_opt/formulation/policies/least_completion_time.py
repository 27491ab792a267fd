"""Least completion time: weighted shortest remaining time first (Smith, *Various optimizers for single-stage production*, 1956)."""

import numpy as np

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.policies.valuation import Valuation, importance, valuation
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.utility import linear_utility

__all__ = ["SHORTEST", "least_completion_time"]

SHORTEST = 1e-3
"""Less than this share of a period left counts as that much."""


def least_completion_time(state: State, ledger: Ledger, tables: Tables) -> Valuation:  # noqa: ARG001
    """Return the share of what is left of a job that a period's service does, times ``weight * priority_base^priority``."""
    seconds = state.period.seconds
    left = np.array([job.remaining or 0.0 for job in state.jobs], dtype=np.float64)[tables.job_order]
    worth = importance(state, tables) * seconds / np.maximum(left, SHORTEST * seconds)
    return valuation(tables, linear_utility(worth), charge=worth)
