"""The policies that divide fairly: max-min, dominant resource fairness, finish-time fairness, makespan; and first in, first out with backfill.

Each says what its items are and how their level grows with service. What is left when fairness is settled is planned by weighted throughput, and so are moves
charged.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.fairness import Fairness
from libra_opt.formulation.policies.least_completion_time import SHORTEST
from libra_opt.formulation.policies.valuation import Valuation, dominant_demand, importance, valuation
from libra_opt.formulation.policy import weighted_throughput
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.utility import linear_utility

__all__ = ["drf", "fifo_backfill", "finish_time_fairness", "makespan", "max_min"]

_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]


def max_min(state: State, ledger: Ledger, tables: Tables) -> Valuation:
    """Raise the lowest service first; a job of twice the ``weight * priority_base^priority`` is as low at twice the service."""
    weight = importance(state, tables)
    return _divided(state, ledger, tables, Fairness(_single(ledger, tables, weight > 0), _positive(weight), np.zeros(tables.n_jobs)))


def makespan(state: State, ledger: Ledger, tables: Tables) -> Valuation:
    """End the last job as soon as can be: the level of a job is one over the seconds until it is done at this service."""
    return _divided(state, ledger, tables, Fairness(_single(ledger, tables), _left(state, tables), np.zeros(tables.n_jobs)))


def finish_time_fairness(state: State, ledger: Ledger, tables: Tables) -> Valuation:
    """Lower the largest rho, the time a job takes in all over the time it would take on its share of the cluster; the level is one over rho.

    Time in all is what has passed since it was submitted and what is left at this service. Alone it would have the n-th part of the cluster from the beginning:
    what it has run and what is left, at the service that this part gives it (Mahajan et al., *Themis*, 2020, section 4; Narayanan et al., *Gavel*, 2020,
    section 4.2).
    """
    order, weight = tables.job_order, importance(state, tables)
    left = _left(state, tables)
    passed = np.maximum(0.0, np.array([state.period.begins - (job.submitted or 0.0) for job in state.jobs])[order])
    ran = np.array([job.running_seconds for job in state.jobs], dtype=np.float64)[order]
    asked = np.maximum(dominant_demand(tables) * max(1, tables.n_jobs), 1.0)
    alone = (ran + left) * asked
    counts = _single(ledger, tables, weight > 0)
    return _divided(state, ledger, tables, Fairness(counts, _positive(weight) * left / alone, _positive(weight) * passed / alone))


def drf(state: State, ledger: Ledger, tables: Tables) -> Valuation:
    """Raise the lowest queue first, by what its jobs are served of their dominant shares, over its weight; then jobs, by max-min.

    Jobs outside every queue are one queue of weight 1 together (Ghodsi et al., *Dominant Resource Fairness*, 2011).
    """
    weight = np.array([*(queue.weight for queue in state.queues), 1.0])[tables.queue]
    share = dominant_demand(tables)
    able = _able(ledger, tables) & (share > 0)
    item = np.full(tables.n_jobs, -1, dtype=np.intp)
    item[able] = np.unique(tables.queue[able], return_inverse=True)[1]
    inside = max_min(state, ledger, tables).fairness
    cost = np.where(able, weight / np.where(able, share, 1.0), 1.0)
    return _divided(state, ledger, tables, Fairness(item, cost, np.zeros(tables.n_jobs), inside))


def fifo_backfill(state: State, ledger: Ledger, tables: Tables) -> Valuation:
    """Serve in the order of submission, each job as well as those before it leave room for; of equal times the order is by id."""
    submitted = np.array([job.submitted or 0.0 for job in state.jobs], dtype=np.float64)[tables.job_order]
    order = np.lexsort((np.arange(tables.n_jobs), submitted))
    able = _able(ledger, tables)
    item = np.full(tables.n_jobs, -1, dtype=np.intp)
    order = order[able[order]]
    item[order] = np.arange(len(order))
    return _divided(state, ledger, tables, Fairness(item, np.ones(tables.n_jobs), np.zeros(tables.n_jobs), is_ordered=True))


def _divided(state: State, ledger: Ledger, tables: Tables, fairness: Fairness) -> Valuation:
    worth = weighted_throughput(state, ledger, tables)
    return valuation(tables, linear_utility(worth), charge=worth, fairness=fairness)


def _single(ledger: Ledger, tables: Tables, counts: _Flags | None = None) -> npt.NDArray[np.intp]:
    """Return the items that are one job each: those that count and could run in an empty cluster."""
    able = _able(ledger, tables)
    if counts is not None:
        able &= counts
    item = np.full(tables.n_jobs, -1, dtype=np.intp)
    item[able] = np.arange(int(able.sum()))
    return item


def _able(ledger: Ledger, tables: Tables) -> _Flags:
    fits = [all(ledger.fits_alone(s) for s in stages) for stages in ledger.stage_of]
    return np.array(fits, dtype=np.bool_)[tables.job_order]


def _left(state: State, tables: Tables) -> _Floats:
    seconds = state.period.seconds
    left = np.array([job.remaining or 0.0 for job in state.jobs], dtype=np.float64)[tables.job_order]
    return np.asarray(np.maximum(left, SHORTEST * seconds))


def _positive(weight: _Floats) -> _Floats:
    return np.where(weight > 0, weight, 1.0)
