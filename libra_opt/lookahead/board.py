"""The board: a route of every job, what they use of every period's shared rows, and the best answer of one job to all others."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import TIE_TOLERANCE, Program, Score
from libra_opt.lookahead.finishing import best_finishing_route
from libra_opt.lookahead.routes import Journey, Route, best_route, finished_route, worth_of

__all__ = ["Board"]

_Ints = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]

_GAIN = 1e-9
"""A new route must be better by this part of the value of all routes."""


class Board:
    """Routes that keep R1 and R10 in every period, and tiers 1 to 3 of the first as they are limited.

    It changes its own state, so it lives inside one call.

    Parameters
    ----------
    program
        The first period's program.
    journeys
        Of all jobs, in canonical order.
    routes
        Where to begin.
    most
        What the first period may spend of tiers 1 to 3.
    """

    def __init__(self, program: Program, journeys: Sequence[Journey], routes: Sequence[Route], most: Score) -> None:
        tables, limits = program.tables, program.limits
        self._program, self.journeys, self._most = program, journeys, most
        self._capacity, self._ceiling = tables.capacity, tables.ceiling
        self._reserved, self._total = limits.reserved.astype(np.int64), tables.capacity.sum(axis=0)
        n_periods = len(routes[0])
        self._pool = np.zeros((n_periods, *tables.capacity.shape), dtype=np.int64)
        self._queue = np.zeros((n_periods, *tables.ceiling.shape), dtype=np.int64)
        self._ms, self._lost = 0.0, 0.0
        self.routes: list[Route] = [(0,) * n_periods] * len(routes)
        for j, route in enumerate(routes):
            self._put(j, route, 1)
            self.routes[j] = finished_route(journeys[j], route)

    @property
    def value(self) -> float:
        """Discounted value of all routes."""
        return float(sum(worth_of(journey, route) for journey, route in zip(self.journeys, self.routes, strict=True)))

    @property
    def holds(self) -> bool:
        """Whether all routes together keep every limit."""
        rooms = (self._queue_room(t, q) for t in range(len(self._pool)) for q in range(len(self._ceiling)))
        keeps = (self._pool <= self._capacity).all() and all((room >= 0).all() for room in rooms)
        is_within = self._ms <= self._program.limits.most_ms(self._most.over_seconds) and self._lost <= self._most.lost * (1 + TIE_TOLERANCE)
        return bool(keeps and is_within and self._shortfall().sum() <= self._allowed_shortfall())

    def improve(self, sweeps: int) -> None:
        """Let every job in turn take its best answer to all others, until nobody gains or so many sweeps are done."""
        least = _GAIN * max(1e-300, sum(abs(worth_of(journey, route)) for journey, route in zip(self.journeys, self.routes, strict=True)))
        for _ in range(sweeps):
            if not sum([self.answer(j, least) for j in range(len(self.journeys))]):
                return

    def answer(self, j: int, least: float = 0.0, first: int | None = None) -> bool:
        """Give a job its best route beside all others and tell whether it gains more than `least`; in the first period it takes the way `first`, if given."""
        journey, before = self.journeys[j], self.routes[j]
        self._put(j, before, -1)
        allowed = [self._allowed(journey, t) for t in range(len(before))]
        if first is not None:
            allowed[0] = allowed[0] & (np.arange(len(allowed[0])) == first)
        if not all(ways.any() for ways in allowed):
            self._put(j, before, 1)
            return False
        if journey.can_finish:
            route = best_finishing_route(journey, allowed)
        else:
            route, _ = best_route([np.where(ways, value, -np.inf) for ways, value in zip(allowed, journey.value, strict=True)], journey.charge)
        route = finished_route(journey, route)
        is_better = worth_of(journey, route) > worth_of(journey, before) + least and all(ways[row] for ways, row in zip(allowed, route, strict=True))
        self.routes[j] = route if is_better else before
        self._put(j, self.routes[j], 1)
        return is_better

    def _put(self, j: int, route: Route, sign: int) -> None:
        journey = self.journeys[j]
        queue = int(self._program.queue[j])
        for t, row in enumerate(finished_route(journey, route)):
            self._pool[t] += sign * journey.use[t][row]
            self._queue[t, queue] += sign * journey.queued[t][row]
        self._ms += sign * float(journey.ms[route[0]])
        self._lost += sign * float(self._program.lost[j]) * (route[0] == 0)

    def _allowed(self, journey: Journey, t: int) -> _Flags:
        """Tell which ways of a period fit beside the routes on the board, the job itself taken off."""
        queue = int(self._program.queue[journey.job])
        fits: _Flags = (journey.use[t] <= self._capacity - self._pool[t]).all(axis=(1, 2))
        fits &= (journey.queued[t] <= self._queue_room(t, queue)).all(axis=1)
        fits[0] = True
        if t:
            return fits
        fits &= self._ms + journey.ms <= self._program.limits.most_ms(self._most.over_seconds)
        fits[0] &= self._lost + float(self._program.lost[journey.job]) <= self._most.lost * (1 + TIE_TOLERANCE)
        limits = self._program.limits
        if limits.floor[queue].any():
            others = float(np.delete(self._shortfall(), queue).sum())
            own = (np.maximum(0.0, limits.floor[queue] - self._queue[0, queue] - journey.queued[0]) / limits.nominal[queue]).sum(axis=1)
            fits &= others + own <= self._allowed_shortfall()
        return fits

    def _shortfall(self) -> npt.NDArray[np.float64]:
        limits = self._program.limits
        return np.asarray((np.maximum(0.0, limits.floor - self._queue[0]) / limits.nominal).sum(axis=1))

    def _allowed_shortfall(self) -> float:
        return self._most.shortfall + TIE_TOLERANCE * max(1e-6, self._most.shortfall)

    def _queue_room(self, t: int, queue: int) -> _Ints:
        """R10: return how much more a queue may hold, negative where it holds too much already."""
        room = self._ceiling[queue] - self._queue[t, queue]
        reserving = self._program.limits.is_reserving
        if reserving.any():
            kept = np.maximum(self._queue[t], self._reserved)
            left = self._total - kept.sum(axis=0) + kept[queue] - self._queue[t, queue]
            room = np.where(reserving, np.minimum(room, left), room)
        return np.asarray(room)
