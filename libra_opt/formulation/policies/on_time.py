"""On time: the least weighted lateness, each job held at its service until its deadline and served in full from there on."""

import numpy as np

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.policies.valuation import Valuation, importance, valuation
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.utility import Utility

__all__ = ["EARLY", "on_time"]

EARLY = 1e-3
"""A second of service that makes nobody less late counts as so many seconds of lateness avoided: what is left serves the others."""


def on_time(state: State, ledger: Ledger, tables: Tables) -> Valuation:  # noqa: ARG001
    """Return the seconds of lateness that service avoids, times ``weight * priority_base^priority``.

    With ``R`` seconds of full service left, ``T`` seconds to the deadline and ``W = max(T, hold_periods * period)``, service ``y`` during ``W`` and full
    service after it end the job ``max(0, R - T + W * (1 - y))`` seconds late: a line down to the pace ``1 - (T - R) / W``, which is ``R / T`` while the
    deadline is farther away than the plan is expected to hold. A job without a deadline is never late.
    """
    seconds = state.period.seconds
    hold, now = seconds * state.options.hold_periods, state.period.begins
    order = tables.job_order
    is_due = np.array([job.deadline is not None for job in state.jobs], dtype=np.bool_)[order]
    until = np.array([(job.deadline or 0.0) - now for job in state.jobs], dtype=np.float64)[order]
    left = np.array([job.remaining or 0.0 for job in state.jobs], dtype=np.float64)[order]
    during = np.where(is_due, np.maximum(until, hold), 0.0)
    pace = np.where(is_due, np.clip((during - until + left) / np.where(is_due, during, 1.0), 0.0, 1.0), 0.0)
    weight = importance(state, tables)
    linear, paced = weight * EARLY * seconds, np.where(pace > 0, weight * during, 0.0)
    return valuation(tables, Utility(linear, paced[:, None], pace[:, None], np.zeros(tables.n_jobs)), charge=linear + paced)
