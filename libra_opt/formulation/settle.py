"""R14 to the last quantum: where floating point cannot tell whether a stage could hold a unit less, its job is worked out once more in rational numbers.

A level and what it needs are computed in floating point, good for one part in a thousand million. From about as many units on, and where a need lies next to a
whole unit, that leaves open which whole number is the least; jobs that this concerns are few, and only they are settled here.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from libra_opt.domain.curve import Curve
from libra_opt.domain.ledger import CARD_MEMORY, CARDS, Ledger
from libra_opt.domain.quantity import exact
from libra_opt.formulation.program import Program

__all__ = ["settled"]

_PART = 1e-9
"""What floating point is trusted to, relatively."""

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]
_WHOLE: Curve = ((Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)))


def settled(ledger: Ledger, program: Program, way: _Indices, amount: _Ints, service: _Floats, charge_ms: _Floats) -> tuple[_Ints, _Floats]:
    """Return what the stages that run hold and pay when no doubtful one holds more than the least its job's service asks for (R11, R14).

    Parameters
    ----------
    way, amount, charge_ms
        Of the stages that run, in canonical order: their row in the ways, what they hold in quanta, shape ``(n, n_resources)``, and what they pay.
    service
        Of every job, shape ``(n_jobs,)``.
    """
    tables = program.tables
    stage = program.ways.stage[way]
    job = tables.stage_job[stage]
    doubtful = np.unique(job[_is_doubtful(program, way, amount, service[job])])
    if not len(doubtful):
        return amount, charge_ms
    amount, charge_ms = amount.copy(), charge_ms.copy()
    for j in doubtful.tolist():
        rows = np.arange(*np.searchsorted(job, (j, j + 1)))
        held = [tuple(row) for row in amount[rows].tolist()]
        placed = [
            _Placed(ledger, s, k, row, tuple(fixed))
            for s, k, row, fixed in zip(
                tables.stage[stage[rows]].tolist(),
                program.ways.pool[way[rows]].tolist(),
                held,
                (program.ways.floor == program.ways.ceiling)[way[rows]].tolist(),
                strict=True,
            )
        ]
        pace = min(each.service for each in placed)
        charges = tuple(tables.resize_ms[j].tolist())
        for row, each in zip(rows.tolist(), placed, strict=True):
            amount[row], charge = each.least(pace, charges)
            charge_ms[row] = charge_ms[row] if charge is None else charge
    return amount, charge_ms


def _is_doubtful(program: Program, way: _Indices, amount: _Ints, service: _Floats) -> _Flags:
    """Tell which stages hold more than their floor of something of which a unit less may still serve as much."""
    tables, stage = program.tables, program.ways.stage[way]
    surely = (program.curves.pace(stage, service * (1 - _PART)) / program.ways.speed[way])[:, None] * tables.demand[stage]
    return np.asarray(((amount > program.ways.floor[way]) & (amount - tables.unit[stage] >= surely * (1 - _PART))).any(axis=1))


@dataclass(frozen=True)
class _Placed:
    """One stage: its row in the ledger, its pool, what it holds, and of which resources that is fixed (kept, or listed by a profile)."""

    ledger: Ledger
    s: int
    pool: int
    held: tuple[int, ...]
    is_fixed: tuple[bool, ...]

    @property
    def service(self) -> Fraction:
        """R5, R6, R15: what the stage is served."""
        ledger = self.ledger
        profile = ledger.profiles.get(self.s)
        entry = None if profile is None else profile.matching(self.pool, self.held)
        if entry is not None:
            return entry.share
        levels = [self.speed * x / d for x, d in zip(self.held, ledger.demand[self.s], strict=True) if d]
        curve = ledger.curve[self.s] or _WHOLE
        return _service(ledger.intensity[self.s], curve, min(levels)) if levels else curve[-1][1]

    @property
    def speed(self) -> Fraction:
        """R4: its speed in its pool."""
        return dict(self.ledger.allowed[self.s]).get(self.pool, Fraction(1))

    def least(self, service: Fraction, charges: Sequence[int]) -> tuple[tuple[int, ...], int | None]:
        """Return the least that it holds at a service, no dearer than what it holds, and what that pays; None where it does not stay in its pool."""
        ledger, s = self.ledger, self.s
        ratio = _pace(ledger.intensity[s], ledger.curve[s] or _WHOLE, service) / self.speed
        used = [-(-d * ratio.numerator // ratio.denominator) for d in ledger.demand[s]]
        wanted = map(max, ledger.lo[s], ledger.need[s], used)
        least = [-(-asked // unit) * unit for asked, unit in zip(wanted, ledger.unit[s], strict=True)]
        least = [x if fixed else min(x, amount) for x, amount, fixed in zip(self.held, least, self.is_fixed, strict=True)]
        current = ledger.current[s] if ledger.current_pool[s] == self.pool else None
        paid = _charge(charges, self.held, current)
        if current is not None:
            least = [x if x == now and charge > paid else amount for x, now, charge, amount in zip(self.held, current, charges, least, strict=True)]
        carried = ledger.card_ratio[self.pool]
        if carried is not None and carried[0]:
            names = [resource.name for resource in ledger.resources]
            card, memory = names.index(CARDS), names.index(CARD_MEMORY)
            unit = ledger.unit[s][card]
            least[card] = max(least[card], min(self.held[card], -(-least[memory] * carried[1] // (carried[0] * unit)) * unit))
        return tuple(least), None if current is None else _charge(charges, least, current)


def _charge(charges: Sequence[int], held: Sequence[int], current: Sequence[int] | None) -> int:
    """R11: the largest charge among the resources whose amount changes."""
    return 0 if current is None else max((charge for charge, new, old in zip(charges, held, current, strict=True) if new != old), default=0)


@lru_cache(maxsize=256)
def _breaks(intensity: tuple[float, ...], curve: Curve) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the factors on the demand, and the levels at which the service bends."""
    factors = tuple(exact(m) for m in intensity) or (Fraction(1),)
    return factors, tuple(sorted({Fraction(0), *(m * share for m in factors for share, _ in curve)}))


def _service(intensity: tuple[float, ...], curve: Curve, level: Fraction) -> Fraction:
    """R6: the mean over the factors of the service at a level."""
    factors, _ = _breaks(intensity, curve)
    return sum((_at(curve, level / m) if m else curve[-1][1] for m in factors), Fraction(0)) / len(factors)


def _at(curve: Curve, share: Fraction) -> Fraction:
    right = bisect_left(curve, share, key=lambda point: point[0])
    if right == len(curve):
        return curve[-1][1]
    if right == 0:
        return curve[0][1]
    (x0, y0), (x1, y1) = curve[right - 1], curve[right]
    return y0 + (share - x0) * (y1 - y0) / (x1 - x0)


def _pace(intensity: tuple[float, ...], curve: Curve, service: Fraction) -> Fraction:
    """Return the least level with at least a service, which is not above the highest."""
    _, levels = _breaks(intensity, curve)
    right = bisect_left(levels, service, hi=len(levels) - 1, key=lambda level: _service(intensity, curve, level))
    if right == 0:
        return levels[0]
    low, high = levels[right - 1], levels[right]
    below, above = _service(intensity, curve, low), _service(intensity, curve, high)
    return high if above <= below else low + (min(service, above) - below) * (high - low) / (above - below)
