"""From a plan to patches: who stops, who shrinks, how far queues may go, who grows, who starts."""

import json
import shlex
from collections.abc import Mapping
from hashlib import sha256
from typing import Final, Literal

from libra_opt.adapters.kubernetes.kinds import Group
from libra_opt.adapters.kubernetes.manifest import name_of
from libra_opt.adapters.kubernetes.members import REPLICAS, Member
from libra_opt.adapters.kubernetes.observe import Seen, vocabulary_of
from libra_opt.adapters.kubernetes.quantities import Vector, Vocabulary
from libra_opt.adapters.kubernetes.queues import flavor_pools, limit_patch
from libra_opt.adapters.kubernetes.settings import Settings
from libra_opt.domain.plan import Plan, PlannedJob
from libra_opt.scheduler import Command

__all__ = ["commands_of", "replicas_of"]

_QUEUES: Final = {
    "kueue": "clusterqueues.v1beta2.kueue.x-k8s.io",
    "volcano": "queues.v1beta1.scheduling.volcano.sh",
    "kai": "queues.v2.scheduling.run.ai",
}
_WORKLOADS: Final = "workloads.v1beta2.kueue.x-k8s.io"
_LONGEST_KEY: Final = 253
_Effect = Literal["frees", "takes", "either"]


def commands_of(seen: Seen, plan: Plan, settings: Settings) -> tuple[Command, ...]:
    """Return what a plan leads to, in order; what is so already leads to nothing."""
    vocabulary = vocabulary_of(settings)
    stops, shrinks, grows, starts = list[Command](), list[Command](), list[Command](), list[Command]()
    for planned in plan.jobs:
        member = seen.members.get(planned.id)
        if member is None:
            continue
        if not planned.stages:
            stops += _stop(member, settings) if member.is_active else []
            continue
        for group in member.groups:
            wanted = _wanted(group, planned, vocabulary)
            is_less = wanted < group.replicas
            if group.scale is not None and (wanted != group.replicas or (not member.is_active and member.suspend is None)):
                (shrinks if is_less and member.is_active else grows).append(_scale(member, group, wanted, settings, is_less=is_less))
        starts += _start(member, settings) if not member.is_active else []
    return (*stops, *shrinks, *_limits(seen, plan, settings, vocabulary), *grows, *starts)


def replicas_of(amounts: Vector, each: Vector) -> int:
    """Return how many whole replicas an allocation holds: as many as its scarcest resource allows, so never more than was planned of any."""
    return min(given // one for given, one in zip(amounts, each, strict=True) if one)


def _wanted(group: Group, planned: PlannedJob, vocabulary: Vocabulary) -> int:
    stage = next((stage for stage in planned.stages if stage.name == group.name), None)
    if stage is None:
        return group.replicas
    return max(group.least or 0, replicas_of(vocabulary.vector(stage.resources), group.each))


def _stop(member: Member, settings: Settings) -> list[Command]:
    if member.workload is not None:
        return _activity(member, settings, is_active=False)
    if member.suspend is not None:
        return [_merge(member, settings, "active", _nested(member.suspend, value=True), "frees")]
    body = {"metadata": {"annotations": {REPLICAS: str(member.groups[0].replicas)}}, "spec": {"replicas": 0}}
    return [_merge(member, settings, f"replicas/{member.groups[0].name}", body, "frees")]


def _start(member: Member, settings: Settings) -> list[Command]:
    if member.workload is not None:
        return _activity(member, settings, is_active=True)
    return [] if member.suspend is None else [_merge(member, settings, "active", _nested(member.suspend, value=False), "takes")]


def _activity(member: Member, settings: Settings, *, is_active: bool) -> list[Command]:
    if not member.workload:
        return []
    effect: _Effect = "takes" if is_active else "frees"
    body = {"spec": {"active": is_active}}
    return [_patch(settings, _WORKLOADS, member.namespace, member.workload, "merge", body, "active", member.id, effect)]


def _scale(member: Member, group: Group, wanted: int, settings: Settings, *, is_less: bool) -> Command:
    operations = [operation.written() for operation in group.scale(wanted)] if group.scale is not None else []
    effect: _Effect = "frees" if is_less else "takes"
    return _patch(settings, member.resource, member.namespace, member.name, "json", operations, f"replicas/{group.name}", member.id, effect)


def _limits(seen: Seen, plan: Plan, settings: Settings, vocabulary: Vocabulary) -> list[Command]:
    """Return the patches of the queues that may be limited; each is held back with what takes, as none of them frees anything."""
    if not settings.limit_queues:
        return []
    planned: dict[str, dict[str, Vector]] = {}
    for job in plan.jobs:
        queue = seen.members[job.id].queue if job.id in seen.members else None
        for stage in job.stages if queue else ():
            of_queue = planned.setdefault(queue or "", {})
            of_queue[stage.pool] = tuple(map(sum, zip(of_queue.get(stage.pool, vocabulary.zero), vocabulary.vector(stage.resources), strict=True)))
    pools = flavor_pools(seen.snapshot.flavors, settings.pool_label)
    commands = []
    for manifest in seen.snapshot.queues:
        name = name_of(manifest)
        if name in settings.limit_queues:
            kind, body = limit_patch(settings.queues, manifest, planned.get(name, {}), pools, vocabulary)
            if body:
                commands.append(_patch(settings, _QUEUES[settings.queues], "", name, kind, body, "limits", None, "takes"))
    return commands


def _nested(path: tuple[str, ...], *, value: bool) -> dict[str, object]:
    body: object = value
    for step in reversed(path):
        body = {step: body}
    return body if isinstance(body, dict) else {}


def _merge(member: Member, settings: Settings, what: str, body: Mapping[str, object], effect: _Effect) -> Command:
    return _patch(settings, member.resource, member.namespace, member.name, "merge", body, what, member.id, effect)


def _patch(settings: Settings, resource: str, namespace: str, name: str, kind: str, body: object, what: str, job: str | None, effect: _Effect) -> Command:
    place = ("--namespace", namespace) if namespace else ()
    arguments = ("patch", resource, name, *place, "--type", kind, "--patch", json.dumps(body))
    key = "/".join(("kubernetes", resource.partition(".")[0], *((namespace,) if namespace else ()), name, what))
    if len(key) > _LONGEST_KEY:
        key = f"{key[:200]}/{sha256(key.encode()).hexdigest()[:40]}"
    return Command(key=key, job=job, text=shlex.join((*settings.kubectl, *arguments)), arguments=arguments, effect=effect)
