"""A slow second reading of the write-up, stage by stage in plain fractions: service curves, ways to place a stage, least amounts.

It shares the curve arithmetic with the enumerator of the oracle tests and nothing with the package but the ledger.
"""

from dataclasses import dataclass
from fractions import Fraction

from libra_opt.domain import Ledger
from tests.oracle import enumerate as rules

__all__ = ["Amounts", "SlowReading", "Way"]

Amounts = tuple[int, ...]


@dataclass(frozen=True)
class Way:
    """A stage of a job, a pool for it, its speed there, and per resource what is kept of it (None: not kept)."""

    job: int
    stage: int
    pool: int
    speed: Fraction
    kept: tuple[int | None, ...]


class SlowReading:
    """What the jobs of a ledger can do; every answer is worked out once."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.jobs = sorted(range(len(ledger.jobs)), key=lambda j: ledger.jobs[j])
        self._paces: dict[tuple[int, Fraction], Fraction | None] = {}
        self._offers: dict[tuple[int, Fraction], dict[int, Amounts]] = {}
        self._tops = [Fraction(0) if rules._is_idle(ledger, s) else rules._top(ledger, s) for s in range(len(ledger.lo))]
        self.ways = [way for j in self.jobs for s in ledger.stage_of[j] for way in self._placings(j, s)]
        self._candidates = {j: self._find_candidates(j) for j in self.jobs}

    def service(self, s: int, level: Fraction) -> Fraction:
        """S(level)."""
        return rules._curve(self.ledger, s)[-1][1] if rules._is_idle(self.ledger, s) else rules._service(self.ledger, s, level)

    def top(self, s: int) -> Fraction:
        """Return the least level at which S is as high as it gets."""
        return self._tops[s]

    def pace(self, s: int, wanted: Fraction) -> Fraction | None:
        """Return the least level with S(level) >= wanted; None above the peak."""
        key = s, wanted
        if key not in self._paces:
            self._paces[key] = None if wanted > self.service(s, self.top(s)) else rules._pace_level(self.ledger, s, wanted)
        return self._paces[key]

    def least(self, way: Way, level: Fraction) -> Amounts | None:
        """Return the least amounts of a stage at a level, placed this way; None where a rule stands against it."""
        ledger, s = self.ledger, way.stage
        amounts = []
        for r, kept in enumerate(way.kept):
            floor, unit, d = max(ledger.lo[s][r], ledger.need[s][r]), ledger.unit[s][r], ledger.demand[s][r]
            amount = rules._round_up(max(Fraction(floor), d * level / way.speed) if d else Fraction(floor), unit)
            if kept is not None:
                if kept % unit or kept < amount:
                    return None
                amount = kept
            amounts.append(amount)
        cards, memory = rules._names(ledger)
        ratio = ledger.card_ratio[way.pool]
        if ratio is not None and amounts[memory] * ratio[1] > amounts[cards] * ratio[0]:
            if not ratio[0] or way.kept[cards] is not None:
                return None
            amounts[cards] = rules._round_up(Fraction(amounts[memory] * ratio[1], ratio[0]), ledger.unit[s][cards])
        limits = map(min, ledger.hi[s], ledger.capacity[way.pool])
        return None if any(amount > limit for amount, limit in zip(amounts, limits, strict=True)) else tuple(amounts)

    def used(self, row: int, service: Fraction) -> Amounts | None:
        """Return what a way (by its row) uses at a service; None where it does not reach it."""
        pace = self.pace(self.ways[row].stage, service)
        return None if pace is None else self.least(self.ways[row], pace)

    def offers(self, j: int, service: Fraction) -> dict[int, Amounts]:
        """Return the least amounts of every way of a job that reaches a service, by row; nothing unless every stage has one."""
        key = j, service
        if key not in self._offers:
            used = {row: self.used(row, service) for row, way in enumerate(self.ways) if way.job == j}
            found = {row: held for row, held in used.items() if held is not None}
            self._offers[key] = found if {self.ways[row].stage for row in found} == set(self.ledger.stage_of[j]) else {}
        return self._offers[key]

    def candidates(self, j: int) -> list[Fraction]:
        """Return every service of a job at which a whole unit of some stage ticks, a floor stops to bind, a curve bends or a way ends."""
        return self._candidates[j]

    def _placings(self, j: int, s: int) -> list[Way]:
        """Return the ways to place a stage that can hold something at all, by pool name, kept before changed."""
        ledger, found = self.ledger, []
        for k, speed in sorted(ledger.allowed[s], key=lambda option: ledger.pools[option[0]]):
            current = ledger.current[s]
            if current is not None and ledger.current_pool[s] == k:
                charges = ledger.resize_ms[j]
                for threshold in sorted({0, *charges} - {max(0, *charges)}):
                    kept = tuple(held if charge > threshold else None for held, charge in zip(current, charges, strict=True))
                    found.append(Way(j, s, k, speed, kept))
            found.append(Way(j, s, k, speed, (None,) * ledger.n_resources))
        return [way for way in found if self.least(way, Fraction(0)) is not None]

    def _find_candidates(self, j: int) -> list[Fraction]:
        ledger, found = self.ledger, set()
        for s in ledger.stage_of[j]:
            levels = {Fraction(0), *rules._corners(ledger, s)}
            for way in (way for way in self.ways if way.stage == s):
                for r, d in enumerate(ledger.demand[s]):
                    most = min(ledger.hi[s][r], ledger.capacity[way.pool][r])
                    kept = () if way.kept[r] is None else (way.kept[r],)
                    if d:
                        levels |= {way.speed * x / d for x in (*range(0, most + 1, ledger.unit[s][r]), max(ledger.lo[s][r], ledger.need[s][r]), *kept)}
            found |= {self.service(s, level) for level in {min(level, self.top(s)) for level in levels}}
        return sorted(found)
