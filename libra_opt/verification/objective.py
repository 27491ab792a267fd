"""The objective in its strict order, tiers 1 to 4, recomputed from the plan and the prose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum

from libra_opt.domain import Ledger
from libra_opt.verification.least import least_amount, spare_resources
from libra_opt.verification.moves import budget_ms
from libra_opt.verification.policies import Valued
from libra_opt.verification.reading import Reading, Vector
from libra_opt.verification.report import Tiers
from libra_opt.verification.service import Measured, Ratio, curve_of_stage
from libra_opt.verification.tree import Claim, claims, is_tree, members
from libra_opt.verification.usage import total

__all__ = ["Counted", "count"]


@dataclass(frozen=True, slots=True)
class Counted:
    """The recomputed tiers, and what they were added up from.

    Attributes
    ----------
    gross
        Sum of the absolute terms of the value: the scale of its rounding noise.
    """

    tiers: Tiers
    gross: float


def count(reading: Reading, measured: Measured, asked: Sequence[Sequence[int]], charges: Sequence[int], valued: Valued) -> Counted:
    """Recompute the tiers of a plan from its services, what they ask, its charges in ms and what the policy makes of each job."""
    allowed = budget_ms(reading)
    spread_ms = 1000 * reading.state.period.seconds * reading.state.options.hold_periods
    worth = valued.worth
    gains = [valued.gain(j, p / q) for j, (p, q) in enumerate(measured.service) if p]
    losses = [a * ms / spread_ms for a, ms in zip(valued.charge, charges, strict=True) if ms]
    tiers = Tiers(
        protected_lost=fsum(a for a, protected, runs in zip(worth, reading.ledger.protected, reading.runs, strict=True) if protected and not runs),
        over_budget_seconds=0.0 if allowed is None else max(0, sum(charges) - allowed) / 1000,
        guarantee_shortfall=_shortfall(reading, asked),
        value=fsum(gains) - fsum(losses),
    )
    return Counted(tiers, fsum(gains) + fsum(losses))


def _shortfall(reading: Reading, asked: Sequence[Sequence[int]]) -> float:
    """Tier 3: what guarantees are owed and not given, as shares of the nominal quotas."""
    ledger = reading.ledger
    if not any(map(any, ledger.nominal)):
        return 0.0
    jobs = members(ledger)

    @cache
    def can_run(j: int) -> bool:
        return all(ledger.fits_alone(s) for s in ledger.stage_of[j])

    own: list[list[int]] = [[] for _ in range(len(ledger.queues) + 1)]
    for j, q in enumerate(ledger.job_queue):
        own[q].append(j)

    @cache
    def claimed(r: int) -> list[Claim]:
        return claims(ledger, r, [_owed(ledger, own[q], can_run, r, None) for q in range(len(ledger.queues))])

    def owed_at(q: int, r: int, quota: int) -> int:
        if not is_tree(ledger):
            return _owed(ledger, own[q], can_run, r, quota)
        return min(quota - claimed(r)[q].spared, claimed(r)[q].use)

    missing = []
    for q, nominal in enumerate(ledger.nominal):
        given = _given(reading, asked, jobs[q]) if any(nominal) else nominal
        for r, (quota, got) in enumerate(zip(nominal, given, strict=True)):
            owed = owed_at(q, r, quota) if got < quota else 0
            if owed > got:
                missing.append((owed - got) / quota)
    return fsum(missing)


def _given(reading: Reading, asked: Sequence[Sequence[int]], jobs: Sequence[int]) -> Vector:
    """Return what the jobs of a queue hold together; of what follows freely only the least at their service."""
    ledger = reading.ledger
    rows: list[Vector] = []
    spare = spare_resources(ledger)
    for j in jobs:
        if not reading.runs[j]:
            continue
        charges = ledger.resize_ms[j]
        free = [r for r in spare if not charges[r]] if reading.sound[j] else ()
        for s in ledger.stage_of[j]:
            held = reading.held[s]
            if held is not None and free:
                counted = list(held)
                for r in free:
                    counted[r] = least_amount(asked[s][r], ledger.unit[s][r])
                rows.append(tuple(counted))
            elif held is not None:
                rows.append(held)
    return total(rows, (0,) * ledger.n_resources)


def _owed(ledger: Ledger, jobs: Sequence[int], can_run: Callable[[int], bool], r: int, quota: int | None) -> int:
    """Return the smaller of a nominal quota, if one is given, and what the jobs of its queue that can run at all ask for at level 1 within their quotas."""
    asked = 0
    for j in jobs:
        if not can_run(j):
            continue
        for s in ledger.stage_of[j]:
            unit, d = ledger.unit[s][r], ledger.demand[s][r]
            amount = max(ledger.lo[s][r], ledger.need[s][r], ledger.wish(s)[r] if s in ledger.profiles else 0)
            if d:
                p, q = _full_level(ledger, s)
                vn, vd = _fastest(ledger, s)
                amount = max(amount, -(-d * p * vd // (q * vn)))
            asked += min(ledger.hi[s][r], -(-amount // unit) * unit)
        if quota is not None and asked >= quota:
            return quota
    return asked


def _full_level(ledger: Ledger, s: int) -> Ratio:
    p, q = curve_of_stage(ledger, s).top
    return (p, q) if p < q else (1, 1)


def _fastest(ledger: Ledger, s: int) -> Ratio:
    """Return the speed of a stage in its fastest allowed pool; 1 where the cluster has no pool."""
    speed = max((speed for _, speed in ledger.allowed[s]), default=None)
    return (1, 1) if speed is None else (speed.numerator, speed.denominator)
