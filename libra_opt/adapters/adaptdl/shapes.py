"""What the policy reads of jobs and nodes, and a cluster of nodes that replicas are placed on, one whole replica at a time."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

__all__ = ["JobInfo", "Key", "NodeInfo", "Room"]

Key: TypeAlias = Hashable
"""What calls a job or a node."""


class JobInfo(Protocol):
    """A job as AdaptDL describes it."""

    @property
    def resources(self) -> Mapping[str, int]:
        """What one replica needs."""

    @property
    def speedup_fn(self) -> Callable[[int, int], float]:
        """Speed on so many nodes with so many replicas, relative to one replica."""

    @property
    def min_replicas(self) -> int:
        """Fewest replicas it runs with."""

    @property
    def max_replicas(self) -> int:
        """Most replicas it can use."""

    @property
    def preemptible(self) -> bool:
        """Whether what it holds may be changed."""


class NodeInfo(Protocol):
    """A node as AdaptDL describes it."""

    @property
    def resources(self) -> Mapping[str, int]:
        """What it has."""

    @property
    def preemptible(self) -> bool:
        """Whether it may be taken away."""


@dataclass
class Room:
    """What nodes have left.

    Attributes
    ----------
    left
        Per node, in order of preference, what is left of every resource.
    distributed
        Nodes that serve a job of several nodes; of such jobs a node serves at most one, as in Pollux, since they share its network.
    """

    left: dict[Key, dict[str, int]]
    distributed: set[Key] = field(default_factory=set)

    def copy(self) -> "Room":
        """Return a copy that can be filled by itself."""
        return Room({node: dict(left) for node, left in self.left.items()}, set(self.distributed))

    def fitting(self, node: Key, resources: Mapping[str, int]) -> int:
        """Return how many replicas fit on a node."""
        wanted = [(name, amount) for name, amount in resources.items() if amount > 0]
        return max(0, min((self.left[node].get(name, 0) // amount for name, amount in wanted), default=0))

    def holds(self, nodes: Iterable[Key], resources: Mapping[str, int]) -> bool:
        """Return whether replicas fit on these nodes, named once per replica."""
        counts = Counter(nodes)
        if not all(node in self.left and self.fitting(node, resources) >= count for node, count in counts.items()):
            return False
        return len(counts) <= 1 or self.distributed.isdisjoint(counts)

    def take(self, nodes: Iterable[Key], resources: Mapping[str, int]) -> None:
        """Place replicas on these nodes."""
        counts = Counter(nodes)
        for node, count in counts.items():
            for name, amount in resources.items():
                self.left[node][name] = self.left[node].get(name, 0) - count * amount
        if len(counts) > 1:
            self.distributed |= counts.keys()

    def give(self, nodes: Iterable[Key], resources: Mapping[str, int]) -> None:
        """Take replicas away again."""
        counts = Counter(nodes)
        for node, count in counts.items():
            for name, amount in resources.items():
                self.left[node][name] += count * amount
        if len(counts) > 1:
            self.distributed -= counts.keys()

    def pack(self, replicas: int, resources: Mapping[str, int]) -> list[Key] | None:
        """Return the fewest nodes for so many replicas, named once per replica, or None where they do not fit.

        Where one node is enough, the one with the least room that suffices; else those with the most room, and for the last replicas the one
        with the least room that suffices.
        """
        fitting = {node: self.fitting(node, resources) for node in self.left}
        enough = [node for node, count in fitting.items() if count >= replicas]
        if enough:
            return [min(enough, key=fitting.__getitem__)] * replicas
        packed: list[Key] = []
        open_to = {node: count for node, count in fitting.items() if count > 0 and node not in self.distributed}
        while open_to and len(packed) < replicas:
            rest = replicas - len(packed)
            enough = [node for node, count in open_to.items() if count >= rest]
            node = min(enough, key=open_to.__getitem__) if enough else max(open_to, key=open_to.__getitem__)
            packed += [node] * min(rest, open_to.pop(node))
        return packed if len(packed) == replicas else None
