"""The search for the best fixed quotas in hindsight: a grid of uniform answers, then descent job by job from the best of them.

It sees the truth, all of it. The grid crosses the ways people size reservations (equal slots, shares of the maximum, of the true peak, multiples of the true mean, and the sizes
that are cheapest at some price of a job's time) with the order of the queue and with backfill. The descent changes one job's quota at a time, then two against each
other, and takes every change that improves the score. Steps are counted, no clock is read, so the same workload gives the same answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, TypeAlias

from libra_opt.domain import Workload
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.static.quota import Quota, Shaper
from libra_opt.simulation.static.schedule import Outcome, Problem, Reservation

__all__ = ["Fixed", "search_static"]

_STARTS: Final = 4
"""From how many answers of the grid, of different families, the descent sets out."""

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


def search_static(workload: Workload, period_seconds: float | None = None, *, effort: int = 12_000) -> Fixed:
    """Search the best fixed quotas in hindsight.

    Parameters
    ----------
    workload
        The cluster and what its jobs really do.
    period_seconds
        Jobs start at multiples of it; missing: the workload's.
    effort
        Most evaluations of a static answer, those of the grid included (the grid is always evaluated whole).
    """
    search = _Search(Problem(workload, period_seconds or workload.period_seconds), effort)
    return search.run()


@dataclass(frozen=True, slots=True)
class _Found:
    family: str
    reservation: Reservation
    outcome: Outcome


class _Search:
    """One search: the ladders of all jobs, and how many evaluations are left."""

    def __init__(self, problem: Problem, effort: int) -> None:
        self.problem, self.effort, self.n_evaluations = problem, effort, 0
        jobs = problem.workload.jobs
        reach = [max(0.0, problem.horizon - arrival * problem.seconds - job.restart.cold_seconds) for job, arrival in zip(jobs, problem.arrivals, strict=True)]
        self.shapers = [Shaper(problem.ledger, j, job, problem.demands[j], reach[j]) for j, job in enumerate(jobs)]
        self.ladders = [self._usable(j, shaper.ladder()) for j, shaper in enumerate(self.shapers)]
        self.seconds: dict[tuple[int, Quota], float] = {}
        self._moves: dict[tuple[int, Quota], list[Quota]] = {}

    def run(self) -> Fixed:
        found = sorted(self._grid(), key=lambda one: one.outcome.score, reverse=True)
        best = grid = found[0]
        starts: dict[str, _Found] = {}
        for one in found:
            starts.setdefault(one.family.split(" ")[0], one)
        chosen = list(starts.values())[:_STARTS]
        left = max(0, self.effort - self.n_evaluations)
        for i, start in enumerate(chosen):
            until = self.n_evaluations + left // (2 * len(chosen)) * (i + 1) - (left // (2 * len(chosen))) * i
            improved = self._descend(start, until)
            best = max(best, improved, key=lambda one: one.outcome.score)
        best = self._descend(best, self.effort)
        return Fixed(best.reservation, best.outcome, grid.family, grid.outcome, self.n_evaluations)

    def _evaluate(self, reservation: Reservation) -> Outcome:
        self.n_evaluations += 1
        return self.problem.evaluate(reservation)

    def _usable(self, j: int, rungs: Sequence[Quota]) -> list[Quota]:
        """Leave out quotas with which the job would wait or die for ever although another one suffices."""
        endless = [rung for rung in rungs if self.problem.seconds_of(j, rung) == inf]
        return list(rungs) if len(endless) == len(rungs) else [rung for rung in rungs if rung not in endless]

    def _grid(self) -> Iterator[_Found]:
        orders = self._orders()
        for family, quotas in self._families():
            for name, order in orders.items():
                for backfill in (True, False):
                    reservation = Reservation(quotas, order, backfill)
                    yield _Found(f"{family}, {name}{', backfill' if backfill else ''}", reservation, self._evaluate(reservation))

    def _orders(self) -> dict[str, tuple[int, ...]]:
        jobs = self.problem.workload.jobs
        everyone = range(len(jobs))
        tops = [ladder[-1] if ladder else None for ladder in self.ladders]
        shortest = [inf if top is None else self._seconds(j, top) for j, top in enumerate(tops)]
        share = [inf if top is None else top.share for top in tops]
        arrival = [(job.submitted, j) for j, job in enumerate(jobs)]
        keys: dict[str, Callable[[int], tuple[float, ...]]] = {
            "by arrival": lambda j: arrival[j],
            "shortest first": lambda j: (shortest[j], *arrival[j]),
            "smallest first": lambda j: (share[j], *arrival[j]),
            "least work first": lambda j: (share[j] * shortest[j] / (jobs[j].weight or 1e-9), *arrival[j]),
        }
        return {name: tuple(sorted(everyone, key=key)) for name, key in keys.items()}

    def _families(self) -> Iterator[tuple[str, _Quotas]]:
        n = len(self.shapers)
        for slots in sorted({max(1, round(n * i / _SLOTS)) for i in range(1, _SLOTS + 1)}):
            yield f"slots {slots}", tuple(_largest(ladder, 1 / slots) for ladder in self.ladders)
        for share in _SHARES:
            yield f"maximum {share:g}", self._each(lambda shaper, share=share: shaper.fraction_of_maximum(share))
            yield f"peak {share:g}", self._each(lambda shaper, share=share: shaper.fraction_of_peak(share))
        for factor in _FACTORS:
            yield f"mean {factor:g}", self._each(lambda shaper, factor=factor: shaper.times_mean(factor))
        for price in _PRICES:
            yield f"price {price:g}", tuple(self._cheapest(j, price) for j in range(n))

    def _each(self, size: Callable[[Shaper], Quota | None]) -> _Quotas:
        quotas = []
        for j, shaper in enumerate(self.shapers):
            quota = size(shaper)
            usable = self._usable(j, [quota]) if quota is not None else []
            is_endless = bool(usable) and self._seconds(j, usable[0]) == inf
            ladder = self.ladders[j]
            quotas.append(ladder[0] if ladder and (not usable or is_endless) else quota)
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
        """Change quotas job by job, then orders, then jobs in pairs, while that improves the score and evaluations are left."""
        best = start
        while self.n_evaluations < until:
            improved = self._one_by_one(best, until)
            improved = self._order(improved)
            if improved.outcome.score == best.outcome.score:
                improved = self._in_pairs(improved, until)
                if improved.outcome.score == best.outcome.score:
                    break
            best = improved
        return best

    def _try(self, best: _Found, changes: dict[int, Quota | None]) -> _Found:
        quotas = list(best.reservation.quotas)
        for j, quota in changes.items():
            quotas[j] = quota
        reservation = replace(best.reservation, quotas=tuple(quotas))
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

    def _one_by_one(self, best: _Found, until: int) -> _Found:
        for j in range(len(self.shapers)):
            is_better = True
            while is_better and self.n_evaluations < until:
                before = best
                for other in self._neighbours(j, best.reservation.quotas[j]):
                    best = self._try(best, {j: other})
                is_better = best is not before
        return best

    def _order(self, best: _Found) -> _Found:
        for order in self._orders().values():
            for backfill in (True, False):
                reservation = replace(best.reservation, order=order, backfill=backfill)
                outcome = self._evaluate(reservation)
                if outcome.score > best.outcome.score:
                    best = _Found(best.family, reservation, outcome)
        return best

    def _in_pairs(self, best: _Found, until: int) -> _Found:
        """Make one job smaller and another one larger by one rung."""
        n = len(self.shapers)
        for a in range(n):
            for b in range(n):
                if a == b or self.n_evaluations >= until:
                    continue
                down, up = self._rung(a, best.reservation.quotas[a], -1), self._rung(b, best.reservation.quotas[b], 1)
                if down is not None and up is not None:
                    best = self._try(best, {a: down, b: up})
        return best

    def _rung(self, j: int, quota: Quota | None, by: int) -> Quota | None:
        if quota is None:
            return None
        rungs = self.ladders[j]
        inside = [rung for rung in rungs if (rung.share - quota.share) * by > 0]
        return None if not inside else inside[0] if by > 0 else inside[-1]


def _largest(rungs: Sequence[Quota], share: float) -> Quota | None:
    """Return the largest quota within a share of the cluster, or the smallest there is."""
    inside = [rung for rung in rungs if rung.share <= share * (1 + 1e-9)]
    return inside[-1] if inside else rungs[0] if rungs else None
