"""What a policy divides fairly: items (jobs, or queues) and the level of each, as it grows with the service of their jobs.

Fair means lexicographically max-min: no plan raises the lowest item, and, that one being as high as it gets, none raises the next, and so on (Bertsekas and
Gallager, *Data Networks*, 1992, section 6.5.2). Items that no plan could serve do not count.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FULL", "Fairness"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

FULL = 1 - 1e-9
"""A job served so far is served in full; an item of such jobs holds nobody down."""


@dataclass(frozen=True)
class Fairness:
    """Items and their levels.

    An item's level is the sum over its jobs of ``y / (cost + drag * y)``; only items of a single job have a drag.

    Attributes
    ----------
    item
        Of every job, the item it belongs to, -1 for none, shape ``(n_jobs,)``.
    cost, drag
        Shape ``(n_jobs,)``; the cost is positive.
    then
        What is divided fairly after this one is settled, or None.
    is_ordered
        Whether items come one after the other as they are numbered, each as high as the earlier ones leave it, and not the lowest first.
    """

    item: _Indices
    cost: _Floats
    drag: _Floats
    then: "Fairness | None" = None
    is_ordered: bool = False

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.item.max(initial=-1)) + 1

    @property
    def is_single(self) -> bool:
        """Whether every item is one job."""
        return int((self.item >= 0).sum()) == self.n_items

    def part(self, job: _Indices, service: _Floats) -> _Floats:
        """Return what each job adds to the level of its item at each service, both of shape ``(n,)``."""
        return np.asarray(service / (self.cost[job] + self.drag[job] * service))

    def levels(self, service: _Floats) -> _Floats:
        """Return the level of every item, given the service of all jobs, shape ``(n_items,)``."""
        counted = np.flatnonzero(self.item >= 0)
        return np.asarray(np.bincount(self.item[counted], self.part(counted, service[counted]), minlength=self.n_items), dtype=np.float64)

    def needed(self, level: float) -> _Floats:
        """Return the service at which every job by itself has a level, at most 1, shape ``(n_jobs,)``."""
        left = 1.0 - level * self.drag
        return np.where(left > 0, np.minimum(1.0, level * self.cost / np.where(left > 0, left, 1.0)), 1.0)

    @property
    def top(self) -> float:
        """The highest level that any item could have, all its jobs served in full."""
        return float(self.levels(np.ones(len(self.item))).max(initial=0.0))

    def summary(self, service: _Floats) -> tuple[int, float]:
        """Return how many items have nothing, and the least level of those that have something and could use more (the highest there is where none could)."""
        levels, counted = self.levels(service), np.flatnonzero(self.item >= 0)
        is_open = np.bincount(self.item[counted], service[counted] < FULL, minlength=self.n_items) > 0
        served = levels > 0
        return int((~served).sum()), float(levels[served & is_open].min(initial=self.top))
