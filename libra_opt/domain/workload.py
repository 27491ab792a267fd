"""What a simulated cluster is given to do: jobs with the demand they really have, which no allocator is shown.

A workload is a document as a state is: it can be written by hand, generated with a seed or converted from a trace. Its truth is piecewise constant: a job is a
sequence of steps, a step a sequence of parts, and in a part every stage can use so much of the compressible resources and must hold so much of the others.
"""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.base import Flag, Name, NonNegative, Positive, Real, Seconds, Share, Value, WholeNumber
from libra_opt.domain.cluster import Pool, Queue
from libra_opt.domain.faults import Location, location_of
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.job import PreemptionCost
from libra_opt.domain.quantity import LIMIT, parse
from libra_opt.domain.resource import DEFAULT_RESOURCES, Resource
from libra_opt.domain.state import About, State

__all__ = ["WORKLOAD_FORMAT", "CapacityChange", "ObservationNoise", "Part", "Restart", "Step", "Workload", "WorkloadJob", "WorkloadStage"]

WORKLOAD_FORMAT = "libra-opt/workload/1"

_ProgressSeconds = Annotated[float, Real(1e-3, 1e9)]


class Part(Value):
    """A stretch of a step in which nothing changes.

    Attributes
    ----------
    seconds
        How long it takes: at full service where the job's clock is its progress, on the wall clock where it is that.
    phase
        What the job calls this part of its step (rollout, train); neighbouring parts of one name are one phase.
    use
        Per stage what it can use of compressible resources at full service, and what it must hold of the others; a stage that is missing is idle.
    waits_for_memory
        The phase that begins here begins only when its stages hold the memory they need; without this, a stage short of memory is killed.
    """

    seconds: _ProgressSeconds
    phase: Name = "main"
    use: FrozenMapping[Name, Amounts] = FrozenMapping()
    waits_for_memory: Flag = False


class Step(Value):
    """One training step (iteration): parts in order, after which the work counts as finished and a checkpoint stands.

    Attributes
    ----------
    parts
        At least one.
    trajectories, tokens
        What the step finishes, for the meanings of throughput that count them.
    """

    parts: Annotated[tuple[Part, ...], Field(json_schema_extra={"minItems": 1}, max_length=10_000, fail_fast=True)]
    trajectories: NonNegative = 0
    tokens: NonNegative = 0


class WorkloadStage(Value):
    """What a stage declares, before anything was observed of it.

    Attributes
    ----------
    name
        Unlike the names of the job's other stages.
    min_quota, max_quota, unit, pools
        As in a stage of a state.
    request
        What it asks for when it is submitted: demand and need until there is a history, and what a static reservation holds.
    request_in
        By phase: the memory it asks for in it, where that is less than in `request`. Until a step was observed it needs what it asks for in the phase it is
        in, and in all that do not wait for their memory, as they may come next.
    reports_queue
        It tells how many requests run and wait, as inference engines do.
    """

    name: Name = "main"
    min_quota: Amounts = Amounts()
    max_quota: Amounts = Amounts()
    unit: Annotated[int, WholeNumber(1, LIMIT - 1)] | None = None
    pools: FrozenMapping[Name, Annotated[float, Real(1e-6, 1e6)]] | None = None
    request: Amounts = Amounts()
    request_in: FrozenMapping[Name, Amounts] = FrozenMapping()
    reports_queue: Flag = False


class Restart(Value):
    """Seconds without progress when a job starts.

    Attributes
    ----------
    cold_seconds
        The first time, and when it was away for long.
    warm_seconds
        After a memory kill, or when it was away for at most `warm_within_seconds`.
    """

    cold_seconds: Seconds = 60
    warm_seconds: Seconds = 20
    warm_within_seconds: Seconds = 300


