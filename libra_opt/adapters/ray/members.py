"""Members of groups looked at, started and stopped. Every function needs a connection to Ray.

Names make all of it repeatable: an actor's name says its group and place, so that who starts a member that is there starts nothing, and whoever looks finds
members again without anybody having kept a list. Actors are started by a task, in the environment where their class can be imported, and are detached.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from libra_opt.adapters.ray import store
from libra_opt.adapters.ray.pools import Where, pool_of, where
from libra_opt.adapters.ray.records import Group, Member, Node, Snapshot, actor_name, member_of
from libra_opt.adapters.ray.settings import Settings

__all__ = ["RefusedError", "handles", "look", "pickled", "request", "set_target", "stop_all"]

_LIVING: Final = ("ALIVE", "RESTARTING", "PENDING_CREATION", "DEPENDENCIES_UNREADY")
_POLL_SECONDS: Final = 0.05


class RefusedError(Exception):
    """Ray, or the group's own code, will not do it."""


def pickled(actor_class: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Return a class, its arguments and the environment of this program, for `set_target` to start actors with in any process."""
    import ray  # noqa: PLC0415 - a second, and an extra

    dumps: Callable[[object], bytes] = ray.cloudpickle.dumps
    return dumps((dict(ray.get_runtime_context().runtime_env), dumps((actor_class, args, kwargs))))


def look() -> Snapshot:
    """Return what is there."""
    found, faults = store.groups()
    members = _members(found)
    return Snapshot(
        nodes=_nodes(),
        groups=found,
        reports={name: store.reports_of(name) for name in found},
        targets={name: int(store.value_named("target", name) or 0) for name in found},
        members={name: members.get(name, ()) for name in found},
        strays=tuple(sorted(members.keys() - found.keys())),
        bundles=str(store.value_named("bundles", "") or ""),
        faults=tuple(faults),
    )


def set_target(name: str, n_actors: int, pool: str, settings: Settings) -> bool:
    """Stop and start members until a group has so many actors, all in one pool; False where nothing had to be done.

    First what is broken or too much is stopped, what waits before what runs and the youngest first; when that is gone, what is missing is started. A member
    for which there is no room yet stays pending, and is seen as that.

    Raises
    ------
    RefusedError
        The group is gone, or its class cannot be had where it would run.
    TimeoutError
        It took too long; it may be half done.
    """
    group = store.group_named(name)
    if group is None:
        raise RefusedError(f"there is no group {name!r} any more")
    ends = time.monotonic() + settings.timeout_seconds * 0.8
    nodes = {node.id: node for node in _nodes()}
    n_units = n_actors // group.unit
    there = _members({name: group}).get(name, ())
    kept = sorted((member for member in there if _may_stay(member, nodes, pool, settings)), key=lambda member: (member.status != "alive", member.slot))[
        :n_units
    ]
    stays = {member.slot for member in kept}
    goes = [member for member in there if member.slot not in stays]
    is_so = not goes and len(kept) == n_units
    store.keep_value("target", name, n_actors)
    _stop(group, goes, ends)
    slots = [slot for slot in range(n_units + len(there)) if slot not in stays][: n_units - len(kept)]
    if slots:
        _start(group, slots, where(pool, nodes.values(), settings), ends)
    return not is_so


def stop_all(group: Group, seconds: float = 10.0) -> None:
    """Stop all members of a group."""
    _stop(group, _members({group.name: group}).get(group.name, ()), time.monotonic() + seconds)


def handles(group: Group) -> dict[tuple[int, int], Any]:
    """Return the handles of the actors of a group that are alive."""
    import ray  # noqa: PLC0415 - a second, and an extra

    found: dict[tuple[int, int], Any] = {}
    for member in _members({group.name: group}).get(group.name, ()):
        if member.status == "alive":
            for part in sorted(member.parts):
                try:
                    found[member.slot, part] = ray.get_actor(actor_name(group.name, member.slot, part), namespace=store.NAMESPACE)
                except ValueError:  # stopped since
                    continue
    return found


def request(bundles: str, wanted: Sequence[Mapping[str, float]]) -> None:
    """Ask the autoscaler for a cluster in which these bundles fit; `bundles` is kept to tell what was asked."""
    from ray.autoscaler.sdk import request_resources  # noqa: PLC0415 - a second, and an extra

    request_resources(bundles=[dict(bundle) for bundle in wanted])
    store.keep_value("bundles", "", bundles)


def _nodes() -> tuple[Node, ...]:
    import ray  # noqa: PLC0415 - a second, and an extra
    from ray._private.state import available_resources_per_node  # noqa: PLC0415 - the public call sums up over nodes

    of_free: Callable[[], dict[str, dict[str, float]]] = available_resources_per_node
    of_nodes: Callable[[], list[dict[str, Any]]] = ray.nodes
    free = of_free()
    return tuple(
        Node(found["NodeID"], bool(found["Alive"]), dict(found["Resources"]), free.get(found["NodeID"], {}), dict(found.get("Labels") or {}))
        for found in sorted(of_nodes(), key=lambda found: str(found["NodeID"]))
    )


def _members(groups: Mapping[str, Group]) -> dict[str, tuple[Member, ...]]:
    """Return the members of all groups there are any of, those that are not asked for taken to be of one actor a unit.

    Ray notices that an actor's node is gone before it notices that the actor is.
    """
    parts: dict[str, dict[int, dict[int, tuple[str, str]]]] = {}
    works = {node.id: node.is_alive for node in _nodes()}
    for state, name, node in _living():
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


def _living() -> Iterable[tuple[str, str, str]]:
    from ray._private.state import actors  # noqa: PLC0415 - the public one (ray.util.state) needs the dashboard

    for state in _LIVING:
        for found in actors(actor_state_name=state).values():
            if found["IsDetached"]:
                yield state, str(found["Name"]), str(found["Address"]["NodeID"])


def _may_stay(member: Member, nodes: Mapping[str, Node], pool: str, settings: Settings) -> bool:
    if member.status == "broken":
        return False
    return all(pool_of(nodes[node], settings) == pool for node in member.parts.values() if node in nodes) or not pool


def _stop(group: Group, goes: Sequence[Member], ends: float) -> None:
    import ray  # noqa: PLC0415 - a second, and an extra

    names = [actor_name(group.name, member.slot, part) for member in goes for part in range(group.unit)]
    if group.stop:
        _let_finish(group, [member for member in goes if member.status == "alive"], ends)
    for name in names:
        try:
            ray.kill(ray.get_actor(name, namespace=store.NAMESPACE), no_restart=True)
        except ValueError:  # there is none
            continue
    if group.unit > 1:
        for member in goes:
            _remove_gang(group.name, member.slot)
    gone = set(names)
    while gone and any(name in gone for _, name, _ in _living()):
        if time.monotonic() > ends:
            raise TimeoutError(f"members of {group.name!r} did not stop in time")
        time.sleep(_POLL_SECONDS)


def _let_finish(group: Group, goes: Sequence[Member], ends: float) -> None:
    """Call the method that a group names on its actors, after what they are at, and wait for as long as it says."""
    import ray  # noqa: PLC0415 - a second, and an extra

    calls = []
    for member in goes:
        for part in range(group.unit):
            with contextlib.suppress(ValueError, AttributeError):  # gone meanwhile, or without such a method
                calls.append(getattr(ray.get_actor(actor_name(group.name, member.slot, part), namespace=store.NAMESPACE), group.stop).remote())
    if calls:
        ray.wait(calls, num_returns=len(calls), timeout=max(0.0, min(group.stop_seconds, ends - time.monotonic())))


def _remove_gang(group: str, slot: int) -> None:
    from ray import PlacementGroupID  # noqa: PLC0415 - a second, and an extra
    from ray.util import placement_group_table, remove_placement_group  # noqa: PLC0415 - as above
    from ray.util.placement_group import PlacementGroup  # noqa: PLC0415 - as above

    name = actor_name(group, slot, 0)
    for found in placement_group_table().values():
        if found["name"] == name and found["state"] != "REMOVED":
            remove_placement_group(PlacementGroup(PlacementGroupID(bytes.fromhex(found["placement_group_id"]))))


def _start(group: Group, slots: Sequence[int], where_to: Where, ends: float) -> None:
    import ray  # noqa: PLC0415 - a second, and an extra

    environment, whole = ray.cloudpickle.loads(store.kept_class(group.name))
    task = ray.remote(start_here).options(num_cpus=0, max_retries=0, runtime_env=environment)
    reference = task.remote(whole, group.model_dump(mode="json"), list(slots), where_to.selector, where_to.resources)
    try:
        ray.get(reference, timeout=max(0.1, ends - time.monotonic()))
    except ray.exceptions.GetTimeoutError:
        ray.cancel(reference, force=True)
        raise TimeoutError(f"members of {group.name!r} were not started in time") from None
    except ray.exceptions.RayError as error:
        raise RefusedError(str(error).strip().splitlines()[-1]) from error


def start_here(whole: bytes, stated: dict[str, Any], slots: list[int], selector: dict[str, str], extra: dict[str, float]) -> int:
    """Start members from a worker of Ray, where their class is at home."""
    import ray  # noqa: PLC0415 - a second, and an extra
    from ray.util import placement_group  # noqa: PLC0415 - as above
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy  # noqa: PLC0415 - as above

    actor_class, args, kwargs = ray.cloudpickle.loads(whole)
    remote = actor_class if hasattr(actor_class, "remote") else ray.remote(actor_class)
    name, unit, needs = stated["name"], stated["unit"], {**stated["resources"], **extra}
    custom = {key: amount for key, amount in needs.items() if key not in ("CPU", "GPU", "memory")}
    asks: dict[str, Any] = {"num_cpus": needs.get("CPU", 0), "num_gpus": needs.get("GPU", 0), "resources": custom, "max_restarts": 0}
    if needs.get("memory"):
        asks["memory"] = needs["memory"]
    for slot in slots:
        if unit > 1:
            selectors = [selector] * unit if selector else None
            gang = placement_group(
                [needs] * unit, strategy=stated["strategy"], name=actor_name(name, slot, 0), lifetime="detached", bundle_label_selector=selectors
            )
        for part in range(unit):
            placed: dict[str, Any] = {"label_selector": selector} if selector else {}
            if unit > 1:
                placed = {"scheduling_strategy": PlacementGroupSchedulingStrategy(gang, placement_group_bundle_index=part)}
            named = {"name": actor_name(name, slot, part), "namespace": "libra_opt", "lifetime": "detached", "get_if_exists": True}
            remote.options(**named, **asks, **placed).remote(*args, **kwargs)
    return len(slots)
