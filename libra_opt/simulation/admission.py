"""The rules of admission that every policy is held to: the same capacity, minima, maxima, units, pools, memory per card and queue ceilings for all.

These are R1 to R4, R8, R9 and the ceilings of R10 on what is used.
What a policy may think of differently is not checked: guarantees, protection, and memory below the need.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import add
from typing import Final

from libra_opt.domain import Queue, Workload, WorkloadStage
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.quantity import parse
from libra_opt.simulation.grant import Grant, Holding
from libra_opt.simulation.truth import Vector, vector

__all__ = ["check_grants"]

_ALMOST: Final = 1e-6
_UNLIMITED: Final = float("inf")


def check_grants(workload: Workload, capacity: Mapping[str, Vector], grants: Mapping[int, Holding], there: Sequence[int]) -> None:
    """Refuse grants that break a rule; a job that is absent waits, and one that is there holds its minimum in every stage.

    Raises
    ------
    ValueError
        With every rule that is broken.
    """
    broken = list(_broken(workload, capacity, grants, there))
    if broken:
        raise ValueError(f"the grants break {len(broken)} rules: {'; '.join(broken[:20])}")


def _broken(workload: Workload, capacity: Mapping[str, Vector], grants: Mapping[int, Holding], there: Sequence[int]) -> Iterator[str]:
    resources = workload.resources
    names = [resource.name for resource in resources]
    used = {name: [0.0] * len(names) for name in capacity}
    borrowed = {queue.name: [0.0] * len(names) for queue in workload.queues}
    known = set(there)
    for j, holding in grants.items():
        job = workload.jobs[j]
        if j not in known:
            yield f"{job.id} is not there, or done"
        if len(holding) != len(job.stages):
            yield f"{job.id} has {len(job.stages)} stages and is granted {len(holding)}"
            continue
        for stage, grant in zip(job.stages, holding, strict=True):
            amounts = (0.0,) * len(names) if grant is None else grant.amounts
            yield from _stage(f"{job.id}.{stage.name}", stage, amounts, workload)
            if grant is not None:
                yield from _place(f"{job.id}.{stage.name}", stage, grant, workload, used)
                if job.queue is not None:
                    borrowed[job.queue] = [a + b for a, b in zip(borrowed[job.queue], grant.amounts, strict=True)]
    for pool, total in used.items():
        for r, name in enumerate(names):
            if total[r] > capacity[pool][r] * (1 + _ALMOST) + _ALMOST:
                yield f"pool {pool}: {total[r]:g} of {capacity[pool][r]:g} {name}"
    yield from _ceilings(workload, borrowed)


def _ceilings(workload: Workload, used: Mapping[str, Sequence[float]]) -> Iterator[str]:
    resources = workload.resources
    queues = {queue.name: queue for queue in workload.queues}
    below: dict[str, list[str]] = {name: [] for name in queues}
    for queue in workload.queues:
        for name in _way_up(queue, queues):
            below[name].append(queue.name)
    for queue in workload.queues:
        if queue.borrowing_limit is None:
            continue
        own, more = _added([vector(queues[name].nominal_quota, resources) for name in below[queue.name]]), vector(queue.borrowing_limit, resources, _UNLIMITED)
        for resource, amount, most in zip(resources, _added([used[name] for name in below[queue.name]]), map(add, own, more), strict=True):
            if amount > most * (1 + _ALMOST) + _ALMOST:
                yield f"queue {queue.name}: {amount:g} {resource.name} is above its ceiling {most:g}"


def _way_up(queue: Queue, queues: Mapping[str, Queue]) -> Iterator[str]:
    """Yield the names of a queue and of all above it; the workload has refused circles."""
    at: Queue | None = queue
    while at is not None:
        yield at.name
        at = None if at.parent is None else queues[at.parent]


def _added(rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)]


def _stage(where: str, stage: WorkloadStage, amounts: Vector, workload: Workload) -> Iterator[str]:
    resources = workload.resources
    least = vector(stage.min_quota, resources)
    most = vector(stage.max_quota, resources, _UNLIMITED)
    for resource, amount, lo, hi in zip(resources, amounts, least, most, strict=True):
        if amount < lo - _ALMOST:
            yield f"{where}: {amount:g} {resource.name} is below the minimum {lo:g}"
        if amount > hi + _ALMOST:
            yield f"{where}: {amount:g} {resource.name} is above the maximum {hi:g}"
        if resource.name == CARDS and stage.unit and abs(amount / stage.unit - round(amount / stage.unit)) > _ALMOST:
            yield f"{where}: {amount:g} {resource.name} is no multiple of {stage.unit}"


def _place(where: str, stage: WorkloadStage, grant: Grant, workload: Workload, used: Mapping[str, list[float]]) -> Iterator[str]:
    names = [resource.name for resource in workload.resources]
    if grant.pool not in used or (stage.pools is not None and grant.pool not in stage.pools):
        yield f"{where}: may not sit in {grant.pool}"
        return
    total = used[grant.pool]
    for r, amount in enumerate(grant.amounts):
        total[r] += amount
    card_mem = next(pool.card_mem for pool in workload.pools if pool.name == grant.pool)
    if card_mem is not None and CARDS in names and CARD_MEMORY in names:
        memory = names.index(CARD_MEMORY)
        per_card = float(parse(card_mem, workload.resources[memory].unit))
        cards = grant.amounts[names.index(CARDS)]
        if grant.amounts[memory] > per_card * cards * (1 + _ALMOST) + _ALMOST:
            yield f"{where}: {grant.amounts[memory]:g} {CARD_MEMORY} on {cards:g} cards of {per_card:g}"
