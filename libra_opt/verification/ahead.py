"""Looking ahead: what a plan says of later periods keeps R1 to R10, and all periods together are worth what is stated; see `models/lookahead.md`.

Each later period is read like a plan of its own, against what the period before it holds. Nothing of it is committed, so the budget, protection and R14 do not
bind it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import fsum
from typing import Final

from libra_opt.domain import Horizon, PlannedJob, Reason
from libra_opt.domain.plan import DISCOUNT, AheadPeriod
from libra_opt.verification import moves, rules
from libra_opt.verification.certificate import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE
from libra_opt.verification.reading import Reading, read_later
from libra_opt.verification.report import Broken
from libra_opt.verification.service import Measured, measure
from libra_opt.verification.usage import usage
from libra_opt.verification.work import works, worths

__all__ = ["looked_ahead"]

_FINISHED: Final = 1e-9
"""A job has finished when less than this share of what was left is left."""


@dataclass(slots=True)
class _Walk:
    """How far the jobs have come, and what they are worth so far."""

    made: list[float]
    gains: list[float]
    losses: list[float]


def looked_ahead(reading: Reading, measured: Measured, charges: Sequence[int], worth: Sequence[float]) -> Iterator[Broken]:
    """List what is not so in the later periods of a plan and in what it says all are worth."""
    plan, asked = reading.plan, reading.state.options.lookahead
    horizon = plan.certificate.horizon
    n_periods = len(plan.ahead) + 1
    if horizon is None:
        if plan.ahead:
            yield Broken("format", "ahead", "later periods are planned, but certificate.horizon does not say what they are worth", 1.0)
        return
    if not horizon.periods == n_periods <= asked:
        message = f"{horizon.periods} periods are stated and {n_periods} planned; {asked} were asked for, and no more may be"
        yield Broken("format", "certificate.horizon.periods", message, 1.0)
        return
    walk = _Walk([0.0] * len(reading.planned), [], [])
    _step(walk, reading, measured, charges, worth, 0)
    before, sound = reading, all(reading.sound)
    for t, period in enumerate(plan.ahead, 1):
        later = _later(before, reading, period, walk, t)
        services = measure(later)
        yield from _within(f"ahead[{t - 1}]", chain(later.broken, _form(reading, later, period, walk, t), _rules(later, services)))
        sound = sound and all(later.sound)
        _step(walk, later, services, moves.charges(later), worths(later), t)
        before = later
    if sound:
        yield from _stated(reading, horizon, walk)


def _later(before: Reading, first: Reading, period: AheadPeriod, walk: _Walk, t: int) -> Reading:
    """Read a later period against what is held in the one before it; a job that has finished holds nothing any more and leaves for nothing."""
    ledger, n = first.ledger.later(t), first.plan.ahead
    gone = [_is_done(first, j, made) for j, made in enumerate(walk.made)]
    holds = [
        held if held is not None and any(held) and before.runs[j] and not gone[j] else None
        for j, held in ((first.job_of[s], held) for s, held in enumerate(before.held))
    ]
    spread_ms = round(1000 * first.state.period.seconds * first.state.options.hold_periods * (len(n) + 1))
    ledger = replace(
        ledger,
        current=holds,
        current_pool=[k if held is not None else -1 for k, held in zip(before.pool, holds, strict=True)],
        running=[any(holds[s] is not None for s in rows) for rows in ledger.stage_of],
        evict_ms=[ms if job.preemptible else ms + spread_ms for ms, job in zip(ledger.evict_ms, first.state.jobs, strict=True)],
    )
    reason = Reason(code="ahead", message="")
    jobs = [PlannedJob(id=job.id, action="keep", service=job.service, stages=job.stages, reason=reason) for job in period.jobs]
    return read_later(first, ledger, jobs)


def _form(first: Reading, later: Reading, period: AheadPeriod, walk: _Walk, t: int) -> Iterator[Broken]:
    if period.index != first.state.period.index + t:
        yield Broken("format", "index", f"period {period.index} is planned where {first.state.period.index + t} follows", 1.0)
    for j, planned in enumerate(later.planned):
        if planned is not None and not planned.stages:
            yield Broken("format", f"{later.job_path(j)}.stages", f"job {planned.id!r} is listed among those that run and has no stages", 1.0)
        elif planned is not None and _is_done(first, j, walk.made[j]):
            yield Broken("format", later.job_path(j), f"job {planned.id!r} has finished before, and still holds something", 1.0)


def _rules(later: Reading, measured: Measured) -> Iterator[Broken]:
    used = usage(later, range(len(later.planned)))
    return chain(
        rules.capacity(later, used),
        rules.minimum(later),
        rules.maximum(later),
        rules.placement(later),
        rules.need(later),
        rules.service(later, measured),
        rules.units(later),
        rules.card_memory(later),
        rules.ceilings(later, used),
    )


def _within(where: str, found: Iterator[Broken]) -> Iterator[Broken]:
    return (replace(broken, where=f"{where}.{broken.where}") for broken in found)


def _left(first: Reading, j: int) -> float | None:
    """Return the progress that finishes a job: of work where that is stated, else of seconds."""
    job = first.state.jobs[j]
    return job.remaining_work or job.remaining or None


def _is_done(first: Reading, j: int, made: float) -> bool:
    left = _left(first, j)
    return left is not None and made >= left * (1 - _FINISHED)


def _step(walk: _Walk, reading: Reading, measured: Measured, charges: Sequence[int], worth: Sequence[float], t: int) -> None:
    """Add up one period: service that is still credited, less the charges, discounted."""
    state = reading.state
    spread_ms = 1000 * state.period.seconds * state.options.hold_periods
    work = works(reading)
    for j, (p, q) in enumerate(measured.service):
        left, made, service = _left(reading, j), walk.made[j], p / q
        if _is_done(reading, j, made):
            continue
        step = service * (work[j] if state.jobs[j].remaining_work else state.period.seconds)
        credited = min(1.0, (left - made) / step) if left is not None and step > 0 else 1.0
        walk.gains.append(DISCOUNT**t * worth[j] * service * credited)
        walk.losses.append(DISCOUNT**t * worth[j] * charges[j] / spread_ms)
        walk.made[j] = made + step


def _stated(reading: Reading, horizon: Horizon, walk: _Walk) -> Iterator[Broken]:
    """Compare what is stated of all periods with what they come to."""
    where = "certificate.horizon"
    value = fsum(walk.gains) - fsum(walk.losses)
    tolerance = RELATIVE_TOLERANCE * (fsum(walk.gains) + fsum(walk.losses)) + ABSOLUTE_TOLERANCE
    if horizon.discount != DISCOUNT:
        yield Broken("objective", f"{where}.discount", f"{horizon.discount:g} is stated; a later period counts {DISCOUNT:g}", abs(horizon.discount - DISCOUNT))
    if not abs(horizon.objective - value) <= tolerance:
        off = abs(horizon.objective - value)
        yield Broken("objective", f"{where}.objective", f"{horizon.objective:.12g} is stated, but all periods are worth {value:.12g}", off)
    if not horizon.objective - horizon.bound <= tolerance:
        off = horizon.objective - horizon.bound
        yield Broken("objective", f"{where}.bound", f"the bound {horizon.bound:.12g} is below the objective {horizon.objective:.12g}", off)
    gap = max(0.0, horizon.bound - horizon.objective) / max(abs(horizon.bound), abs(horizon.objective), ABSOLUTE_TOLERANCE)
    if not abs(horizon.gap - gap) <= RELATIVE_TOLERANCE:
        yield Broken("objective", f"{where}.gap", f"{horizon.gap:.6g} is stated, but bound and objective are {gap:.6g} apart", abs(horizon.gap - gap))
    most = {"optimal": 0.0, "within_gap": reading.state.options.gap}.get(horizon.status)
    if most is not None and not horizon.gap <= most + RELATIVE_TOLERANCE:
        message = f"{horizon.status} is stated with a gap of {horizon.gap:.6g}, above {most:.6g}"
        yield Broken("objective", f"{where}.status", message, horizon.gap - most)
