"""Everything that is read from the cluster for one period, as it came."""

from collections.abc import Mapping
from dataclasses import dataclass

from libra_opt.adapters.kubernetes.jobsets import job_set
from libra_opt.adapters.kubernetes.kinds import Kind
from libra_opt.adapters.kubernetes.leaderworkersets import LEADER_WORKER_SET
from libra_opt.adapters.kubernetes.manifest import Manifest
from libra_opt.adapters.kubernetes.rayclusters import RAY_CLUSTER
from libra_opt.adapters.kubernetes.settings import Settings
from libra_opt.adapters.kubernetes.transport import Transport, objects

__all__ = ["KUEUE", "QUEUES", "Snapshot", "kinds_of", "look"]

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
"""Where Kueue's objects are."""

QUEUES: Mapping[str, str] = {
    "kueue": f"{KUEUE}/clusterqueues",
    "volcano": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "kai": "/apis/scheduling.run.ai/v2/queues",
}
"""Where the queues of each are."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was there.

    Attributes
    ----------
    nodes, pods
        Of the whole cluster.
    jobs
        By kind the objects that the selector chooses.
    workloads
        All Workloads of the namespaces, by namespace and name.
    chosen
        The names of those that the selector chooses themselves.
    local_queues, flavors, cohorts
        Kueue's LocalQueues of the namespaces, its ResourceFlavors and its Cohorts.
    queues
        Whosever queues are asked for.
    """

    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    jobs: Mapping[str, tuple[Manifest, ...]]
    workloads: tuple[Manifest, ...] = ()
    chosen: tuple[Manifest, ...] = ()
    local_queues: tuple[Manifest, ...] = ()
    flavors: tuple[Manifest, ...] = ()
    queues: tuple[Manifest, ...] = ()
    cohorts: tuple[Manifest, ...] = ()


def kinds_of(settings: Settings) -> tuple[Kind, ...]:
    """Return the kinds of jobs that are planned."""
    return RAY_CLUSTER, job_set(settings.jobset_scales), LEADER_WORKER_SET


def look(transport: Transport, settings: Settings) -> Snapshot:
    """Read the cluster; kinds that are not installed have no objects.

    Raises
    ------
    UnavailableError
        The server does not answer, or does not let us read something.
    """

    def everywhere(path: str, selector: str = "") -> tuple[Manifest, ...]:
        return tuple(found for namespace in settings.namespaces for found in objects(transport, path.format(namespace), selector))

    kinds = kinds_of(settings)
    has_kueue = settings.queues == "kueue"
    return Snapshot(
        nodes=objects(transport, "/api/v1/nodes"),
        pods=objects(transport, "/api/v1/pods"),
        jobs={kind.kind: everywhere(kind.address("{}"), settings.selector) for kind in kinds},
        workloads=everywhere(f"{KUEUE}/namespaces/{{}}/workloads") if has_kueue else (),
        chosen=everywhere(f"{KUEUE}/namespaces/{{}}/workloads", settings.selector) if has_kueue else (),
        local_queues=everywhere(f"{KUEUE}/namespaces/{{}}/localqueues") if has_kueue else (),
        flavors=objects(transport, f"{KUEUE}/resourceflavors") if has_kueue else (),
        cohorts=objects(transport, f"{KUEUE}/cohorts") if has_kueue and settings.cohorts else (),
        queues=objects(transport, QUEUES[settings.queues]) if settings.queues in QUEUES else (),
    )
