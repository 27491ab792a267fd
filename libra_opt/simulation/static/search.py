"""The search for the best fixed quotas in hindsight: a grid of uniform answers, descent job by job from the best of them, then kicks and descent again.

It sees the truth, all of it. The grid crosses the ways people size reservations (equal slots, shares of the maximum, of the true peak, multiples of the
true mean, and the sizes that are cheapest at some price of a job's time) with the order of the queue and with backfill. The descent changes one job's quota
at a time and takes every change that improves the score. As small changes move whole schedules, it ends in poor corners; so the rest of the effort kicks a
few jobs to random sizes and descends around them, keeping what is better (iterated local search; Lourenço, Martin and Stützle, *Handbook of
Metaheuristics*, 2003). Evaluations are counted, no clock is read and the dice have a seed, so the same workload gives the same answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, TypeAlias

import numpy as np

from libra_opt.domain import Workload
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.static.quota import Quota, Shaper
from libra_opt.simulation.static.reservation import Outcome, Reservation
from libra_opt.simulation.static.schedule import Problem

__all__ = ["EFFORT", "Fixed", "search_static"]

EFFORT: Final = 40_000
"""Static answers that are evaluated unless told otherwise."""

_IDLE: Final = 400
"""After so many kicks in a row without a better answer the search ends."""

_STARTS: Final = 3
"""From how many answers of the grid, of different families, the descent sets out; it may spend a quarter of the effort on all of them."""

_KICKED: Final = 3
_AROUND: Final = 8
"""How many jobs a kick changes, and how many others are looked at besides."""

_OTHER_ORDER: Final = 0.1
"""How often a kick changes the order of the queue as well."""

_SLOTS: Final = 24
_SHARES: Final = tuple(i / 10 for i in range(1, 11))
_FACTORS: Final = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
_PRICES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

_Quotas: TypeAlias = tuple[Quota | None, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The best static answer that was found.

    Attributes
    ----------
    reservation
        Quotas in quanta, the order of the queue, and whether it is backfilled.
    outcome
        What it comes to.
    family, grid
        Which uniform answer of the grid was best, and what that comes to.
    n_evaluations
        How many static answers were evaluated.
    """

    reservation: Reservation
    outcome: Outcome
    family: str
    grid: Outcome
    n_evaluations: int

    @property
    def quotas(self) -> tuple[tuple[Quanta, ...] | None, ...]:
        """Per job what its stages hold for all its life, in quanta; None for a job that never starts."""
        return tuple(None if quota is None else quota.stages for quota in self.reservation.quotas)


def search_static(workload: Workload, period_seconds: float | None = None, *, effort: int = EFFORT, seed: int = 0) -> Fixed:
    """Search the best fixed quotas in hindsight.

    Parameters
    ----------
    workload
        The cluster and what its jobs really do.
    period_seconds
        Jobs start at multiples of it; missing: the workload's.
    effort
        Most evaluations of a static answer, those of the grid included (the grid is always evaluated whole).
    seed
        Of the kicks.
    """
    return _Search(Problem(workload, period_seconds or workload.period_seconds), effort, np.random.default_rng(seed)).run()


@dataclass(frozen=True, slots=True)
class _Found:
    family: str
    reservation: Reservation
    outcome: Outcome


