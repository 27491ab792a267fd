"""What is asked: jobs, their stages, what they hold now and what moving them costs."""

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.base import Either, Flag, Name, NonNegative, Numerous, Positive, Real, Seconds, Share, Time, Value, WholeNumber
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.observation import LONGEST_HISTORY, Sample
from libra_opt.domain.options import LONGEST_LOOK
from libra_opt.domain.profile import LONGEST_PROFILE, ProfileEntry
from libra_opt.domain.quantity import LIMIT

__all__ = ["Allocation", "Job", "JobFields", "PreemptionCost", "Rates", "Stage", "StageFields"]

_Speed = Annotated[float, Real(1e-6, 1e6)]
_Charge = Annotated[Seconds | FrozenMapping[Name, Seconds], Either("is not a number of seconds from 0 to 1e+09, nor an object of them by resource")]
_Unit = Annotated[
    Annotated[int, WholeNumber(1, LIMIT - 1)] | Amounts, Either("is not a whole number of cards from 1 to 2^63 - 1, nor an object of amounts by resource")
]
_Pools = Annotated[Annotated[tuple[Name, ...], Field(max_length=10_000, fail_fast=True)] | FrozenMapping[Name, _Speed], Either()]
_Ahead = Annotated[tuple[Amounts, ...], Field(max_length=LONGEST_LOOK - 1, fail_fast=True)]
_Entries = Annotated[tuple[ProfileEntry, ...], Field(max_length=LONGEST_PROFILE, fail_fast=True)]
_Phases = Annotated[tuple[Name, ...], Field(max_length=1000, fail_fast=True)]
_History = Annotated[tuple[Sample, ...], Field(max_length=LONGEST_HISTORY, fail_fast=True)]


class Allocation(Numerous):
    """What a stage holds now.

    Attributes
    ----------
    pool
        The pool it sits in.
    resources
        What it holds per resource; missing is 0.
    """

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

    evict_seconds: Seconds = 45
    resize_seconds: _Charge = 15
    migrate_seconds: Seconds = 45


class Rates(Value):
    """Progress per second of full service, for the policy that counts it.

    Attributes
    ----------
    steps, trajectories, tokens
        Progress in that meaning of throughput.
    cards
        Work in cards x seconds, that is the cards it uses at full service, in the mean over its steps. A job that states none of the others in the meaning
        that is asked for is worth half of these and half of the cards of its present demand: its worth must not follow its phase alone.
    """

    steps: NonNegative | None = None
    trajectories: NonNegative | None = None
    tokens: NonNegative | None = None
    cards: NonNegative | None = None


class StageFields(Numerous):
    """What a stage asks; a job of one stage may carry these fields itself.

    Attributes
    ----------
    min_quota, max_quota
        All-or-nothing floor and ceiling when the job runs (R2, R3). Missing: 0 and unlimited.
    unit
        Gang granularity per resource (R8); a plain number means cards of `gpu`.
    demand
        What the stage can use in the next period at full service. For an incompressible resource it is the need, unless `need` says.
    demand_ahead
        The demand of the periods after the next one, at most 63, read as `demand` is; for `Options.lookahead`, and where that is longer the last is
        held. Only beside `demand`.
    history
        What was observed instead of `demand`, oldest first, one entry per period (at most 10,000): usage per resource, null where nothing was
        measured; or an object with `usage` and what else was observed.
    waits_in
        Phases of the history at whose beginning the stage waits until it holds the memory that they need, instead of dying short of it, as an update does that
        asks before it loads; at most 1,000. Their memory is needed from when the job stands there, and is not held for them before.
    demand_intensity
        Equally likely factors on the compressible demand (R6), at most 1,000, each up to 1e6; none means the demand is certain.
    need
        Incompressible amounts that are covered whenever the stage runs (R5).
    pools
        Pools it may sit in, with its speed in each (R4); missing: any, at speed 1. A list of names means speed 1.
    curve
        Points (share of demand, service) of a concave service curve of its own, from service 0..1 upward (R6); at most 1,000, and times the intensities at
        most 10,000.
    profile
        A measured table in place of a demand and a curve, at most 1,000 entries (R15): only what an entry lists can be held, exactly, and served is the
        entry's rate as a share of the full one. What entries do not list follows `min_quota` and `need`. Beside it only these, `max_quota`, `unit` and
        `allocation`.
    full_rate
        The rate of full service, not below the highest of the profile, and that unless it is given.
    allocation
        What it holds now; missing or all zero: nothing.
    """

    min_quota: Amounts = Amounts()
    max_quota: Amounts = Amounts()
    unit: _Unit | None = None
    demand: Amounts | None = None
    demand_ahead: _Ahead = ()
    history: _History | None = None
    waits_in: _Phases = ()
    demand_intensity: Annotated[tuple[Share, ...], Field(max_length=1000, fail_fast=True)] = ()
    need: Amounts | None = None
    pools: _Pools | None = None
    curve: Annotated[tuple[tuple[Share, Annotated[float, Real(0, 1, tiny=1e-9)]], ...], Field(max_length=1000, fail_fast=True)] | None = None
    profile: _Entries | None = None
    full_rate: Positive | None = None
    allocation: Allocation | None = None


