"""R1 to R10 and R16: what pools, quotas, needs, units, queues and the cost ceiling allow; one function a rule, each lists where it is broken.

R6 and R7 say what a service is, so they are broken by a plan that states another one. R11 and what follows from it is in `moves`, R14 in `least`.
"""

from collections.abc import Iterator
from operator import gt, lt, mod
from typing import Final

from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.verification.reading import Reading, Vector
from libra_opt.verification.report import Broken, Rule
from libra_opt.verification.service import Measured
from libra_opt.verification.tree import is_tree
from libra_opt.verification.usage import Usage, booked, reserve

__all__ = ["SERVICE_TOLERANCE", "capacity", "card_memory", "ceilings", "cost", "maximum", "minimum", "need", "placement", "service", "units"]

COST_TOLERANCE: Final = 1e-9
"""How far a stated cost may be from the exact one, as a share of it."""

SERVICE_TOLERANCE: Final = 1e-6
"""How far a stated service may be from the exact one."""


def capacity(reading: Reading, used: Usage) -> Iterator[Broken]:
    """R1: the stages placed in a pool hold at most its capacity together."""
    ledger = reading.ledger
    for name, held, limit in zip(ledger.pools, used.pool, ledger.capacity, strict=True):
        if any(map(gt, held, limit)):
            for r in range(ledger.n_resources):
                if held[r] > limit[r]:
                    yield _over(reading, "R1", f"pools.{name}", f"pool {name!r} hands out", r, held[r], "its capacity", limit[r])


def minimum(reading: Reading) -> Iterator[Broken]:
    """R2: a job that runs holds at least its minimum in every stage and resource (missing stages are found in reading)."""
    yield from _short(reading, "R2", reading.ledger.lo, "min_quota")


def maximum(reading: Reading) -> Iterator[Broken]:
    """R3: no stage holds more than its maximum."""
    for s, held in enumerate(reading.held):
        if held is not None and any(map(gt, held, reading.ledger.hi[s])):
            for r, limit in enumerate(reading.ledger.hi[s]):
                if held[r] > limit:
                    yield _over(reading, "R3", reading.stage_path(s), f"{reading.stage_name(s)} holds", r, held[r], "max_quota", limit)


def placement(reading: Reading) -> Iterator[Broken]:
    """R4: every stage of a running job sits in a pool that it allows."""
    ledger = reading.ledger
    for s in sorted(reading.misplaced):
        planned = reading.planned[reading.job_of[s]]
        name = "" if planned is None else planned.stages[reading.stage_at[s]].pool
        known = ", ".join(repr(ledger.pools[k]) for k, _ in ledger.allowed[s]) or "none"
        yield Broken("R4", f"{reading.stage_path(s)}.pool", f"{reading.stage_name(s)} sits in pool {name!r}; it allows {known}", 1.0)


def need(reading: Reading) -> Iterator[Broken]:
    """R5: of every incompressible resource a stage that runs holds at least its need."""
    yield from _short(reading, "R5", reading.ledger.need, "its need")


def service(reading: Reading, measured: Measured) -> Iterator[Broken]:
    """R6 and R7: the stated service of a job is that of its stage, or of the slowest of them; a job that waits has none."""
    for j, (planned, (p, q), is_sound) in enumerate(zip(reading.planned, measured.service, reading.sound, strict=True)):
        if planned is None or not is_sound:
            continue
        off = abs(planned.service - p / q)
        if not off <= SERVICE_TOLERANCE:
            alone = len(reading.ledger.stage_of[j]) == 1
            meaning = "waits" if not reading.runs[j] else "is served as its stage" if alone else "is served as its slowest stage"
            message = f"job {planned.id!r} {meaning}, {p / q:.9g}, and not {planned.service:.9g}"
            yield Broken("R6" if alone else "R7", f"{reading.job_path(j)}.service", message, off)


def units(reading: Reading) -> Iterator[Broken]:
    """R8: a stage holds a multiple of its unit (amounts that are no whole quanta are found in reading)."""
    for s, held in enumerate(reading.held):
        if held is not None and any(map(mod, held, reading.ledger.unit[s])):
            for r, unit in enumerate(reading.ledger.unit[s]):
                if held[r] % unit:
                    resource = reading.ledger.resources[r]
                    message = f"{reading.stage_name(s)} holds {resource.write(held[r])} {resource.name}, not a multiple of unit {resource.write(unit)}"
                    yield Broken("R8", reading.amount_path(s, r), message, float(held[r] % unit * resource.step))


