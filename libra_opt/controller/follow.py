"""From what is remembered and what is seen now: how long each job has waited, and what came of the period before, as feedback is told it."""

from collections.abc import Mapping
from typing import Final

from libra_opt.controller.memory import Followed, Memory
from libra_opt.domain import Allocation, Job, Observation, PreemptionCost, Resource, State
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.quantity import parse
from libra_opt.feedback import Outcome, SeenJob, outcome_of, waiting_credit

__all__ = ["follow", "holds_of", "outcome_since"]

_LONGEST_WAIT: Final = 365 * 86_400
"""A job that says it was submitted earlier than this many seconds ago does not mean the epoch: its waiting is counted from when it is first seen."""

_LEAST_SECONDS: Final = 1e-3


def holds_of(job: Job) -> FrozenMapping[str, Allocation]:
    """Return what the stages of a job hold; empty for one that waits."""
    return FrozenMapping({stage.name: stage.allocation for stage in job.all_stages if stage.allocation is not None and _holds_something(stage.allocation)})


def _holds_something(allocation: Allocation) -> bool:
    return any(parse(amount, "") > 0 for amount in allocation.resources.values())


def follow(memory: Memory, state: State, now: float) -> tuple[Followed, ...]:
    """Return what is remembered of every job that is there now."""
    before = {job.id: job for job in memory.jobs}
    return tuple(_followed(job, before.get(job.id), memory.at, now) for job in state.jobs)


def _followed(job: Job, before: Followed | None, at: float | None, now: float) -> Followed:
    holds = holds_of(job)
    if before is None or at is None:
        since = job.submitted if job.submitted is not None and 0 <= now - job.submitted <= _LONGEST_WAIT else now
        has_run = bool(holds) or any(isinstance(entry, Observation) and bool(entry.usage) for stage in job.all_stages for entry in stage.history or ())
        waited = 0.0 if holds else waiting_credit(0.0, now - since, runs=False, has_run=has_run)
        running_since = now - job.running_seconds if holds else None
        return Followed(id=job.id, waited_seconds=waited, has_run=has_run, waiting_since=None if holds else since, running_since=running_since, holds=holds)
    has_run = before.has_run or before.running_since is not None
    if holds:
        since = now if before.running_since is None else before.running_since
        credit = waiting_credit(before.waited_seconds, max(0.0, now - max(since, at)), runs=True, has_run=has_run)
        return Followed(id=job.id, waited_seconds=credit, has_run=True, running_since=since, holds=holds)
    since = before.waiting_since if before.waiting_since is not None else at if before.action == "evict" else now
    credit = waiting_credit(before.waited_seconds, max(0.0, now - max(since, at)), runs=False, has_run=has_run)
    return Followed(id=job.id, waited_seconds=credit, has_run=has_run, waiting_since=since, holds=holds)


def outcome_since(memory: Memory, state: State, now: float, allocating_seconds: float | None = None) -> Outcome | None:
    """Return what came of the period that was planned last, counted from what is there now; None where none was planned.

    Seconds lost are those that the moved jobs state as the cost of their moves. Kills for want of memory are not known.
    """
    if memory.at is None:
        return None
    there = {job.id: job for job in state.jobs}
    costly = {resource.name: resource for resource in state.resources if resource.costly}
    memory_names = frozenset(resource.name for resource in state.resources if not resource.compressible)
    units = {resource.name: resource.unit for resource in state.resources}
    seen = [one for job in memory.jobs if (one := _seen(job, there.get(job.id), memory.at, costly, {n: units[n] for n in memory_names})) is not None]
    outcome = outcome_of(seen, min(1e6, max(_LEAST_SECONDS, now - memory.at)))
    return outcome.replace({"n_memory_kills": None, "allocating_seconds": allocating_seconds})


def _seen(before: Followed, job: Job | None, at: float, costly: Mapping[str, Resource], memory: Mapping[str, str]) -> SeenJob | None:
    """Return what happened to one job since; None for one that waited and is gone."""
    ran, holds = bool(before.holds), holds_of(job) if job is not None else {}
    if not ran:
        delay = max(0.0, at - before.waiting_since) if before.waiting_since is not None else None
        return None if job is None else SeenJob("admit" if holds else "wait", delay_seconds=delay)
    if job is None or not holds:
        return SeenJob("evict" if before.action == "evict" else "keep")
    held, used = _memory_seen(job, memory)
    cost, moved, lost = job.preemption_cost, "keep", 0.0
    for name, now in holds.items():
        then = before.holds.get(name)
        if then is not None and then.pool != now.pool:
            moved, lost = "migrate", lost + cost.migrate_seconds
        elif then is not None and (changed := _changed(then, now, costly)):
            moved, lost = moved if moved == "migrate" else "resize", lost + _resize_seconds(cost, changed)
    return SeenJob(moved, lost_seconds=lost, held=held, used=used)


def _changed(then: Allocation, now: Allocation, costly: Mapping[str, Resource]) -> list[str]:
    return [name for name, resource in costly.items() if parse(then.resources.get(name, 0), resource.unit) != parse(now.resources.get(name, 0), resource.unit)]


def _resize_seconds(cost: PreemptionCost, changed: list[str]) -> float:
    charge = cost.resize_seconds
    return max((charge.get(name, 0.0) for name in changed), default=0.0) if isinstance(charge, Mapping) else charge


def _memory_seen(job: Job, units: Mapping[str, str]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the memory that a job held in the newest entry of its history, and the most it used then, where both were observed."""
    held: list[float] = []
    used: list[float] = []
    for stage in job.all_stages:
        newest = stage.history[-1] if stage.history else None
        if not isinstance(newest, Observation) or newest.allocation is None:
            continue
        for name, most in newest.watermark.items():
            if name in units and most is not None:
                held.append(float(parse(newest.allocation.get(name, 0), units[name])))
                used.append(float(parse(most, units[name])))
    return tuple(held), tuple(used)
