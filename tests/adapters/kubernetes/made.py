"""Objects of Kubernetes as small as they may be. All of it is made up."""

from typing import Any

POOL = "node-pool"
MANAGED = {"libra-opt": "managed"}
CREATED = "2026-11-30T00:00:00Z"


def node(name: str, pool: str = "h100", *, gpu: int = 8, cpu: str = "64", memory: str = "512Gi", ready: str = "True", cordoned: bool = False) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {POOL: pool} if pool else {}},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {
            "allocatable": {"nvidia.com/gpu": str(gpu), "cpu": cpu, "memory": memory},
            "conditions": [{"type": "Ready", "status": ready, "reason": "r", "lastTransitionTime": CREATED}],
        },
    }


def pod_spec(gpu: int = 1, cpu: str = "8", memory: str = "64Gi", pool: str | None = "h100") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory, **({"nvidia.com/gpu": str(gpu)} if gpu else {})}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "image", "resources": {"requests": amounts, "limits": amounts}}]}
    return {**spec, "nodeSelector": {POOL: pool}} if pool else spec


def pod(name: str, node_name: str = "", namespace: str = "rl", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {**pod_spec(**spec), **({"nodeName": node_name} if node_name else {})},
        "status": {"phase": "Running" if node_name else "Pending"},
    }


def ray_pods(cluster: str, group: str, nodes: list[str], **spec: Any) -> list[dict[str, Any]]:
    labels = {"ray.io/node-type": "worker", "ray.io/cluster": cluster, "ray.io/group": group}
    return [pod(f"{cluster}-{group}-worker-{i}", name, labels=labels, **spec) for i, name in enumerate(nodes)]


def meta(name: str, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, namespace: str = "rl") -> dict[str, Any]:
    extra = {"annotations": annotations} if annotations else {}
    return {"name": name, "namespace": namespace, "labels": {**MANAGED, **(labels or {})}, "creationTimestamp": CREATED, **extra}


def ray_group(name: str, replicas: int, least: int = 1, most: int = 8, **spec: Any) -> dict[str, Any]:
    return {"groupName": name, "replicas": replicas, "minReplicas": least, "maxReplicas": most, "rayStartParams": {}, "template": {"spec": pod_spec(**spec)}}


def ray_cluster(
    name: str, *groups: dict[str, Any], labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    head = {"rayStartParams": {}, "template": {"spec": pod_spec(gpu=0, cpu="4", memory="16Gi", pool=None)}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": meta(name, labels, annotations),
        "spec": {"headGroupSpec": head, "workerGroupSpecs": list(groups), **spec},
    }


def job_set(name: str, parallelism: int = 4, **spec: Any) -> dict[str, Any]:
    job = {"parallelism": parallelism, "completions": parallelism, "template": {"spec": {**pod_spec(**spec), "restartPolicy": "Never"}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta(name),
        "spec": {"replicatedJobs": [{"name": "train", "replicas": 1, "template": {"spec": job}}]},
    }


def leader_worker_set(name: str, replicas: int = 2, size: int = 2, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": meta(name, annotations=annotations),
        "spec": {"replicas": replicas, "leaderWorkerTemplate": {"size": size, "workerTemplate": {"spec": pod_spec(**spec)}}},
    }


def workload(name: str, owner: tuple[str, str], count: int = 2, *, active: bool = True, managed: bool = False, **spec: Any) -> dict[str, Any]:
    kind, owner_name = owner
    version = {"RayCluster": "ray.io/v1", "Job": "batch/v1"}[kind]
    metadata = meta(name)
    metadata["labels"] = MANAGED if managed else {}
    metadata["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": owner_name, "uid": "1", "controller": True}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"active": active, "queueName": "local-a", "podSets": [{"name": "main", "count": count, "template": {"spec": pod_spec(**spec)}}]},
    }


def local_queue(name: str, cluster_queue: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": "rl"},
        "spec": {"clusterQueue": cluster_queue},
    }


def flavor(name: str, pool: str) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {"nodeLabels": {POOL: pool}}}


def cluster_queue(name: str, gpu: dict[str, Any], *, cohort: str | None = "all", **spec: Any) -> dict[str, Any]:
    flavors = [{"name": "h100", "resources": [{"name": "nvidia.com/gpu", **gpu}]}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}], **({"cohortName": cohort} if cohort else {}), **spec},
    }


def volcano_queue(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def kai_queue(name: str, **resources: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": {"resources": resources}}