class _Search:
    """One search: the ladders of all jobs, and how many evaluations are left."""

    def __init__(self, problem: Problem, effort: int, dice: np.random.Generator) -> None:
        self.problem, self.effort, self.n_evaluations, self.dice = problem, effort, 0, dice
        jobs = problem.workload.jobs
        reach = [max(0.0, problem.horizon - arrival * problem.seconds - job.restart.cold_seconds) for job, arrival in zip(jobs, problem.arrivals, strict=True)]
        self.shapers = [Shaper(problem.ledger, j, job, problem.demands[j], reach[j]) for j, job in enumerate(jobs)]
        self.ladders = [self._usable(j, shaper.ladder()) for j, shaper in enumerate(self.shapers)]
        self.seconds: dict[tuple[int, Quota], float] = {}
        self._moves: dict[tuple[int, Quota], list[Quota]] = {}
        self.orders = self._orders()

    def run(self) -> Fixed:
        found = sorted(self._grid(), key=lambda one: one.outcome.score, reverse=True)
        best = grid = found[0]
        starts: dict[str, _Found] = {}
        for one in found:
            starts.setdefault(one.family.split(" ")[0], one)
        share = max(0, self.effort - self.n_evaluations) // (4 * _STARTS)
        for start in list(starts.values())[:_STARTS]:
            best = max(best, self._descend(start, self.n_evaluations + share), key=lambda one: one.outcome.score)
        best = self._kick(best)
        return Fixed(best.reservation, best.outcome, grid.family, grid.outcome, self.n_evaluations)

    def _evaluate(self, reservation: Reservation) -> Outcome:
        self.n_evaluations += 1
        return self.problem.evaluate(reservation)

    def _usable(self, j: int, rungs: Sequence[Quota]) -> list[Quota]:
        """Leave out quotas with which the job would wait or die for ever although another one suffices."""
        endless = [rung for rung in rungs if self.problem.seconds_of(j, rung) == inf]
        return list(rungs) if len(endless) == len(rungs) else [rung for rung in rungs if rung not in endless]

    def _grid(self) -> Iterator[_Found]:
        for family, quotas in self._families():
            for name, order in self.orders.items():
                for backfill in (True, False):
                    reservation = Reservation(quotas, order, backfill)
                    yield _Found(f"{family}, {name}{', backfill' if backfill else ''}", reservation, self._evaluate(reservation))

    def _orders(self) -> dict[str, tuple[int, ...]]:
        jobs = self.problem.workload.jobs
        tops = [ladder[-1] if ladder else None for ladder in self.ladders]
        shortest = [inf if top is None else self._seconds(j, top) for j, top in enumerate(tops)]
        share = [inf if top is None else top.share for top in tops]
        arrival = [(job.submitted, j) for j, job in enumerate(jobs)]
        work = [share[j] * shortest[j] / (job.weight or 1e-9) for j, job in enumerate(jobs)]
        keys: dict[str, Sequence[float]] = {"by arrival": [0.0] * len(jobs), "shortest first": shortest, "smallest first": share, "least work first": work}
        return {name: tuple(sorted(range(len(jobs)), key=lambda j, key=key: (key[j], *arrival[j]))) for name, key in keys.items()}  # type: ignore[misc]

    def _families(self) -> Iterator[tuple[str, _Quotas]]:
        n = len(self.shapers)
        for slots in sorted({max(1, round(n * i / _SLOTS)) for i in range(1, _SLOTS + 1)}):
            yield f"slots {slots}", tuple(_largest(ladder, 1 / slots) for ladder in self.ladders)
        for share in _SHARES:
            yield f"maximum {share:g}", self._each([shaper.fraction_of_maximum(share) for shaper in self.shapers])
            yield f"peak {share:g}", self._each([shaper.fraction_of_peak(share) for shaper in self.shapers])
        for factor in _FACTORS:
            yield f"mean {factor:g}", self._each([shaper.times_mean(factor) for shaper in self.shapers])
        for price in _PRICES:
            yield f"price {price:g}", tuple(self._cheapest(j, price) for j in range(n))

    def _each(self, sizes: Sequence[Quota | None]) -> _Quotas:
        """Return the sizes, the least of the ladder in place of one with which the job would never be done although it could be."""
        quotas = []
        for j, (quota, ladder) in enumerate(zip(sizes, self.ladders, strict=True)):
            is_endless = quota is None or (self._seconds(j, quota) == inf and self._seconds(j, ladder[0]) < inf)
            quotas.append(ladder[0] if ladder and is_endless else quota)
        return tuple(quotas)

    def _cheapest(self, j: int, price: float) -> Quota | None:
        """Return the size of a job at which its share of the cluster and a price for every second it takes cost least."""
        return min(self.ladders[j], key=lambda quota: (self._seconds(j, quota) * (quota.share + price / 10), quota.share), default=None)

    def _seconds(self, j: int, quota: Quota) -> float:
        key = (j, quota)
        if key not in self.seconds:
            self.seconds[key] = self.problem.seconds_of(j, quota)
        return self.seconds[key]

    def _descend(self, start: _Found, until: int) -> _Found:
        """Change quotas job by job, then the order of the queue, while that improves the score and evaluations are left."""
        best = start
        while self.n_evaluations < until:
            improved = self._order(self._around(best, range(len(self.shapers)), until), until)
            if improved is best:
                break
            best = improved
        return best

    def _kick(self, best: _Found) -> _Found:
        """Put a few jobs on random rungs, descend around them, and keep what is better, while evaluations are left."""
        everyone = [j for j, ladder in enumerate(self.ladders) if ladder]
        orders = list(self.orders.values())
        idle = 0
        while everyone and self.n_evaluations < self.effort and idle < _IDLE:
            picked = self.dice.permutation(everyone)[: _KICKED + _AROUND].tolist()
            quotas = list(best.reservation.quotas)
            for j in picked[:_KICKED]:
                quotas[j] = self.ladders[j][int(self.dice.integers(len(self.ladders[j])))]
            reservation = replace(best.reservation, quotas=tuple(quotas))
            if self.dice.random() < _OTHER_ORDER:
                reservation = replace(reservation, order=orders[int(self.dice.integers(len(orders)))], backfill=bool(self.dice.random() < 0.5))
            kicked = _Found(best.family, reservation, self._evaluate(reservation))
            kicked = self._around(kicked, picked, self.effort)
            idle = 0 if kicked.outcome.score > best.outcome.score else idle + 1
            best = max(best, kicked, key=lambda one: one.outcome.score)
        return best

    def _try(self, best: _Found, j: int, quota: Quota) -> _Found:
        before = best.reservation.quotas
        reservation = replace(best.reservation, quotas=(*before[:j], quota, *before[j + 1 :]))
        outcome = self._evaluate(reservation)
        return _Found(best.family, reservation, outcome) if outcome.score > best.outcome.score else best

    def _neighbours(self, j: int, quota: Quota | None) -> list[Quota]:
        if quota is None:
            return self.ladders[j]
        key = (j, quota)
        if key not in self._moves:
            is_finite = self._seconds(j, quota) < inf
            found = [other for other in self.shapers[j].moves(quota) if not is_finite or other.cap != quota.cap or self._seconds(j, other) < inf]
            rungs = self.ladders[j]
            at = sum(rung.share < quota.share for rung in rungs)
            found += [rung for rung in rungs[max(0, at - 2) : at + 3] if rung.stages != quota.stages]
            self._moves[key] = list(dict.fromkeys(found))
        return self._moves[key]

    def _around(self, best: _Found, jobs: Iterable[int], until: int) -> _Found:
        """Try every neighbour of the quota of these jobs, one job after another."""
        for j in jobs:
            for other in self._neighbours(j, best.reservation.quotas[j]):
                if self.n_evaluations >= until:
                    return best
                best = self._try(best, j, other)
        return best

    def _order(self, best: _Found, until: int) -> _Found:
        for order in self.orders.values():
            for backfill in (True, False):
                if self.n_evaluations >= until:
                    return best
                reservation = replace(best.reservation, order=order, backfill=backfill)
                outcome = self._evaluate(reservation)
                if outcome.score > best.outcome.score:
                    best = _Found(best.family, reservation, outcome)
        return best


def _largest(rungs: Sequence[Quota], share: float) -> Quota | None:
    """Return the largest quota within a share of the cluster, or the smallest there is."""
    inside = [rung for rung in rungs if rung.share <= share * (1 + 1e-9)]
    return inside[-1] if inside else rungs[0] if rungs else None
