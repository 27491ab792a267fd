"""Recorded pods (Alibaba's GPU-sharing trace of 2023, FGD) as jobs on the wall clock: constant use for as long as they were there."""

from dataclasses import dataclass
from typing import Final

from libra_opt.adapters.recorded_workload.cluster import amounts
from libra_opt.domain import Amounts, Part, Restart, Step, WorkloadJob, WorkloadStage
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.errors import Fault
from libra_opt.recordings.table import Document, read_table, refuse

__all__ = ["PODS_ASSUMED", "Pod", "pod_job", "pod_steps", "read_pods"]

_CARD_GIB: Final = 24
_LEAST_SECONDS: Final = 1200.0
_FLOOR: Final = {"LS": 1.0, "Guaranteed": 1.0, "Burstable": 0.5, "BE": 0.25}

PODS_ASSUMED: Final = (
    f"pods: those that asked for whole cards and were there for {_LEAST_SECONDS / 60:g} minutes or more; all of the request is used, while the pod was there",
    (
        f"card memory of a pod: {_CARD_GIB} GiB per card; network: 0.1 GB/s; minimum by QoS class: the request (LS, Guaranteed), half (Burstable) or a "
        "quarter (BE) of its cards, at least one; time passes for it while it waits"
    ),
)
"""What is assumed of pods."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that asked for whole cards."""

    name: str
    created: float
    duration: float
    cards: int
    cores: float
    host_gib: float
    floor: float


def read_pods(document: Document) -> list[Pod]:
    """Return the pods of whole cards that stayed for long enough, in order of creation.

    Raises
    ------
    InputError
        The document is not a list of such pods; every faulty line is named.
    """
    table = read_table(
        document,
        "the pods of cluster-trace-gpu-v2023",
        numbers=("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time"),
        texts=("name", "qos"),
    )
    unknown = [
        Fault(f"line {table.lines[i]}, qos", f"{qos[:40]!r} is unknown; this reader knows {', '.join(_FLOOR)}")
        for i, qos in enumerate(table.texts["qos"])
        if qos not in _FLOOR
    ]
    refuse(document.name, unknown)
    columns = table.numbers
    found = [
        Pod(
            name=table.texts["name"][i],
            created=float(columns["creation_time"][i]),
            duration=float(columns["deletion_time"][i] - columns["creation_time"][i]),
            cards=int(columns["num_gpu"][i]),
            cores=float(columns["cpu_milli"][i]) / 1000,
            host_gib=float(columns["memory_mib"][i]) / 1024,
            floor=_FLOOR[table.texts["qos"][i]],
        )
        for i in range(len(table.lines))
        if columns["num_gpu"][i] >= 1 and columns["gpu_milli"][i] == 1000
    ]
    kept = [pod for pod in found if pod.duration >= _LEAST_SECONDS]
    if not kept:
        refuse(document.name, [Fault("", f"holds no pod of whole cards that stayed for {_LEAST_SECONDS:g} s; give more of the trace")])
    return sorted(kept, key=lambda pod: (pod.created, pod.name))


def pod_steps(pod: Pod, most_seconds: float) -> list[Step]:
    """Return the one step of a pod, at most so long."""
    use = amounts({"gpu": pod.cards, "gpu_mem": _CARD_GIB * pod.cards, "cpu": pod.cores, "mem": max(1.0, pod.host_gib), "net": 0.1})
    return [Step(parts=(Part(seconds=round(min(pod.duration, most_seconds), 1), phase="pod", use=FrozenMapping({"main": use})),))]


def pod_job(name: str, submitted: float, pod: Pod, steps: list[Step]) -> WorkloadJob:
    """Return a pod as a job."""
    asked = steps[0].parts[0].use["main"]
    least = max(1, round(pod.floor * pod.cards))
    stage = WorkloadStage(min_quota=Amounts({"gpu": least}), max_quota=asked, request=asked)
    return WorkloadJob(id=name, submitted=submitted, clock="wall", stages=(stage,), steps=tuple(steps), restart=Restart(cold_seconds=30, warm_seconds=10))