class WorkloadJob(Value):
    """One job and its truth.

    Attributes
    ----------
    id, queue, priority, weight, preemptible, min_runtime_seconds, preemption_cost, deadline
        As in a job of a state. `preemption_cost` is also what resizing and migrating really cost.
    submitted
        When it arrives, in seconds of the simulated clock.
    clock
        What moves its demand on: its own ``progress`` (a job starved in its training phase stays in it), or the ``wall`` clock since it was submitted.
    stages
        Its stages.
    steps
        Its steps in order.
    repeats
        Begin again with the first step after the last.
    work
        Work after which it is done, in cards x seconds (see `Workload`); missing: after its last step. Needed where it repeats.
    checkpoint_seconds
        Progress after which it saves inside a step; it always saves at the end of one.
    restart
        What starting costs.
    observed_before
        An earlier run of it was observed for so many periods, in which it was served in full; its history begins with them.
    earlier
        Steps that it had done when it was submitted, served in full and observed; its history begins with the latest of them.
    """

    id: Name
    queue: Name | None = None
    priority: Annotated[int, WholeNumber(-12, 12)] = 0
    weight: NonNegative = 1
    preemptible: Flag = True
    min_runtime_seconds: NonNegative = 0
    preemption_cost: PreemptionCost = PreemptionCost()
    submitted: Seconds = 0
    deadline: Seconds | None = None
    clock: Literal["progress", "wall"] = "progress"
    stages: Annotated[tuple[WorkloadStage, ...], Field(json_schema_extra={"minItems": 1}, max_length=64, fail_fast=True)] = (WorkloadStage(),)
    steps: Annotated[tuple[Step, ...], Field(json_schema_extra={"minItems": 1}, max_length=10_000, fail_fast=True)]
    repeats: Flag = False
    work: Positive | None = None
    checkpoint_seconds: Positive | None = None
    restart: Restart = Restart()
    observed_before: Annotated[int, WholeNumber(0, 1000)] = 0
    earlier: Annotated[tuple[Step, ...], Field(max_length=10_000, fail_fast=True)] = ()


class CapacityChange(Value):
    """A pool whose capacity changes, as when a node is lost or comes back.

    Attributes
    ----------
    at_seconds
        When, on the simulated clock; it counts from the next period on.
    pool, capacity
        Which pool, and what it has from then on.
    """

    at_seconds: Seconds
    pool: Name
    capacity: Amounts


class ObservationNoise(Value):
    """How observations differ from what happened.

    Attributes
    ----------
    spread
        Standard deviation of the logarithm of the factor on a measured amount.
    late, missing
        Share of observations that arrive a period late, and that never arrive.
    """

    spread: Share = 0
    late: Annotated[float, Real(0, 1)] = 0
    missing: Annotated[float, Real(0, 1)] = 0


class Workload(Value):
    """A cluster and the jobs that come to it.

    The work of a part is the cards its stages can use, times its seconds at full service; for a job that never uses cards, its dominant share of the
    cluster in cards.

    Attributes
    ----------
    format
        What the document is, and which version of it.
    about
        Where it comes from.
    period_seconds
        The rebalancing period, unless the simulation is told another.
    horizon_seconds
        When the simulation ends; missing: when all jobs are done.
    resources, pools, queues
        As in a state.
    jobs
        The jobs, at most 10,000.
    changes
        Capacity that changes on the way.
    noise
        How observations differ from what happened.
    """

    format: Literal["libra-opt/workload/1"] = "libra-opt/workload/1"
    about: About | None = None
    period_seconds: Annotated[float, Real(1e-3, 1e9)] = 60
    horizon_seconds: Annotated[float, Real(1e-3, 1e9)] | None = None
    resources: Annotated[tuple[Resource, ...], Field(json_schema_extra={"minItems": 1}, max_length=64, fail_fast=True)] = DEFAULT_RESOURCES
    pools: Annotated[tuple[Pool, ...], Field(json_schema_extra={"minItems": 1}, max_length=1000, fail_fast=True)]
    queues: Annotated[tuple[Queue, ...], Field(max_length=1000, fail_fast=True)] = ()
    jobs: Annotated[tuple[WorkloadJob, ...], Field(json_schema_extra={"minItems": 1}, max_length=10_000, fail_fast=True)]
    changes: Annotated[tuple[CapacityChange, ...], Field(max_length=10_000, fail_fast=True)] = ()
    noise: ObservationNoise = ObservationNoise()

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        found = list(_contradictions(self))
        if found:
            errors = [
                InitErrorDetails(type=PydanticCustomError("fault", "{message}", {"message": message}), loc=loc, input=None) for loc, message in found[:10_000]
            ]
            raise ValidationError.from_exception_data("Workload", errors)
        return self


def _contradictions(workload: Workload) -> Iterator[tuple[Location, str]]:
    units = {resource.name: resource.unit for resource in workload.resources}
    compressible = {resource.name for resource in workload.resources if resource.compressible}
    pools = {pool.name for pool in workload.pools}
    queues = {queue.name for queue in workload.queues}
    yield from _names(workload)
    yield from _cluster(workload)
    for c, change in enumerate(workload.changes):
        yield from _amounts(("changes", c, "capacity"), change.capacity, units)
        if change.pool not in pools:
            yield ("changes", c, "pool"), f"{change.pool!r} is no pool; there are {', '.join(sorted(pools))}"
    for j, job in enumerate(workload.jobs):
        yield from _job(j, job, queues)
        yield from _stages(j, job, units, compressible, pools)
        yield from _steps(j, job, units)


