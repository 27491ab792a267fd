"""What every kind of job says the same way: groups of equal replicas, each a stage, and one way to stop and start it all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from libra_opt.adapters.kubernetes.manifest import Manifest
from libra_opt.adapters.kubernetes.quantities import Vector, Vocabulary

__all__ = ["Group", "Kind", "Operation", "Part"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a JSON patch (RFC 6902)."""

    op: str
    path: str
    value: object

    def written(self) -> dict[str, object]:
        """Return it as JSON writes it."""
        return {"op": self.op, "path": self.path, "value": self.value}


@dataclass(frozen=True, slots=True)
class Group:
    """Equal replicas of one job; a stage of it.

    Attributes
    ----------
    name
        The stage.
    replicas
        How many its object asks for.
    least, most
        How few and how many its object allows; None where it does not say, and then they cannot be changed unless the configuration says how far.
    each
        What one replica asks for.
    n_pods
        Pods of one replica.
    selector
        The node selector of its pods.
    scale
        The operations that make it so many replicas; none where it cannot be changed.
    """

    name: str
    replicas: int
    least: int | None
    most: int | None
    each: Vector
    n_pods: int
    selector: Mapping[str, str]
    scale: Callable[[int], tuple[Operation, ...]] | None


@dataclass(frozen=True, slots=True)
class Part:
    """What a pod is a part of: the name of an object, and a group of it."""

    name: str
    group: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of job.

    Attributes
    ----------
    kind, plural, group, version
        What the API calls it.
    groups
        Its stages; what it raises ValueError for is left alone, with that reason.
    part_of
        What a pod with these labels is a part of; None where it is no pod of this kind.
    suspend
        The path of the flag that stops it; None where it has none, and is stopped by having no replicas.
    """

    kind: str
    plural: str
    group: str
    version: str
    groups: Callable[[Manifest, Vocabulary], tuple[Group, ...]]
    part_of: Callable[[Mapping[str, str]], Part | None]
    suspend: tuple[str, ...] | None

    def address(self, namespace: str) -> str:
        """Return the path of its objects in a namespace."""
        return f"/apis/{self.group}/{self.version}/namespaces/{namespace}/{self.plural}"

    @property
    def resource(self) -> str:
        """How kubectl is told of it without doubt."""
        return f"{self.plural}.{self.version}.{self.group}"
