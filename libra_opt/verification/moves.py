"""What a plan does to running jobs: its actions, the charges of R11, the budget of R12, protection of R13."""

from collections.abc import Iterator, Sequence

from libra_opt.domain.plan import Action
from libra_opt.domain.profile import Entry, Profile
from libra_opt.domain.quantity import exact
from libra_opt.verification.reading import Reading, Vector
from libra_opt.verification.report import Broken
from libra_opt.verification.usage import Usage, Way, fits, usage

__all__ = ["actions", "budget", "budget_ms", "charges", "protection", "resize_charge"]


def actions(reading: Reading) -> Iterator[Broken]:
    """List the jobs whose stated action is not what the plan does to them."""
    running, runs = reading.ledger.running, reading.runs
    for j, (planned, is_sound) in enumerate(zip(reading.planned, reading.sound, strict=True)):
        if planned is not None and is_sound:
            done = _action(reading, j) if running[j] else "admit" if runs[j] else "queue"
            if planned.action != done:
                yield Broken("format", f"{reading.job_path(j)}.action", f"job {planned.id!r} is said to {planned.action}; what the plan does is {done}", 1.0)


def _action(reading: Reading, j: int) -> Action:
    """Return what the plan does to a job that runs now."""
    ledger = reading.ledger
    if not reading.runs[j]:
        return "evict"
    up = down = False
    for s in ledger.stage_of[j]:
        held, current = reading.held[s], ledger.current[s]
        if current is not None and ledger.current_pool[s] != reading.pool[s]:
            return "migrate"
        if held is not None and held != current:
            for new, old in zip(held, current or (0,) * len(held), strict=True):
                up |= new > old
                down |= new < old
    return "reshape" if up and down else "grow" if up else "shrink" if down else "keep"


def charges(reading: Reading) -> list[int]:
    """R11: what the plan's moves cost each job, in ms of lost service; admitting and starting a stage are free."""
    ledger = reading.ledger
    costs = [0] * len(ledger.jobs)
    for j, running in enumerate(ledger.running):
        if not running:
            continue
        if not reading.runs[j]:
            costs[j] = ledger.evict_ms[j]
            continue
        for s in ledger.stage_of[j]:
            held, current = reading.held[s], ledger.current[s]
            if current is None or held is None:
                continue
            if ledger.current_pool[s] != reading.pool[s]:
                costs[j] += ledger.migrate_ms[j]
            elif held != current:
                costs[j] += resize_charge(ledger.resize_ms[j], held, current)
    return costs


def resize_charge(charges_ms: Vector, held: Vector, current: Vector) -> int:
    """R11: the largest charge among the resources whose amount changes in place, in ms."""
    return max((charge for charge, new, old in zip(charges_ms, held, current, strict=True) if new != old), default=0)


def budget_ms(reading: Reading) -> int | None:
    """Return the preemption budget in ms; None where moves are not limited."""
    seconds = reading.state.options.preemption_budget_seconds
    return None if seconds is None else round(exact(seconds) * 1000)


def budget(reading: Reading, used: Usage, costs: Sequence[int]) -> Iterator[Broken]:
    """R12: where the charges exceed the budget, no move is among them that nothing forces.

    A move is not forced when its job could as well keep what it pays for changing, beside all others as they are planned: then fewer seconds were
    possible, and no protected job would be lost by it.
    """
    allowed = budget_ms(reading)
    excess = 0 if allowed is None else sum(costs) - allowed
    if excess <= 0:
        return
    ledger = reading.ledger
    for j, cost in enumerate(costs):
        if cost and fits(ledger, used.without(reading, j), ledger.job_queue[j], [_staying(reading, j, s) for s in ledger.stage_of[j]]):
            message = f"moving job {ledger.jobs[j]!r} costs {cost / 1000:g} s of a budget that is exceeded by {excess / 1000:g} s, and it could stay as it is"
            yield Broken("R12", reading.job_path(j), message, min(cost, excess) / 1000)


def protection(reading: Reading, worth: Sequence[float]) -> Iterator[Broken]:
    """R13: no protected job of positive worth waits that would fit beside the other protected jobs as they are planned."""
    ledger = reading.ledger
    lost = [j for j, protected in enumerate(ledger.protected) if protected and not reading.runs[j] and worth[j] > 0]
    if not lost:
        return
    kept = usage(reading, (j for j, protected in enumerate(ledger.protected) if protected))
    for j in lost:
        if fits(ledger, kept, ledger.job_queue[j], [_starting(reading, s) for s in ledger.stage_of[j]]):
            yield Broken("R13", reading.job_path(j), f"protected job {ledger.jobs[j]!r} waits although it fits beside the other protected jobs", 1.0)


def _starting(reading: Reading, s: int) -> list[Way]:
    """Return the ways a stage can run at all: in each allowed pool, with its least amounts at service 0."""
    ledger = reading.ledger
    free = (None,) * ledger.n_resources
    profile = ledger.profiles.get(s)
    if profile is not None:
        return [way for entry in profile.entries for way in _holding(reading, s, profile, entry, free)]
    ways = ((k, _filled(reading, s, k, free)) for k, _ in ledger.allowed[s])
    return [(k, held) for k, held in ways if held is not None]


def _holding(reading: Reading, s: int, profile: Profile, entry: Entry, fixed: Sequence[int | None]) -> list[Way]:
    """R15: return the way a stage holds an entry of its profile around what is fixed, or none where the two contradict each other."""
    mixed = [amount if is_listed else kept for amount, is_listed, kept in zip(entry.amounts, profile.listed, fixed, strict=True)]
    if any(kept is not None and kept != amount for kept, amount in zip(fixed, mixed, strict=True)):
        return []
    held = _filled(reading, s, entry.pool, mixed)
    return [] if held is None else [(entry.pool, held)]


def _staying(reading: Reading, j: int, s: int) -> list[Way]:
    """Return the ways a stage can run without a charge: what is costly to change as it is, the rest at its least; anywhere if it holds nothing."""
    ledger = reading.ledger
    current, k = ledger.current[s], ledger.current_pool[s]
    if current is None:
        return _starting(reading, s)
    if all(other != k for other, _ in ledger.allowed[s]):
        return []
    kept = tuple(amount if charge else None for amount, charge in zip(current, ledger.resize_ms[j], strict=True))
    profile = ledger.profiles.get(s)
    if profile is not None:
        return [way for entry in profile.entries if entry.pool == k for way in _holding(reading, s, profile, entry, kept)]
    held = _filled(reading, s, k, kept)
    return [] if held is None else [(k, held)]


def _filled(reading: Reading, s: int, k: int, fixed: Sequence[int | None]) -> Vector | None:
    """Return the least amounts of a stage in a pool at service 0 around what is fixed; None where R2, R3, R5, R8 or R9 stands against it."""
    ledger = reading.ledger
    held = []
    for least, need, unit, amount in zip(ledger.lo[s], ledger.need[s], ledger.unit[s], fixed, strict=True):
        floor = max(least, need)
        if amount is not None and (amount < floor or amount % unit):
            return None
        held.append(-(-floor // unit) * unit if amount is None else amount)
    ratio = ledger.card_ratio[k]
    if ratio is not None:
        cards, memory = reading.cards, reading.memory
        short = held[memory] * ratio[1] - held[cards] * ratio[0]
        if short > 0:
            if fixed[cards] is not None or ratio[0] == 0:
                return None
            unit = ledger.unit[s][cards]
            held[cards] = -(-held[memory] * ratio[1] // (ratio[0] * unit)) * unit
    if any(amount > most for amount, most in zip(held, ledger.hi[s], strict=True)):
        return None
    return tuple(held)
