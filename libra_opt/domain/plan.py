"""What is answered: a plan, its certificate, and why each job got what it got."""

from typing import Annotated, Final, Literal

from pydantic import Field

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.base import LEFT_OUT, Finite, Name, Natural, Real, Text, Value, WholeNumber
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.options import LONGEST_LOOK, BackendName
from libra_opt.domain.state import Period

__all__ = [
    "DISCOUNT",
    "PLAN_FORMAT",
    "REASON_CODES",
    "Action",
    "AheadJob",
    "AheadPeriod",
    "Binding",
    "Certificate",
    "Forecasted",
    "ForecastedAhead",
    "Horizon",
    "Plan",
    "PlannedJob",
    "PlannedStage",
    "Price",
    "Reason",
    "Status",
    "Tier",
]

PLAN_FORMAT = "libra-opt/plan/1"

DISCOUNT: Final = 0.995
"""What value is worth, looking ahead, that comes one period later: so little less that of equal plans the one that works now is taken."""

REASON_CODES: Final = (
    "fully_served",
    "own_limit",
    "partly_served",
    "queue_ceiling",
    "cost_ceiling",
    "reserved",
    "move_not_worth_it",
    "preemption_budget",
    "no_room",
    "evicted",
    "shed",
    "no_gain",
    "never_fits",
    "later",
)
"""Codes of reasons; `docs/reasons.md` says what each means and what to do."""

Action = Literal["admit", "keep", "grow", "shrink", "reshape", "migrate", "evict", "queue"]
_Many = Field(max_length=10_000_000, fail_fast=True)
_Score = Annotated[float, Real(0, 1e300)]
Status = Literal["optimal", "within_gap", "feasible", "fallback"]


class Binding(Value):
    """The limit that stands in a job's way, the first of them where there are several.

    Attributes
    ----------
    rule
        Which rule of `models/allocation.md`, as ``R1``.
    pool, queue, resource
        Whose limit it is, where the rule speaks of one.
    """

    rule: Name
    pool: Name | None = LEFT_OUT
    queue: Name | None = LEFT_OUT
    resource: Name | None = LEFT_OUT

    @property
    def in_words(self) -> str:
        """The limit in a few words.

        Examples
        --------
        >>> Binding(rule="R1", pool="a100", resource="gpu").in_words
        'R1 gpu in a100'
        """
        places = (f" {self.resource}" if self.resource else "", f" in {self.pool}" if self.pool else "", f" of queue {self.queue}" if self.queue else "")
        return f"{self.rule}{''.join(places)}"


class Reason(Value):
    """Why a job got what it got; `docs/reasons.md` lists the codes.

    Attributes
    ----------
    code
        A fixed code, for machines.
    message
        A sentence, for people.
    kueue_reason
        The word that Kueue has for it, of those for pending workloads or of those for preemption; missing where it has none.
    binding
        The limit that stands in the way; missing where none does.
    wanted_service, wanted_value, wanted_price
        The bundle that the job would rather have, the best at the plan's shadow prices of those that serve it better: its service, 0..1; what it
        would bring beyond what the plan gives the job, charges of moving subtracted; and what it would take from others, the prices of all that
        it holds beyond what the plan gives the job, both in the unit of the objective. A plan near its bound gives nobody a bundle whose price is
        above its value; where the price is below, whole amounts stand in the way. Missing where the job has the most that it can use, where it
        fits nowhere, and where the back-end has no prices.
    """

    code: Name
    message: Text
    kueue_reason: Name | None = LEFT_OUT
    binding: Binding | None = LEFT_OUT
    wanted_service: _Score | None = LEFT_OUT
    wanted_value: Finite | None = LEFT_OUT
    wanted_price: Finite | None = LEFT_OUT


class PlannedStage(Value):
    """What one stage holds in the next period.

    Attributes
    ----------
    name, pool
        The stage, and the pool it sits in.
    resources
        What it holds per resource.
    """

    name: Name
    pool: Name
    resources: Amounts