def _names(workload: Workload) -> Iterator[tuple[Location, str]]:
    yield from _twice("jobs", [job.id for job in workload.jobs])
    for kind in ("pools", "jobs"):
        if not getattr(workload, kind):
            yield (kind,), "has no entries, and a simulation needs at least one"


def _cluster(workload: Workload) -> Iterator[tuple[Location, str]]:
    """Yield what a state of this cluster would be refused for, as one is made of it in every period."""
    try:
        State(resources=workload.resources, pools=workload.pools, queues=workload.queues)
    except ValidationError as error:
        yield from ((location_of(each), each["msg"]) for each in error.errors(include_url=False))


def _job(j: int, job: WorkloadJob, queues: set[str]) -> Iterator[tuple[Location, str]]:
    if job.queue is not None and job.queue not in queues:
        yield ("jobs", j, "queue"), f"{job.queue!r} is no queue of this workload"
    if job.repeats and job.work is None:
        yield ("jobs", j, "work"), "is missing, and a job that repeats never ends without it; say how much work it has"
    if job.earlier and (job.observed_before or job.clock == "wall"):
        yield ("jobs", j, "earlier"), "does not go with observed_before or the wall clock, which tell of an earlier run; leave one of them out"
    if not job.stages:
        yield ("jobs", j, "stages"), "has no entries; a job needs at least one"
    if not job.steps:
        yield ("jobs", j, "steps"), "has no entries; a job needs at least one"


def _stages(j: int, job: WorkloadJob, units: dict[str, str], compressible: set[str], pools: set[str]) -> Iterator[tuple[Location, str]]:
    names = [stage.name for stage in job.stages]
    phases = {part.phase for step in (*job.earlier, *job.steps) for part in step.parts}
    for s, stage in enumerate(job.stages):
        here: Location = ("jobs", j, "stages", s)
        if names.index(stage.name) != s:
            yield (*here, "name"), f"{stage.name!r} is the name of another stage of this job; call it otherwise"
        for field in ("min_quota", "max_quota", "request"):
            yield from _amounts((*here, field), getattr(stage, field), units)
        yield from _requests_in((*here, "request_in"), stage, units, compressible, phases)
        for pool in stage.pools or ():
            if pool not in pools:
                yield (*here, "pools", pool), f"is no pool; there are {', '.join(sorted(pools))}"


def _requests_in(here: Location, stage: WorkloadStage, units: dict[str, str], compressible: set[str], phases: set[str]) -> Iterator[tuple[Location, str]]:
    is_whole = not any(_amounts(here, stage.request, units))
    for phase, asked in stage.request_in.items():
        if phase not in phases:
            yield (*here, phase), f"is no phase of this job's steps; they have {', '.join(sorted(phases))}"
        wrong = list(_amounts((*here, phase), asked, units))
        yield from wrong
        for name, written in asked.items() if is_whole and not wrong else ():
            if name in compressible:
                yield (*here, phase, name), "is compressible, and what is asked for in a phase is memory; leave it out"
            elif name not in stage.request:
                yield (*here, phase, name), "is not in request, which says what is asked for elsewhere; state it there as well"
            elif parse(written, units[name]) > parse(stage.request[name], units[name]):
                yield (*here, phase, name), f"{written} is above the request of {stage.request[name]}; raise that or lower this"


def _steps(j: int, job: WorkloadJob, units: dict[str, str]) -> Iterator[tuple[Location, str]]:
    names = {stage.name for stage in job.stages}
    known: set[Amounts] = set()
    for field, i, step in (*(("earlier", i, step) for i, step in enumerate(job.earlier)), *(("steps", i, step) for i, step in enumerate(job.steps))):
        if not step.parts:
            yield ("jobs", j, field, i, "parts"), "has no entries; a step needs at least one"
        for p, part in enumerate(step.parts):
            for name, amounts in part.use.items():
                here: Location = ("jobs", j, field, i, "parts", p, "use", name)
                if name not in names:
                    yield here, f"is no stage of this job; it has {', '.join(sorted(names))}"
                if amounts not in known:
                    known.add(amounts)
                    yield from _amounts(here, amounts, units)


def _twice(kind: str, names: list[str]) -> Iterator[tuple[Location, str]]:
    seen: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in seen:
            yield (kind, i), f"{name!r} is also the name of {kind}[{seen[name]}]; names must differ"
        seen.setdefault(name, i)


def _amounts(here: Location, amounts: Amounts, units: dict[str, str]) -> Iterator[tuple[Location, str]]:
    for name, written in amounts.items():
        if name not in units:
            yield (*here, name), f"unknown resource; this workload has {', '.join(units)}"
            continue
        try:
            parse(written, units[name])
        except ValueError as error:
            yield (*here, name), str(error)
