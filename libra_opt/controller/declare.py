"""What the configuration says, put over what was observed; and jobs that cannot be planned, left out with what they hold."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from libra_opt.controller.settings import Settings
from libra_opt.domain import Amounts, Job, Pool, Queue, Stage, State
from libra_opt.domain.faults import fault_of, location_of
from libra_opt.domain.job import JobFields, StageFields
from libra_opt.errors import Fault, InputError
from libra_opt.scheduler import Observed

__all__ = ["declare", "without"]


def declare(observed: Observed, settings: Settings) -> Observed:
    """Return what was observed with what the configuration says of queues and jobs put over it, every fault that leaves out a job noted.

    Raises
    ------
    InputError
        The state contradicts itself in more than single jobs.
    """
    state, notes = observed.state, list(observed.notes)
    queues = _queues(state, settings.queues)
    known = {job.id for job in state.jobs}
    notes += [f"the configuration speaks of job {name!r}, which is not there" for name in settings.jobs if name not in known]
    jobs = [_told(job, settings.jobs[job.id], notes) if job.id in settings.jobs else job for job in state.jobs]
    given = {name: getattr(state, name) for name in state.model_fields_set}
    while True:
        try:
            declared = State.model_validate({**given, "queues": queues, "jobs": tuple(jobs)})
        except ValidationError as error:
            given["pools"] = _leave_out(state, given.get("pools", ()), jobs, error, notes)
        else:
            return Observed(state=declared, notes=tuple(notes))


def without(state: State, pools: tuple[Pool, ...], job: Job) -> tuple[Pool, ...]:
    """Return the pools without what a job holds, for a job that is left out of planning but keeps running."""
    resources = {resource.name: resource for resource in state.resources}
    for stage in job.all_stages:
        if stage.allocation is None:
            continue
        held = {name: amount for name, amount in stage.allocation.resources.items() if name in resources}
        pools = tuple(_less(pool, held, resources) if pool.name == stage.allocation.pool else pool for pool in pools)
    return pools


def _less(pool: Pool, held: Mapping[str, Any], resources: Mapping[str, Any]) -> Pool:
    left = dict(pool.capacity)
    for name in held.keys() & left.keys():
        resource = resources[name]
        left[name] = resource.write(max(0, resource.quanta(left[name], round_up=False) - resource.quanta(held[name], round_up=True)))
    return pool.replace({"capacity": left})


def _queues(state: State, told: Mapping[str, Queue]) -> tuple[Queue, ...]:
    known = {queue.name for queue in state.queues}
    changed = [_queue(queue, told[queue.name], state) if queue.name in told else queue for queue in state.queues]
    return (*changed, *(queue for name, queue in told.items() if name not in known))


def _queue(said: Queue, told: Queue, state: State) -> Queue:
    """Return a queue with what the configuration says; a guarantee that it adds lies under the ceiling that the scheduler has, never above it."""
    changes = _given(told, ("name",))
    if said.borrowing_limit is None or "nominal_quota" not in changes or "borrowing_limit" in changes:
        return said.replace(changes)
    try:
        return said.replace({**changes, **_under_ceiling(said, told, state)})
    except ValueError:
        return said.replace(changes)  # an amount that cannot be read: the state says which, and why


def _under_ceiling(said: Queue, told: Queue, state: State) -> dict[str, Any]:
    nominal, limit = dict(told.nominal_quota), dict(said.borrowing_limit or {})
    for resource in state.resources:
        if resource.name in limit:
            ceiling = resource.quanta(said.nominal_quota.get(resource.name, 0), round_up=False) + resource.quanta(limit[resource.name], round_up=False)
            guaranteed = min(ceiling, resource.quanta(nominal.get(resource.name, 0), round_up=False))
            nominal[resource.name], limit[resource.name] = resource.write(guaranteed), resource.write(ceiling - guaranteed)
    return {"nominal_quota": nominal, "borrowing_limit": limit}


def _given(value: Queue | Job | Stage, but: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.model_fields_set if name not in but}


def _told(job: Job, told: Job, notes: list[str]) -> Job:
    """Return a job with the fields that the configuration gives; what was measured of its demand stays."""
    own = {name: value for name, value in _given(told, ("id", "stages")).items() if name in JobFields.model_fields}
    shorthand = {name: value for name, value in _given(told, ("id", "stages")).items() if name in StageFields.model_fields}
    by_stage = {stage.name: _given(stage, ("name",)) for stage in told.stages or ()}
    if shorthand and len(job.stage_names) > 1:
        named = ", ".join(job.stage_names)
        notes.append(f"job {job.id!r} has the stages {named}; write [[jobs.{job.id}.stages]] for each, what is said of it as one is not used")
    elif shorthand:
        by_stage = {job.stage_names[0]: shorthand}
    notes += [f"the configuration speaks of stage {name!r} of job {job.id!r}, which is not there" for name in by_stage if name not in job.stage_names]
    stages = [stage.replace(_beside_measured(stage, by_stage.get(stage.name, {}))) for stage in job.all_stages]
    if job.is_shorthand:
        return job.replace({**own, **_given(stages[0], ("name",))})
    return job.replace({**own, "stages": tuple(stages)})


def _beside_measured(stage: Stage, told: Mapping[str, Any]) -> dict[str, Any]:
    measured = ("demand", "demand_intensity", "demand_ahead") if stage.history else ()
    return {name: _by_resource(getattr(stage, name), value) for name, value in told.items() if name not in measured}


def _by_resource(said: object, told: object) -> object:
    """Return amounts with what the configuration says put over them resource by resource; anything else as the configuration says it."""
    return Amounts({**said, **told}) if isinstance(said, Amounts) and isinstance(told, Amounts) else told


def _leave_out(state: State, pools: tuple[Pool, ...], jobs: list[Job], error: ValidationError, notes: list[str]) -> tuple[Pool, ...]:
    """Take the faulty jobs from the list; raise where a fault is nobody's."""
    faulty: dict[int, list[Fault]] = {}
    for details in error.errors(include_url=False):
        match location_of(details):
            case ("jobs", int(j), *_):
                faulty.setdefault(j, []).append(fault_of(details, State))
            case _:
                faults = tuple(fault_of(each, State) for each in error.errors(include_url=False))
                raise InputError("what the scheduler says, with the configuration", faults) from None
    for j in sorted(faulty, reverse=True):
        notes.append(f"job {jobs[j].id!r} is left out and keeps what it holds: {'; '.join(map(str, faulty[j]))}")
        try:
            pools = without(state, pools, jobs[j])
        except ValueError as wrong:
            notes.append(f"what job {jobs[j].id!r} holds cannot be read, and is not taken off: {wrong}")
        del jobs[j]
    return pools
