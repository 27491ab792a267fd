"""The linear program over the whole horizon that every schedule is a point of, and more than these.

Time is cut into blocks of whole periods; what jobs may do in a block is in `on_progress` and `on_wall`. What they take at least (`least_use`) is no more
than the capacity over a block: over all pools, and over every set of pools that some stage is bound to. Longer blocks only add up the rows of their
periods, so they are a relaxation too.
"""

from dataclasses import dataclass
from math import ceil
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.domain import Restart, Workload
from libra_opt.simulation.bound.bound_job import BoundJob
from libra_opt.simulation.bound.least_use import Pricing
from libra_opt.simulation.bound.on_progress import add_on_progress, alone_on_progress
from libra_opt.simulation.bound.on_wall import add_on_wall, alone_on_wall
from libra_opt.simulation.bound.rows import Rows
from libra_opt.simulation.truth import Vector, cluster_total, truth_of, vector
from libra_opt.solvers.highs import Linear

__all__ = ["Limits", "Relaxer"]

_ALMOST: Final = 1e-9
_Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Limits:
    """How fine the program is.

    Attributes
    ----------
    blocks
        Most blocks of time.
    columns
        About how many columns; windows have fewer classes where there are many jobs.
    prices
        How often prices on cards are tried for the other bound (see `priced`); 0 leaves it out.
    """

    blocks: int = 16
    columns: int = 4_000
    prices: int = 40


class Relaxer:
    """Makes the program of a workload for any horizon.

    Parameters
    ----------
    workload
        The cluster and its jobs.
    period_seconds
        The rebalancing period: grants change and jobs start at its multiples.
    limits
        How fine.
    """

    def __init__(self, workload: Workload, period_seconds: float, limits: Limits) -> None:
        self.seconds = period_seconds
        self._workload, self.limits = workload, limits
        pricing = Pricing(workload)
        self.jobs: list[BoundJob] = []
        for job in workload.jobs:
            truth = truth_of(workload, job)
            begins = period_seconds * ceil(job.submitted / period_seconds - _ALMOST)
            self.jobs.append(BoundJob(job, truth, tuple(pricing.prices(job, truth)), begins + _starting(job.restart, period_seconds)))
        self._sets = pricing.sets
        self._scale: Vector = tuple(1 / amount if amount else 0.0 for amount in cluster_total(workload))

    def earliest_end(self) -> float:
        """Return when the last job could be done if each had the cluster for itself; infinite if one never could."""
        return max(alone_on_wall(one) if one.job.clock == "wall" else alone_on_progress(one) for one in self.jobs)

    def program(self, end: float, *, is_share: bool) -> Linear:
        """Return the program of what can be done by `end`.

        Parameters
        ----------
        end
            Seconds on the simulated clock.
        is_share
            Every job counts 1 when it is done whole, in proportion to the seconds done; else finished work counts, times the job's weight.
        """
        edges = self._edges(end)
        rows = Rows()
        there = [one for one in self.jobs if one.start < end]
        for one in there:
            if one.job.clock == "wall":
                add_on_wall(rows, one, edges, is_share=is_share)
            else:
                add_on_progress(rows, one, edges, self.limits.columns / len(there), self._scale, is_share=is_share)
        return rows.linear(self._capacity_seconds(edges))

    def _edges(self, end: float) -> _Floats:
        periods = ceil(end / self.seconds - _ALMOST)
        size = ceil(periods / self.limits.blocks)
        return np.asarray(np.minimum(end, np.arange(ceil(periods / size) + 1) * size * self.seconds))

    def _capacity_seconds(self, edges: _Floats) -> _Floats:
        """Return the unit-seconds of every set of pools in every block and, last, in all of them, shape ``(n_sets, n_resources, n_blocks + 1)``.

        A change of capacity counts from the next period on.
        """
        resources = self._workload.resources
        found = np.zeros((len(self._sets), len(resources), len(edges) - 1))
        for pool in self._workload.pools:
            changes = sorted((change for change in self._workload.changes if change.pool == pool.name), key=lambda change: change.at_seconds)
            since = [0.0, *(self.seconds * ceil(change.at_seconds / self.seconds - _ALMOST) for change in changes), np.inf]
            for i, capacity in enumerate([pool.capacity, *(change.capacity for change in changes)]):
                overlap = np.maximum(0.0, np.minimum(edges[1:], since[i + 1]) - np.maximum(edges[:-1], since[i]))
                found[[pool.name in pools for pools in self._sets]] += np.outer(vector(capacity, resources), overlap)
        return np.asarray(np.concatenate([found, found.sum(axis=2, keepdims=True)], axis=2))


def _starting(restart: Restart, period_seconds: float) -> float:
    """Return how long a job starts at the least: cold, or as warm after one period of a cold start and one without anything."""
    can_be_warm = period_seconds <= restart.warm_within_seconds
    return min(restart.cold_seconds, 2 * period_seconds + restart.warm_seconds) if can_be_warm else restart.cold_seconds
