"""What the verifier says: every broken rule with its margin, and the tiers of the objective as it counts them."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Broken", "Report", "Rule", "Tiers"]

Rule = Literal["format", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "R16", "objective"]


@dataclass(frozen=True, slots=True)
class Broken:
    """One rule that a plan breaks in one place.

    Attributes
    ----------
    rule
        ``R1`` to ``R16``; ``format`` where the plan does not answer its state (jobs, stages, quantities, digest, actions); ``objective``
        where the certificate states a number that is not so.
    where
        Path in the plan (``jobs[3].stages[0].resources.gpu``), or the limit that is exceeded (``pools.a100.gpu``).
    message
        The object, the value and the limit.
    margin
        By how much: in the resource's unit, in seconds, or in the number's own measure; 1 where the fault has no size.
    """

    rule: Rule
    where: str
    message: str
    margin: float

    def __str__(self) -> str:
        return f"{self.rule} at {self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Tiers:
    """The first four tiers of the strict objective order, recomputed from the plan.

    Attributes
    ----------
    protected_lost
        Worth of the protected jobs that wait.
    over_budget_seconds
        Seconds of lost service above the preemption budget.
    guarantee_shortfall
        Sum over queues and resources of what is owed and not given, as a share of the nominal quota.
    value
        Worth of the service less what moving costs.
    """

    protected_lost: float
    over_budget_seconds: float
    guarantee_shortfall: float
    value: float


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict on one plan.

    Attributes
    ----------
    broken
        Every broken rule: what concerns the form first, then R1 to R14, then the certificate.
    tiers
        The objective as recomputed; a job whose service cannot be read counts as waiting.
    """

    broken: tuple[Broken, ...]
    tiers: Tiers

    @property
    def holds(self) -> bool:
        """True when no rule is broken."""
        return not self.broken
