"""KubeRay's RayCluster: every worker group is a stage; the head is no part of the plan, and what it holds is not planned."""

from collections.abc import Callable, Mapping

from libra_opt.adapters.kubernetes.kinds import Group, Kind, Operation, Part
from libra_opt.adapters.kubernetes.manifest import Manifest, found, listed, mapped, number, text
from libra_opt.adapters.kubernetes.pods import pod_requests
from libra_opt.adapters.kubernetes.quantities import Vocabulary

__all__ = ["RAY_CLUSTER"]


def _groups(manifest: Manifest, vocabulary: Vocabulary) -> tuple[Group, ...]:
    if found(manifest, "spec", "enableInTreeAutoscaling") is True:
        raise ValueError("enableInTreeAutoscaling is true, so Ray's own autoscaler sets its replicas; set it to false to have them planned")
    groups = []
    for i, spec in enumerate(listed(manifest, "spec", "workerGroupSpecs")):
        if found(spec, "suspend") is True:
            continue
        name, n_hosts = text(spec, "groupName"), number(spec, "numOfHosts", default=1)
        pod = mapped(spec, "template", "spec")
        groups.append(
            Group(
                name=name,
                replicas=number(spec, "replicas", default=0),
                least=number(spec, "minReplicas", default=0),
                most=number(spec, "maxReplicas", default=(1 << 31) - 1),
                each=tuple(n_hosts * amount for amount in pod_requests(pod, vocabulary)),
                n_pods=n_hosts,
                selector={key: str(value) for key, value in mapped(pod, "nodeSelector").items()},
                scale=_scale(i, name),
            )
        )
    return tuple(groups)


def _scale(i: int, name: str) -> Callable[[int], tuple[Operation, ...]]:
    path = f"/spec/workerGroupSpecs/{i}"
    return lambda replicas: (Operation("test", f"{path}/groupName", name), Operation("add", f"{path}/replicas", replicas))


def _part_of(labels: Mapping[str, str]) -> Part | None:
    if labels.get("ray.io/node-type") != "worker" or "ray.io/cluster" not in labels:
        return None
    return Part(labels["ray.io/cluster"], labels.get("ray.io/group", ""))


RAY_CLUSTER = Kind("RayCluster", "rayclusters", "ray.io", "v1", _groups, _part_of, ("spec", "suspend"))
