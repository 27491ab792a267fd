"""One job through one period: exact, from part to part of what it really does, at the pace that its scarcest resource allows."""

from collections.abc import Sequence
from typing import Final

from libra_opt.domain import WorkloadJob
from libra_opt.simulation.job_state import JobPeriod, JobState
from libra_opt.simulation.truth import Truth, Vector

__all__ = ["OnePeriod"]

_ALMOST: Final = 1e-9


class OnePeriod:
    """One job through one period, with what it holds.

    Parameters
    ----------
    job, truth
        The job, and what it really does.
    state, period
        Where it stands and what it did: both are brought up to the end of the period.
    held
        Per stage what it really has of every resource, in its unit, shape ``(n_stages, n_resources)``.
    speeds
        Of every stage in the pool it sits in.
    begins, seconds
        When the period begins, on the simulated clock, and how long it is.
    """

    def __init__(
        self,
        job: WorkloadJob,
        truth: Truth,
        state: JobState,
        period: JobPeriod,
        held: Sequence[Vector],
        speeds: Sequence[float],
        *,
        begins: float,
        seconds: float,
    ) -> None:
        self.job, self.truth, self.state, self.period = job, truth, state, period
        self.held, self.speeds = held, speeds
        self.effective = [[speed * amount for amount in row] for row, speed in zip(held, speeds, strict=True)]
        self.is_wall = job.clock == "wall"
        self.begins, self.seconds, self.left = begins, seconds, seconds

    def run(self) -> None:
        """Let the period pass, or what is left of the job."""
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
            position = self.begins + (self.seconds - self.left) - self.job.submitted
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
        state.done_at = self.begins + (self.seconds - self.left)
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
