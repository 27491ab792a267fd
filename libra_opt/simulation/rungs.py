"""The sizes a job can run at under the rules, by level: what every stage holds at least, in whole quanta (R2, R3, R5, R8, R9)."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Final

from libra_opt.domain import Ledger
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.room import Cells, Room

__all__ = ["MOST_RUNGS", "Ladder", "least", "tops"]

MOST_RUNGS: Final = 64
"""A job has at most so many sizes; where whole units would make more, they are thinned evenly."""

_MOST_SEATINGS: Final = 256
"""So many choices of pools for its stages are tried for a job."""


def least(ledger: Ledger, s: int, k: int, level: Fraction) -> Quanta | None:
    """Return the least that a stage holds in a pool at a level, or None where it may not or cannot.

    Parameters
    ----------
    s, k
        Rows of the stage and the pool in the ledger.
    level
        Share of its demand, 0..1.
    """
    speed = next((speed for pool, speed in ledger.allowed[s] if pool == k), None)
    if speed is None:
        return None
    share = level / speed
    row = zip(ledger.lo[s], ledger.need[s], ledger.demand[s], ledger.unit[s], strict=True)
    held = [-(-max(lo, n, -(-d * share.numerator // share.denominator)) // u) * u for lo, n, d, u in row]
    ratio = ledger.card_ratio[k]
    if ratio is not None:
        names = [resource.name for resource in ledger.resources]
        card, memory = names.index(CARDS), names.index(CARD_MEMORY)
        if held[memory] and not ratio[0]:
            return None
        unit = ledger.unit[s][card]
        held[card] = max(held[card], -(-held[memory] * ratio[1] // (ratio[0] * unit)) * unit if ratio[0] else 0)
    fits = all(amount <= most and amount <= limit for amount, most, limit in zip(held, ledger.hi[s], ledger.capacity[k], strict=True))
    return tuple(held) if fits else None


class Ladder:
    """The sizes of one job, up to the highest level its quotas allow.

    They are the levels at which a whole unit of some stage's costly resource ticks (of its coarsest one, where none is costly).

    Parameters
    ----------
    ledger
        Demand, need, quotas and pools of its stages.
    j
        The job.
    """

    def __init__(self, ledger: Ledger, j: int) -> None:
        self.j = j
        self._ledger = ledger
        self._rows = ledger.stage_of[j]
        self.levels: tuple[Fraction, ...] = _levels(ledger, self._rows)
        self._known: dict[tuple[int, int, int], Quanta | None] = {}

    def __len__(self) -> int:
        return len(self.levels)

    def amounts(self, rung: int, pools: Sequence[int]) -> tuple[Quanta, ...] | None:
        """Return what the stages hold at least on a rung, each in its pool; None where one cannot."""
        found = []
        for i, (s, k) in enumerate(zip(self._rows, pools, strict=True)):
            key = (rung, i, k)
            if key not in self._known:
                self._known[key] = least(self._ledger, s, k, self.levels[rung])
            amounts = self._known[key]
            if amounts is None:
                return None
            found.append(amounts)
        return tuple(found)

    def seat(self, room: Room, rung: int) -> Cells | None:
        """Return where the job fits on a rung: each stage where it sits now, else in its fastest pools; None where it fits nowhere."""
        for pools in islice(product(*self._choices()), _MOST_SEATINGS):
            cells = self.at(rung, pools)
            if cells is not None and room.fits(self.j, cells):
                return cells
        return None

    def at(self, rung: int, pools: Sequence[int]) -> Cells | None:
        """Return what the stages hold at least on a rung, each in its pool; None where one cannot."""
        amounts = self.amounts(rung, pools)
        return None if amounts is None else tuple(zip(pools, amounts, strict=True))

    def _choices(self) -> list[list[int]]:
        ledger = self._ledger
        found = []
        for s in self._rows:
            here = ledger.current_pool[s]
            found.append([pool for pool, _ in sorted(ledger.allowed[s], key=lambda at, here=here: (at[0] != here, -at[1], at[0]))])  # type: ignore[misc]
        return found


def tops(ledger: Ledger, rows: Sequence[int]) -> Fraction:
    """Return the highest level that the maxima of a job's stages allow, at most 1."""
    top = Fraction(1)
    for s in rows:
        speed = max((speed for _, speed in ledger.allowed[s]), default=Fraction(1))
        for d, most, u in zip(ledger.demand[s], ledger.hi[s], ledger.unit[s], strict=True):
            if d > 0:
                top = min(top, most // u * u * speed / d)
    return top


def _levels(ledger: Ledger, rows: Sequence[int]) -> tuple[Fraction, ...]:
    top = tops(ledger, rows)
    found = {top}
    for s in rows:
        speed = max((speed for _, speed in ledger.allowed[s]), default=Fraction(1))
        units = [Fraction(d) / (u * speed) if d > 0 else None for d, u in zip(ledger.demand[s], ledger.unit[s], strict=True)]
        costly = [n for n, resource in zip(units, ledger.resources, strict=True) if n is not None and resource.costly]
        others = [n for n in units if n is not None]
        if not others:
            continue
        n = max(costly) if costly else min(others)
        whole = int(n)
        every = max(1, -(-whole // MOST_RUNGS))
        found.update(Fraction(i) / n for i in range(every, whole + 1, every) if Fraction(i) / n < top)
    levels = sorted(found)
    if len(levels) > MOST_RUNGS:
        step = (len(levels) - 1) / (MOST_RUNGS - 1)
        levels = sorted({levels[round(i * step)] for i in range(MOST_RUNGS)})
    return tuple(levels)
