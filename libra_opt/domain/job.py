"""What is asked: jobs, their stages, what they hold now and what moving them costs."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.base import Flag, Name, NonNegative, Positive, Time, Value, Whole

__all__ = ["Allocation", "Job", "PreemptionCost", "Rates", "Stage", "StageFields"]

_Known = Annotated[int, Field(strict=True, ge=0)] | NonNegative | Annotated[str, Field(strict=True, max_length=64)]


class Allocation(Value):
    """What a stage holds now: a pool and an amount per resource (missing is 0)."""

    pool: Name
    resources: Amounts = Amounts()


class PreemptionCost(Value):
    """What a move costs, in seconds of lost service (restart, reshard, work since the last checkpoint).

    Attributes
    ----------
    evict_seconds
        Once per job that is stopped.
    migrate_seconds
        Once per stage that changes its pool.
    resize_seconds
        Once per stage whose costly resources change in place. A number holds for the resources that are costly; a mapping gives the
        charge of changing each resource by itself (those it does not name follow freely), of which the largest is paid.
    """

    evict_seconds: NonNegative = 45
    resize_seconds: NonNegative | dict[Name, NonNegative] = 15
    migrate_seconds: NonNegative = 45


class Rates(Value):
    """Progress per second of full service, per meaning of throughput; for the policy that counts it."""

    steps: NonNegative | None = None
    trajectories: NonNegative | None = None
    tokens: NonNegative | None = None


class StageFields(Value):
    """What a stage asks; a job of one stage may carry these fields itself.

    Attributes
    ----------
    min_quota, max_quota
        All-or-nothing floor and ceiling when the job runs (R2, R3). Missing: 0 and unlimited.
    unit
        Gang granularity per resource (R8); a plain number means cards of `gpu`.
    demand
        What the stage can use in the next period at full service. For an incompressible resource it is the need, unless `need` says.
    history
        Past usage instead of `demand`, oldest first, one entry per period; null where nothing was measured.
    demand_intensity
        Equally likely factors on the compressible demand (R6); none means the demand is certain.
    need
        Incompressible amounts that are covered whenever the stage runs (R5).
    pools
        Pools it may sit in, with its speed in each (R4); missing: any, at speed 1. A list of names means speed 1.
    curve
        Points (share of demand, service) of a concave service curve of its own, from service 0..1 upward (R6).
    allocation
        What it holds now; missing or all zero: nothing.
    """

    min_quota: Amounts = Amounts()
    max_quota: Amounts = Amounts()
    unit: Annotated[Whole, Field(gt=0)] | Amounts | None = None
    demand: Amounts | None = None
    history: tuple[dict[Name, _Known | None], ...] | None = None
    demand_intensity: tuple[NonNegative, ...] = ()
    need: Amounts | None = None
    pools: dict[Name, Positive] | tuple[Name, ...] | None = None
    curve: tuple[tuple[NonNegative, NonNegative], ...] | None = None
    allocation: Allocation | None = None


class Stage(StageFields):
    """One stage of a job (rollout, reward, train, replay)."""

    name: Name = "main"


class Job(StageFields):
    """A job: one or more stages that run together or not at all.

    Attributes
    ----------
    queue
        Its tenant; none: no guarantee and no ceiling.
    priority, weight
        Its value is weight x priority_base^priority x the work (or rate) of a fully served period.
    preemptible, min_runtime_seconds, running_seconds
        A running job that is not preemptible, or has run for less than its minimum, is protected (R13).
    submitted, deadline
        Seconds on the caller's clock.
    remaining
        Seconds of full service left.
    coupling
        How the stages' services make the job's (R7): ``pipelined``, the slowest sets the pace.
    """

    id: Name
    queue: Name | None = None
    priority: Annotated[Whole, Field(ge=-12, le=12)] = 0
    weight: NonNegative = 1
    preemptible: Flag = True
    min_runtime_seconds: NonNegative = 0
    running_seconds: NonNegative = 0
    preemption_cost: PreemptionCost = PreemptionCost()
    submitted: Time | None = None
    deadline: Time | None = None
    remaining: NonNegative | None = None
    rates: Rates = Rates()
    coupling: Literal["pipelined"] = "pipelined"
    stages: Annotated[tuple[Stage, ...], Field(min_length=1)] | None = None

    @cached_property
    def is_shorthand(self) -> bool:
        """True when the job carries its one stage's fields itself."""
        return self.stages is None

    @cached_property
    def all_stages(self) -> tuple[Stage, ...]:
        """The stages, whichever way they were written."""
        if self.stages is not None:
            return self.stages
        fields: Mapping[str, object] = {name: getattr(self, name) for name in StageFields.model_fields if name in self.model_fields_set}
        return (Stage.model_construct(**fields),)
