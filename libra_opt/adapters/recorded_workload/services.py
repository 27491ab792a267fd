"""Recorded recommendation services (Alibaba's disaggregated DLRM trace of 2025) as jobs on the wall clock.

For use where the files are: nothing made of them is passed on.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.adapters.recorded_workload.cluster import amounts, most_of
from libra_opt.domain import Amounts, Part, Restart, Step, WorkloadJob, WorkloadStage
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.errors import Fault
from libra_opt.recordings.periods import overlap_per_period, shape_of
from libra_opt.recordings.table import Document, read_table, refuse

__all__ = ["SERVICES_ASSUMED", "Service", "read_services", "service_job", "service_steps"]

_HOUR: Final = 3600
_SECONDS: Final = 300.0
_MOST_CARDS: Final = 4
_CARD_GIB: Final = 40.0
_NIC_GBYTES: Final = 12.5
_LEAST_SHARE: Final = 0.25

SERVICES_ASSUMED: Final = (
    (
        f"services: an hour of the trace passes in {_SECONDS / 60:g} minutes, from a random hour on; every amount of an application is scaled by one factor, "
        f"so that at its peak it uses 1 to {_MOST_CARDS} cards"
    ),
    (
        f"card memory of a service: {_CARD_GIB:g} GiB per card of its peak; rdma_request is a share of a network card of {_NIC_GBYTES:g} GB/s; requests are "
        "used in full; minimum a quarter of the peak's cards, at least one; time passes for it while it waits; not reinforcement learning"
    ),
)
"""What is assumed of services."""

_COLUMNS: Final = (("gpu", "gpu_request", 1.0), ("cpu", "cpu_request", 1.0), ("mem", "memory_request", 1.0), ("net", "rdma_request", _NIC_GBYTES / 100))


@dataclass(frozen=True, slots=True)
class Service:
    """An application: what its instances asked for together, hour by hour.

    Attributes
    ----------
    name
        The application's.
    hourly
        Per resource ``(n_hours,)``.
    """

    name: str
    hourly: dict[str, NDArray[np.float64]]


def read_services(document: Document) -> list[Service]:
    """Return the applications that use cards in every hour, by name.

    Raises
    ------
    InputError
        The document is not what it should be; every faulty line is named.
    """
    table = read_table(
        document,
        "the instances of cluster-trace-gpu-v2025",
        numbers=[column for _, column, _ in _COLUMNS],
        texts=("app_name",),
        optional=("creation_time", "deletion_time"),
    )
    created, deleted = np.nan_to_num(table.numbers["creation_time"], nan=0.0), table.numbers["deletion_time"]
    end = float(max(created.max(initial=0.0), np.nan_to_num(deleted).max(initial=0.0)))
    apps = sorted(set(table.texts["app_name"]))
    _, n_hours = shape_of(document.name, len(apps), end // _HOUR)
    names = np.array(table.texts["app_name"])
    until = np.minimum(np.where(np.isnan(deleted), np.inf, np.maximum(deleted, created)), float(n_hours * _HOUR))
    found = []
    for app in apps:
        own = names == app
        hourly = {
            resource: overlap_per_period(np.minimum(created[own], until[own]), until[own], table.numbers[column][own] * scale, _HOUR, n_hours)
            for resource, column, scale in _COLUMNS
        }
        if n_hours and (hourly["gpu"] > 0).all():
            found.append(Service(app, hourly))
    if not found:
        refuse(document.name, [Fault("", "holds no application that uses cards in every hour; give more of the trace")])
    return found


def service_steps(service: Service, horizon_seconds: float, generator: np.random.Generator) -> list[Step]:
    """Return the hours of a service from a random one on, until the end of the horizon."""
    n_hours = len(service.hourly["gpu"])
    first, cards = int(generator.integers(n_hours)), int(generator.integers(1, _MOST_CARDS + 1))
    hours = [(first + i) % n_hours for i in range(int(np.ceil(horizon_seconds / _SECONDS)))]
    factor = cards / float(service.hourly["gpu"][hours].max())
    parts = []
    for hour in hours:
        use = {resource: factor * float(amount[hour]) for resource, amount in service.hourly.items()}
        parts.append(
            Part(seconds=_SECONDS, phase="serving", use=FrozenMapping({"main": amounts({**use, "gpu_mem": _CARD_GIB * cards, "mem": max(1.0, use["mem"])})}))
        )
    return [Step(parts=tuple(parts))]


def service_job(name: str, steps: list[Step]) -> WorkloadJob:
    """Return a service as a job that is there from the beginning."""
    asked = amounts(most_of(steps))
    most = amounts({**{resource: float(amount) for resource, amount in asked.items()}, "gpu": float(np.ceil(float(asked["gpu"])))})
    least = max(1, round(_LEAST_SHARE * float(most["gpu"])))
    stage = WorkloadStage(min_quota=Amounts({"gpu": least}), max_quota=most, request=most)
    return WorkloadJob(id=name, clock="wall", stages=(stage,), steps=tuple(steps), restart=Restart(cold_seconds=30, warm_seconds=10))
