"""R14: a stage holds the least that its job's service asks for, but for what it keeps and for spare that is handed out."""

from collections.abc import Iterator, Sequence
from operator import ge, sub

from libra_opt.domain import Ledger
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.verification.moves import resize_charge
from libra_opt.verification.reading import Reading, Vector
from libra_opt.verification.report import Broken
from libra_opt.verification.service import Measured, Ratio, largest_intensity

__all__ = ["asked_amounts", "least_amount", "released", "spare_resources"]


def spare_resources(ledger: Ledger) -> list[int]:
    """Return the resources of which spare is handed out to jobs that pay nothing for changing them: compressible and not costly."""
    return [r for r, resource in enumerate(ledger.resources) if resource.compressible and not resource.costly]


def asked_amounts(reading: Reading, measured: Measured) -> list[Sequence[int]]:
    """Return what the stages of jobs that run and could be read cannot do without at their pace level, given the memory they hold.

    Returns
    -------
    list
        ``[s][r]``: quanta, before they are rounded up to whole units; empty for the other stages.
    """
    ledger = reading.ledger
    asked: list[Sequence[int]] = [()] * len(ledger.lo)
    demanding = [r for r, resource in enumerate(ledger.resources) if resource.compressible]
    for stages, runs, is_sound in zip(ledger.stage_of, reading.runs, reading.sound, strict=True):
        if runs and is_sound:
            for s in stages:
                asked[s] = _asked(reading, s, measured.pace[s], demanding)
    return asked


def _asked(reading: Reading, s: int, pace: Ratio, demanding: Sequence[int]) -> list[int]:
    ledger, cards = reading.ledger, reading.cards
    vn, vd = reading.speed[s]
    p, q = pace[0] * vd, pace[1] * vn
    asked, demand = list(map(max, ledger.lo[s], ledger.need[s])), ledger.demand[s]
    for r in demanding:
        wanted = demand[r] * p
        if asked[r] * q < wanted:
            asked[r] = -(-wanted // q)
    entry = reading.entry.get(s)
    if entry is not None:
        asked = list(map(max, asked, entry.amounts))
    if cards >= 0 and ledger.card_ratio[reading.pool[s]] is not None:
        asked[cards] = max(asked[cards], _cards_for_memory(reading, s))
    return asked


def least_amount(asked: int, unit: int) -> int:
    """Return the least a stage can hold of a resource of which it asks so much, in quanta."""
    return asked if unit == 1 else -(-asked // unit) * unit


def released(reading: Reading, asked: Sequence[Sequence[int]]) -> Iterator[Broken]:
    """R14: no stage holds more than its least, what it keeps, or spare up to its cap.

    An amount is the least when one unit less falls below the minimum, the need, the pace level or the memory on its cards. Keeping is for a
    resource whose change costs more than what the stage pays; spare is for resources that follow freely.
    """
    ledger = reading.ledger
    spare = spare_resources(ledger) if reading.state.options.spare else ()
    for j, stages in enumerate(ledger.stage_of):
        if not (reading.runs[j] and reading.sound[j]):
            continue
        charges = ledger.resize_ms[j]
        free = [r for r in spare if not charges[r]]
        for s in stages:
            held, unit = reading.held[s] or (), ledger.unit[s]
            below = tuple(map(sub, held, unit))
            if any(map(ge, below, asked[s])):
                for r, enough in enumerate(asked[s]):
                    if below[r] >= enough:
                        found = _surplus(reading, s, r, least_amount(enough, unit[r]), is_spare=r in free)
                        if found is not None:
                            yield found


def _surplus(reading: Reading, s: int, r: int, least: int, *, is_spare: bool) -> Broken | None:
    """Judge an amount that is above the least."""
    ledger, held = reading.ledger, reading.held[s] or ()
    most, meaning = least, "the least at its service,"
    if is_spare and ledger.demand[s][r]:
        cap = _spare_cap(ledger, s, r)
        if cap > most:
            most, meaning = cap, "the least at its service and what spare may add,"
    if held[r] <= most or _keeps(reading, s, r, held):
        return None
    resource = ledger.resources[r]
    message = f"{reading.stage_name(s)} holds {resource.write(held[r])} {resource.name}, above {meaning} {resource.write(most)}"
    return Broken("R14", reading.amount_path(s, r), message, float((held[r] - most) * resource.step))


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
