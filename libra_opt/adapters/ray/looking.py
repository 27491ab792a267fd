"""What is there of groups, seen. Every function needs a connection to Ray.

An actor's name says its group and place, so whoever looks finds members again without anybody having kept a list.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from libra_opt.adapters.ray import store
from libra_opt.adapters.ray.records import Group, Member, Node, Snapshot, actor_name, member_of

__all__ = ["handles", "living", "look", "members_on", "nodes_there"]

_LIVING: Final = ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "RESTARTING", "ALIVE")
"""In the order in which an actor has them: each state is asked for by itself, and one that goes on meanwhile is seen once more rather than missed."""


def look() -> Snapshot:
    """Return what is there."""
    found, faults = store.groups()
    nodes = nodes_there()
    members = members_on(nodes, found)
    return Snapshot(
        nodes=nodes,
        groups=found,
        reports={name: store.reports_of(name) for name in found},
        targets={name: int(store.value_named("target", name) or 0) for name in found},
        members={name: members.get(name, ()) for name in found},
        strays=tuple(sorted(members.keys() - found.keys())),
        bundles=str(store.value_named("bundles", "") or ""),
        faults=tuple(faults),
    )


def handles(group: Group) -> dict[tuple[int, int], Any]:
    """Return the handles of the actors of a group that are alive."""
    import ray  # noqa: PLC0415 - a second, and an extra

    found: dict[tuple[int, int], Any] = {}
    for member in members_on(nodes_there(), {group.name: group}).get(group.name, ()):
        if member.status == "alive":
            for part in sorted(member.parts):
                try:
                    found[member.slot, part] = ray.get_actor(actor_name(group.name, member.slot, part), namespace=store.NAMESPACE)
                except ValueError:  # stopped since
                    continue
    return found


def nodes_there() -> tuple[Node, ...]:
    """Return all nodes that Ray remembers."""
    import ray  # noqa: PLC0415 - a second, and an extra
    from ray._private.state import available_resources_per_node  # noqa: PLC0415 - the public call sums up over nodes

    of_free: Callable[[], dict[str, dict[str, float]]] = available_resources_per_node
    of_nodes: Callable[[], list[dict[str, Any]]] = ray.nodes
    free = of_free()
    return tuple(
        Node(found["NodeID"], bool(found["Alive"]), dict(found["Resources"]), free.get(found["NodeID"], {}), dict(found.get("Labels") or {}))
        for found in sorted(of_nodes(), key=lambda found: str(found["NodeID"]))
    )


def members_on(nodes: Iterable[Node], groups: Mapping[str, Group]) -> dict[str, tuple[Member, ...]]:
    """Return the members of all groups there are any of on nodes that are there; a group that is not asked for is taken to be of one actor a unit.

    Ray notices that an actor's node is gone before it notices that the actor is.
    """
    parts: dict[str, dict[int, dict[int, tuple[str, str]]]] = {}
    works = {node.id: node.is_alive for node in nodes}
    for state, name, node in living():
        place = member_of(name)
        if place is not None and works.get(node, state != "ALIVE"):
            group, slot, part = place
            parts.setdefault(group, {}).setdefault(slot, {})[part] = (state, node)
    gangs = _gangs()
    for group, slot in gangs:
        parts.setdefault(group, {}).setdefault(slot, {})
    return {
        name: tuple(_member(slot, found, gangs.get((name, slot), {}), groups[name].unit if name in groups else 1) for slot, found in sorted(by_slot.items()))
        for name, by_slot in parts.items()
    }


def _member(slot: int, found: Mapping[int, tuple[str, str]], reserved: Mapping[int, str], unit: int) -> Member:
    nodes = {part: node for part, (_, node) in found.items()}
    if len(found) < unit:
        return Member(slot, "broken", nodes, reserved)
    return Member(slot, "alive" if all(state == "ALIVE" for state, _ in found.values()) else "pending", nodes, reserved)


def _gangs() -> dict[tuple[str, int], dict[int, str]]:
    """Return the nodes of the bundles of every gang by its group and slot; a gang's placement group may outlive its actors."""
    from ray.util import placement_group_table  # noqa: PLC0415 - a second, and an extra

    found: dict[tuple[str, int], dict[int, str]] = {}
    for one in placement_group_table().values():
        place = member_of(str(one["name"]))
        if place is not None and one["state"] != "REMOVED":
            found[place[0], place[1]] = {int(part): str(node) for part, node in one["bundles_to_node_id"].items()}
    return found


def living() -> Iterator[tuple[str, str, str]]:
    """Yield state, name and node of every detached actor that Ray takes to be there, also on a node that is gone."""
    from ray._private.state import actors  # noqa: PLC0415 - the public one (ray.util.state) needs the dashboard

    for state in _LIVING:
        for found in actors(actor_state_name=state).values():
            if found["IsDetached"]:
                yield state, str(found["Name"]), str(found["Address"]["NodeID"])
