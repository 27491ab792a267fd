"""The jobs: every object that is planned, with its stages, whether it is stopped, and whose pods are whose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from libra_opt.adapters.kubernetes.kinds import Group, Kind
from libra_opt.adapters.kubernetes.manifest import Manifest, annotations_of, found, labels_of, listed, mapped, name_of, namespace_of, number, text
from libra_opt.adapters.kubernetes.pods import pod_requests
from libra_opt.adapters.kubernetes.quantities import Vocabulary
from libra_opt.adapters.kubernetes.settings import Replicas, Settings
from libra_opt.adapters.kubernetes.snapshot import Snapshot, kinds_of
from libra_opt.domain.frozen import FrozenMapping

__all__ = ["REPLICAS", "Member", "Owner", "members_of"]

REPLICAS: Final = "libra-opt/replicas"
"""The annotation that keeps how many replicas a job had that is stopped by having none."""

_QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
_ELASTIC: Final = "kueue.x-k8s.io/elastic-job"
_OTHER_QUEUES: Final = {"volcano": "volcano.sh/queue-name", "kai": "kai.scheduler/queue"}
_BEYOND: Final = (1 << 31) - 1
_MOST: Final = 100_000
_LONGEST: Final = 253
_STAGES: Final = 64


@dataclass(frozen=True, slots=True)
class Member:
    """One job.

    Attributes
    ----------
    id
        Namespace and name.
    namespace, name
        Of its object.
    resource
        How kubectl is told of its kind.
    suspend
        The path of the flag that stops it; None where replicas do.
    groups
        Its stages, each with how far it may go.
    wished
        How many replicas each stage could make use of.
    is_active
        Whether it is told to run.
    workload
        The name of the Workload by which Kueue lets it run; None where Kueue does not manage it.
    queue
        Whose it is; none: nobody's.
    submitted
        Seconds of the epoch.
    waits_for
        Why Kueue has not let it in, in its own words; empty where it has, or is not asked.
    """

    id: str
    namespace: str
    name: str
    resource: str
    suspend: tuple[str, ...] | None
    groups: tuple[Group, ...]
    wished: Mapping[str, int]
    is_active: bool
    workload: str | None
    queue: str | None
    submitted: float | None
    waits_for: str = ""


class Owner:
    """Says which stage a pod is of."""

    def __init__(self, kinds: Sequence[Kind], members: Mapping[tuple[str, str, str], Member], job_owners: Mapping[tuple[str, str], Member]) -> None:
        self._kinds = kinds
        self._members = members
        self._job_owners = job_owners

    def of(self, pod: Manifest) -> tuple[str, str] | None:
        """Return the id of the job and the name of the stage; None for a pod of nobody who is planned."""
        labels, namespace = labels_of(pod), namespace_of(pod)
        for kind in self._kinds:
            part = kind.part_of(labels)
            member = None if part is None else self._members.get((kind.kind, namespace, part.name))
            if part is not None and member is not None and any(group.name == part.group for group in member.groups):
                return member.id, part.group
        workload = annotations_of(pod).get("kueue.x-k8s.io/workload", "")
        job = labels.get("batch.kubernetes.io/job-name", labels.get("job-name", ""))
        member = self._members.get(("Workload", namespace, workload)) or self._job_owners.get((namespace, job))
        if member is None:
            return None
        stage = labels.get("kueue.x-k8s.io/podset", member.groups[0].name)
        return (member.id, stage) if any(group.name == stage for group in member.groups) else None


def members_of(snapshot: Snapshot, settings: Settings, vocabulary: Vocabulary, notes: list[str]) -> tuple[dict[str, Member], Owner]:
    """Return the jobs by their ids, and who says whose a pod is; what cannot be planned is left alone, with a note why."""
    kinds = kinds_of(settings)
    found_members: dict[str, Member] = {}
    by_object: dict[tuple[str, str, str], Member] = {}
    job_owners: dict[tuple[str, str], Member] = {}
    workloads = _by_owner(snapshot.workloads)
    queues = {(namespace_of(queue), name_of(queue)): text(queue, "spec", "clusterQueue") for queue in snapshot.local_queues}

    def add(kind: str, member: Member | None) -> Member | None:
        if member is None:
            return None
        if member.id in found_members:
            notes.append(f"{kind} {member.id} is left alone: another kind has an object of this name; rename one")
            return None
        found_members[member.id] = by_object[kind, member.namespace, member.name] = member
        return member

    for kind in kinds:
        for manifest in snapshot.jobs.get(kind.kind, ()):
            if not _is_done(manifest):
                add(kind.kind, _of_object(kind, manifest, workloads, queues, settings, vocabulary, notes))
    planned_owners = {kind.kind for kind in kinds}
    for manifest in snapshot.chosen:
        owner = _owner_of(manifest)
        if _is_done(manifest) or (owner is not None and owner[0] in planned_owners):
            continue
        member = add("Workload", _of_workload(manifest, queues, settings, vocabulary, notes))
        if member is not None and owner is not None:
            job_owners[member.namespace, owner[1]] = member
    return found_members, Owner(kinds, by_object, job_owners)


def _of_object(
    kind: Kind,
    manifest: Manifest,
    workloads: Mapping[tuple[str, str, str], Manifest],
    queues: Mapping[tuple[str, str], str],
    settings: Settings,
    vocabulary: Vocabulary,
    notes: list[str],
) -> Member | None:
    namespace, name, labels = namespace_of(manifest), name_of(manifest), labels_of(manifest)
    shown = f"{kind.kind} {namespace}/{name}"
    try:
        groups = kind.groups(manifest, vocabulary)
    except ValueError as error:
        notes.append(f"{shown} is left alone: {error}")
        return None
    is_kueues = settings.queues == "kueue" and _QUEUE_LABEL in labels
    workload = workloads.get((kind.kind, namespace, name)) if is_kueues else None
    is_active = found(workload, "spec", "active") is not False if is_kueues else kind.suspend is None or found(manifest, *kind.suspend) is not True
    if is_kueues and annotations_of(manifest).get(_ELASTIC) != "true":
        notes.append(f"{shown} is Kueue's and not elastic, so it is planned with the replicas it has; annotate it {_ELASTIC}: 'true' to have them changed")
        groups = tuple(replace(group, least=None, most=None, scale=None) for group in groups)
    if kind.suspend is None and groups[0].replicas == 0:
        is_active = False
        kept = annotations_of(manifest).get(REPLICAS, "")
        groups = tuple(replace(group, replicas=int(kept)) if kept.isdecimal() else group for group in groups)
    return _member(
        Member(
            id=f"{namespace}/{name}",
            namespace=namespace,
            name=name,
            resource=kind.resource,
            suspend=kind.suspend,
            groups=groups,
            wished={},
            is_active=is_active,
            workload=name_of(workload) if workload is not None else "" if is_kueues else None,
            queue=queues.get((namespace, labels[_QUEUE_LABEL])) if is_kueues else labels.get(_OTHER_QUEUES.get(settings.queues, "")),
            submitted=_seconds(text(manifest, "metadata", "creationTimestamp")),
            waits_for=_pending(workload),
        ),
        shown,
        settings,
        notes,
    )


def _of_workload(manifest: Manifest, queues: Mapping[tuple[str, str], str], settings: Settings, vocabulary: Vocabulary, notes: list[str]) -> Member | None:
    """Return a job that only Kueue knows: its pod sets are its stages, and it is let in or put out as it is."""
    namespace, name = namespace_of(manifest), name_of(manifest)
    groups = []
    for pod_set in listed(manifest, "spec", "podSets"):
        pod = mapped(pod_set, "template", "spec")
        selector = {key: str(value) for key, value in mapped(pod, "nodeSelector").items()}
        stage = text(pod_set, "name") or "main"
        groups.append(Group(stage, number(pod_set, "count", default=1), None, None, pod_requests(pod, vocabulary), 1, selector, None))
    member = Member(
        id=f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        resource="workloads.v1beta2.kueue.x-k8s.io",
        suspend=None,
        groups=tuple(groups),
        wished={},
        is_active=found(manifest, "spec", "active") is not False,
        workload=name,
        queue=queues.get((namespace, text(manifest, "spec", "queueName"))),
        submitted=_seconds(text(manifest, "metadata", "creationTimestamp")),
        waits_for=_pending(manifest),
    )
    return _member(member, f"Workload {member.id}", settings, notes)


def _member(member: Member, shown: str, settings: Settings, notes: list[str]) -> Member | None:
    """Return a job whose stages say how far they go; None where there is nothing to plan."""
    told: Mapping[str, Replicas] = settings.replicas.get(member.id, FrozenMapping())
    notes.extend(f"{shown} has no stage {name!r}, of which the configuration speaks" for name in told if all(group.name != name for group in member.groups))
    groups, wished = [], {}
    for group in member.groups:
        bounded = _bounded(group, told.get(group.name, Replicas()))
        if bounded.most and any(group.each):
            groups.append(bounded)
            is_endless = group.most is not None and group.most >= _BEYOND and bounded.most == _MOST
            wished[group.name] = max(bounded.replicas, bounded.least or 0) if is_endless else bounded.most
            if is_endless:
                notes.append(f"{shown}, stage {group.name}, states no most replicas, so it is taken to have use for the {wished[group.name]} it asks for")
    names = {group.name for group in groups}
    if len(member.id) > _LONGEST or len(names) < len(groups) or len(groups) > _STAGES or "" in names:
        notes.append(f"{shown} is left alone: its name is too long, or its stages are more than {_STAGES}, without a name or called alike")
        return None
    if not groups:
        notes.append(f"{shown} is left alone: none of its pods asks for anything that is planned, or all may have no replica")
        return None
    return replace(member, groups=tuple(groups), wished=wished)


def _bounded(group: Group, told: Replicas) -> Group:
    if group.scale is None:
        return replace(group, least=group.replicas, most=group.replicas)
    least = told.min if told.min is not None else max(1, group.replicas if group.least is None else group.least)
    most = told.max if told.max is not None else max(least, group.replicas) if group.most is None else min(group.most, _MOST)
    return replace(group, least=min(least, most), most=most)


def _by_owner(workloads: Sequence[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    """Return the Workload of every object that has one; of several, as of an elastic job, the newest that is not over."""
    found_workloads: dict[tuple[str, str, str], Manifest] = {}
    for workload in sorted(workloads, key=lambda each: (text(each, "metadata", "creationTimestamp"), name_of(each))):
        owner = _owner_of(workload)
        if owner is not None and not _is_done(workload):
            found_workloads[owner[0], namespace_of(workload), owner[1]] = workload
    return found_workloads


def _owner_of(manifest: Manifest) -> tuple[str, str] | None:
    owners = [owner for owner in listed(manifest, "metadata", "ownerReferences") if found(owner, "controller") is not False]
    return (text(owners[0], "kind"), text(owners[0], "name")) if owners else None


def _is_done(manifest: Manifest) -> bool:
    over = {text(condition, "type") for condition in listed(manifest, "status", "conditions") if text(condition, "status") == "True"}
    return bool(over & {"Finished", "Completed", "Failed"}) or found(manifest, "metadata", "deletionTimestamp") is not None


def _pending(workload: Manifest | None) -> str:
    conditions = listed(workload, "status", "conditions")
    return next((text(each, "message") for each in conditions if text(each, "type") == "QuotaReserved" and text(each, "status") == "False"), "")


def _seconds(moment: str) -> float | None:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None