def card_memory(reading: Reading) -> Iterator[Broken]:
    """R9: where cards are exclusive, a stage holds at most the memory of its cards."""
    ledger = reading.ledger
    cards, memory = reading.cards, reading.memory
    if not any(ledger.card_ratio):
        return
    for s, held in enumerate(reading.held):
        ratio = ledger.card_ratio[reading.pool[s]] if held is not None and reading.pool[s] >= 0 else None
        if held is not None and ratio is not None and held[cards] * ratio[0] < held[memory] * ratio[1]:
            most = held[cards] * ratio[0] // ratio[1]
            on = f"what its {ledger.resources[cards].write(held[cards])} {CARDS} carry of {CARD_MEMORY},"
            yield _over(reading, "R9", reading.stage_path(s), f"{reading.stage_name(s)} holds", memory, held[memory], on, most)


def ceilings(reading: Reading, used: Usage) -> Iterator[Broken]:
    """R10: a queue holds at most its ceiling, and what queues reserve is not lent."""
    ledger = reading.ledger
    if is_tree(ledger):
        yield from _ceilings_of_tree(reading, used)
        return
    for q, name in enumerate(ledger.queues):
        for r, (held, limit) in enumerate(zip(used.queue[q], ledger.ceiling[q], strict=True)):
            if held > limit and limit != UNLIMITED:
                yield _over(reading, "R10", f"queues.{name}", f"queue {name!r} holds", r, held, "its ceiling", limit)
    for r, reserved, limit in reserve(ledger):
        taken = sum(max(row[r], kept) for row, kept in zip(used.queue, reserved, strict=False)) + used.queue[-1][r]
        if taken > limit:
            yield _over(reading, "R10", "queues", "use and reserved quota of all queues come to", r, taken, "the capacity of the cluster", limit)


def _ceilings_of_tree(reading: Reading, used: Usage) -> Iterator[Broken]:
    """R10 in a tree: a queue holds, with all below it and what these reserve, at most its ceiling, and all queues together no more than the cluster has."""
    ledger = reading.ledger
    capacity = {r: limit for r, _, limit in reserve(ledger)}
    for r, held in booked(ledger, used):
        for q, name in enumerate(ledger.queues):
            if held.queue[q] > ledger.ceiling[q][r]:
                subject = f"queue {name!r} holds, with those below it and what they reserve,"
                yield _over(reading, "R10", f"queues.{name}", subject, r, held.queue[q], "its ceiling", ledger.ceiling[q][r])
        if r in capacity and held.cluster > capacity[r]:
            yield _over(reading, "R10", "queues", "use and reserved quota of all queues come to", r, held.cluster, "the capacity of the cluster", capacity[r])


def cost(reading: Reading, used: Usage) -> Iterator[Broken]:
    """R16: all that is allocated costs at most the cost ceiling, and the plan states what it costs."""
    limit, stated = reading.ledger.cost, reading.plan.cost_per_hour
    if limit is None:
        if stated is not None:
            yield Broken("R16", "cost_per_hour", f"{stated:.12g} is stated, but the state has no cost ceiling", abs(stated))
        return
    spent = limit.of(enumerate(used.pool))
    money, ceiling = float(spent * limit.unit), reading.state.options.cost_ceiling
    if spent > limit.ceiling:
        yield Broken(
            "R16",
            "cost_per_hour",
            f"all that is allocated costs {money:.12g} per hour, above cost_ceiling {ceiling:.12g}",
            float((spent - limit.ceiling) * limit.unit),
        )
    if stated is None:
        yield Broken("R16", "cost_per_hour", f"is missing; all that is allocated costs {money:.12g} per hour", money)
    elif not abs(stated - money) <= COST_TOLERANCE * money:
        yield Broken("R16", "cost_per_hour", f"{stated:.12g} is stated, but all that is allocated costs {money:.12g} per hour", abs(stated - money))


def _short(reading: Reading, rule: Rule, limits: list[Vector], meaning: str) -> Iterator[Broken]:
    for s, held in enumerate(reading.held):
        if held is not None and any(map(lt, held, limits[s])):
            for r, limit in enumerate(limits[s]):
                if held[r] < limit:
                    resource = reading.ledger.resources[r]
                    message = f"{reading.stage_name(s)} holds {resource.write(held[r])} {resource.name}, below {meaning} {resource.write(limit)}"
                    yield Broken(rule, reading.amount_path(s, r), message, float((limit - held[r]) * resource.step))


def _over(reading: Reading, rule: Rule, where: str, subject: str, r: int, held: int, meaning: str, limit: int) -> Broken:
    resource = reading.ledger.resources[r]
    path = f"{where}.resources.{resource.name}" if where.startswith("jobs[") else f"{where}.{resource.name}"
    message = f"{subject} {resource.write(held)} {resource.name}, above {meaning} {resource.write(limit)}"
    return Broken(rule, path, message, float((held - limit) * resource.step))
