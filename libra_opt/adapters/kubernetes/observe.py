"""From what the cluster says to the state that is planned."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from libra_opt.adapters.kubernetes.manifest import name_of
from libra_opt.adapters.kubernetes.members import Member, members_of
from libra_opt.adapters.kubernetes.pools import Pools, pools_of
from libra_opt.adapters.kubernetes.quantities import Vector, Vocabulary
from libra_opt.adapters.kubernetes.queues import queue_of, with_cohorts
from libra_opt.adapters.kubernetes.settings import Settings
from libra_opt.adapters.kubernetes.snapshot import Snapshot
from libra_opt.domain.faults import fault_of
from libra_opt.domain.state import State
from libra_opt.errors import InputError
from libra_opt.scheduler import Observed

__all__ = ["Seen", "see", "vocabulary_of"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What was observed, with the objects that it was made of.

    Attributes
    ----------
    observed
        The state and its notes.
    members
        The jobs, by their ids.
    snapshot
        Everything that was read.
    """

    observed: Observed
    members: Mapping[str, Member]
    snapshot: Snapshot


def vocabulary_of(settings: Settings) -> Vocabulary:
    """Return how the state and Kubernetes call the same resources."""
    return Vocabulary(settings.planned, tuple(told.key for told in settings.resources.values()))


def see(snapshot: Snapshot, settings: Settings) -> Seen:
    """Return the state of a cluster that was read.

    A stage holds the replicas whose pods are bound to a node; what its object asks for beyond that holds nothing.

    Raises
    ------
    InputError
        It contradicts itself.
    """
    vocabulary, notes = vocabulary_of(settings), list[str]()
    members, owner = members_of(snapshot, settings, vocabulary, notes)
    pools = pools_of(snapshot.nodes, snapshot.pods, settings.pool_label, owner, vocabulary, notes)
    queues = [queue_of(settings.queues, manifest, vocabulary, notes) for manifest in snapshot.queues if name_of(manifest)]
    known = {queue.name for queue in queues}
    if settings.cohorts:
        queues = list(with_cohorts(queues, snapshot.queues, snapshot.cohorts, vocabulary))
    pinned = {pool for member in members.values() for group in member.groups if (pool := group.selector.get(settings.pool_label)) is not None}
    capacity = {**dict.fromkeys(sorted(pinned), vocabulary.zero), **pools.capacity}
    said = {
        "resources": vocabulary.resources,
        "pools": [{"name": name, "capacity": vocabulary.amounts(amounts)} for name, amounts in capacity.items()],
        "queues": queues,
        "jobs": [_job(member, pools, known, settings, vocabulary, notes) for member in members.values()],
    }
    try:
        state = State.model_validate(said)
    except ValidationError as error:
        raise InputError("what Kubernetes says", tuple(fault_of(details, State) for details in error.errors(include_url=False))) from error
    return Seen(Observed(state=state, notes=tuple(notes)), members, snapshot)


def _job(member: Member, pools: Pools, queues: set[str], settings: Settings, vocabulary: Vocabulary, notes: list[str]) -> dict[str, Any]:
    if member.workload == "":
        notes.append(f"Kueue has no Workload of {member.id} yet, so it can neither be let in nor put out")
    if member.queue and member.queue not in queues:
        notes.append(f"{member.id} is of the queue {member.queue}, which is not there; it is planned as nobody's")
    job: dict[str, Any] = {"id": member.id, "stages": [_stage(member, i, pools, settings, vocabulary, notes) for i in range(len(member.groups))]}
    if member.queue in queues:
        job["queue"] = member.queue
    if member.submitted is not None:
        job["submitted"] = member.submitted
    return job


def _stage(member: Member, i: int, pools: Pools, settings: Settings, vocabulary: Vocabulary, notes: list[str]) -> dict[str, Any]:
    group = member.groups[i]
    counts = pools.bound.get((member.id, group.name), {})
    stage: dict[str, Any] = {
        "name": group.name,
        "min_quota": vocabulary.amounts(_times(group.least or 0, group.each)),
        "max_quota": vocabulary.every(_times(group.most or 0, group.each)),
        "unit": vocabulary.amounts(group.each),
        "demand": vocabulary.amounts(_times(member.wished[group.name], group.each)),
    }
    pool, held = group.selector.get(settings.pool_label), 0
    for where, n_pods in counts.items():
        held = -(-n_pods // group.n_pods)
        stage["allocation"] = {"pool": where, "resources": vocabulary.amounts(_times(held, group.each))}
        pool = pool or where
    if member.is_active and held < group.replicas:
        reason = f" ({member.waits_for})" if member.waits_for else ""
        notes.append(f"{member.id}, stage {group.name}: {held} of {group.replicas} replicas have a node{reason}")
    if pool is not None:
        stage["pools"] = [pool]
    elif len(pools.capacity) > 1:
        notes.append(
            f"{member.id}, stage {group.name}, names no {settings.pool_label} in its node selector, so Kubernetes chooses its pool whatever is planned"
        )
    return stage


def _times(n: int, each: Vector) -> Vector:
    return tuple(n * amount for amount in each)
