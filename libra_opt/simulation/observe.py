"""From what happened to what a scheduler is told: observations that are noisy, late or missing, and the state made of them.

What a job declares is known when it is submitted; everything else is told by its history. A job without a history asks for what it declared. Until it has
finished a step its need is what it declared, and where it stands still it asks for the most it was seen to use in that phase, or for what it declared. After a
memory kill the observation says a fifth more than was held, as the Vertical Pod Autoscaler does after one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from libra_opt.domain import Amounts, Job, Observation, Options, Pool, Rates, Stage, State, Workload, WorkloadJob, WorkloadStage
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.ledger import CARDS
from libra_opt.simulation.ahead import coming
from libra_opt.simulation.plant import JobPeriod, Plant
from libra_opt.simulation.truth import Vector, vector

__all__ = ["LONGEST", "Observer"]

LONGEST: Final = 64
"""A history has at most this many entries."""

_AFTER_KILL: Final = 1.2
_EARLIER: Final = 10_000
"""Repetitions of a job's steps are counted from here, so that those of an earlier run have a number."""

_DIGITS: Final = 6
_PRIOR_SECONDS: Final = 300.0
_PRIOR_SHARE: Final = 0.5
"""Until its own work is known for this long, a job counts as one that uses half of the cards it asked for, or what others of its size used."""


