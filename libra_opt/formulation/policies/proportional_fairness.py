"""Proportional fairness: the weighted sum of the logarithms of service (Kelly, Maulloo and Tan, *Rate control for communication networks*, 1998)."""

import numpy as np

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.policies.valuation import Valuation, importance, valuation
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.utility import Utility

__all__ = ["proportional_fairness"]


def proportional_fairness(state: State, ledger: Ledger, tables: Tables) -> Valuation:  # noqa: ARG001
    """Return ``weight * priority_base^priority * l(service)``; see `Utility` for the floor that keeps waiting finite.

    A move takes the same share of whatever service a job has, and a share ``x`` lost is worth ``-ln(1 - x)``, about ``x``, at any service.
    """
    weight = importance(state, tables)
    none = np.zeros((tables.n_jobs, 0))
    return valuation(tables, Utility(np.zeros(tables.n_jobs), none, none, weight), charge=weight)
