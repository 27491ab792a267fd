"""R14: a stage holds the least that its job's service asks for, but for what it keeps and for spare that is handed out."""

from collections.abc import Iterator

from libra_opt.domain import Ledger
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.verification.moves import resize_charge
from libra_opt.verification.reading import Reading, Vector
from libra_opt.verification.report import Broken
from libra_opt.verification.service import Measured, Ratio, largest_intensity

__all__ = ["follows_freely", "least_amount", "released"]


def follows_freely(ledger: Ledger, j: int, r: int) -> bool:
    """Say whether a resource of a job is one of which spare is handed out: compressible, not costly, free to change."""
    resource = ledger.resources[r]
    return resource.compressible and not resource.costly and ledger.resize_ms[j][r] == 0


def least_amount(reading: Reading, s: int, r: int, pace: Ratio) -> int:
    """Return the least a placed stage can hold of a resource at a pace level, in quanta, given the memory it holds."""
    ledger = reading.ledger
    vn, vd = reading.speed[s]
    amount = max(ledger.lo[s][r], ledger.need[s][r], -(-ledger.demand[s][r] * pace[0] * vd // (pace[1] * vn)))
    if r == reading.cards:
        amount = max(amount, _cards_for_memory(reading, s))
    unit = ledger.unit[s][r]
    return amount if unit == 1 else -(-amount // unit) * unit


def released(reading: Reading, measured: Measured) -> Iterator[Broken]:
    """R14: no stage holds more than its least, what it keeps, or spare up to its cap.

    An amount is the least when one unit less falls below the minimum, the need, the pace level or the memory on its cards. Keeping is for a
    resource whose change costs more than what the stage pays; spare is for resources that follow freely.
    """
    ledger = reading.ledger
    rows = range(ledger.n_resources)
    for j, stages in enumerate(ledger.stage_of):
        if not (reading.runs[j] and reading.sound[j]):
            continue
        for s in stages:
            held = reading.held[s] or ()
            lo, need, unit, demand = ledger.lo[s], ledger.need[s], ledger.unit[s], ledger.demand[s]
            vn, vd = reading.speed[s]
            p, q = measured.pace[s]
            p, q = p * vd, q * vn
            for r in rows:
                below = held[r] - unit[r]
                if below < lo[r] or below < need[r] or below * q < demand[r] * p:
                    continue
                if r == reading.cards and below < _cards_for_memory(reading, s):
                    continue
                yield from _surplus(reading, measured, s, r, held)


def _surplus(reading: Reading, measured: Measured, s: int, r: int, held: Vector) -> Iterator[Broken]:
    """Judge an amount that is above the least."""
    ledger = reading.ledger
    j = reading.job_of[s]
    most = least_amount(reading, s, r, measured.pace[s])
    meaning = "the least at its service,"
    if reading.state.options.spare and ledger.demand[s][r] and follows_freely(ledger, j, r):
        cap = _spare_cap(ledger, s, r)
        if cap > most:
            most, meaning = cap, "the least at its service and what spare may add,"
    if held[r] <= most or _keeps(reading, s, r, held):
        return
    resource = ledger.resources[r]
    message = f"{reading.stage_name(s)} holds {resource.write(held[r])} {resource.name}, above {meaning} {resource.write(most)}"
    yield Broken("R14", reading.amount_path(s, r), message, float((held[r] - most) * resource.step))


def _keeps(reading: Reading, s: int, r: int, held: Vector) -> bool:
    current = reading.ledger.current[s]
    if current is None or reading.ledger.current_pool[s] != reading.pool[s] or current[r] != held[r]:
        return False
    charges = reading.ledger.resize_ms[reading.job_of[s]]
    return charges[r] > resize_charge(charges, held, current)


def _spare_cap(ledger: Ledger, s: int, r: int) -> int:
    if ledger.hi[s][r] != UNLIMITED:
        return ledger.hi[s][r]
    p, q = largest_intensity(ledger.intensity[s])
    unit = ledger.unit[s][r]
    return -(-ledger.demand[s][r] * p // (q * unit)) * unit


def _cards_for_memory(reading: Reading, s: int) -> int:
    """R9: how many quanta of cards carry the memory a stage holds; 0 where cards are shared."""
    ratio, held = reading.ledger.card_ratio[reading.pool[s]], reading.held[s]
    if ratio is None or ratio[0] == 0 or held is None:
        return 0
    return -(-held[reading.memory] * ratio[1] // ratio[0])