class Observer:
    """Keeps what was observed of every job, and makes states of it.

    Parameters
    ----------
    plant
        What is observed.
    generator
        Where noise, lateness and loss come from; the same draws for every policy that runs the same workload.
    """

    def __init__(self, plant: Plant, generator: np.random.Generator) -> None:
        self._plant = plant
        self._workload = plant.workload
        self._names = tuple(resource.name for resource in self._workload.resources)
        self._memory = tuple(not resource.compressible for resource in self._workload.resources)
        self._seeds = generator.integers(1 << 62, size=len(self._workload.jobs)).tolist()
        self._history: dict[int, list[deque[Observation]]] = {}
        self._late: dict[int, list[tuple[int, Observation]]] = {}
        self._most: dict[tuple[int, int, str], list[float]] = {}
        self._sizes = [_size(job, self._workload) for job in self._workload.jobs]
        self._served = [0.0] * len(self._sizes)
        self._progressed = [0.0] * len(self._sizes)
        self._seen_work = self._seen_size = 0.0
        self._offset = max(job.observed_before for job in self._workload.jobs)

    def begin(self, seconds: float) -> None:
        """Enter what was observed of earlier runs, in periods of that length."""
        for j, job in enumerate(self._workload.jobs):
            for t in range(job.observed_before):
                self._earlier(j, self._offset - job.observed_before + t, (t - job.observed_before) * seconds, seconds)

    def record(self, period: int, periods: Iterable[JobPeriod]) -> None:
        """Observe one period."""
        noise = self._workload.noise
        for done in periods:
            j = done.index
            self._count(j, done)
            for s, entry in self._late.pop(j, []):
                self._of(j)[s].append(entry)
            if done.is_done:
                continue
            if done.holding is None:
                self._record_waiting(j, period + self._offset)
                continue
            dice = np.random.default_rng((self._seeds[j], period))
            factors = np.exp(noise.spread * dice.standard_normal((len(done.holding), len(self._names)))) if noise.spread else None
            fate = dice.random()
            for s, entry in enumerate(self._entries(period + self._offset, done, factors)):
                if fate < noise.missing:
                    continue
                if fate < noise.missing + noise.late:
                    self._late.setdefault(j, []).append((s, entry))
                else:
                    self._of(j)[s].append(entry)

    def state(self, period: int, seconds: float, options: Options, *, is_true: bool = False, weigh: Callable[[float, float], float] | None = None) -> State:
        """Return the state of this moment (see `StateMaker`)."""
        plant, workload = self._plant, self._workload
        capacity = plant.capacity()
        pools = tuple(Pool.model_validate({**pool.model_dump(exclude={"capacity"}), "capacity": self._amounts(capacity[pool.name])}) for pool in workload.pools)
        jobs = tuple(self._job(j, seconds, options, is_true=is_true, weigh=weigh) for j in plant.arrived())
        return State.model_validate(
            {
                "period": {"index": period + self._offset, "seconds": seconds},
                "resources": workload.resources,
                "pools": pools,
                "queues": workload.queues,
                "jobs": jobs,
                "options": options,
            }
        )

    def _earlier(self, j: int, period: int, begins: float, seconds: float) -> None:
        """Enter one period of an earlier run: that part of the steps, counted back from the end, served in full."""
        truth, job = self._plant.truths[j], self._workload.jobs[j]
        middle = begins + seconds / 2
        p = truth.part_at(middle % truth.seconds)
        after = (begins + seconds) % truth.seconds
        at = truth.part_at(after)
        progress = (after - truth.phase_begins[at]) / (truth.phase_ends[at] - truth.phase_begins[at])
        for s in range(len(job.stages)):
            used = self._amounts(tuple(a + b for a, b in zip(truth.demand[p][s], truth.need[p][s], strict=True)))
            step = len(job.steps) * int(_EARLIER + (begins + seconds) // truth.seconds) + truth.step[at]
            entry = {"usage": used, "step": step, "phase": truth.phase[at], "progress": round(min(1.0, max(0.0, progress)), 3), "period": period}
            self._of(j)[s].append(Observation.model_validate(entry))

    def _of(self, j: int) -> list[deque[Observation]]:
        if j not in self._history:
            self._history[j] = [deque(maxlen=LONGEST) for _ in self._workload.jobs[j].stages]
        return self._history[j]

    def _count(self, j: int, done: JobPeriod) -> None:
        """Add up the work and the seconds of full service of one period, kills aside."""
        if done.kills or done.progress <= 0:
            return
        self._served[j] += done.work
        self._progressed[j] += done.progress
        if self._sizes[j] > 0:
            self._seen_work += done.work / self._sizes[j]
            self._seen_size += done.progress

    def _record_waiting(self, j: int, period: int) -> None:
        """Enter where a waiting job stands, which it knows although nothing of it is measured; only the latest such entry is kept."""
        if j not in self._history:
            return
        step, phase, progress = self._place(j)
        entry = Observation.model_validate({"usage": {}, "step": step, "phase": phase, "progress": progress, "period": period})
        for entries in self._of(j):
            if entries and not entries[-1].usage and entries[-1].allocation is None:
                entries.pop()
            entries.append(entry)

    def _entries(self, period: int, done: JobPeriod, factors: Any) -> list[Observation]:
        j = done.index
        step, phase, progress = self._place(j)
        entries = []
        for s, grant in enumerate(done.holding or ()):
            held = (0.0,) * len(self._names) if grant is None else grant.amounts
            ran = done.progress > 0 or done.kills > 0
            usage = [self._measured(done, s, r, held, factors) if ran else None for r in range(len(self._names))]
            most = {
                name: round(done.watermark[s][r] * (1 if factors is None else float(factors[s, r])) * (_AFTER_KILL if done.killed[s] else 1), _DIGITS)
                for r, name in enumerate(self._names)
                if self._memory[r] and done.watermark[s][r] > 0
            }
            self._remember(j, s, phase, usage, most)
            waiting = self._queue(done, s)
            entries.append(
                Observation.model_validate(
                    {
                        "usage": {name: amount for name, amount in zip(self._names, usage, strict=True) if amount is not None},
                        "allocation": self._amounts(held),
                        "watermark": most,
                        "step": step,
                        "phase": phase,
                        "progress": progress,
                        "period": period,
                        **waiting,
                    }
                )
            )
        return entries

    def _measured(self, done: JobPeriod, s: int, r: int, held: Vector, factors: Any) -> float:
        amount = done.usage[s][r] * (1 if factors is None else float(factors[s, r]))
        return round(amount if self._memory[r] else min(amount, held[r]), _DIGITS)

    def _queue(self, done: JobPeriod, s: int) -> Mapping[str, float]:
        """Return the requests an engine serves and keeps waiting: as many wait for one served as its pace leaves unserved."""
        if not self._workload.jobs[done.index].stages[s].reports_queue or done.progress <= 0:
            return {}
        level = max(done.level[s], 0.02)
        return {"requests_running": 100.0, "requests_waiting": round(100 * (1 / level - 1), 3)}

    def _place(self, j: int) -> tuple[int, str, float]:
        """Return step, phase and done share of the phase in which a job stands."""
        truth, state, job = self._plant.truths[j], self._plant.states[j], self._workload.jobs[j]
        position = state.position
        if job.clock == "wall":
            position = max(0.0, self._plant.now - job.submitted)
            cycle, position = divmod(position, truth.seconds) if job.repeats else (0, min(position, truth.seconds))
        else:
            cycle = state.cycle
        p = truth.part_at(position)
        begins, ends = truth.phase_begins[p], truth.phase_ends[p]
        done = min(1.0, max(0.0, (position - begins) / (ends - begins)))
        return (_EARLIER + int(cycle)) * len(job.steps) + truth.step[p], truth.phase[p], round(done, 3)

    def _remember(self, j: int, s: int, phase: str, usage: Sequence[float | None], most: Mapping[str, float]) -> None:
        known = self._most.setdefault((j, s, phase), [0.0] * len(self._names))
        for r, name in enumerate(self._names):
            known[r] = max(known[r], usage[r] or 0.0, most.get(name, 0.0))

    def _job(self, j: int, seconds: float, options: Options, *, is_true: bool, weigh: Callable[[float, float], float] | None) -> Job:
        job, state, now = self._workload.jobs[j], self._plant.states[j], self._plant.now
        is_running = state.holding is not None
        weight = job.weight if weigh is None else weigh(job.weight, state.waited)
        fields: dict[str, Any] = {
            "id": job.id,
            "priority": job.priority,
            "weight": weight,
            "preemptible": job.preemptible,
            "min_runtime_seconds": job.min_runtime_seconds,
            "preemption_cost": job.preemption_cost,
            "submitted": job.submitted,
        }
        rate = self._rate(j)
        if rate is not None:
            fields["rates"] = Rates(tokens=rate)
        if job.queue is not None:
            fields["queue"] = job.queue
        if job.deadline is not None:
            fields["deadline"] = job.deadline
        if is_running:
            fields["running_seconds"] = now - state.since
        future = coming(self._plant, j, seconds, options.lookahead if hasattr(options, "lookahead") else 1) if is_true else None
        stages = []
        for s, stage in enumerate(job.stages):
            held = state.holding[s] if state.holding is not None else None
            told = future.stage(s, self._amounts) if future is not None else self._told(j, s, job, stage)
            stages.append(Stage.model_validate({**_declared(stage), **told, **({} if held is None else {"allocation": self._held(held.pool, held.amounts)})}))
        return Job.model_validate({**fields, "stages": tuple(stages)})

    def _rate(self, j: int) -> float | None:
        """Return the work per second of full service as far as it was observed, drawn towards what jobs of its size did; None for jobs on the wall clock.

        A job's worth must not follow its phase: stopping it while it checks rewards on one card costs as much as while it trains on eight.
        """
        if self._workload.jobs[j].clock == "wall":
            return None
        size = self._sizes[j]
        usual = (self._seen_work + _PRIOR_SECONDS * _PRIOR_SHARE) / (self._seen_size + _PRIOR_SECONDS)
        return round((self._served[j] + _PRIOR_SECONDS * usual * size) / (self._progressed[j] + _PRIOR_SECONDS), _DIGITS)

    def _told(self, j: int, s: int, job: WorkloadJob, stage: WorkloadStage) -> dict[str, Any]:
        history = tuple(self._history[j][s]) if j in self._history else ()
        asked = {name: amount for name, amount in stage.request.items() if self._memory[self._names.index(name)]}
        wanted = {name: amount for name, amount in stage.request.items() if name not in asked}
        state = self._plant.states[j]
        if not any(entry.usage for entry in history):
            return {"demand": wanted, "need": asked}
        if state.stands and state.holding is not None:
            _, phase, _ = self._place(j)
            known = self._most.get((j, s, phase))
            if known is not None and any(known[r] for r in range(len(known)) if self._memory[r]):
                told = {name: known[r] for r, name in enumerate(self._names) if known[r] > 0}
                return {
                    "demand": {name: amount for name, amount in told.items() if name in wanted},
                    "need": {name: amount for name, amount in told.items() if name in asked},
                }
            return {"demand": wanted, "need": asked}
        if self._plant.finished_steps(j) < 1 and job.clock == "progress":
            return {"history": history, "need": asked}
        return {"history": history}

    def _held(self, pool: str, amounts: Vector) -> dict[str, Any]:
        return {"pool": pool, "resources": self._amounts(amounts)}

    def _amounts(self, amounts: Vector) -> Amounts:
        return Amounts({name: round(amount, _DIGITS) for name, amount in zip(self._names, amounts, strict=True)})


def _size(job: WorkloadJob, workload: Workload) -> float:
    """Return the cards a job asked for when it came; where it asked for none, 1."""
    cards = [vector(stage.request, workload.resources)[r] for stage in job.stages for r, name in enumerate(workload.resources) if name.name == CARDS]
    return sum(cards) or 1.0


def _declared(stage: WorkloadStage) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": stage.name, "min_quota": stage.min_quota, "max_quota": stage.max_quota}
    if stage.unit is not None:
        fields["unit"] = stage.unit
    if stage.pools is not None:
        fields["pools"] = FrozenMapping(stage.pools)
    return fields
