"""The best plan found so far and what is proven of it, and how two of them, or one and another choice, become the better one."""

from dataclasses import dataclass, replace

from libra_opt.formulation.program import TIE_TOLERANCE, Choice, Program, Score
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.solution import Limits

__all__ = ["NOTHING_SPENT", "Found", "accept", "better"]

NOTHING_SPENT = Limits(0.0, 0.0, 0.0)
"""The least there can be of tiers 1 to 3."""


@dataclass(frozen=True)
class Found:
    """The best plan so far.

    Attributes
    ----------
    program
        The grid that `choice` speaks of.
    choice, score
        The plan, always feasible, and its tiers.
    bound
        No plan that spends as much of tiers 1 to 3 as this one has more value.
    prices
        The prices that go with it; any prices prove a bound.
    least
        Proven bounds on tiers 1 to 3.
    """

    program: Program
    choice: Choice
    score: Score
    bound: float
    prices: Prices
    least: Limits = NOTHING_SPENT

    @property
    def room(self) -> float:
        """How much value may still be missing."""
        return max(0.0, self.bound - self.score.value)

    def is_done(self, gap: float) -> bool:
        """Return whether the gap asked for is proven, tier by tier."""
        reached, least = self.score, self.least
        is_met = reached.lost <= least.lost * (1 + TIE_TOLERANCE) and reached.over_seconds <= least.over_seconds * (1 + TIE_TOLERANCE)
        return is_met and reached.shortfall <= least.shortfall + gap and self.room <= gap * max(abs(self.bound), abs(reached.value), 1e-9)


def accept(found: Found, program: Program, choice: Choice) -> Found:
    """Return the better of the plan at hand and another choice, with a bound for its tiers."""
    score = program.score(choice)
    if not score.beats(found.score):
        return found
    bound = price_out(program, found.prices, Limits.of(score)).bound
    if Limits.of(score) == Limits.of(found.score):
        bound = min(bound, found.bound)
    return replace(found, program=program, choice=choice, score=score, bound=bound)


def better(one: Found, other: Found) -> Found:
    """Return the better plan, with the lower bound and its prices where both speak of the same tiers."""
    best, rest = (other, one) if other.score.beats(one.score) else (one, other)
    is_same = Limits.of(best.score) == Limits.of(rest.score)
    return replace(best, bound=rest.bound, prices=rest.prices) if is_same and rest.bound < best.bound else best
