"""From what happened to what a scheduler is told: observations that are noisy, late or missing, and the state made of them.

What a job declares is known when it is submitted; everything else is told by its history. A job without a history asks for what it declared. Until it has
finished a step its need is what it declared for where it stands and what may come next, of host memory until three. Wherever it stands still, it asks for the
most it was seen to use in that phase, or else for what it declared. Where memory was short, by a kill or at the beginning of a phase that waits for it, a
fifth more than was held is asked for, as the Vertical Pod Autoscaler does after a kill: what is declared or was measured too low would else be too low for
ever.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from libra_opt.domain import Amounts, Job, Observation, Options, Pool, Rates, Stage, State, Workload, WorkloadJob, WorkloadStage
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.ledger import CARDS
from libra_opt.forecast.mean_cards import ToldCards, mean_cards
from libra_opt.forecast.step_done import step_done
from libra_opt.simulation.ahead import coming
from libra_opt.simulation.earlier import Past, past_of
from libra_opt.simulation.grant import Weigh
from libra_opt.simulation.job_state import JobPeriod
from libra_opt.simulation.plant import Plant
from libra_opt.simulation.truth import Vector, vector

__all__ = ["LONGEST", "Observer"]

LONGEST: Final = 128
"""A history has at most this many entries: of 30 s each about two steps of a job, which is what places in a step are told by."""

_WHERE_SHORT: Final = 1.2
_ALMOST: Final = 1e-9
_FIRST_STEP: Final = 1_000_000_000
"""The number of a job's first step, so that those of an earlier run have one; it must not tell how many will come."""

_HOST_MEMORY: Final = "mem"
_GROWN: Final = 3
"""Host memory fills up from step to step (what is kept for replay, caches); after so many of them the next is a third more at most, which margins cover."""

_TRIED: Final = 3
"""So often a phase must have been measured for its memory to say what it needs, as long as the next does not begin: of that an untried job knows only what it
declared."""

_FASTER: Final = 2.0
"""A phase may go on so many times faster than it did before."""

