"""What allocations cost per hour, counted exactly: the prices of the pools and the cost ceiling (R16) as whole numbers of one smallest amount of money.

Prices are rational numbers, so there is a largest amount of money of which every quantum of every resource costs a whole multiple; in it costs add up without
rounding, and the ceiling rounds down. Where prices have so many digits that the cost of the whole cluster would be 2^62 such amounts or more, it is counted in
coarser ones, and prices round up: then a plan costs even less than is said, by at most one part in 2^61 of that cost for every quantum.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Final

from libra_opt.domain.cluster import Pool
from libra_opt.domain.faults import Location
from libra_opt.domain.quantity import LIMIT, UNLIMITED, exact
from libra_opt.domain.resource import Resource
from libra_opt.domain.vectors import Vector

__all__ = ["Cost", "enter_cost"]

_MOST_BITS: Final = 62


@dataclass(frozen=True, slots=True)
class Cost:
    """Prices and the ceiling of R16.

    Attributes
    ----------
    price
        What one quantum costs for one hour, in `unit`, ``[k][r]``.
    ceiling
        Most that all allocations together may cost for one hour, in `unit`, rounded down.
    unit
        Money per hour that one is.
    """

    price: tuple[Vector, ...]
    ceiling: int
    unit: Fraction

    def of(self, held: Iterable[tuple[int, Sequence[int]]]) -> int:
        """Return what some allocations, each a pool and the quanta there, cost for one hour, in `unit`."""
        return sum(amount * price for k, amounts in held for amount, price in zip(amounts, self.price[k], strict=True) if amount)


def enter_cost(
    resources: Sequence[Resource],
    pools: Sequence[Pool],
    capacity: Sequence[Vector],
    ceiling: float,
    fault: Callable[[Location, str, str], None],
    warn: Callable[[str], None],
) -> Cost:
    """Enter the prices under a ceiling.

    Parameters
    ----------
    capacity
        Of the pools, in quanta.
    ceiling
        Money per hour.
    fault
        Takes the place of what is wrong, the sentence, and the collection that has to be whole for it to be wrong.
    warn
        Takes what the caller should know.
    """
    exactly = [[exact(price) * resource.step for resource, price in zip(resources, _prices(resources, pool), strict=True)] for pool in pools]
    common = lcm(*(price.denominator for row in exactly for price in row))
    whole = [[int(price * common) for price in row] for row in exactly]
    step = gcd(*(price for row in whole for price in row))
    if not step and pools:
        warn("options.cost_ceiling limits nothing: no pool has a price; give price_per_hour to the pools")
    step = step or 1
    step <<= max(0, (_dearest(capacity, whole) // step).bit_length() - _MOST_BITS)
    unit = Fraction(step, common)
    price = tuple(tuple(-(-each // step) for each in row) for row in whole)
    if _dearest(capacity, price) >= LIMIT:
        message = "prices and capacities together are no whole numbers below 2^63 of one amount of money; declare coarser quanta in resources"
        fault(("options", "cost_ceiling"), message, "pools")
    return Cost(price, min(UNLIMITED, exact(ceiling) // unit), unit)


def _dearest(capacity: Sequence[Vector], price: Sequence[Sequence[int]]) -> int:
    """Return what all that there is costs."""
    return sum(amount * each for row, prices in zip(capacity, price, strict=True) for amount, each in zip(row, prices, strict=True))


def _prices(resources: Sequence[Resource], pool: Pool) -> Vector | tuple[float, ...]:
    given = pool.prices
    return tuple(given.get(resource.name, 0) for resource in resources)
