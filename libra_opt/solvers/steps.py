"""Steps between prices: from the best prices known towards others, no further than the bound falls.

What the jobs of a core point to can be far off while the jobs outside it answer to the wrong prices: a row that they overrun alone then costs whatever its
penalty is. Where the prices pointed to lower no bound, they are limited to a factor of the best known, and on the line between the two the first point that
lowers it is taken (the stabilisation of Ben-Ameur and Neto, *Acceleration of cutting-plane and column generation algorithms*, 2007).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import Priced, price_out

__all__ = ["reach", "step"]

_Floats = npt.NDArray[np.float64]

_FACTOR: Final = 3.0
"""Most by which a price may rise or fall at once."""

_RISE: Final = 0.02
"""What a price may rise by in any case: this part of the value of all jobs for the whole row."""

_SHARES: Final = (1.0, 0.5, 0.2, 0.05)


def step(program: Program, prices: Prices, priced: Priced, toward: Prices) -> tuple[Prices, Priced]:
    """Return better prices on the way to others, and all bundles at them; those given where none is found.

    Parameters
    ----------
    prices, priced
        The best so far, and what they prove of plans that spend nothing of tiers 1 to 3.
    """
    goal = _limited(program, prices, toward)
    for tried in (toward, *(_between(prices, goal, share) for share in _SHARES)):
        reached = price_out(program, tried, NOTHING_SPENT)
        if reached.bound < priced.bound:
            return tried, reached
    return prices, priced


def reach(program: Program, prices: Prices) -> Prices:
    """Return the highest prices that one step may come to."""
    shared, value = program.shared, program.most_value

    def highest(now: _Floats, high: _Floats) -> _Floats:
        return now * _FACTOR + _RISE * value / np.where((high > 0) & np.isfinite(high), high, np.inf)

    return Prices(
        highest(prices.pool, shared.capacity),
        highest(prices.ceiling, shared.ceiling),
        highest(prices.guarantee, shared.floor),
        highest(prices.reserve, np.broadcast_to(shared.total, prices.reserve.shape)),
        float(highest(np.array([prices.ms]), np.array([shared.budget_ms]))[0]),
        prices.lost,
    )


def _limited(program: Program, prices: Prices, toward: Prices) -> Prices:
    most = reach(program, prices)

    def limit(now: _Floats, then: _Floats, highest: _Floats) -> _Floats:
        return np.clip(then, now / _FACTOR, highest)

    return Prices(
        limit(prices.pool, toward.pool, most.pool),
        limit(prices.ceiling, toward.ceiling, most.ceiling),
        limit(prices.guarantee, toward.guarantee, most.guarantee),
        limit(prices.reserve, toward.reserve, most.reserve),
        min(max(toward.ms, prices.ms / _FACTOR), most.ms),
        toward.lost,
    )


def _between(one: Prices, other: Prices, share: float) -> Prices:
    def mix(a: _Floats, b: _Floats) -> _Floats:
        return a + share * (b - a)

    return Prices(
        mix(one.pool, other.pool),
        mix(one.ceiling, other.ceiling),
        mix(one.guarantee, other.guarantee),
        mix(one.reserve, other.reserve),
        one.ms + share * (other.ms - one.ms),
        other.lost,
    )
