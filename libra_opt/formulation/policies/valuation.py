"""What a policy makes of a state: what service is worth to every job, and what a moment without it costs."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.state import State
from libra_opt.formulation.fairness import Fairness
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.utility import Utility

__all__ = ["Valuation", "dominant_demand", "importance", "valuation"]

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Valuation:
    """Tier 4 as a policy has it.

    Attributes
    ----------
    utility
        What service is worth to every job.
    charge
        What a period without any service costs a job that moves (R11), shape ``(n_jobs,)``: a move is charged its share of that, spread over the periods
        that the plan is expected to hold.
    size
        How much of the whole each job stands for when a sample is drawn, shape ``(n_jobs,)``: jobs that matter for what is gained, and jobs that matter for
        what is used.
    fairness
        What is divided fairly before value counts, or None.
    """

    utility: Utility
    charge: _Floats
    size: _Floats
    fairness: Fairness | None = None


def valuation(tables: Tables, utility: Utility, charge: _Floats, fairness: Fairness | None = None) -> Valuation:
    """Return the valuation in which a job stands for its share of the worth and of what all demand, alike."""
    return Valuation(utility, charge, _share(utility.worth) + _share(dominant_demand(tables)), fairness)


def _share(part: _Floats) -> _Floats:
    whole = float(part.sum())
    return part / whole if whole > 0 else part


def dominant_demand(tables: Tables) -> _Floats:
    """Return the largest share of the cluster that each job demands of any resource, shape ``(n_jobs,)``."""
    total = tables.capacity.sum(axis=0, dtype=np.float64)
    present = total > 0
    if not tables.n_jobs or not present.any():
        return np.zeros(tables.n_jobs)
    return np.asarray((np.add.reduceat(tables.wish, tables.first_stage[:-1], axis=0)[:, present] / total[present]).max(axis=1))


def importance(state: State, tables: Tables) -> _Floats:
    """Return weight x priority_base^priority of every job in canonical order, shape ``(n_jobs,)``."""
    weight = np.array([job.weight for job in state.jobs], dtype=np.float64)[tables.job_order]
    priority = np.array([job.priority for job in state.jobs], dtype=np.float64)[tables.job_order]
    return np.asarray(weight * state.options.priority_base**priority)
