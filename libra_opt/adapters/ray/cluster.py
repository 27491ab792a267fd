"""From one look at a Ray cluster to a state.

A member comes whole, with all that its actors need, so a group that is short of anything has fewer members: it is slower, nobody dies. Therefore memory
counts as compressible here, unlike in states where amounts are given one by one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from libra_opt.adapters.ray.pools import pool_of
from libra_opt.adapters.ray.records import Group, Member, Node, Report, Snapshot
from libra_opt.adapters.ray.settings import Settings
from libra_opt.domain import Job, Pool, Queue, Resource, State

__all__ = ["RESOURCES", "actors_wanted", "make_state", "per_actor"]

_STEPS: Final = {"gpu": 100, "gpu_mem": 100, "cpu": 100, "mem": 1024, "net": 100}
_UNITS: Final = {"gpu": "cards", "gpu_mem": "GiB", "cpu": "cores", "mem": "GiB", "net": "GB/s"}

RESOURCES: Final = tuple(Resource(name=name, unit=_UNITS[name], quantum=1 / steps, compressible=True, costly=name == "gpu") for name, steps in _STEPS.items())
"""What is shared out, in hundredths, memory in MiB."""

_MEMBER_COST: Final = {"resize_seconds": 5}
"""What growing or shrinking a group costs unless the configuration says (assumed): the other members go on."""

_LONGEST_HISTORY: Final = 500

_Steps = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Names:
    """What Ray calls what is shared out."""

    by_ours: Mapping[str, str]

    def steps(self, amounts: Mapping[str, float], *, round_up: bool) -> dict[str, int]:
        """Return amounts in whole steps."""
        return {ours: _whole(amounts.get(theirs, 0.0) * _scale(ours), round_up=round_up) for ours, theirs in self.by_ours.items()}


def _names(settings: Settings) -> _Names:
    return _Names({"gpu": "GPU", "gpu_mem": settings.gpu_mem, "cpu": "CPU", "mem": "memory", "net": settings.net})


def _scale(name: str) -> float:
    return 1 / (1 << 20) if name == "mem" else float(_STEPS[name])


def _whole(amount: float, *, round_up: bool) -> int:
    """Round, as Ray counts in ten-thousandths that are no exact floats."""
    return math.ceil(amount - 1e-4) if round_up else math.floor(amount + 1e-4)


def _written(steps: _Steps, times: float = 1) -> dict[str, Any]:
    return {name: f"{round(n * times)}Mi" if name == "mem" else round(n * times) / _STEPS[name] for name, n in steps.items()}


def per_actor(group: Group, settings: Settings) -> dict[str, int]:
    """Return what one actor takes of what is shared out, in steps of `RESOURCES`."""
    return _names(settings).steps(group.resources, round_up=True)


def actors_wanted(group: Group, reports: Sequence[Report], now: float, settings: Settings) -> int | None:
    """Return how many actors a group says it can use, in whole units up to its maximum; None where it does not say so lately."""
    if not reports or now - reports[-1].at > settings.report_seconds or reports[-1].demand is None:
        return None
    return min(group.maximum, math.ceil(reports[-1].demand / group.unit - 1e-9) * group.unit)


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
    names = _names(settings)
    ours = _held_by_node(seen, settings)
    capacity: dict[str, dict[str, int]] = {}
    taken: dict[str, dict[str, int]] = {}
    for node in nodes:
        pool = pool_of(node, settings)
        total, free = names.steps(node.total, round_up=False), names.steps(node.free, round_up=False)
        left, others = capacity.setdefault(pool, dict.fromkeys(_STEPS, 0)), taken.setdefault(pool, dict.fromkeys(_STEPS, 0))
        for name in _STEPS:
            by_others = min(total[name], max(0, total[name] - free[name] - ours.get(node.id, {}).get(name, 0))) if node.free else 0
            left[name] += total[name] - by_others
            others[name] += by_others
    for pool, by in sorted(taken.items()):
        if held := ", ".join(f"{n / _STEPS[name]:g} {_UNITS[name]} of {name}" for name, n in by.items() if n):
            notes.append(f"pool {pool!r}: {held} are held by what is not planned, and taken off")
    return [Pool.model_validate({"name": name, "capacity": _written(steps)}) for name, steps in sorted(capacity.items())]


def _held_by_node(seen: Snapshot, settings: Settings) -> dict[str, dict[str, int]]:
    held: dict[str, dict[str, int]] = {}
    for name, group in seen.groups.items():
        steps = per_actor(group, settings)
        for member in seen.members.get(name, ()):
            for node in (member.reserved or member.parts).values():
                total = held.setdefault(node, dict.fromkeys(_STEPS, 0))
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
        "min_quota": _written(steps, group.minimum),
        "max_quota": _written(steps, group.maximum),
        "unit": {name: amount for name, amount in _written(steps, group.unit).items() if steps[name]},
        "pools": pools,
        "preemption_cost": _MEMBER_COST,
        **_load(group, seen.reports.get(group.name, ()), steps, settings, notes, now),
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


def _load(group: Group, reports: Sequence[Report], steps: _Steps, settings: Settings, notes: list[str], now: float) -> dict[str, Any]:
    if not reports:
        return {}
    if now - reports[-1].at > settings.report_seconds:
        notes.append(f"group {group.name!r} has not reported for {now - reports[-1].at:.0f} s")
        return {}
    wanted = actors_wanted(group, reports, now, settings)
    if wanted is not None:
        return {"demand": _written(steps, wanted)}
    history = _history(reports, steps, settings)
    return {"history": history} if history else {}


def _history(reports: Sequence[Report], steps: _Steps, settings: Settings) -> list[dict[str, Any]]:
    """Return the means of reports over intervals of equal length, the newest last; empty where nothing was reported in one."""
    by_interval: dict[int, list[Report]] = {}
    for report in reports:
        if report.busy is not None:
            by_interval.setdefault(math.floor(report.at / settings.history_seconds), []).append(report)
    if not by_interval:
        return []
    last = max(by_interval)
    return [_entry(by_interval.get(t, []), steps) for t in range(max(min(by_interval), last - _LONGEST_HISTORY + 1), last + 1)]


def _entry(reports: Sequence[Report], steps: _Steps) -> dict[str, Any]:
    if not reports:
        return {"usage": {}}
    entry: dict[str, Any] = {"usage": _written(steps, _mean([report.busy for report in reports]) or 0)}
    held = _mean([report.held for report in reports])
    if held is not None:
        entry["allocation"] = _written(steps, held)
    for name in ("requests_running", "requests_waiting"):
        mean = _mean([getattr(report, name) for report in reports])
        if mean is not None:
            entry[name] = mean
    return entry


def _mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None


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
    fields["allocation"] = {"pool": pool, "resources": _written(per_actor(group, settings), group.unit * len(alive))}
