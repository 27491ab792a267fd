"""The section ``[scheduler]`` of a loop beside Kubernetes: whose objects are planned, what pools are, and what may be written."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from libra_opt.domain.base import Flag, Name, Positive, Real, Text, Value, WholeNumber
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.resource import Resource

__all__ = ["Replicas", "ResourceSetting", "Settings"]

_MIB: Final = 1 / 1024


class ResourceSetting(Value):
    """One resource that is planned.

    Attributes
    ----------
    key
        How Kubernetes calls it, as in a pod's requests.
    unit
        What a plain number counts in plans; a unit of bytes for one that is measured in bytes.
    quantum
        Smallest step, in units.
    """

    key: Name
    unit: Annotated[str, Field(strict=True, max_length=64)] = ""
    quantum: Positive = 1


class Replicas(Value):
    """How far the replicas of a stage may go.

    Attributes
    ----------
    min, max
        The fewest it runs with, and the most; missing: what its object says, or what it has now.
    """

    min: Annotated[int, WholeNumber(0, 100_000)] | None = None
    max: Annotated[int, WholeNumber(0, 100_000)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            message = f"the fewest replicas, {self.min}, are more than the most, {self.max}; raise max or lower min"
            raise PydanticCustomError("fault", "{message}", {"message": message})
        return self


class Settings(Value):
    """What the adapter is told.

    Attributes
    ----------
    namespaces
        Where jobs are looked for; nothing elsewhere is ever touched but the queues.
    selector
        The label selector that a job's object fulfils; nothing else is ever touched.
    pool_label
        The node label whose value is the pool of a node. Nodes without it are in no pool.
    resources
        What is planned, by name.
    queues
        Whose queues guarantee what: Kueue's ClusterQueues, Volcano's or KAI's Queues, or nobody's.
    cohorts
        Whether Kueue's queues stand below their cohorts, as Kueue has it; else all of them that have one share the cluster.
    limit_queues
        Queues into which what the plan gives them is written as their limit, never below what is guaranteed; the limit they had is kept in an annotation.
        Only for queues all of whose jobs are planned: others would come to a halt at a limit that does not count them.
    replicas
        By job and stage how far replicas may go, where its object does not say.
    jobset_scales
        What of a JobSet is changed: the ``parallelism`` (and completions) of its jobs, or the number of jobs, ``replicas``, which released versions refuse.
    kubectl
        The command that reaches the cluster, with what it needs: ``["kubectl", "--context", "prod"]``.
    timeout_seconds
        How long one call of it may take.
    """

    namespaces: Annotated[tuple[Name, ...], Field(max_length=1000, fail_fast=True)]
    selector: Annotated[str, Field(strict=True, min_length=1, max_length=1000)] = "libra-opt=managed"
    pool_label: Name
    resources: FrozenMapping[Name, ResourceSetting] = FrozenMapping(
        {
            "gpu": ResourceSetting(key="nvidia.com/gpu", unit="cards", quantum=0.01),
            "cpu": ResourceSetting(key="cpu", unit="cores", quantum=0.001),
            "mem": ResourceSetting(key="memory", unit="GiB", quantum=_MIB),
        }
    )
    queues: Literal["kueue", "volcano", "kai", "none"] = "none"
    cohorts: Flag = False
    limit_queues: Annotated[tuple[Name, ...], Field(max_length=10_000, fail_fast=True)] = ()
    replicas: FrozenMapping[Name, FrozenMapping[Name, Replicas]] = FrozenMapping()
    jobset_scales: Literal["parallelism", "replicas"] = "parallelism"
    kubectl: Annotated[tuple[Text, ...], Field(max_length=64, fail_fast=True)] = ("kubectl",)
    timeout_seconds: Annotated[float, Real(0.1, 3600)] = 30

    @property
    def planned(self) -> tuple[Resource, ...]:
        """The resources of the state.

        All are compressible and costly: what is planned is how many replicas there are, and a replica's memory comes and goes with it, as its cards do.
        """
        return tuple(Resource(name=name, unit=told.unit, quantum=told.quantum, compressible=True, costly=True) for name, told in self.resources.items())

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.namespaces:
            raise _fault("names no namespace; name those whose jobs are planned")
        if not self.kubectl:
            raise _fault("kubectl is an empty command; write it, as in ['kubectl']")
        if not self.resources:
            raise _fault("plans no resource; name one, or leave resources out for cards, cores and memory")
        if self.limit_queues and self.queues == "none":
            raise _fault("limit_queues names queues, but queues says that there are none; write kueue, volcano or kai there")
        return self


def _fault(message: str) -> PydanticCustomError:
    return PydanticCustomError("fault", "{message}", {"message": message})