_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class _Told:
    """What is told of one stage in one period: the entry of its history, and the most it used of each resource in the phase it was in then."""

    entry: Observation
    phase: str
    most: Vector


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
        self._late: dict[int, list[_Told]] = {}
        self._most: dict[tuple[int, int, str], Vector] = {}
        self._asked_more: dict[tuple[int, int, str], Vector] = {}
        self._waits_in = [tuple(dict.fromkeys(part.phase for step in job.steps for part in step.parts if part.waits_for_memory)) for job in self._workload.jobs]
        self._sizes = [_size(job, self._workload) for job in self._workload.jobs]
        self._unit_of_cards = next((resource.unit for resource in self._workload.resources if resource.name == CARDS), "")
        self._offset = 0

    def begin(self, seconds: float) -> None:
        """Enter what was observed of earlier steps and runs, in periods of that length, up to the period in which the job comes."""
        told: list[tuple[int, list[Past]]] = []
        for job, truth in zip(self._workload.jobs, self._plant.truths, strict=True):
            comes = ceil(job.submitted / seconds - _ALMOST)
            stands = comes * seconds - job.submitted if job.clock == "wall" else 0.0
            told.append((comes, list(past_of(self._workload, job, truth, seconds, stands, LONGEST))))
        self._offset = max(len(past) for _, past in told)
        for j, (comes, past) in enumerate(told):
            for t, each in enumerate(past):
                self._earlier(j, self._offset + comes - len(past) + t, each)

    def record(self, period: int, periods: Iterable[JobPeriod]) -> None:
        """Observe one period."""
        noise = self._workload.noise
        for done in periods:
            j = done.index
            self._arrive(j, self._late.pop(j, ()))
            if done.is_done:
                continue
            if done.holding is None:
                self._record_waiting(j, period + self._offset)
                continue
            dice = np.random.default_rng((self._seeds[j], period))
            factors = np.exp(noise.spread * dice.standard_normal((len(done.holding), len(self._names)))) if noise.spread else None
            fate = dice.random()
            self._ask_more(done)
            told = self._entries(period + self._offset, done, factors)
            if fate >= noise.missing + noise.late:
                self._arrive(j, told)
            elif fate >= noise.missing:
                self._late[j] = told

    def state(self, period: int, seconds: float, options: Options, *, is_true: bool = False, weigh: Weigh | None = None) -> State:
        """Return the state of this moment (see `StateMaker`)."""
        plant, workload = self._plant, self._workload
        capacity = plant.capacity()
        pools = tuple(Pool.model_validate({**pool.model_dump(exclude={"capacity"}), "capacity": self._amounts(capacity[pool.name])}) for pool in workload.pools)
        there, at = plant.arrived(), period + self._offset
        cards = self._mean_cards(there, seconds)
        jobs = tuple(self._job(j, at, seconds, options, cards.get(j), is_true=is_true, weigh=weigh) for j in there)
        return State.model_validate(
            {
                "period": {"index": at, "seconds": seconds},
                "resources": workload.resources,
                "pools": pools,
                "queues": workload.queues,
                "jobs": jobs,
                "options": options,
            }
        )

    def _earlier(self, j: int, period: int, past: Past) -> None:
        """Enter one period in which the job was served in full, before it came."""
        n, place = range(len(self._names)), {"step": max(0, _FIRST_STEP + past.step), "phase": past.phase, "progress": round(past.progress, 3)}
        for s, (used, most) in enumerate(zip(past.used, past.most, strict=True)):
            entry = {"usage": self._amounts(used), "watermark": {self._names[r]: most[r] for r in n if most[r]}, "period": period, **place}
            self._of(j)[s].append(Observation.model_validate(entry))
            if self._workload.jobs[j].earlier:
                seen = tuple(most[r] if self._memory[r] else used[r] for r in n)
                self._most[j, s, past.phase] = _highest(self._most.get((j, s, past.phase)), seen)

    def _of(self, j: int) -> list[deque[Observation]]:
        if j not in self._history:
            self._history[j] = [deque(maxlen=LONGEST) for _ in self._workload.jobs[j].stages]
        return self._history[j]

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

    def _arrive(self, j: int, told: Sequence[_Told]) -> None:
        """Enter what is told of the stages of a job, in their order; what was used until a phase began says nothing of that phase."""
        for s, each in enumerate(told):
            self._of(j)[s].append(each.entry)
            if each.entry.progress:
                self._most[j, s, each.phase] = _highest(self._most.get((j, s, each.phase)), each.most)

    def _ask_more(self, done: JobPeriod) -> None:
        """Take in where memory was short: a job that could not have what it asked for says so at once, whatever else is late or lost."""
        if done.short_phase is None:
            return
        for s, short in enumerate(done.short):
            more = tuple(_WHERE_SHORT * have if lacks else 0.0 for have, lacks in zip(self._held_by(done, s), short, strict=True))
            key = (done.index, s, done.short_phase)
            self._asked_more[key] = _highest(self._asked_more.get(key), more)

    def _held_by(self, done: JobPeriod, s: int) -> Vector:
        return (0.0,) * len(self._names) if done.holding is None else self._plant.has(done.holding)[s]

    def _granted(self, done: JobPeriod, s: int) -> Vector:
        grant = done.holding[s] if done.holding is not None else None
        return (0.0,) * len(self._names) if grant is None else grant.amounts

    def _entries(self, period: int, done: JobPeriod, factors: npt.NDArray[np.float64] | None) -> list[_Told]:
        step, phase, progress = self._place(done.index)
        return [self._entry(period, done, s, factors, {"step": step, "phase": phase, "progress": progress}) for s in range(len(done.holding or ()))]

    def _entry(self, period: int, done: JobPeriod, s: int, factors: npt.NDArray[np.float64] | None, place: Mapping[str, Any]) -> _Told:
        n, held = range(len(self._names)), self._held_by(done, s)
        factor = [1.0 if factors is None else float(factors[s, r]) for r in n]
        usage = [round(min(done.usage[s][r] * factor[r], held[r]), _DIGITS) for r in n] if done.ran > 0 and (done.progress > 0 or done.kills > 0) else None
        seen = [_WHERE_SHORT * held[r] if done.short[s][r] and done.kills else min(done.watermark[s][r] * factor[r], held[r]) for r in n]
        most = [round(seen[r], _DIGITS) if self._memory[r] else 0.0 for r in n]
        entry = Observation.model_validate(
            {
                "usage": {} if usage is None else dict(zip(self._names, usage, strict=True)),
                "allocation": self._amounts(self._granted(done, s)),
                "watermark": {name: amount for name, amount in zip(self._names, most, strict=True) if amount > 0},
                "period": period,
                **place,
                **self._queue(done, s),
            }
        )
        return _Told(entry, place["phase"], tuple(max(u, m) for u, m in zip(usage or most, most, strict=True)))

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
        return _FIRST_STEP + int(cycle) * len(job.steps) + truth.step[p], truth.phase[p], round(done, 3)

    def _job(self, j: int, period: int, seconds: float, options: Options, cards: float | None, *, is_true: bool, weigh: Weigh | None) -> Job:
        job, state, now = self._workload.jobs[j], self._plant.states[j], self._plant.now
        is_running = state.holding is not None
        fields: dict[str, Any] = {
            "id": job.id,
            "priority": job.priority,
            "weight": job.weight,
            "preemptible": job.preemptible,
            "min_runtime_seconds": job.min_runtime_seconds,
            "preemption_cost": job.preemption_cost,
            "submitted": job.submitted,
        }
        if cards is not None:
            fields["rates"] = Rates(cards=cards)
        if job.queue is not None:
            fields["queue"] = job.queue
        if job.deadline is not None:
            fields["deadline"] = job.deadline
        if is_running:
            fields["running_seconds"] = now - state.since
        future = coming(self._plant, j, seconds, options.lookahead) if is_true else None
        if future is not None:
            fields.update(future.left(seconds))
        stages = []
        for s, stage in enumerate(job.stages):
            held = state.holding[s] if state.holding is not None else None
            told = future.stage(s, self._amounts) if future is not None else self._told(j, s, job, stage, period)
            waits = {"waits_in": self._waits_in[j]} if "history" in told and _loads(stage, job) else {}
            holds = {} if held is None else {"allocation": self._held(held.pool, held.amounts)}
            stages.append(Stage.model_validate({**_declared(stage), **told, **waits, **holds}))
        if weigh is not None:
            done = self._step_done(j) if is_true else step_done(self._history.get(j, ()))
            fields["weight"] = weigh(j, job.weight, done)
        return Job.model_validate({**fields, "stages": tuple(stages)})

    def _step_done(self, j: int) -> float:
        """Return the true share of its step that a job on its own progress has done."""
        truth, state = self._plant.truths[j], self._plant.states[j]
        if self._workload.jobs[j].clock == "wall":
            return 0.0
        step = truth.step[truth.part_at(state.position)]
        begins = truth.step_ends[step - 1] if step else 0.0
        return min(1.0, max(0.0, (state.position - begins) / (truth.step_ends[step] - begins)))

    def _mean_cards(self, there: Sequence[int], seconds: float) -> Mapping[int, float]:
        """Return by job what cards it uses in the mean over its steps, of jobs on their own progress.

        A job's worth must not follow its phase alone: stopping it while it checks rewards on one card costs nearly as much as while it trains on eight.
        """
        on_progress = [j for j in there if self._workload.jobs[j].clock == "progress"]
        told = [ToldCards(self._history.get(j, ()), self._sizes[j]) for j in on_progress]
        found = mean_cards(told, self._unit_of_cards, seconds)
        return {j: round(cards, _DIGITS) for j, cards in zip(on_progress, found, strict=True) if cards is not None}

    def _told(self, j: int, s: int, job: WorkloadJob, stage: WorkloadStage, planned: int) -> dict[str, Any]:
        history = tuple(self._history[j][s]) if j in self._history else ()
        wanted = {name: amount for name, amount in stage.request.items() if not self._memory[self._names.index(name)]}
        may_come = dict.fromkeys(phase for phase in self._plant.truths[j].phase if phase not in self._waits_in[j])
        state, asked = self._plant.states[j], self._asked(j, s, stage, (*may_come, self._place(j)[1]))
        if not any(entry.usage for entry in history):
            return {"demand": wanted, "need": asked}
        if state.stands and state.holding is not None:
            phase = self._place(j)[1]
            known = self._most.get((j, s, phase))
            if known is None or not any(amount for amount, is_memory in zip(known, self._memory, strict=True) if is_memory):
                return {"demand": wanted, "need": self._asked(j, s, stage, (phase,))}
            most = _highest(known, self._asked_more.get((j, s, phase)))
            told = {name: most[r] for r, name in enumerate(self._names) if most[r] > 0}
            return {
                "demand": {name: amount for name, amount in told.items() if name in wanted},
                "need": {name: amount for name, amount in told.items() if name in asked},
            }
        n_finished = self._plant.finished_steps(j) + len(job.earlier)
        if n_finished < 1 and job.clock == "progress" and not _goes_on(history, planned):
            return {"history": history, "need": asked}
        n_whole = n_finished - bool(job.earlier)  # the last of the earlier may be the beginning of the present one
        if n_whole < _GROWN and job.clock == "progress" and _HOST_MEMORY in asked:
            return {"history": history, "need": {_HOST_MEMORY: asked[_HOST_MEMORY]}}
        return {"history": history}

    def _asked(self, j: int, s: int, stage: WorkloadStage, phases: Iterable[str]) -> dict[str, Any]:
        """Return the memory a stage asks for: what it declared, and more of what was short in some phase."""
        more: Vector = ()
        declared: Vector = ()
        for phase in phases:
            more = _highest(more, self._asked_more.get((j, s, phase)))
            declared = _highest(declared, vector(Amounts({**stage.request, **stage.request_in.get(phase, {})}), self._workload.resources))
        memory = zip(self._names, declared, self._memory, strict=True)
        asked: dict[str, Any] = {name: round(amount, _DIGITS) for name, amount, is_memory in memory if is_memory and name in stage.request}
        beyond = {name: round(amount, _DIGITS) for name, had, amount in zip(self._names, declared, more or declared, strict=True) if amount > had}
        return {**asked, **beyond}

    def _held(self, pool: str, amounts: Vector) -> dict[str, Any]:
        return {"pool": pool, "resources": self._amounts(amounts)}

    def _amounts(self, amounts: Vector) -> Amounts:
        return Amounts({name: round(amount, _DIGITS) for name, amount in zip(self._names, amounts, strict=True)})


