"""What every back-end takes and gives: the seam between the program and whoever solves it."""

from dataclasses import dataclass
from typing import Literal, Protocol

from libra_opt.domain.options import BackendName, Options
from libra_opt.formulation.program import Choice, Program, Score
from libra_opt.formulation.shadow import Prices

__all__ = ["Backend", "Bounds", "Divided", "Limits", "Prices", "Solution"]


@dataclass(frozen=True)
class Bounds:
    """What no plan can pass, tier by tier, among plans that are no worse in the tiers before."""

    lost: float
    over_seconds: float
    shortfall: float
    value: float


@dataclass(frozen=True)
class Limits:
    """How much of tiers 1 to 3 a plan may spend; what a bound on the next tier takes for granted."""

    lost: float
    over_seconds: float
    shortfall: float

    @classmethod
    def of(cls, score: Score) -> "Limits":
        """Return the limits that allow what `score` reaches."""
        return cls(score.lost, score.over_seconds, score.shortfall)


@dataclass(frozen=True)
class Divided:
    """How fairly a policy that divides could divide: bounds on tiers ``unserved`` and ``level``, and whether the plan is proven to be fairest."""

    unserved: int
    level: float
    is_proven: bool


@dataclass(frozen=True)
class Solution:
    """The outcome of one solve; there is one whatever happened.

    Attributes
    ----------
    program
        The program that `choice` speaks of: the one given, or the same on a finer grid.
    choice
        The best plan found, always feasible.
    score
        Its tiers.
    bounds
        What no plan can pass; valid even where the search was cut short.
    limit
        Which limit ended the search, or None.
    is_fallback
        Whether the plan comes from a rule of thumb alone.
    backend
        Who solved.
    is_exact
        Whether the bounds hold although amounts were rounded in counting (see `Program.is_rounded`).
    prices
        Shadow prices, where the back-end has them.
    divided
        What is proven of the division of a policy that divides fairly; None where nothing is.
    """

    program: Program
    choice: Choice
    score: Score
    bounds: Bounds
    backend: BackendName
    limit: Literal["effort"] | None = None
    is_fallback: bool = False
    prices: Prices | None = None
    is_exact: bool = False
    divided: Divided | None = None


class Backend(Protocol):
    """A back-end: one pure call."""

    def __call__(self, program: Program, options: Options) -> Solution:
        """Solve `program` as `options` say; never raises for want of effort and never returns an infeasible choice."""
        ...
