"""From a plan to commands of Slurm, each stated as what is to be: first what frees, then what takes.

Growing an elastic array is raising its throttle. Shrinking it is lowering the throttle and requeueing what runs beyond it, the tasks that ran shortest
first, for they lose least; a requeued task would be eligible only two minutes later, so it is told to start now when there is room again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from libra_opt.adapters.slurm.groups import HELD, RELEASED, Group
from libra_opt.adapters.slurm.quotas import Account
from libra_opt.adapters.slurm.reading import JobRecord
from libra_opt.adapters.slurm.settings import Settings
from libra_opt.domain import Plan, PlannedJob
from libra_opt.domain.quantity import parse
from libra_opt.scheduler import Command

__all__ = ["Seen", "commands_for"]

_SETTLING_SECONDS: Final = 5
"""Slurm ends a job for good that is started in the second in which it was requeued: its credential of that second is revoked (seen with 22.05)."""

_UNITS: Final = {"gpu": "cards", "cpu": "cores", "mem": "GiB"}


@dataclass(frozen=True, slots=True)
class Seen:
    """What was observed last: groups by job, running records that are not planned, accounts by name, and when."""

    groups: Mapping[str, Group]
    others: Sequence[JobRecord]
    accounts: Mapping[str, Account]
    now: float


def commands_for(seen: Seen, plan: Plan, settings: Settings) -> tuple[Command, ...]:
    """Return what a plan would have Slurm do."""
    told: list[Command] = []
    for planned in plan.jobs:
        one = seen.groups.get(planned.id)
        if one is not None:
            told += _array(one, planned, settings, seen.now) if one.is_array else _whole(one, planned, settings, seen.now)
    if settings.group_quotas == "write":
        told += _quotas(seen, plan)
    return (*(command for command in told if command.effect == "frees"), *(command for command in told if command.effect != "frees"))


def _scontrol(job: str, key: str, arguments: Sequence[str], effect: Literal["frees", "takes", "either"]) -> Command:
    line = ("scontrol", *arguments)
    return Command(key=f"slurm/{key}", job=job, text=" ".join(line), arguments=line, effect=effect)


def _amount(planned: PlannedJob, name: str) -> float:
    return sum(float(parse(stage.resources.get(name, 0), _UNITS[name])) for stage in planned.stages)


def _array(one: Group, planned: PlannedJob, settings: Settings, now: float) -> Iterator[Command]:
    name, array = one.id, one.slurm_id
    per_task, unit = (one.example.gpus, "gpu") if one.example.gpus else (one.example.cpus, "cpu")
    n_tasks = int(_amount(planned, unit)) // max(per_task, 1) if planned.stages else 0
    if n_tasks < 1:
        yield from _stopped(one, settings)
        return
    throttle = one.example.throttle
    if throttle != n_tasks:
        effect: Literal["frees", "takes"] = "frees" if throttle == 0 or n_tasks < throttle else "takes"
        yield _scontrol(name, f"array/{array}/throttle", ("update", f"JobId={array}", f"ArrayTaskThrottle={n_tasks}"), effect)
    yield from _requeued(one, one.running[n_tasks:])
    yield from _started([record for record in one.pending if record.task is not None], max(0, n_tasks - len(one.running)), name, now)
    yield from _released(one)


def _started(records: Sequence[JobRecord], n_most: int, name: str, now: float) -> Iterator[Command]:
    """Yield what lets jobs start that were requeued lately, which Slurm would leave alone for two minutes, as soon as they have settled."""
    later = [record for record in records if record.eligible > now + _SETTLING_SECONDS and (not record.is_held or record.admin_comment == HELD)]
    for record in later[:n_most]:
        yield _scontrol(name, f"job/{record.spoken}/start", ("update", f"JobId={record.spoken}", f"StartTime=now+{_SETTLING_SECONDS}"), "takes")


def _stopped(one: Group, settings: Settings) -> Iterator[Command]:
    """Yield what keeps a job from running: it is held first, so that nothing of it starts again."""
    has_free = any(not record.is_held for record in one.pending)
    if one.running or (settings.hold_waiting and has_free):
        yield _scontrol(one.id, f"job/{one.slurm_id}/hold", ("update", f"JobId={one.slurm_id}", "Priority=0", f"AdminComment={HELD}"), "frees")
    yield from _requeued(one, one.running)


def _requeued(one: Group, records: Sequence[JobRecord]) -> Iterator[Command]:
    """Yield the requeueing of tasks, of which those that ran shortest come last in a group."""
    for record in reversed(records):
        yield _scontrol(one.id, f"job/{record.spoken}/requeue", ("requeue", record.spoken), "frees")


def _released(one: Group) -> Iterator[Command]:
    """Yield the release of what the loop holds. The mark goes last: a loop that is killed before it finds the job marked, and free."""
    if one.is_held_by_us:
        yield _scontrol(one.id, f"job/{one.slurm_id}/hold", ("release", one.slurm_id), "takes")
    if one.is_held_by_us or one.is_marked:
        yield _scontrol(one.id, f"job/{one.slurm_id}/mark", ("update", f"JobId={one.slurm_id}", f"AdminComment={RELEASED}"), "takes")


def _whole(one: Group, planned: PlannedJob, settings: Settings, now: float) -> Iterator[Command]:
    if not planned.stages:
        yield from _stopped(one, settings)
        return
    asked = one.example
    cards = int(_amount(planned, "gpu"))
    if asked.gpus and cards != asked.gpus:
        yield from _reshaped(one, planned, cards)
    yield from _started(one.pending, 1, one.id, now)
    yield from _released(one)


def _reshaped(one: Group, planned: PlannedJob, cards: int) -> Iterator[Command]:
    """Yield what makes a job ask for other cards: nodes of one that asked for several (also while it runs), else cards, memory and cores."""
    asked = one.example
    job = f"JobId={one.slurm_id}"
    if asked.n_nodes > 1 or one.running:
        per_node = max(1, asked.gpus // asked.n_nodes)
        effect: Literal["frees", "either"] = "frees" if one.running and cards < asked.gpus else "either"
        yield _scontrol(one.id, f"job/{one.slurm_id}/nodes", ("update", job, f"NumNodes={max(1, cards // per_node)}"), effect)
        return
    gres = f"gpu:{asked.gpu_type}:{cards}" if asked.gpu_type else f"gpu:{cards}"
    yield _scontrol(one.id, f"job/{one.slurm_id}/gres", ("update", job, f"Gres={gres}"), "either")
    mib, cores = round(1024 * _amount(planned, "mem")), int(_amount(planned, "cpu"))
    if 0 < mib < asked.memory_mib:
        yield _scontrol(one.id, f"job/{one.slurm_id}/memory", ("update", job, f"MinMemoryNode={mib}"), "either")
    if 0 < cores < asked.cpus:
        yield _scontrol(one.id, f"job/{one.slurm_id}/cores", ("update", job, f"NumCPUs={cores}"), "either")


def _quotas(seen: Seen, plan: Plan) -> Iterator[Command]:
    """Yield the GrpTRES of every account with planned jobs: what the plan gives them, and what its other jobs hold."""
    cards: dict[str, int] = {one.example.account: 0 for one in seen.groups.values() if one.example.account}
    for planned in plan.jobs:
        one = seen.groups.get(planned.id)
        if one is not None and one.example.account:
            cards[one.example.account] += int(_amount(planned, "gpu"))
    for record in seen.others:
        if record.account in cards:
            cards[record.account] += record.gpus
    for name, n_cards in sorted(cards.items()):
        account = seen.accounts.get(name)
        if account is None or account.limits.get("gpu") == n_cards:
            continue
        was = account.limits.get("gpu")
        effect: Literal["frees", "takes"] = "frees" if was is None or n_cards < was else "takes"
        line = ("sacctmgr", "-i", "modify", "account", "where", f"name={name}", f"cluster={account.cluster}", "set", f"GrpTRES=gres/gpu={n_cards}")
        yield Command(key=f"slurm/account/{name}/gpu", text=" ".join(line), arguments=line, effect=effect)