def _highest(one: Vector | None, other: Vector | None) -> Vector:
    """Return the larger of two amounts of every resource, where one of them is known."""
    return tuple(max(a, b) for a, b in zip(one, other, strict=True)) if one and other else one or other or ()


def _size(job: WorkloadJob, workload: Workload) -> float:
    """Return the cards a job asked for when it came; where it asked for none, 1."""
    cards = [vector(stage.request, workload.resources)[r] for stage in job.stages for r, name in enumerate(workload.resources) if name.name == CARDS]
    return sum(cards) or 1.0


def _loads(stage: WorkloadStage, job: WorkloadJob) -> bool:
    """Return whether it is this stage that the phases wait for: one that asks for no less in other phases, beside one that does, waits for nothing."""
    return bool(stage.request_in) or not any(each.request_in for each in job.stages)


def _goes_on(history: Sequence[Observation], planned: int) -> bool:
    """Return whether a job stays in the phase that it was last told to be in, having been measured in it some times, to the end of the planned period.

    It may go on `_FASTER` times as fast as it did in any period of it so far: it may be given more.
    """
    last = history[-1]
    here = [each for each in history if (each.step, each.phase) == (last.step, last.phase)]
    if last.progress is None or last.period is None or sum(bool(each.usage) for each in here) < _TRIED:
        return False
    places = [(each.period, each.progress) for each in here if each.period is not None and each.progress is not None]
    made = [(done - before) / (at - since) for (since, before), (at, done) in pairwise(places) if since < at]
    return last.progress + _FASTER * max(made, default=1.0) * (planned - last.period) < 1


def _declared(stage: WorkloadStage) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": stage.name, "min_quota": stage.min_quota, "max_quota": stage.max_quota}
    if stage.unit is not None:
        fields["unit"] = stage.unit
    if stage.pools is not None:
        fields["pools"] = FrozenMapping(stage.pools)
    return fields
