"""What fixed quotas come to.

Jobs start at the beginning of periods in a fixed order where they fit, keep their quota, and go at the end of the period they are done in. It is an event list
over the few periods in which something arrives, ends or changes; between them nothing is computed. It is the same physics as the plant's, and a test holds
the two together.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, inf
from typing import Final

from libra_opt.domain import Workload
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.exclusive import ExclusiveCards
from libra_opt.simulation.room import Cells, declared, in_quanta
from libra_opt.simulation.static.course import Demand, OwnCourse, WallCourse, course_of
from libra_opt.simulation.static.events import Evaluation
from libra_opt.simulation.static.quota import Quota
from libra_opt.simulation.static.reservation import Outcome, Reservation
from libra_opt.simulation.truth import Vector, truth_of, vector

__all__ = ["Problem"]

_ALMOST: Final = 1e-9
_NEVER: Final = 4.0
"""A job that is not done by the end counts in the mean completion time with at most so many times the horizon."""

_BITS: Final = 80
"""Bits that a resource has in a packed number: amounts are below 2^63 quanta each, and there are at most 64 stages."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    """What an evaluation needs of a job with a quota.

    Its total as one number, its course (and its length, where that is the same from any start), and when it would be done if it waited to the end.
    """

    need: int
    course: OwnCourse | WallCourse
    seconds: float | None
    submitted: float
    cold: float
    later: float


class Problem:
    """A workload, made ready for evaluating many static answers.

    Parameters
    ----------
    workload
        The cluster and its jobs.
    period_seconds
        Length of the periods at whose beginnings jobs start.
    """

    def __init__(self, workload: Workload, period_seconds: float) -> None:
        self.workload, self.seconds = workload, period_seconds
        self.ledger = declared(workload)
        self.horizon = inf if workload.horizon_seconds is None else workload.horizon_seconds
        self.demands = [Demand(truth_of(workload, job)) for job in workload.jobs]
        self.arrivals = [ceil(job.submitted / period_seconds - _ALMOST) for job in workload.jobs]
        self._steps = [float(resource.step) for resource in workload.resources]
        self._cards, self._pools = ExclusiveCards(workload), [pool.name for pool in workload.pools]
        self._speeds = [dict(allowed) for allowed in self.ledger.allowed]
        self.first_capacity = self.capacity(0)
        self._courses: dict[tuple[int, Cells], OwnCourse | WallCourse] = {}
        self._made_ready: dict[Quota, _Ready] = {}
        self._guards = sum(1 << (_BITS * (r + 1) - 1) for r in range(len(workload.resources)))
        self._free = self._guards + _pack(self.first_capacity[0])
        may_sit = all(self.ledger.allowed[s] for s in range(len(self.ledger.allowed)))
        self.is_plain = len(workload.pools) == 1 and not workload.changes and not workload.queues and may_sit
        self.changes = sorted({ceil(change.at_seconds / period_seconds - _ALMOST) for change in workload.changes})

    def capacity(self, period: int) -> list[Quanta]:
        """Return what every pool has in a period, in quanta."""
        now: dict[str, Vector] = {pool.name: vector(pool.capacity, self.workload.resources) for pool in self.workload.pools}
        for change in sorted(self.workload.changes, key=lambda change: change.at_seconds):
            if change.at_seconds <= period * self.seconds + _ALMOST:
                now[change.pool] = vector(change.capacity, self.workload.resources)
        return in_quanta(self.ledger, now)

    def course(self, j: int, cells: Cells) -> OwnCourse | WallCourse:
        """Return the course of a job that holds these cells."""
        known = self._courses.get((j, cells))
        if known is None:
            amounts = [self._cards.held(self._pools[k], tuple(a * step for a, step in zip(row, self._steps, strict=True))) for k, row in cells]
            speeds = [float(self._speeds[s][k]) for s, (k, _) in zip(self.ledger.stage_of[j], cells, strict=True)]
            known = self._courses[j, cells] = course_of(self.workload.jobs[j], self.demands[j], amounts, speeds, self.horizon)
        return known

    def seconds_of(self, j: int, quota: Quota) -> float:
        """Return how long a job takes with a quota in the fastest pools it may use, from when it starts to run at its submission."""
        cells = tuple(
            (max(self._speeds[s].items(), key=lambda at: (at[1], -at[0]))[0], row) for s, row in zip(self.ledger.stage_of[j], quota.stages, strict=True)
        )
        return self.course(j, cells).end(0.0, 0.0, 0.0)

    def evaluate(self, reservation: Reservation) -> Outcome:
        """Return what a static answer comes to."""
        return self._packed(reservation) if self.is_plain else Evaluation(self, reservation).outcome()

    def evaluate_by_events(self, reservation: Reservation) -> Outcome:
        """Return the same in the general way, whatever the cluster."""
        return Evaluation(self, reservation).outcome()

    def _packed(self, reservation: Reservation) -> Outcome:
        """Evaluate on one pool without quotas of queues and changes.

        Amounts are compared as one whole number, with a bit between resources that a lack of any of them borrows.
        """
        quotas, seconds, guards = reservation.quotas, self.seconds, self._guards
        free = self._free
        rank = {j: i for i, j in enumerate(reservation.order)}
        last = ceil((self.horizon - 1e-6) / seconds) if self.horizon < inf else 1 << 62
        events = [(self.arrivals[j], rank[j], j) for j, quota in enumerate(quotas) if quota is not None]
        heapify(events)
        waiting: list[tuple[int, int, _Ready]] = []
        ready = {j: self._ready(j, quota) for j, quota in enumerate(quotas) if quota is not None}
        begun: dict[int, tuple[float, float]] = {}
        while events:
            period = events[0][0]
            if period >= last:
                break
            while events and events[0][0] == period:
                _, at, j = heappop(events)
                if at < 0:
                    free += ready[j].need
                else:
                    insort(waiting, (at, j, ready[j]))
            left = []
            for i, one in enumerate(waiting):
                _, j, job = one
                if (free - job.need) & guards != guards:
                    left.append(one)
                    if not reservation.backfill:
                        left += waiting[i + 1 :]
                        break
                    continue
                free -= job.need
                begins = period * seconds + job.cold
                ends = begins + (job.seconds if job.seconds is not None else job.course.end(begins - job.submitted, 0.0, 0.0))
                begun[j] = begins, ends
                if ends < inf:
                    heappush(events, (max(period + 1, ceil(ends / seconds - _ALMOST)), -1, j))
            waiting = left
        return self._sum_up(ready, begun)

    def _ready(self, j: int, quota: Quota) -> "_Ready":
        known = self._made_ready.get(quota)
        if known is None:
            job, course = self.workload.jobs[j], self.course(j, tuple((0, row) for row in quota.stages))
            need = _pack([sum(column) for column in zip(*quota.stages, strict=True)])
            own = course.seconds if isinstance(course, OwnCourse) else None
            later = self.unfinished(j, quota, inf)
            known = self._made_ready[quota] = _Ready(need, course, own, job.submitted, job.restart.cold_seconds, later)
        return known

    def _sum_up(self, ready: "Mapping[int, _Ready]", begun: Mapping[int, tuple[float, float]]) -> Outcome:
        n, horizon = len(self.workload.jobs), self.horizon
        finished, completion = [0.0] * n, [0.0 if horizon == inf else _NEVER * horizon] * n
        done: list[float | None] = [None] * n
        for j, job in ready.items():
            if j not in begun:
                completion[j] = job.later
                continue
            begins, ends = begun[j]
            is_done = ends <= horizon + _ALMOST and ends < inf
            ran = max(0.0, min(horizon, ends) - begins)
            served = job.course.served(begins - job.submitted, ran) if job.seconds is None and ran < inf else 0.0
            finished[j] = job.course.finished(ran, served, is_done=is_done)
            if is_done:
                done[j] = completion[j] = ends
            elif horizon < inf:
                completion[j] = min(ends, _NEVER * horizon)
        return self.outcome(finished, done, completion)

    def unfinished(self, j: int, quota: Quota | None, ends: float) -> float:
        """Return when a job that is not done would be: one that runs when it ends, one that waits (which has a quota here) if it started at the horizon."""
        if self.horizon == inf:
            return 0.0
        if quota is not None and ends == inf:
            ends = self.horizon + self.seconds_of(j, quota)
        return min(ends, _NEVER * self.horizon)

    def outcome(self, finished: Sequence[float], done: Sequence[float | None], completion: Sequence[float]) -> Outcome:
        """Return the outcome and its score."""
        jobs = self.workload.jobs
        mean = sum(end - job.submitted for job, end in zip(jobs, completion, strict=True)) / len(jobs)
        if self.horizon < inf:
            work = sum(job.weight * amount for job, amount in zip(jobs, finished, strict=True))
            return Outcome((work, -mean, 0.0), tuple(finished), tuple(done))
        never = sum(end is None for end in done)
        makespan = max((end for end in done if end is not None), default=0.0)
        return Outcome((-float(never), -makespan, -mean), tuple(finished), tuple(done))


def _pack(amounts: Sequence[int]) -> int:
    return sum(amount << (_BITS * r) for r, amount in enumerate(amounts))
