"""Routes of one job: what it holds in period after period, what a route is worth, and the best one at given gains (dynamic programming).

A route gives, for every period, a row of the job's holdings, the first of which is to wait. A job that has made the progress it states as left has finished:
from then on it holds nothing, gains nothing and pays nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.lookahead.holdings import Holdings

__all__ = ["FINISHED", "Journey", "Route", "best_route", "best_routes", "finished_route", "worth_of"]

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

Route = tuple[int, ...]
"""Per period a row of the job's holdings; 0 is to wait."""

FINISHED = 1e-9
"""A job has finished when less than this share of what was left is left."""


@dataclass(frozen=True)
class Journey:
    """All that one job can do over the horizon; every sequence below has one entry per period.

    Attributes
    ----------
    holdings
        The ways to hold something, row `i` of which is entry ``i + 1`` of the arrays below, whose entry 0 is to wait.
    service
        Served share of the demand, each of shape ``(n + 1,)``.
    value
        Discounted value of a period's service, each of shape ``(n + 1,)``.
    progress
        How far it takes the job, each of shape ``(n + 1,)``.
    charge
        Discounted value of what going from a way of the period before to one of this costs: shape ``(1, n + 1)`` in the first period, then
        ``(n_before + 1, n + 1)``.
    ms
        R11's charge in the first period in milliseconds, shape ``(n + 1,)``.
    use, queued
        What it holds per pool and resource, and altogether, each of shape ``(n + 1, n_pools, n_resources)`` and ``(n + 1, n_resources)``.
    left
        The progress that finishes the job; infinite where it states none.
    """

    job: int
    holdings: tuple[Holdings, ...]
    service: tuple[_Floats, ...]
    value: tuple[_Floats, ...]
    progress: tuple[_Floats, ...]
    charge: tuple[_Floats, ...]
    ms: _Floats
    use: tuple[_Ints, ...]
    queued: tuple[_Ints, ...]
    left: float

    @property
    def can_finish(self) -> bool:
        """Whether the job can finish within the horizon."""
        return sum(float(progress.max()) for progress in self.progress) >= self.left * (1 - FINISHED)

    @property
    def n_routes(self) -> float:
        """How many routes there are."""
        return float(np.prod([float(len(value)) for value in self.value]))


def finished_route(journey: Journey, route: Route) -> Route:
    """Return the route as the job goes it: it waits once it has finished."""
    made = 0.0
    for t, row in enumerate(route):
        if made >= journey.left * (1 - FINISHED):
            return route[:t] + (0,) * (len(route) - t)
        made += float(journey.progress[t][row])
    return route


def worth_of(journey: Journey, route: Route) -> float:
    """Return the discounted value of a route, charges taken off; progress beyond what was left is worth nothing."""
    total, made, before = 0.0, 0.0, 0
    for t, row in enumerate(route):
        if made >= journey.left * (1 - FINISHED):
            break
        step = float(journey.progress[t][row])
        share = min(1.0, (journey.left - made) / step) if step > 0 else 1.0
        total += float(journey.value[t][row]) * share - float(journey.charge[t][before, row])
        made, before = made + step, row
    return total


def best_route(gains: Sequence[_Floats], charges: Sequence[_Floats]) -> tuple[Route, float]:
    """Return the route of most gains less charges, the first of equal ones, and what it comes to.

    Parameters
    ----------
    gains
        Per period, shape ``(n + 1,)``; minus infinity for a way that may not be taken.
    charges
        As in `Journey`.
    """
    following: list[npt.NDArray[np.intp]] = []
    value = gains[-1]
    for t in range(len(gains) - 1, 0, -1):
        onward = value[None, :] - charges[t]
        after = onward.argmax(axis=1)
        following.append(after)
        value = gains[t - 1] + onward[np.arange(len(after)), after]
    value = value - charges[0][0]
    row = int(value.argmax())
    route = [row]
    for after in reversed(following):
        route.append(int(after[route[-1]]))
    return tuple(route), float(value[row])


def best_routes(gains: Sequence[_Floats], charges: Sequence[_Floats], most: int) -> list[Route]:
    """Return the best of the routes that are each the best through some way in some period, at most so many, the best first; arguments as of `best_route`."""
    ahead: list[_Floats] = [gains[-1]]
    following: list[npt.NDArray[np.intp]] = []
    for t in range(len(gains) - 1, 0, -1):
        onward = ahead[0][None, :] - charges[t]
        following.insert(0, onward.argmax(axis=1))
        ahead.insert(0, gains[t - 1] + onward.max(axis=1))
    so_far: list[_Floats] = [-charges[0][0]]
    coming: list[npt.NDArray[np.intp]] = []
    for t in range(1, len(gains)):
        arriving = (so_far[-1] + gains[t - 1])[:, None] - charges[t]
        coming.append(arriving.argmax(axis=0))
        so_far.append(arriving.max(axis=0))
    value = np.concatenate([before + after for before, after in zip(so_far, ahead, strict=True)])
    period = np.repeat(np.arange(len(gains)), [len(gain) for gain in gains])
    row = np.concatenate([np.arange(len(gain)) for gain in gains])
    found: dict[Route, None] = {}
    for i in np.argsort(-value, kind="stable").tolist():
        if len(found) == most or not np.isfinite(value[i]):
            break
        route = [int(row[i])]
        for t in range(int(period[i]), 0, -1):
            route.insert(0, int(coming[t - 1][route[0]]))
        for t in range(int(period[i]), len(gains) - 1):
            route.append(int(following[t][route[-1]]))
        found.setdefault(tuple(route))
    return list(found)
