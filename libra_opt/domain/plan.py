"""What is answered: a plan, its certificate, and why each job got what it got."""

from typing import Literal

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.base import Name, NonNegative, Value
from libra_opt.domain.options import BackendName
from libra_opt.domain.state import Period

__all__ = ["PLAN_FORMAT", "Action", "Certificate", "Forecasted", "Plan", "PlannedJob", "PlannedStage", "Price", "Reason", "Status", "Tier"]

PLAN_FORMAT = "libra-opt/plan/1"

Action = Literal["admit", "keep", "grow", "shrink", "reshape", "migrate", "evict", "queue"]
Status = Literal["optimal", "within_gap", "feasible", "fallback"]


class Reason(Value):
    """Why a job got what it got: a fixed code for machines and a sentence for people."""

    code: Name
    message: str


class PlannedStage(Value):
    """What one stage holds in the next period."""

    name: Name
    pool: Name
    resources: Amounts


class PlannedJob(Value):
    """What happens to one job; a job that waits or leaves has no stages.

    Attributes
    ----------
    service
        Served share of its demand, 0..1.
    """

    id: Name
    action: Action
    service: NonNegative
    stages: tuple[PlannedStage, ...] = ()
    reason: Reason


class Tier(Value):
    """One tier of the strict objective order: what the plan reaches, and what none can pass given the tiers before it.

    Tiers ``protected_lost``, ``over_budget_seconds`` and ``guarantee_shortfall`` are minimised (`bound` <= `objective`), ``value`` is
    maximised (`bound` >= `objective`).
    """

    name: Literal["protected_lost", "over_budget_seconds", "guarantee_shortfall", "value"]
    objective: float
    bound: float


class Certificate(Value):
    """How good the plan is, and how that is known.

    Attributes
    ----------
    status
        ``optimal``: no plan is better. ``within_gap``: none is better by more than the gap asked for. ``feasible``: the limit was hit first.
        ``fallback``: the plan comes from a rule of thumb, or keeps what runs.
    objective, bound, gap
        Value of the plan, the most any plan can reach, and (bound - objective) / bound.
    limit
        Which limit was hit, or null.
    tiers
        All tiers of the strict order.
    """

    status: Status
    objective: float
    bound: float
    gap: NonNegative
    backend: BackendName
    limit: Literal["effort"] | None = None
    tiers: tuple[Tier, ...] = ()


class Price(Value):
    """Shadow price: what one more unit of a shared limit would add to the objective, per unit of the resource."""

    kind: Literal["pool", "queue_ceiling", "queue_guarantee", "reserve", "preemption_budget"]
    name: str
    resource: str
    price: float


class Forecasted(Value):
    """What was forecast for a stage that brought a history."""

    job: Name
    stage: Name
    method: str
    demand: Amounts
    demand_intensity: tuple[NonNegative, ...]
    need: Amounts


class Plan(Value):
    """The answer to one state."""

    format: Literal["libra-opt/plan/1"] = "libra-opt/plan/1"
    state_digest: str
    period: Period
    jobs: tuple[PlannedJob, ...]
    certificate: Certificate
    utilisation: dict[str, dict[str, float]] = {}
    prices: tuple[Price, ...] = ()
    forecast: tuple[Forecasted, ...] = ()
    warnings: tuple[str, ...] = ()
