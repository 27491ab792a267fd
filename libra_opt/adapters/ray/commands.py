"""From a plan to targets of groups, each stated as what is to be: first what frees, then what takes, last what is asked of the autoscaler."""

import json
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from libra_opt.adapters.ray.load import actors_wanted
from libra_opt.adapters.ray.pools import pool_of
from libra_opt.adapters.ray.quanta import RESOURCES, per_actor
from libra_opt.adapters.ray.records import Group, Snapshot
from libra_opt.adapters.ray.settings import Settings
from libra_opt.domain import Plan, PlannedJob
from libra_opt.scheduler import Command

__all__ = ["BUNDLES", "TARGET", "commands_for"]

TARGET: Final = "target"
BUNDLES: Final = "bundles"
"""First argument of a command: which of the two it is."""

_MOST_BUNDLES: Final = 100_000


def commands_for(seen: Snapshot, plan: Plan, settings: Settings, now: float) -> tuple[Command, ...]:
    """Return what a plan would have done."""
    told = [command for planned in plan.jobs if planned.id in seen.groups for command in _targets(seen, planned, settings)]
    ranks = {"frees": 0, "either": 1, "takes": 2}
    told.sort(key=lambda command: ranks[command.effect])
    return (*told, *_bundles(seen, now, settings)) if settings.autoscale else tuple(told)


def _targets(seen: Snapshot, planned: PlannedJob, settings: Settings) -> Iterator[Command]:
    group = seen.groups[planned.id]
    n_actors, pool = _planned(group, planned, settings)
    members = seen.members.get(group.name, ())
    whole = [member for member in members if member.status != "broken"]
    n_there, has_broken = group.unit * len(whole), len(whole) < len(members)
    nodes = {node.id: node for node in seen.nodes}
    is_elsewhere = any(pool_of(nodes[node], settings) != pool for member in whole for node in member.parts.values() if node in nodes) and n_actors > 0
    if has_broken and n_actors > n_there:
        yield _target(group, n_there, "", "frees", "/whole")
    if is_elsewhere:
        yield _target(group, n_actors, pool, "either")
    elif n_actors != n_there or (has_broken and n_actors <= n_there) or seen.targets.get(group.name, 0) != n_actors:
        yield _target(group, n_actors, pool, "takes" if n_actors > n_there else "frees")


def _planned(group: Group, planned: PlannedJob, settings: Settings) -> tuple[int, str]:
    """Return how many actors a plan gives a group, in whole units, and where."""
    if not planned.stages:
        return 0, ""
    stage = planned.stages[0]
    given = {resource.name: resource.quanta(stage.resources.get(resource.name, 0), round_up=False) for resource in RESOURCES}
    n_units = min(given[name] // (steps * group.unit) for name, steps in per_actor(group, settings).items() if steps)
    return n_units * group.unit, stage.pool


def _target(group: Group, n_actors: int, pool: str, effect: Literal["frees", "takes", "either"], suffix: str = "") -> Command:
    where = f" in pool {pool}" if pool and n_actors else ""
    text = f"let group {group.name} have {n_actors} actors{where}"
    return Command(key=f"ray/group{suffix}/{group.name}"[:253], job=group.name, text=text, arguments=(TARGET, group.name, str(n_actors), pool), effect=effect)


def _bundles(seen: Snapshot, now: float, settings: Settings) -> Iterator[Command]:
    """Yield what is asked of the autoscaler: room for all that groups have and say that they can use, whether it is there already or not."""
    wanted: list[tuple[Mapping[str, float], int]] = []
    for name, group in sorted(seen.groups.items()):
        n_there = group.unit * sum(member.status != "broken" for member in seen.members.get(name, ()))
        n_wanted = actors_wanted(group, seen.reports.get(name, ()), now, settings)
        n = min(_MOST_BUNDLES, n_there if n_wanted is None else max(group.minimum, n_wanted))
        if n:
            wanted.append((dict(sorted(group.resources.items())), n))
    document = json.dumps(wanted)
    if document != (seen.bundles or "[]"):
        text = f"ask the autoscaler for room for {', '.join(f'{n} x {json.dumps(bundle)}' for bundle, n in wanted) or 'nothing'}"
        yield Command(key="ray/autoscaler", text=text, arguments=(BUNDLES, document), effect="either")
