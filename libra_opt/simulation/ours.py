"""Ours as a policy: `allocate` on what was observed, with or without feedback; or on the truth, as an upper mark for the forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from libra_opt.allocation import allocate
from libra_opt.domain import Options, Plan, Workload
from libra_opt.domain.quantity import parse
from libra_opt.feedback import LAW, Law, Outcome, SeenJob, Setpoint, adapt, planned_weight, planning, waiting_credit
from libra_opt.feedback import outcome_of as count_outcome
from libra_opt.simulation.grant import Decision, Grant, Holding, Moment
from libra_opt.simulation.job_state import JobPeriod
from libra_opt.simulation.loop import PeriodRecord

__all__ = ["Ours", "grants_of", "outcome_of"]

_RUNNING: Final = frozenset({"admit", "keep", "resize", "migrate"})


@dataclass(slots=True)
class Ours:
    """`allocate` every period.

    Attributes
    ----------
    name
        How tables call it.
    options
        What every state asks for.
    is_true
        It is shown the demand that comes.
    setpoint
        Where feedback begins, and then what it has come to; None: no feedback, and jobs are planned with their own weights.
    law
        The law of feedback.
    credit
        Per job that came, by index: for how long it counts as having waited, and whether it has ever run.
    """

    name: str
    options: Options
    is_true: bool = False
    setpoint: Setpoint | None = None
    law: Law = LAW
    credit: dict[int, tuple[float, bool]] = field(default_factory=dict)

    def decide(self, moment: Moment) -> Decision:
        """Return what the plan of this moment's state grants."""
        if self.setpoint is None:
            state = moment.state(self.options, is_true=self.is_true)
        else:
            state = moment.state(planning(self.options, self.setpoint), is_true=self.is_true, weigh=partial(self._weigh, some_wait=any(moment.waited.values())))
        plan = allocate(state)
        return Decision(grants_of(plan, moment.workload), plan, state)

    def learn(self, moment: Moment, _decision: Decision, record: PeriodRecord) -> None:
        """Take in what came of a decision. A job that stood at the beginning of a phase for want of its memory has waited."""
        if self.setpoint is None:
            return
        for job in record.jobs:
            credit, has_run = self.credit.get(job.index, (0.0, False))
            runs = job.holding is not None and job.gated < record.seconds / 2
            self.credit[job.index] = waiting_credit(credit, record.seconds, runs=runs, has_run=has_run, law=self.law), has_run or runs
        self.setpoint = adapt(self.setpoint, outcome_of(moment, record), self.law)

    def _weigh(self, j: int, weight: float, done: float, *, some_wait: bool) -> float:
        waited, _ = self.credit.get(j, (0.0, False))
        return planned_weight(weight, waited_seconds=waited, done=done, some_wait=some_wait, setpoint=self.setpoint or Setpoint(), law=self.law)


def outcome_of(moment: Moment, record: PeriodRecord) -> Outcome:
    """Return what feedback is told of one period; process time is left out, so that a run repeats itself.

    Jobs that spent all the period on starting or moving, or at the beginning of a phase, say nothing of the memory that is wasted.
    """
    memory = [r for r, resource in enumerate(moment.workload.resources) if not resource.compressible]
    return count_outcome([_seen(moment, job, memory) for job in record.jobs], record.seconds)


def _seen(moment: Moment, job: JobPeriod, memory: Sequence[int]) -> SeenJob:
    is_told = job.action in _RUNNING and job.ran > 0
    return SeenJob(
        action=job.action,
        lost_seconds=job.paused,
        is_killed=job.kills > 0,
        held=tuple(grant.amounts[r] for grant in job.holding or () if grant is not None for r in memory) if is_told else (),
        used=tuple(row[r] for row in job.watermark for r in memory) if is_told else (),
        delay_seconds=moment.waited.get(job.index),
    )


def grants_of(plan: Plan, workload: Workload) -> Mapping[int, Holding]:
    """Return what a plan gives every job that runs, by its index in the workload."""
    index = {job.id: j for j, job in enumerate(workload.jobs)}
    grants: dict[int, Holding] = {}
    for planned in plan.jobs:
        if planned.stages:
            placed = {stage.name: Grant(stage.pool, _vector(stage.resources, workload)) for stage in planned.stages}
            grants[index[planned.id]] = tuple(placed.get(stage.name) for stage in workload.jobs[index[planned.id]].stages)
    return grants


def _vector(amounts: Mapping[str, int | float | str], workload: Workload) -> tuple[float, ...]:
    return tuple(float(parse(amounts.get(resource.name, 0), resource.unit)) for resource in workload.resources)