class PlannedJob(Value):
    """What happens to one job; a job that waits or leaves has no stages.

    Attributes
    ----------
    id
        The job.
    action
        What the plan does to it.
    service
        Served share of its demand, 0..1.
    stages
        What its stages hold; empty for a job that waits or leaves.
    reason
        Why it got that.
    """

    id: Name
    action: Action
    service: _Score
    stages: Annotated[tuple[PlannedStage, ...], Field(max_length=64, fail_fast=True)] = ()
    reason: Reason


class Tier(Value):
    """One tier of the strict objective order: what the plan reaches, and what none can pass given the tiers before it.

    Tiers ``protected_lost``, ``over_budget_seconds``, ``guarantee_shortfall`` and ``unserved`` are minimised (`bound` <= `objective`), ``level`` and ``value``
    are maximised (`bound` >= `objective`). Only policies that divide fairly have ``unserved``, the jobs (queues) that have nothing, and ``level``, the least
    of those that have something and could use more.

    Attributes
    ----------
    name
        Which tier.
    objective, bound
        What the plan reaches, and what none can pass.
    """

    name: Literal["protected_lost", "over_budget_seconds", "guarantee_shortfall", "unserved", "level", "value"]
    objective: Finite
    bound: Finite


class Horizon(Value):
    """How good a plan is that looks ahead: what all its periods are worth together, see `models/lookahead.md`.

    Attributes
    ----------
    periods
        How many are planned together, the committed one among them.
    discount
        What value is worth that comes one period later.
    status
        As of the certificate: ``optimal``, ``within_gap`` of the gap asked for, or ``feasible``.
    objective, bound, gap
        Discounted value of all periods, the most that any plan of them can reach that is no worse in tiers 1 to 3 of the first, and the relative
        difference.
    """

    periods: Annotated[int, WholeNumber(2, LONGEST_LOOK)]
    discount: Annotated[float, Real(0, 1)]
    status: Literal["optimal", "within_gap", "feasible"]
    objective: Finite
    bound: Finite
    gap: _Score


class Certificate(Value):
    """How good the plan is, and how that is known.

    Attributes
    ----------
    status
        ``optimal``: no plan is better. ``within_gap``: none is better by more than the gap asked for
        (relative in value; in tier 3 as a share of the nominal quotas; tiers 1 and 2 are proven). ``feasible``: the limit was hit first.
        ``fallback``: the plan comes from a rule of thumb, or keeps what runs.
    objective, bound, gap
        Value of the plan, the most any plan can reach, and (bound - objective) / bound.
    limit
        Which limit was hit, or null.
    backend
        Who solved.
    tiers
        All tiers of the strict order.
    priced_bound
        The bound that the shadow prices prove by themselves, at or above `bound`, as whole amounts make a plan worth less than its relaxation; null
        where the back-end has no prices. The effect of one more unit of a limit is told from here, see `Price`.
    horizon
        The same for all periods of a plan that looks ahead, which may serve the first period less than it could; the fields above speak of the first
        period alone. Left out otherwise.
    """

    status: Status
    objective: Finite
    bound: Finite
    gap: _Score
    backend: BackendName
    limit: Literal["effort"] | None = None
    tiers: Annotated[tuple[Tier, ...], Field(max_length=6, fail_fast=True)] = ()
    priced_bound: Finite | None = LEFT_OUT
    horizon: Horizon | None = None


