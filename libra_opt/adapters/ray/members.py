"""Members of groups started and stopped. Every function needs a connection to Ray.

Names make all of it repeatable: an actor's name says its group and place, so that who starts a member that is there starts nothing. Actors are started by a
task, in the environment where their class can be imported, and are detached.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from libra_opt.adapters.ray import store
from libra_opt.adapters.ray.looking import living, members_on, nodes_there
from libra_opt.adapters.ray.pools import Where, pool_of, where
from libra_opt.adapters.ray.records import Group, Member, Node, actor_name, member_of
from libra_opt.adapters.ray.settings import Settings

__all__ = ["RefusedError", "pickled", "request", "set_target", "stop_all"]

_POLL_SECONDS: Final = 0.05


class RefusedError(Exception):
    """Ray, or the group's own code, will not do it."""


def pickled(actor_class: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Return a class, its arguments and the environment of this program, for `set_target` to start actors with in any process."""
    import ray  # noqa: PLC0415 - a second, and an extra

    dumps: Callable[[object], bytes] = ray.cloudpickle.dumps
    return dumps((dict(ray.get_runtime_context().runtime_env), dumps((actor_class, args, kwargs))))


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
    nodes = {node.id: node for node in nodes_there()}
    n_units = n_actors // group.unit
    there = members_on(nodes.values(), {name: group}).get(name, ())
    kept = sorted((member for member in there if _may_stay(member, nodes, pool, settings)), key=lambda member: (member.status != "alive", member.slot))[
        :n_units
    ]
    stays = {member.slot for member in kept}
    goes = [member for member in there if member.slot not in stays]
    is_so = not goes and len(kept) == n_units
    store.keep_value("target", name, n_actors)
    _stop(group, goes, ends)
    taken = stays | _slots_taken(name)
    slots = [slot for slot in range(n_units + len(taken)) if slot not in taken][: n_units - len(kept)]
    if slots:
        _start(group, slots, where(pool, nodes.values(), settings), ends)
    return not is_so


def stop_all(group: Group, seconds: float = 10.0) -> None:
    """Stop all members of a group."""
    _stop(group, members_on(nodes_there(), {group.name: group}).get(group.name, ()), time.monotonic() + seconds)


def request(bundles: str, wanted: Sequence[Mapping[str, float]]) -> None:
    """Ask the autoscaler for a cluster in which these bundles fit; `bundles` is kept to tell what was asked."""
    from ray.autoscaler.sdk import request_resources  # noqa: PLC0415 - a second, and an extra

    request_resources(bundles=[dict(bundle) for bundle in wanted])
    store.keep_value("bundles", "", bundles)


def _slots_taken(group: str) -> set[int]:
    """Return the slots whose names are in use, that of an actor whose node has just gone too: under such a name nothing would be started."""
    places = (member_of(name) for _, name, _ in living())
    return {place[1] for place in places if place is not None and place[0] == group}


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
    while gone and any(name in gone for _, name, _ in living()):
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
