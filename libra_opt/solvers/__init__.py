"""Back-ends behind one protocol: prices and core (`auto`), CP-SAT, the LP relaxation, greedy."""

from libra_opt.solvers.dispatch import solve
from libra_opt.solvers.solution import Backend, Bounds, Prices, Solution
from libra_opt.solvers.valued import PricedOut, value_levels

__all__ = ["Backend", "Bounds", "PricedOut", "Prices", "Solution", "solve", "value_levels"]
