"""What service is worth to each job: one concave function per job, and how much more than the line between two levels it may give.

Every policy that is a mere column of values is a sum of three parts: one linear in service, some linear up to a pace and flat from there, and a logarithm.
The first two are straight between levels as long as the paces are among them; of the logarithm the program knows how far it rises above the line between two
levels where ticks were passed over, so that bounds hold on a coarse grid too.
"""

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["LOG_FLOOR", "Utility", "linear_utility"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

LOG_FLOOR: Final = 0.01
"""Below this service the logarithm goes on along the line that touches it, so that waiting is worth 0 and not minus infinity."""


@dataclass(frozen=True)
class Utility:
    """``linear * y + sum of paced * min(y, pace) + log * l(y)`` per job, with ``l(y) = y / f`` up to the floor ``f`` and ``1 + ln(y / f)`` above.

    Nothing is gained by waiting: at service 0 every utility is 0. No part is ever negative.

    Attributes
    ----------
    linear, log
        Shape ``(n_jobs,)``.
    paced, pace
        Shape ``(n_jobs, n_paces)``; `pace` lies in 0..1.
    """

    linear: _Floats
    paced: _Floats
    pace: _Floats
    log: _Floats

    def at(self, job: _Indices, service: _Floats) -> _Floats:
        """Return the value of each job at each service, both of shape ``(n,)``."""
        value = self.linear[job] * service
        if self.paced.any():
            value = value + (self.paced[job] * np.minimum(service[:, None], self.pace[job])).sum(axis=1)
        if self.log.any():
            value = value + self.log[job] * _log(service)
        return np.asarray(value)

    @property
    def worth(self) -> _Floats:
        """Value of one fully served period, shape ``(n_jobs,)``."""
        return self.at(np.arange(len(self.linear)), np.ones(len(self.linear)))

    @property
    def bends(self) -> tuple[_Indices, _Floats]:
        """Jobs whose utility bends, and the services where, both of shape ``(n,)``; the grid has levels there."""
        job, which = np.nonzero((self.paced > 0) & (self.pace > 0) & (self.pace < 1))
        return job, self.pace[job, which]

    def rise(self, job: _Indices, low: _Floats, high: _Floats) -> _Floats:
        """Return how far each job's utility rises at most above the line between two services with no bend between, all of shape ``(n,)``."""
        if not self.log.any():
            return np.zeros(len(job))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (_log(high) - _log(low)) / (high - low)
            at = np.clip(1.0 / slope, low, high)
            above = _log(at) - _log(low) - slope * (at - low)
        return np.asarray(np.where(high > low, self.log[job] * np.maximum(0.0, above), 0.0))

    @property
    def is_curved(self) -> bool:
        """Whether some utility is not straight between its bends."""
        return bool(self.log.any())

    def best_between(self, job: _Indices, low: _Floats, high: _Floats, cost: _Floats) -> _Floats:
        """Return the service from `low` to `high` that is best when a unit of service costs `cost`, all of shape ``(n,)``; no bend lies between the two."""
        steep = cost - self.linear[job] - np.where(high[:, None] <= self.pace[job], self.paced[job], 0.0).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(steep > 0, self.log[job] / steep, np.inf)
        return np.asarray(np.clip(np.where(best < LOG_FLOOR, low, best), low, high))

    def take(self, jobs: _Indices) -> "Utility":
        """Return the utility of some jobs."""
        return Utility(*(getattr(self, field.name)[jobs] for field in fields(self)))


def linear_utility(worth: _Floats) -> Utility:
    """Return the utility that is `worth` times the service, shape ``(n_jobs,)``."""
    none = np.zeros((len(worth), 0))
    return Utility(worth, none, none, np.zeros(len(worth)))


def _log(service: _Floats) -> _Floats:
    share = service / LOG_FLOOR
    return np.where(share <= 1, share, 1.0 + np.log(np.maximum(share, 1.0)))
