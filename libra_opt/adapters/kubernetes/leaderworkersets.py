"""LeaderWorkerSets: one stage, each of whose replicas is a leader and its workers; it is stopped by having none."""

from collections.abc import Mapping

from libra_opt.adapters.kubernetes.kinds import Group, Kind, Operation, Part
from libra_opt.adapters.kubernetes.manifest import Manifest, found, mapped, number
from libra_opt.adapters.kubernetes.pods import pod_requests
from libra_opt.adapters.kubernetes.quantities import Vocabulary

__all__ = ["LEADER_WORKER_SET"]

STAGE = "main"


def _groups(manifest: Manifest, vocabulary: Vocabulary) -> tuple[Group, ...]:
    template = mapped(manifest, "spec", "leaderWorkerTemplate")
    size = number(template, "size", default=1)
    worker = mapped(template, "workerTemplate", "spec")
    leader = mapped(template, "leaderTemplate", "spec") if found(template, "leaderTemplate") is not None else worker
    each = tuple(one + (size - 1) * other for one, other in zip(pod_requests(leader, vocabulary), pod_requests(worker, vocabulary), strict=True))
    selector = {key: str(value) for key, value in mapped(worker, "nodeSelector").items()}
    replicas = number(manifest, "spec", "replicas", default=1)
    return (Group(STAGE, replicas, None, None, each, size, selector, lambda wanted: (Operation("add", "/spec/replicas", wanted),)),)


def _part_of(labels: Mapping[str, str]) -> Part | None:
    name = labels.get("leaderworkerset.sigs.k8s.io/name")
    return None if name is None else Part(name, STAGE)


LEADER_WORKER_SET = Kind("LeaderWorkerSet", "leaderworkersets", "leaderworkerset.x-k8s.io", "v1", _groups, _part_of, None)
