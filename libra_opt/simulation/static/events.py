"""The general way to evaluate a static answer, whatever the cluster: several pools, quotas of queues, capacity that changes on the way."""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, inf
from typing import TYPE_CHECKING, Final

from libra_opt.simulation.room import Cells, Room
from libra_opt.simulation.static.course import OwnCourse, WallCourse
from libra_opt.simulation.static.reservation import Outcome, Reservation, start_waiting

if TYPE_CHECKING:
    from libra_opt.simulation.static.schedule import Problem

__all__ = ["Evaluation"]

_ALMOST: Final = 1e-9


@dataclass(slots=True)
class _Run:
    """Where a job stands."""

    cells: Cells = ()
    course: OwnCourse | WallCourse | None = None
    begins: float = 0.0
    ran: float = 0.0
    served: float = 0.0
    stopped_at: float | None = None
    ends: float = inf
    version: int = 0


class Evaluation:
    """One evaluation: events in the order of their periods.

    Parameters
    ----------
    problem, reservation
        The workload, and the static answer.
    """

    def __init__(self, problem: "Problem", reservation: Reservation) -> None:
        self.problem, self.reservation = problem, reservation
        self.runs = [_Run() for _ in problem.workload.jobs]
        self.room = Room(problem.ledger, problem.first_capacity)
        self.running: dict[int, None] = {}
        self.waiting: set[int] = set()
        self.done_at: dict[int, float] = {}

    def outcome(self) -> Outcome:
        """Return what the answer comes to."""
        problem, quotas = self.problem, self.reservation.quotas
        n = len(quotas)
        events: list[tuple[int, int, int, int]] = [(problem.arrivals[j], 1, j, 0) for j in range(n) if quotas[j] is not None]
        events += [(period, 2, -1, 0) for period in problem.changes]
        heapify(events)
        rank = {j: i for i, j in enumerate(self.reservation.order)}
        while events:
            period = events[0][0]
            now = period * problem.seconds
            if now >= problem.horizon - 1e-6:
                break
            is_changed = False
            while events and events[0][0] == period:
                _, kind, j, version = heappop(events)
                if kind == 0 and version == self.runs[j].version:
                    self._end(j)
                elif kind == 1:
                    self.waiting.add(j)
                elif kind == 2:
                    is_changed = True
            if is_changed:
                self._change(period, now)
            order = sorted(self.waiting, key=rank.__getitem__)
            for j, cells in start_waiting(self.room, order, quotas, backfill=self.reservation.backfill):
                self._start(j, cells, now)
                run = self.runs[j]
                if run.ends < inf:
                    heappush(events, (max(period + 1, ceil(run.ends / problem.seconds - _ALMOST)), 0, j, run.version))
        return self._outcome()

    def _start(self, j: int, cells: Cells, now: float) -> None:
        problem, run, job = self.problem, self.runs[j], self.problem.workload.jobs[j]
        if run.stopped_at == now:  # it did not fit where it was, and sits elsewhere without having waited: it migrates, or stays after all
            has_moved = any(old != new and any(row) for (old, row), (new, _) in zip(run.cells, cells, strict=True))
            pause = max(0.0, run.begins - now) + (job.preemption_cost.migrate_seconds if has_moved else 0.0)
        else:
            is_warm = run.stopped_at is not None and now - run.stopped_at <= job.restart.warm_within_seconds
            pause = job.restart.warm_seconds if is_warm else job.restart.cold_seconds
        run.begins = now + pause
        course = problem.course(j, cells)
        if isinstance(run.course, OwnCourse) and isinstance(course, OwnCourse) and run.course is not course:
            run.ran = course.like(run.course, run.ran)  # it goes on at another speed
        run.cells, run.course = cells, course
        run.ends = run.begins + run.course.end(run.begins - job.submitted, run.ran, run.served)
        self.waiting.discard(j)
        self.running[j] = None

    def _end(self, j: int) -> None:
        run = self.runs[j]
        self.room.release(j, run.cells)
        del self.running[j]
        self.done_at[j] = run.ends

    def _change(self, period: int, now: float) -> None:
        """Take over a changed capacity: what runs stays in the order it started while it fits, the rest is stopped and waits."""
        self.room = Room(self.problem.ledger, self.problem.capacity(period))
        for j in list(self.running):
            run = self.runs[j]
            if self.room.place(j, [row for _, row in run.cells], [k for k, _ in run.cells]) == run.cells:
                self.room.take(j, run.cells)
                continue
            self._count(j, now)
            run.stopped_at, run.ends, run.version = now, inf, run.version + 1
            del self.running[j]
            self.waiting.add(j)

    def _count(self, j: int, now: float) -> None:
        run, job = self.runs[j], self.problem.workload.jobs[j]
        seconds = now - run.begins
        if seconds > 0 and run.course is not None:
            run.served += run.course.served(run.begins - job.submitted, seconds)
            run.ran += seconds

    def _outcome(self) -> Outcome:
        problem = self.problem
        horizon = problem.horizon
        finished: list[float] = []
        done: list[float | None] = []
        completion: list[float] = []
        for j, run in enumerate(self.runs):
            if j in self.running and run.ends <= horizon + _ALMOST and run.ends < inf:
                self.done_at[j] = run.ends
            end = self.done_at.get(j)
            done.append(end)
            if end is None and j in self.running and horizon < inf:
                self._count(j, horizon)
            elif end is not None:
                self._count(j, end)
            finished.append(0.0 if run.course is None else run.course.finished(run.ran, run.served, is_done=end is not None))
            quota = None if j in self.running else self.reservation.quotas[j]
            completion.append(problem.unfinished(j, quota, run.ends) if end is None else end)
        return problem.outcome(finished, done, completion)
