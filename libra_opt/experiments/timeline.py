"""What happened in one run, period by period: a document for reports, not for judging (see `Measures`)."""

from collections.abc import Sequence
from typing import Final, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from libra_opt.domain import About, Plan
from libra_opt.domain.base import Name, NonNegative, Text, Value
from libra_opt.simulation.job_state import JobPeriod
from libra_opt.simulation.loop import PeriodRecord, Run

__all__ = ["JobTimeline", "PlanNote", "Timeline", "Told", "timeline_of"]

_DIGITS: Final = 4

Rows = tuple[tuple[float, ...], ...]


class Told(Value):
    """Why a job got what it got, in the plan's words."""

    code: Text
    message: Text


class PlanNote(Value):
    """How good a period's plan is: status of the certificate, and its gap."""

    status: Text
    gap: float


class JobTimeline(Value):
    """One job, from the first period in which it was there; every list has one entry per period from there on.

    Attributes
    ----------
    id, submitted, deadline, done_at
        Who it is, when it came, when it should and when it was done.
    first
        Index of the first period in which it was there.
    actions
        What the decision was to it: admit, keep, resize, migrate, evict or wait.
    granted, used
        ``[t][r]``: what its stages held together, and used on average over the period.
    service
        Progress in seconds of full service over the seconds of the period; below 0 where a kill took more than was made.
    kills
        How often it was killed for want of memory.
    told
        Index of the reason in the timeline's `told`; -1 without one.
    """

    id: Name
    submitted: float
    deadline: float | None = None
    done_at: float | None = None
    first: int
    actions: tuple[Text, ...]
    granted: Rows
    used: Rows
    service: tuple[float, ...]
    kills: tuple[int, ...]
    told: tuple[int, ...]


class Timeline(Value):
    """One run.

    Attributes
    ----------
    about
        Where the workload comes from.
    resources, units
        Names and units, in the order of all amounts.
    begins, seconds
        Of every period on the simulated clock.
    capacity
        ``[t][r]``: of all pools together.
    deciding_seconds
        Process time of every decision.
    jobs
        The jobs that came, in order of submission.
    told
        Every different reason that plans gave.
    plans
        How good every plan is; empty where the policy makes none.
    """

    about: About | None = None
    resources: tuple[Name, ...]
    units: tuple[Text, ...]
    begins: tuple[float, ...]
    seconds: tuple[NonNegative, ...]
    capacity: Rows
    deciding_seconds: tuple[NonNegative, ...]
    jobs: tuple[JobTimeline, ...]
    told: tuple[Told, ...] = ()
    plans: tuple[PlanNote | None, ...] = ()

    @model_validator(mode="after")
    def _has_one_entry_per_period(self) -> Self:
        n, width = len(self.begins), len(self.resources)
        rows = {"seconds": self.seconds, "capacity": self.capacity, "deciding_seconds": self.deciding_seconds, "plans": self.plans or self.begins}
        wrong = [name for name, row in rows.items() if len(row) != n]
        if len(self.units) != width or any(len(row) != width for row in self.capacity):
            wrong.append("units or capacity")
        wrong += [f"jobs[{j}]" for j, job in enumerate(self.jobs) if not _fits(job, n, width, len(self.told))]
        if wrong:
            message = f"has not one entry per period and resource in {', '.join(wrong[:5])}; give what `simulate --record` or `sweep` wrote"
            raise PydanticCustomError("fault", "{message}", {"message": message})
        return self


def timeline_of(run: Run) -> Timeline:
    """Return the timeline of a run that kept its plans."""
    jobs, n = run.workload.jobs, len(run.workload.resources)
    rows: dict[int, list[tuple[int, float, JobPeriod, int]]] = {}
    reasons: dict[Told, int] = {}
    for t, record in enumerate(run.periods):
        told = _told(record.plan, reasons)
        for each in record.jobs:
            rows.setdefault(each.index, []).append((t, record.seconds, each, told.get(jobs[each.index].id, -1)))
    return Timeline(
        about=run.workload.about,
        resources=tuple(resource.name for resource in run.workload.resources),
        units=tuple(resource.unit for resource in run.workload.resources),
        begins=tuple(record.begins for record in run.periods),
        seconds=tuple(record.seconds for record in run.periods),
        capacity=tuple(_rounded([sum(column) for column in zip(*record.capacity.values(), strict=True)]) for record in run.periods),
        deciding_seconds=tuple(round(record.deciding_seconds, _DIGITS) for record in run.periods),
        jobs=tuple(_job(run, j, done, n) for j, done in sorted(rows.items(), key=lambda item: (jobs[item[0]].submitted, item[0]))),
        told=tuple(reasons),
        plans=_notes(run.periods),
    )


def _fits(job: JobTimeline, n_periods: int, n_resources: int, n_told: int) -> bool:
    n = len(job.actions)
    return (
        0 <= job.first <= n_periods - n
        and all(len(row) == n for row in (job.granted, job.used, job.service, job.kills, job.told))
        and all(len(row) == n_resources for row in (*job.granted, *job.used))
        and all(-1 <= i < n_told for i in job.told)
    )


def _job(run: Run, j: int, done: Sequence[tuple[int, float, JobPeriod, int]], n: int) -> JobTimeline:
    job = run.workload.jobs[j]
    return JobTimeline(
        id=job.id,
        submitted=job.submitted,
        deadline=job.deadline,
        done_at=run.done_at[j],
        first=done[0][0],
        actions=tuple(each.action for _, _, each, _ in done),
        granted=tuple(_granted(each, n) for _, _, each, _ in done),
        used=tuple(_used(each, seconds) for _, seconds, each, _ in done),
        service=tuple(round(each.progress / seconds, _DIGITS) for _, seconds, each, _ in done),
        kills=tuple(each.kills for _, _, each, _ in done),
        told=tuple(reason for _, _, _, reason in done),
    )


def _told(plan: Plan | None, reasons: dict[Told, int]) -> dict[str, int]:
    """Return the index of every job's reason by its id, and enter reasons that are new."""
    if plan is None:
        return {}
    return {job.id: reasons.setdefault(Told(code=job.reason.code, message=job.reason.message), len(reasons)) for job in plan.jobs}


def _notes(periods: Sequence[PeriodRecord]) -> tuple[PlanNote | None, ...]:
    plans = [record.plan for record in periods]
    if all(plan is None for plan in plans):
        return ()
    return tuple(None if plan is None else PlanNote(status=plan.certificate.status, gap=plan.certificate.gap) for plan in plans)


def _granted(each: JobPeriod, n: int) -> tuple[float, ...]:
    held = [grant.amounts for grant in each.holding or () if grant is not None]
    return _rounded([sum(column) for column in zip(*held, strict=True)]) if held else (0.0,) * n


def _used(each: JobPeriod, seconds: float) -> tuple[float, ...]:
    return _rounded([sum(column) * each.ran / seconds for column in zip(*each.usage, strict=True)])


def _rounded(amounts: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(amount, _DIGITS) for amount in amounts)