class _StageName(Numerous):
    name: Name = "main"


_ONLY_STAGE = (_StageName().name,)


class Stage(StageFields, _StageName):
    """One stage of a job.

    Attributes
    ----------
    name
        rollout, reward, train, replay, or what the job calls it; unlike the names of the job's other stages.
    """


class JobFields(Numerous):
    """What a job says of itself, its stages apart.

    Attributes
    ----------
    id
        Its name; no two jobs share one.
    queue
        Its tenant; none: no guarantee and no ceiling.
    priority, weight
        Its value is weight x priority_base^priority x the work (or rate) of a fully served period.
    preemptible, min_runtime_seconds, running_seconds
        A running job that is not preemptible, or has run for less than its minimum, is protected (R13).
    preemption_cost
        What moving it costs (R11).
    submitted, deadline
        Seconds on the caller's clock.
    remaining
        Seconds of full service left.
    remaining_work
        What is left in the unit of its worth, for a job whose demand changes: tokens (trajectories, steps) where it states that rate, else cards
        x periods. Only looking ahead reads it, and takes it before `remaining`.
    rates
        Its progress, where the policy counts it.
    coupling
        How the stages' services make the job's (R7): ``pipelined``, the slowest sets the pace.
    """

    id: Name
    queue: Name | None = None
    priority: Annotated[int, WholeNumber(-12, 12)] = 0
    weight: NonNegative = 1
    preemptible: Flag = True
    min_runtime_seconds: NonNegative = 0
    running_seconds: NonNegative = 0
    preemption_cost: PreemptionCost = PreemptionCost()
    submitted: Time | None = None
    deadline: Time | None = None
    remaining: NonNegative | None = None
    remaining_work: NonNegative | None = None
    rates: Rates = Rates()
    coupling: Literal["pipelined"] = "pipelined"


class Job(StageFields, JobFields):
    """A job: one or more stages that run together or not at all.

    Attributes
    ----------
    stages
        Its stages, 1 to 64; a job of one stage may carry that stage's fields itself instead.
    """

    stages: Annotated[tuple[Stage, ...], Field(max_length=64, fail_fast=True, json_schema_extra={"minItems": 1})] | None = None

    @cached_property
    def is_shorthand(self) -> bool:
        """True when the job carries its one stage's fields itself."""
        return self.stages is None

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The names of its stages, whichever way they were written."""
        return _ONLY_STAGE if self.stages is None else tuple(stage.name for stage in self.stages)

    @cached_property
    def all_stages(self) -> tuple[Stage, ...]:
        """The stages, whichever way they were written."""
        if self.stages is not None:
            return self.stages
        fields: dict[str, Any] = {name: getattr(self, name) for name in StageFields.model_fields if name in self.model_fields_set}
        return (Stage.model_construct(**fields),)
