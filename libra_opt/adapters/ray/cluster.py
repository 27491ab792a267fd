"""From one look at a Ray cluster to a state.

A member comes whole, with all that its actors need, so a group that is short of anything has fewer members: it is slower, nobody dies. Therefore memory
counts as compressible here, unlike in states where amounts are given one by one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from libra_opt.adapters.ray.load import load_of
from libra_opt.adapters.ray.pools import pool_of
from libra_opt.adapters.ray.quanta import RESOURCES, STEPS, UNITS, per_actor, steps_of, written
from libra_opt.adapters.ray.records import Group, Member, Node, Snapshot
from libra_opt.adapters.ray.settings import Settings
from libra_opt.domain import Job, Pool, Queue, State

__all__ = ["make_state"]

_MEMBER_COST: Final = {"resize_seconds": 5}
"""What growing or shrinking a group costs unless the configuration says (assumed): the other members go on."""


def make_state(seen: Snapshot, settings: Settings, now: float) -> tuple[State, list[str]]:
    """Return the state and notes.

    The capacity of a pool is what its living nodes have, without what anything but members of groups holds there. Spare cores are not handed out, for a
    member takes what its actors asked for.
    """
    nodes = {node.id: node for node in seen.nodes if node.is_alive}
    n_gone = len(seen.nodes) - len(nodes)
    notes = [f"{n_gone} of {len(seen.nodes)} nodes that Ray remembers {'is' if n_gone == 1 else 'are'} gone"] if n_gone else []
    notes += seen.faults
    notes += [f"there are actors of a group {name!r} that is not registered; what they hold is taken off" for name in seen.strays]
    pools = _pools(nodes.values(), seen, settings, notes)
    jobs = [job for name in sorted(seen.groups) if (job := _job(seen.groups[name], seen, nodes, settings, notes, now)) is not None]
    queues = [Queue(name=name) for name in sorted({group.queue for group in seen.groups.values() if group.queue})]
    return State.model_validate({"resources": RESOURCES, "pools": pools, "queues": queues, "jobs": jobs, "options": {"spare": False}}), notes


def _pools(nodes: Iterable[Node], seen: Snapshot, settings: Settings, notes: list[str]) -> list[Pool]:
    ours = _held_by_node(seen, settings)
    capacity: dict[str, dict[str, int]] = {}
    taken: dict[str, dict[str, int]] = {}
    for node in nodes:
        pool = pool_of(node, settings)
        total, free = steps_of(node.total, settings, round_up=False), steps_of(node.free, settings, round_up=False)
        left, others = capacity.setdefault(pool, dict.fromkeys(STEPS, 0)), taken.setdefault(pool, dict.fromkeys(STEPS, 0))
        for name in STEPS:
            by_others = min(total[name], max(0, total[name] - free[name] - ours.get(node.id, {}).get(name, 0))) if node.free else 0
            left[name] += total[name] - by_others
            others[name] += by_others
    for pool, by in sorted(taken.items()):
        if held := ", ".join(f"{n / STEPS[name]:g} {UNITS[name]} of {name}" for name, n in by.items() if n):
            notes.append(f"pool {pool!r}: {held} are held by what is not planned, and taken off")
    return [Pool.model_validate({"name": name, "capacity": written(steps)}) for name, steps in sorted(capacity.items())]


def _held_by_node(seen: Snapshot, settings: Settings) -> dict[str, dict[str, int]]:
    held: dict[str, dict[str, int]] = {}
    for name, group in seen.groups.items():
        steps = per_actor(group, settings)
        for member in seen.members.get(name, ()):
            for node in (member.reserved or member.parts).values():
                total = held.setdefault(node, dict.fromkeys(STEPS, 0))
                for resource, n in steps.items():
                    total[resource] += n
    return held


def _job(group: Group, seen: Snapshot, nodes: Mapping[str, Node], settings: Settings, notes: list[str], now: float) -> Job | None:
    steps = per_actor(group, settings)
    if not any(steps.values()):
        notes.append(f"group {group.name!r} needs nothing of what is shared out ({', '.join(group.resources)}) and is not planned")
        return None
    known = {pool_of(node, settings) for node in nodes.values()}
    pools = sorted(known & set(group.pools)) if group.pools else _roomy(group, nodes.values(), settings)
    if not pools:
        told = f"none of its pools ({', '.join(group.pools)}) is there" if group.pools else "no node is large enough for one of its actors"
        notes.append(f"group {group.name!r} is not planned: {told}")
        return None
    fields: dict[str, Any] = {
        "id": group.name,
        "preemptible": group.preemptible,
        "min_quota": written(steps, group.minimum),
        "max_quota": written(steps, group.maximum),
        "unit": {name: amount for name, amount in written(steps, group.unit).items() if steps[name]},
        "pools": pools,
        "preemption_cost": _MEMBER_COST,
        **load_of(group, seen.reports.get(group.name, ()), steps, settings, notes, now),
    }
    if group.queue:
        fields["queue"] = group.queue
    _add_allocation(fields, group, seen.members.get(group.name, ()), nodes, settings, notes)
    n_alive = group.unit * sum(member.status == "alive" for member in seen.members.get(group.name, ()))
    if n_alive < seen.targets.get(group.name, 0):
        notes.append(f"group {group.name!r} has {n_alive} of the {seen.targets[group.name]} actors that it was given")
    return Job.model_validate(fields)


def _roomy(group: Group, nodes: Iterable[Node], settings: Settings) -> list[str]:
    """Return the pools with a node on which one actor fits while nothing else is there."""
    return sorted({pool_of(node, settings) for node in nodes if all(node.total.get(name, 0) >= amount for name, amount in group.resources.items())})


def _add_allocation(fields: dict[str, Any], group: Group, members: Sequence[Member], nodes: Mapping[str, Node], settings: Settings, notes: list[str]) -> None:
    alive = [member for member in members if member.status == "alive"]
    by_pool: dict[str, int] = {}
    for member in alive:
        for node in member.parts.values():
            if node in nodes:
                pool = pool_of(nodes[node], settings)
                by_pool[pool] = by_pool.get(pool, 0) + 1
    if not by_pool:
        return
    pool = max(sorted(by_pool), key=by_pool.__getitem__)
    if len(by_pool) > 1:
        notes.append(f"group {group.name!r} runs in {', '.join(sorted(by_pool))}; it is planned as if all of it were in {pool!r}")
    fields["allocation"] = {"pool": pool, "resources": written(per_actor(group, settings), group.unit * len(alive))}
