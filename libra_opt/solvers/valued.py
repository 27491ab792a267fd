"""What a solution's shadow prices say of all bundles: the bound they prove by themselves, and what every level is worth at them."""

from dataclasses import dataclass

from libra_opt.formulation.wanted import Valued
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.solution import Limits, Solution

__all__ = ["PricedOut", "value_levels"]


@dataclass(frozen=True)
class PricedOut:
    """Levels at a solution's prices, and the bound on tier 4 that these prices prove; no bound where amounts were rounded in counting."""

    valued: Valued
    bound: float | None


def value_levels(solution: Solution) -> PricedOut | None:
    """Return what a solution's prices say; None where its back-end has none."""
    if solution.prices is None:
        return None
    priced = price_out(solution.program, solution.prices, Limits.of(solution.score))
    return PricedOut(Valued(solution.prices, priced.level_value), priced.bound if solution.program.is_exact else None)
