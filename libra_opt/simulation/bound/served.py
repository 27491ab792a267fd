"""The best plan of a job on the wall clock when cards have a price."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.simulation.bound.bound_job import BoundJob
from libra_opt.simulation.bound.plans import Best
from libra_opt.simulation.bound.sizes import Sizes

__all__ = ["Served"]

_Floats: TypeAlias = npt.NDArray[np.float64]


class Served:
    """The plans of a job on the wall clock: what it is served in a period depends on no other one; stopping and resizing are free.

    Parameters
    ----------
    one, sizes
        The job, and what it can hold.
    period_seconds, n_periods
        The periods until the horizon.
    """

    def __init__(self, one: BoundJob, sizes: Sizes, period_seconds: float, n_periods: int) -> None:
        job, truth = one.job, one.truth
        self.weight = job.weight
        self._sizes, self._most = sizes, np.inf if job.work is None else job.weight * job.work
        edges = np.maximum(np.arange(n_periods + 1) * period_seconds, one.start) - job.submitted
        length = truth.seconds
        cycles, within = np.divmod(edges, length) if job.repeats else (np.zeros(len(edges)), np.clip(edges, 0.0, length))
        ends = np.array([0.0, *truth.ends])
        worth = []
        for pace in sizes.pace:
            work = np.concatenate([[0.0], np.cumsum(np.array(truth.rate) * pace * np.diff(ends))])
            worth.append(np.diff(cycles * work[-1] + np.interp(within, ends, work)))
        self._worth: _Floats = job.weight * np.array(worth).reshape(len(sizes.pace), n_periods)

    def net(self, price: _Floats) -> float:
        """Return what the best plan earns."""
        return self.best(price).net

    def best(self, price: _Floats) -> Best:
        """Return the plan with the most of weighted work that is served minus the price of the cards that are held.

        Parameters
        ----------
        price
            Of a card for each period, shape ``(n_periods,)``.
        """
        if not len(self._worth):
            return Best(0.0, np.zeros(len(price)))
        gain = self._worth - self._sizes.cards[:, None] * price
        net = gain.max(axis=0)
        return Best(float(min(self._most, np.maximum(0.0, net).sum())), np.where(net > 0, self._sizes.cards[gain.argmax(axis=0)], 0.0))
