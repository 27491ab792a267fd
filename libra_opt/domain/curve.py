"""A service curve as people write it, checked and made exact (R6)."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from libra_opt.domain.quantity import exact

__all__ = ["Curve", "enter_curve"]

Curve: TypeAlias = tuple[tuple[Fraction, Fraction], ...]


def enter_curve(points: Sequence[tuple[float, float]], refuse: Callable[[str], None]) -> Curve:
    """Return the points (share of demand, service) as exact numbers, from share 0 on; what is wrong with them is told to `refuse`."""
    if not points:
        refuse("has no points; leave it out or give at least one")
        return ()
    curve = [(exact(share), exact(service)) for share, service in points]
    if curve[0][0] > 0:
        curve.insert(0, (Fraction(0), Fraction(0)))
    for earlier, later in pairwise(curve):
        if later[0] <= earlier[0]:
            refuse(f"the shares of demand must increase from point to point, and {float(later[0])} follows {float(earlier[0])}; sort the points")
            return ()
    slopes = [(later[1] - earlier[1]) / (later[0] - earlier[0]) for earlier, later in pairwise(curve)]
    if any(later > earlier for earlier, later in pairwise(slopes)):
        refuse("is not concave: service must grow by less and less; lower the later points")
    if any(slope < 0 for slope in slopes):
        refuse("falls: service must not shrink as the allocation grows; end it where it is highest")
    return tuple(curve)