class Price(Value):
    """Shadow price: what one more unit of a shared limit would add to the bound that the prices prove.

    Of a relaxation, so a bound on the gain and not the gain: see "Shadow prices" in `docs/reasons.md` for the inequality that holds. A limit
    that is not listed has price 0: more of it brings no more than the gap.

    Attributes
    ----------
    kind
        ``pool`` (capacity, R1), ``queue_ceiling`` (nominal quota plus borrowing limit, R10), ``queue_guarantee`` (nominal quota as a guarantee,
        tier 3; here the price is what one unit *less* would add), ``reserve`` (what other queues keep from being lent, R10), ``cost_ceiling`` (R16),
        ``preemption_budget`` (R12).
    name, resource
        The pool or queue, and the resource; empty and ``seconds`` for the budget, empty and ``money`` for the cost ceiling (one unit of it per hour).
    price
        Objective per unit of the resource.
    """

    kind: Literal["pool", "queue_ceiling", "queue_guarantee", "reserve", "cost_ceiling", "preemption_budget"]
    name: Text
    resource: Text
    price: Finite


class ForecastedAhead(Value):
    """What was forecast for a stage in one period after the next.

    Attributes
    ----------
    demand, demand_intensity
        As in a stage of a state.
    """

    demand: Amounts
    demand_intensity: Annotated[tuple[_Score, ...], Field(max_length=1000, fail_fast=True)]


class Forecasted(Value):
    """What was forecast for a stage that brought a history.

    Attributes
    ----------
    job, stage
        Which stage.
    method
        How it was forecast.
    demand, demand_intensity, need
        As in a stage of a state.
    why
        What the forecast rests on, a sentence for people.
    ahead
        The periods after the next one, where the plan looks ahead; the need holds for all of them. Left out otherwise.
    """

    job: Name
    stage: Name
    method: Text
    demand: Amounts
    demand_intensity: Annotated[tuple[_Score, ...], Field(max_length=1000, fail_fast=True)]
    need: Amounts
    why: Text = ""
    ahead: Annotated[tuple[ForecastedAhead, ...], Field(max_length=LONGEST_LOOK - 1, fail_fast=True)] = ()


class AheadJob(Value):
    """What a job is to hold in a period after the next.

    Attributes
    ----------
    id
        The job.
    service
        Served share of its demand in that period, 0..1.
    stages
        What its stages hold.
    """

    id: Name
    service: _Score
    stages: Annotated[tuple[PlannedStage, ...], Field(max_length=64, fail_fast=True)]


class AheadPeriod(Value):
    """A period after the next, as the plan expects it; it commits to nothing.

    Attributes
    ----------
    index
        Number of the period.
    jobs
        The jobs that run, in the order of the state.
    """

    index: Natural
    jobs: Annotated[tuple[AheadJob, ...], Field(max_length=1_000_000, fail_fast=True)]


class Plan(Value):
    """The answer to one state.

    Attributes
    ----------
    format
        What the document is, and which version of it.
    state_digest
        Digest of the state that was planned.
    period
        The period that was planned.
    jobs
        What happens to every job of the state, in its order.
    certificate
        How good the plan is.
    utilisation
        Share of the capacity that is handed out, by pool and resource.
    cost_per_hour
        What all that is allocated costs for one hour, where the state has a cost ceiling (R16). Left out otherwise.
    prices
        Shadow prices of the shared limits.
    forecast
        What was forecast.
    ahead
        The periods after the next one, where the plan looks ahead. Left out otherwise.
    warnings
        What the caller should know.
    """

    format: Literal["libra-opt/plan/1"] = "libra-opt/plan/1"
    state_digest: Text
    period: Period
    jobs: Annotated[tuple[PlannedJob, ...], Field(max_length=1_000_000, fail_fast=True)]
    certificate: Certificate
    utilisation: FrozenMapping[Text, FrozenMapping[Text, Finite]] = FrozenMapping()
    cost_per_hour: Finite | None = LEFT_OUT
    prices: Annotated[tuple[Price, ...], _Many] = ()
    forecast: Annotated[tuple[Forecasted, ...], _Many] = ()
    ahead: Annotated[tuple[AheadPeriod, ...], Field(max_length=LONGEST_LOOK - 1, fail_fast=True)] = ()
    warnings: Annotated[tuple[Text, ...], _Many] = ()
