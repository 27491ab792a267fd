"""Levels and services, exactly (R5, R6, R7, R15).

A service curve is kept as the least of affine pieces: a concave piecewise-linear function is the minimum of the lines it is made of, so
that with integers a level p/q has the service ``min(a * p + b * q) / (scale * q)``, and the least level of a service is a maximum of quotients.
Rational numbers are pairs (numerator, positive denominator), not reduced; they are compared by cross-multiplication.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Final

from libra_opt.domain import Ledger
from libra_opt.verification.reading import Reading, Vector

__all__ = ["CERTAIN", "Curve", "Measured", "Ratio", "curve_of", "curve_of_stage", "largest_intensity", "measure", "pace"]

Ratio = tuple[int, int]
_Key = tuple[tuple[float, ...], tuple[Ratio, ...]]
_Points = tuple[tuple[Fraction, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """The service of a stage as a function S of its level.

    Attributes
    ----------
    pieces, scale
        ``S(p / q) = min over pieces (a, b) of (a * p + b * q) / (scale * q)``.
    top
        The least level at which S is as high as it gets; 0 for a flat curve.
    peak
        That highest service.
    """

    pieces: tuple[tuple[int, int], ...]
    scale: int
    top: Ratio
    peak: Ratio


CERTAIN: Final = Curve(((1, 0), (0, 1)), 1, (1, 1), (1, 1))
"""The curve of a certain demand without a curve of its own: ``min(level, 1)``."""


@dataclass(slots=True)
class Measured:
    """What the planned amounts are worth in service.

    Attributes
    ----------
    service
        ``[j]``: the job's service; (0, 1) for one that waits or could not be read.
    pace
        ``[s]``: the stage's pace level at its job's service; (0, 1) for an idle stage and for one that does not run.
    """

    service: list[Ratio]
    pace: list[Ratio]


def measure(reading: Reading) -> Measured:
    """Measure every job that runs and could be read."""
    ledger = reading.ledger
    demanding = tuple(r for r, resource in enumerate(ledger.resources) if resource.compressible)
    curves: dict[_Key, Curve] = {}
    services: list[Ratio] = [(0, 1)] * len(ledger.jobs)
    paces: list[Ratio] = [(0, 1)] * len(ledger.lo)
    for j, rows in enumerate(ledger.stage_of):
        if not (reading.runs[j] and reading.sound[j]):
            continue
        slowest: Ratio | None = None
        stages: list[tuple[int, Curve]] = []
        for s in rows:
            entry = reading.entry.get(s)
            if entry is not None:
                share = entry.share.as_integer_ratio()
                slowest = share if slowest is None or share[0] * slowest[1] < slowest[0] * share[1] else slowest
                continue
            curve = _curve(ledger, s, curves)
            level = _level(demanding, reading.held[s] or (), ledger.demand[s], reading.speed[s])
            idle = level is None or curve.top[0] == 0
            served = curve.peak if level is None or idle else _served(curve, level)
            if slowest is None or served[0] * slowest[1] < slowest[0] * served[1]:
                slowest = served
            if not idle:
                stages.append((s, curve))
        services[j] = slowest or (0, 1)
        for s, curve in stages:
            paces[s] = services[j] if curve is CERTAIN else pace(curve, services[j])
    return Measured(services, paces)


def _level(demanding: Sequence[int], held: Vector, demand: Vector, speed: Ratio) -> Ratio | None:
    """R5: the share of its demand that the scarcest compressible resource of a stage serves; None for a stage that demands none."""
    least: Ratio | None = None
    for r in demanding:
        d = demand[r]
        if d and (least is None or held[r] * least[1] < least[0] * d):
            least = held[r], d
    return None if least is None else (least[0] * speed[0], least[1] * speed[1])


def _served(curve: Curve, level: Ratio) -> Ratio:
    """R6: S(level)."""
    p, q = level
    if curve is CERTAIN:
        return level if p < q else (1, 1)
    return min(a * p + b * q for a, b in curve.pieces), curve.scale * q


def pace(curve: Curve, service: Ratio) -> Ratio:
    """Return the least level at which `curve` gives at least `service`, which must not be above its peak."""
    p, q = service
    least: Ratio = (0, 1)
    for a, b in curve.pieces:
        if a:
            level = p * curve.scale - b * q, a * q
            if level[0] * least[1] > least[0] * level[1]:
                least = level
    return least


def curve_of_stage(ledger: Ledger, s: int) -> Curve:
    """Return the service curve of a stage."""
    return _curve(ledger, s, {})


def _curve(ledger: Ledger, s: int, known: dict[_Key, Curve]) -> Curve:
    intensity, points = ledger.intensity[s], ledger.curve[s]
    if not intensity and points is None:
        return CERTAIN
    key = intensity, tuple(number.as_integer_ratio() for point in points or () for number in point)
    curve = known.get(key)
    if curve is None:
        curve = known[key] = curve_of(intensity, points)
    return curve


def curve_of(intensity: Sequence[float], points: _Points | None) -> Curve:
    """Return ``S(level) = mean over i of c(level / m[i])`` (R6).

    Parameters
    ----------
    intensity
        Equally likely factors `m` on the demand; empty where it is certain. A factor of 0 is served at the top of `c`.
    points
        Points (share of demand, service) of a concave `c`, beginning at share 0; None for ``min(share, 1)``.
    """
    factors, denominator = _whole(intensity)
    shares, services, share_scale, service_scale = _whole_points(points)
    kinks, slope, start, slope_scale = _kinks(shares, services, share_scale)
    positive = [m for m in factors if m]
    peak = services[-1] * slope_scale
    if not positive or not kinks:
        return Curve(((0, services[-1]),), service_scale, (0, 1), (services[-1], service_scale))
    common = lcm(*positive)
    inverse = {m: denominator * (common // m) for m in positive}
    a = slope * sum(inverse[m] for m in positive)
    b = (start * len(positive) + peak * (len(factors) - len(positive))) * common
    pieces = [(a, b)]
    for _, m, bend, lift in sorted((m * share, m, bend, lift) for m in positive for share, bend, lift in kinks):
        a, b = a + bend * inverse[m], b + lift * common
        pieces.append((a, b))
    scale = len(factors) * common * slope_scale * service_scale
    return Curve(tuple(pieces), scale, (max(positive) * kinks[-1][0], denominator * share_scale), (services[-1], service_scale))


@lru_cache(maxsize=4096)
def largest_intensity(intensity: tuple[float, ...]) -> Ratio:
    """Return the highest factor on a demand; 1 where it is certain."""
    return Decimal(repr(max(intensity))).as_integer_ratio() if intensity else (1, 1)


def _whole(numbers: Sequence[float]) -> tuple[list[int], int]:
    """Write decimal numbers as whole numbers over a common denominator; none at all stand for a single 1."""
    ratios = [Decimal(repr(number)).as_integer_ratio() for number in numbers] or [(1, 1)]
    denominator = lcm(*(q for _, q in ratios))
    return [p * (denominator // q) for p, q in ratios], denominator


def _whole_points(points: _Points | None) -> tuple[list[int], list[int], int, int]:
    if points is None:
        return [0, 1], [0, 1], 1, 1
    share_scale = lcm(*(share.denominator for share, _ in points))
    service_scale = lcm(*(service.denominator for _, service in points))
    return [int(share * share_scale) for share, _ in points], [int(service * service_scale) for _, service in points], share_scale, service_scale


def _kinks(shares: Sequence[int], services: Sequence[int], share_scale: int) -> tuple[list[tuple[int, int, int]], int, int, int]:
    """Return where a curve bends: (share, change of slope, change of intercept), the first slope and intercept, and what the two are multiplied by.

    The line through (shares[i], services[i]) of slope `dy / dx` is scaled by the common multiple of all `dx`, so that it stays whole.
    """
    steps = [(b - a, y - x) for a, b, x, y in zip(shares, shares[1:], services, services[1:], strict=False)]
    scale = lcm(*(dx for dx, _ in steps))
    slopes = [dy * (scale // dx) * share_scale for dx, dy in steps] + [0]
    starts = [y * scale - slope * share // share_scale for share, y, slope in zip(shares, services, slopes, strict=True)]
    kinks = [(shares[i], slopes[i] - slopes[i - 1], starts[i] - starts[i - 1]) for i in range(1, len(slopes)) if slopes[i] != slopes[i - 1]]
    return kinks, slopes[0], starts[0], scale
