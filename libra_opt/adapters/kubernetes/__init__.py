"""Kubernetes: replicas of RayClusters, JobSets and LeaderWorkerSets, Workloads of Kueue, and the limits of queues follow the plan.

Objects are plain mappings and changes are patches; the cluster is reached through kubectl. Nothing here needs a Kubernetes client.
"""

from libra_opt.adapters.kubernetes.scheduler import KubernetesScheduler
from libra_opt.adapters.kubernetes.settings import Replicas, ResourceSetting, Settings

__all__ = ["KubernetesScheduler", "Replicas", "ResourceSetting", "Settings", "connect"]


def connect(settings: Settings) -> KubernetesScheduler:
    """Return the scheduler; its cluster is reached when it is observed."""
    return KubernetesScheduler(settings)
