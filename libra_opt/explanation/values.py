"""What is answered when somebody asks why: the wanted bundle with its price, and the changes that would have helped."""

from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from libra_opt.domain import PlannedStage, Reason
from libra_opt.domain.base import Finite, Flag, Name, Natural, Text, Value
from libra_opt.domain.plan import Action

__all__ = ["KINDS", "Change", "Explanation", "Kind", "Part", "WantedBundle"]

Kind = Literal[
    "queue_ceiling",
    "queue_guarantee",
    "lending_limit",
    "cost_ceiling",
    "max_quota",
    "preemption_budget",
    "hold_periods",
    "capacity",
    "weight",
    "priority",
    "several",
]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""Kinds of change, in the order in which they are looked for; of two that cost the same, the earlier is the cheaper."""

_Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Part(Value):
    """What one part of a bundle costs at the shadow prices, beyond what the plan gives the job.

    Attributes
    ----------
    kind, name, resource
        As in a price of the plan.
    amount
        How much more of it the bundle uses, in the resource's unit.
    price
        What that costs, in the unit of the objective.
    """

    kind: Text
    name: Text
    resource: Text
    amount: Finite
    price: Finite


class WantedBundle(Value):
    """The bundle a job would rather have: of all that serve it better, the one whose value is most above its price (or least below).

    Attributes
    ----------
    service
        What it would be served, 0..1.
    stages
        What its stages would hold.
    value, price
        What it brings and what it takes from others, beyond what the plan gives the job; in the unit of the objective.
    parts
        What the price is made of.
    """

    service: float
    stages: tuple[PlannedStage, ...]
    value: Finite
    price: Finite
    parts: tuple[Part, ...]


class Change(Value):
    """A change of the state under which the job fares better, as a solve of the changed state has shown.

    Attributes
    ----------
    kind
        What is changed; see `KINDS`.
    settings
        The change, as `libra-opt whatif --set` takes it.
    share
        What it costs: see "The cheapest change" in `docs/reasons.md`.
    is_least
        Whether a step less of any part of it was tried and did not help.
    is_confirmed
        Whether the changed state was planned as `allocate` plans it, so that granting the change gives what is told. Where a state is large, changes beyond
        the cheapest that helps were planned with less effort only.
    action, service
        What becomes of the job.
    value
        Value of the whole plan after the change.
    """

    kind: Kind
    settings: tuple[Text, ...]
    share: _Share
    is_least: Flag
    is_confirmed: Flag = True
    action: Action
    service: float
    value: Finite


class Explanation(Value):
    """Why a job got what it got, and what would have changed that.

    Attributes
    ----------
    job, action, service, reason
        The job, and what the plan says of it.
    wanted
        What it would rather have; None where it has the most that it can use, where it fits nowhere, and where the plan has no prices.
    changes
        What would have admitted or grown it, the cheapest first, one of each kind that helps.
    why_none
        Where no change is listed: why.
    solves
        How many states were solved on the way.
    is_limit_hit
        Whether the search ended because it may not solve more.
    """

    job: Name
    action: Action
    service: float
    reason: Reason
    wanted: WantedBundle | None
    changes: tuple[Change, ...]
    why_none: Text = ""
    solves: Natural
    is_limit_hit: Flag = False

    @property
    def cheapest(self) -> Change | None:
        """The cheapest change, None where none helps."""
        return self.changes[0] if self.changes else None
