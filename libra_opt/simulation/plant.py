"""The plant: what jobs really do with what they are granted, between two decisions.

Exact, not sampled: grants hold for a period and a workload's truth is piecewise constant, so every job moves from part to part at a known pace. No clock but
the simulated one, no dice, and no policy: whoever decides, the same rules of admission are checked here, and a grant that breaks one is refused.

A job on its own clock stands still while it starts, moves or waits, and a kill takes it back to its last checkpoint. A job on the wall clock is a service: its
demand passes whether it is met or not, what it served stays served, and without a stated amount of work it is done when its time is over.
"""

from collections.abc import Mapping
from typing import Final

from libra_opt.domain import PreemptionCost, Workload
from libra_opt.simulation.admission import check_grants
from libra_opt.simulation.exclusive import ExclusiveCards
from libra_opt.simulation.grant import Grant, Holding
from libra_opt.simulation.job_state import JobPeriod, JobState
from libra_opt.simulation.one_period import OnePeriod
from libra_opt.simulation.truth import Truth, Vector, cluster_total, truth_of, vector

__all__ = ["Plant"]

_ALMOST: Final = 1e-9


class Plant:
    """A simulated cluster with the jobs of one workload.

    Parameters
    ----------
    workload
        The cluster and what the jobs really do.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.truths: tuple[Truth, ...] = tuple(truth_of(workload, job) for job in workload.jobs)
        self.states: tuple[JobState, ...] = tuple(JobState(since=job.submitted) for job in workload.jobs)
        self.now = 0.0
        self.total = cluster_total(workload)
        self._speeds = tuple(tuple(stage.pools for stage in job.stages) for job in workload.jobs)
        self._costly = tuple(resource.costly for resource in workload.resources)
        self._names = tuple(resource.name for resource in workload.resources)
        self._changes = sorted(workload.changes, key=lambda change: change.at_seconds)
        self._pools = {pool.name: vector(pool.capacity, workload.resources) for pool in workload.pools}
        self._cards = ExclusiveCards(workload)

    def capacity(self) -> Mapping[str, Vector]:
        """Return what every pool has now."""
        now = dict(self._pools)
        for change in self._changes:
            if change.at_seconds <= self.now + _ALMOST:
                now[change.pool] = vector(change.capacity, self.workload.resources)
        return now

    def arrived(self) -> list[int]:
        """Return the jobs that are there and not done, in order of submission."""
        jobs = self.workload.jobs
        there = [j for j, state in enumerate(self.states) if state.done_at is None and jobs[j].submitted <= self.now + _ALMOST]
        return sorted(there, key=lambda j: (jobs[j].submitted, j))

    def advance(self, grants: Mapping[int, Holding], seconds: float) -> list[JobPeriod]:
        """Apply grants and let a period pass.

        Parameters
        ----------
        grants
            By index of the job; a job that is absent waits.
        seconds
            Length of the period.

        Returns
        -------
        list of JobPeriod
            Of every job that was there, in order of submission.

        Raises
        ------
        ValueError
            The grants break a rule that all policies share (capacity, minima, maxima, units, pools, memory per card), or speak of a job that is not there.
        """
        there = self.arrived()
        check_grants(self.workload, self.capacity(), grants, there)
        periods = [self._one(j, grants.get(j), seconds) for j in there]
        self.now += seconds
        return periods

    def served_work(self, j: int) -> float:
        """Return the work of a job that was served and not lost."""
        return self.states[j].served

    def finished_steps(self, j: int) -> int:
        """Return how many steps a job has finished; of a job on the wall clock, as many as the mean step's work goes into what was served."""
        job, truth, state = self.workload.jobs[j], self.truths[j], self.states[j]
        if job.clock == "wall":
            return int(state.served / truth.work * len(job.steps) + _ALMOST) if truth.work else 0
        within = sum(end <= state.position + _ALMOST for end in truth.step_ends)
        return state.cycle * len(job.steps) + within

    def finished_work(self, j: int) -> float:
        """Return the work of the steps a job has finished; of a job on the wall clock, and of one that is done, all that was served."""
        job, truth, state = self.workload.jobs[j], self.truths[j], self.states[j]
        if job.clock == "wall" or state.done_at is not None:
            return state.served
        done = self.finished_steps(j) - state.cycle * len(job.steps)
        return state.cycle * truth.work + sum(truth.step_work[:done])

    def _one(self, j: int, grant: Holding | None, seconds: float) -> JobPeriod:
        state, stages = self.states[j], self.workload.jobs[j].stages
        n = len(self._names)
        period = JobPeriod(j, self._take(j, grant), state.holding)
        period.usage = [[0.0] * n for _ in stages]
        period.watermark = [[0.0] * n for _ in stages]
        period.level = [0.0] * len(stages)
        period.short = [[False] * n for _ in stages]
        if state.holding is not None:
            held, speeds = self.has(state.holding), self.speeds(j, state.holding)
            OnePeriod(self.workload.jobs[j], self.truths[j], state, period, held, speeds, begins=self.now, seconds=seconds).run()
            state.stands = period.progress <= 0 and period.kills == 0 and period.paused < seconds - _ALMOST
            if period.ran > 0:
                period.usage = [[amount / period.ran for amount in row] for row in period.usage]
                period.level = [level / period.ran for level in period.level]
        return period

    def _take(self, j: int, grant: Holding | None) -> str:
        """Take over a grant and return what it is to the job; a grant of nothing is none."""
        state, job = self.states[j], self.workload.jobs[j]
        before = state.holding
        if grant is not None and not any(held is not None and any(held.amounts) for held in grant):
            grant = None
        state.holding, state.is_down = grant, False
        if grant is None:
            if before is None:
                return "wait"
            state.stopped_at = state.since = self.now
            state.pause = 0.0
            return "evict"
        if before is None:
            was_away = None if state.stopped_at is None else self.now - state.stopped_at
            is_warm = was_away is not None and was_away <= job.restart.warm_within_seconds
            state.pause = job.restart.warm_seconds if is_warm else job.restart.cold_seconds
            state.since = self.now
            return "admit"
        moved = [(old, new) for old, new in zip(before, grant, strict=True) if old is not None and old != new]
        in_place = [(self._really(old), self._really(new)) for old, new in moved if new is not None and new.pool == old.pool]
        resized = max((self._resize_seconds(job.preemption_cost, old, new) for old, new in in_place), default=0.0)
        if any(new is not None and new.pool != old.pool for old, new in moved):
            state.pause += max(resized, job.preemption_cost.migrate_seconds)
            return "migrate"
        state.pause += resized
        changed = resized > 0 or any(c and a != b for old, new in in_place for c, a, b in zip(self._costly, old, new, strict=True))
        return "resize" if changed else "keep"

    def _resize_seconds(self, cost: PreemptionCost, old: Vector, new: Vector) -> float:
        seconds = cost.resize_seconds
        changed = [r for r, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        if isinstance(seconds, Mapping):
            return max((seconds.get(self._names[r], 0.0) for r in changed), default=0.0)
        return float(seconds) if any(self._costly[r] for r in changed) else 0.0

    def speeds(self, j: int, holding: Holding) -> list[float]:
        """Return the speed of every stage in the pool it sits in."""
        found = []
        for pools, grant in zip(self._speeds[j], holding, strict=True):
            found.append(1.0 if pools is None or grant is None else pools[grant.pool])
        return found

    def has(self, holding: Holding) -> list[Vector]:
        """Return what every stage really has: what it was granted, and all the memory of its cards where they are exclusive."""
        return [(0.0,) * len(self.total) if grant is None else self._really(grant) for grant in holding]

    def _really(self, grant: Grant) -> Vector:
        """Return what a grant comes to; another figure for memory that comes with the cards anyway is no resize."""
        return self._cards.held(grant.pool, grant.amounts)
