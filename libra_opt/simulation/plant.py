"""The plant: what jobs really do with what they are granted, between two decisions.

Exact, not sampled: grants hold for a period and a workload's truth is piecewise constant, so every job moves from part to part at a known pace. No clock but
the simulated one, no dice, and no policy: whoever decides, the same rules of admission are checked here, and a grant that breaks one is refused.

A job on its own clock stands still while it starts, moves or waits, and a kill takes it back to its last checkpoint. A job on the wall clock is a service: its
demand passes whether it is met or not, what it served stays served, and without a stated amount of work it is done when its time is over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from libra_opt.domain import PreemptionCost, Workload, WorkloadJob
from libra_opt.simulation.admission import check_grants
from libra_opt.simulation.exclusive import ExclusiveCards
from libra_opt.simulation.grant import Grant, Holding
from libra_opt.simulation.truth import Truth, Vector, cluster_total, truth_of, vector

__all__ = ["JobPeriod", "JobState", "Plant"]

_ALMOST: Final = 1e-9


@dataclass(slots=True)
class JobState:
    """Where one job stands.

    Attributes
    ----------
    cycle, position
        How often it began again, and seconds of full service since the beginning of its steps; a job on the wall clock stands where the clock is.
    saved
        Cycle and position of the last checkpoint.
    served
        Work that was served so far, what was lost excluded.
    pause
        Seconds without progress that are still to pass (starting, resizing, migrating).
    holding
        What its stages hold; None when it waits.
    since
        When it came, or was last started or stopped.
    stopped_at
        When it was last stopped; None if it never ran.
    is_down
        It was killed and cannot start with what it holds; it waits for another grant.
    stands
        It made no progress with what it held in the last period: it waits for the memory that a phase begins with, or for a resource it has none of.
    done_at
        When it was done.
    """

    cycle: int = 0
    position: float = 0.0
    saved: tuple[int, float] = (0, 0.0)
    served: float = 0.0
    pause: float = 0.0
    holding: Holding | None = None
    since: float = 0.0
    stopped_at: float | None = None
    is_down: bool = False
    stands: bool = False
    done_at: float | None = None


@dataclass(slots=True)
class JobPeriod:
    """What one job did in one period.

    Attributes
    ----------
    index
        Of the job in its workload.
    action
        What the grant was to it: admit, keep, resize, migrate, evict, or wait.
    holding
        What its stages held.
    ran
        Seconds in which it could make progress.
    paused
        Seconds lost to starting, resizing, migrating and to kills.
    gated
        Seconds it stood at the beginning of a phase that waits for memory.
    progress
        Seconds of full service it made, what a kill took excluded.
    work
        Work it was served, in cards x seconds, what a kill took included.
    lost
        Work that kills took.
    usage
        Per stage: the mean use over the seconds it ran, in the units of the resources; all zero if it did not run.
    watermark
        Per stage: the most it used of incompressible resources; of one that it was killed for, what it held: what it asked for is not known, see `short`.
    level
        Per stage: mean over the seconds it ran of the pace it was held to, by itself or by another stage; at most 1.
    kills
        How often it was killed for want of memory.
    short
        Per stage and resource: whether it was killed, or stood at the beginning of a phase, for want of it.
    short_phase
        The phase in which that was, the last one; None if nothing was short.
    steps
        Steps it finished.
    is_done
        It finished in this period.
    """

    index: int
    action: str = "wait"
    holding: Holding | None = None
    ran: float = 0.0
    paused: float = 0.0
    gated: float = 0.0
    progress: float = 0.0
    work: float = 0.0
    lost: float = 0.0
    usage: list[list[float]] = field(default_factory=list)
    watermark: list[list[float]] = field(default_factory=list)
    level: list[float] = field(default_factory=list)
    kills: int = 0
    short: list[list[bool]] = field(default_factory=list)
    short_phase: str | None = None
    steps: int = 0
    is_done: bool = False


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
            _Run(self, j, period, seconds).run()
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


class _Run:
    """One job through one period."""

    def __init__(self, plant: Plant, j: int, period: JobPeriod, seconds: float) -> None:
        self.plant, self.period, self.seconds = plant, period, seconds
        self.job: WorkloadJob = plant.workload.jobs[j]
        self.truth, self.state = plant.truths[j], plant.states[j]
        holding = self.state.holding or ()
        self.held = plant.has(holding)
        self.speeds = plant.speeds(j, holding)
        self.effective = [[speed * amount for amount in held] for held, speed in zip(self.held, self.speeds, strict=True)]
        self.is_wall = self.job.clock == "wall"
        self.left = seconds

    def run(self) -> None:
        state = self.state
        while self.left > _ALMOST and state.done_at is None:
            if state.is_down:
                self._wait(self.left, gated=False)
            elif state.pause > 0:
                self._wait(min(state.pause, self.left), gated=False)
            else:
                self._part()

    def _wait(self, seconds: float, *, gated: bool) -> None:
        state = self.state
        if gated:
            self.period.gated += seconds
        else:
            self.period.paused += seconds
            state.pause = max(0.0, state.pause - seconds)
        self.left -= seconds

    def _place(self) -> tuple[int, float]:
        """Return the part under way and the seconds into the steps."""
        position = self.state.position
        if self.is_wall:
            position = self.plant.now + (self.seconds - self.left) - self.job.submitted
            position = position % self.truth.seconds if self.job.repeats else min(position, self.truth.seconds)
        return self.truth.part_at(position), position

    def _part(self) -> None:
        truth, state, period = self.truth, self.state, self.period
        p, position = self._place()
        if self._is_over(position):
            self._finish()
            return
        short = self._short(p)
        if any(map(any, short)):
            period.short = [[a or b for a, b in zip(*rows, strict=True)] for rows in zip(period.short, short, strict=True)]
            period.short_phase = truth.phase[p]
            if self._is_at_gate(p, position):
                self._wait(self.left, gated=True)
            else:
                self._kill(short)
            return
        levels = [_level(have, want) for have, want in zip(self.effective, truth.demand[p], strict=True)]
        pace = min(1.0, *levels)
        to_end = truth.ends[p] - position
        if self.is_wall:
            is_idle = position >= truth.seconds - _ALMOST  # its steps are over and its work is not done
            seconds = self.left if is_idle else min(self.left, max(to_end, _ALMOST))
            pace = 0.0 if is_idle else pace
        else:
            seconds = self.left if pace <= 0 else min(self.left, to_end / pace)
        rate = truth.rate[p] * pace
        if self.job.work is not None and rate > 0:
            seconds = min(seconds, max(0.0, (self.job.work - state.served) / rate))
        self._observe(p, pace, seconds)
        period.ran += seconds
        period.progress += pace * seconds
        period.work += rate * seconds
        state.served += rate * seconds
        self.left -= seconds
        if not self.is_wall:
            self._move_on(p, position + pace * seconds)
        if self._is_over(position + seconds):
            self._finish()

    def _is_over(self, position: float) -> bool:
        """Return whether its work is done; without one, whether the time of a job on the wall clock is over."""
        job = self.job
        if job.work is not None:
            return self.state.served >= job.work * (1 - _ALMOST)
        return self.is_wall and not job.repeats and position >= self.truth.seconds - _ALMOST

    def _is_at_gate(self, p: int, position: float) -> bool:
        return self.truth.waits[p] and position <= self.truth.phase_begins[p] + _ALMOST

    def _move_on(self, p: int, position: float) -> None:
        truth, state = self.truth, self.state
        if position >= truth.ends[p] - _ALMOST:
            position = truth.ends[p]
            if p + 1 == len(truth.ends) or truth.step[p + 1] != truth.step[p]:
                self.period.steps += 1
                state.saved = (state.cycle, position)
        every = self.job.checkpoint_seconds
        if every is not None and position - state.saved[1] >= every - _ALMOST:
            state.saved = (state.cycle, state.saved[1] + every * int((position - state.saved[1]) / every + _ALMOST))
        state.position = position
        if position >= truth.seconds - _ALMOST:
            if not self.job.repeats:
                self._finish()
            else:
                state.cycle, state.position = state.cycle + 1, 0.0
                state.saved = (state.cycle, 0.0)

    def _finish(self) -> None:
        state = self.state
        state.done_at = self.plant.now + (self.seconds - self.left)
        state.holding = None
        self.period.is_done = True

    def _short(self, p: int) -> list[list[bool]]:
        return [[want > have + _ALMOST for have, want in zip(held, need, strict=True)] for held, need in zip(self.held, self.truth.need[p], strict=True)]

    def _kill(self, short: list[list[bool]]) -> None:
        """Stop the job where it stands short of memory: what it did since the last checkpoint is gone."""
        truth, state, period = self.truth, self.state, self.period
        period.kills += 1
        for s, row in enumerate(short):
            period.watermark[s] = [max(most, have) if lacks else most for most, have, lacks in zip(period.watermark[s], self.held[s], row, strict=True)]
        if not self.is_wall:
            lost = _work_between(truth, state.saved, (state.cycle, state.position))
            made = truth.seconds * (state.cycle - state.saved[0]) + state.position - state.saved[1]
            state.cycle, state.position = state.saved
            state.served -= lost
            period.lost += lost
            period.progress -= made
        state.pause = self.job.restart.warm_seconds
        p, position = self._place()
        state.is_down = any(map(any, self._short(p))) and not self._is_at_gate(p, position)

    def _observe(self, p: int, pace: float, seconds: float) -> None:
        period, truth = self.period, self.truth
        for s, (want, need) in enumerate(zip(truth.demand[p], truth.need[p], strict=True)):
            usage, most = period.usage[s], period.watermark[s]
            for r, (amount, memory) in enumerate(zip(want, need, strict=True)):
                if amount:
                    usage[r] += min(amount * pace / self.speeds[s], self.held[s][r]) * seconds
                if memory:
                    usage[r] += memory * seconds
                    most[r] = max(most[r], memory)
            period.level[s] += pace * seconds


def _level(have: list[float], want: Vector) -> float:
    level = 1.0
    for amount, asked in zip(have, want, strict=True):
        if asked > 0:
            level = min(level, amount / asked)
    return level


def _work_between(truth: Truth, start: tuple[int, float], end: tuple[int, float]) -> float:
    return truth.work * (end[0] - start[0]) + _work_until(truth, end[1]) - _work_until(truth, start[1])


def _work_until(truth: Truth, position: float) -> float:
    total, before = 0.0, 0.0
    for p, end in enumerate(truth.ends):
        if position <= before:
            break
        total += truth.rate[p] * (min(end, position) - before)
        before = end
    return total
