"""Which pool a node is in, and how actors are sent to one."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from libra_opt.adapters.ray.records import Node
from libra_opt.adapters.ray.settings import Settings

__all__ = ["Where", "pool_of", "where"]

_TYPE: Final = "accelerator_type:"
_TOUCH: Final = 0.001
"""What an actor asks of its nodes' type: enough to be sent there, and so little that it is never short."""


@dataclass(frozen=True, slots=True)
class Where:
    """What sends actors to a pool: labels of nodes, or a resource that only its nodes have."""

    selector: dict[str, str] = field(default_factory=dict)
    resources: dict[str, float] = field(default_factory=dict)


def pool_of(node: Node, settings: Settings) -> str:
    """Return the pool of a node."""
    label = node.labels.get(settings.pool_label)
    if label:
        return label
    types = sorted(name.removeprefix(_TYPE) for name in node.total if name.startswith(_TYPE))
    if types:
        return types[0]
    return "gpu" if node.total.get("GPU") else settings.default_pool


def where(pool: str, nodes: Iterable[Node], settings: Settings) -> Where:
    """Return what sends actors to a pool; nothing for one whose nodes have neither label nor type."""
    for node in nodes:
        if node.is_alive and pool_of(node, settings) == pool:
            if node.labels.get(settings.pool_label) == pool:
                return Where(selector={settings.pool_label: pool})
            if f"{_TYPE}{pool}" in node.total:
                return Where(resources={f"{_TYPE}{pool}": _TOUCH})
    return Where()
