"""From Slurm's nodes and jobs to a state.

A replica always comes whole, with its cards, cores and memory, so what an elastic job is short of are replicas: it is slower, nobody dies. Therefore
memory counts as compressible here, and the memory of cards, which are exclusive, is not planned apart from them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from libra_opt.adapters.slurm.groups import Group
from libra_opt.adapters.slurm.quotas import Account
from libra_opt.adapters.slurm.reading import JobRecord, NodeRecord
from libra_opt.adapters.slurm.settings import Settings
from libra_opt.domain import Job, Pool, Queue, Resource, State

__all__ = ["RESOURCES", "amounts_of", "make_state", "pool_of"]

RESOURCES: Final = (
    Resource(name="gpu", unit="cards", quantum=1, compressible=True, costly=True),
    Resource(name="cpu", unit="cores", quantum=1, compressible=True, costly=False),
    Resource(name="mem", unit="GiB", quantum=1 / 1024, compressible=True, costly=False),
)
"""What is shared out: cards, cores and memory."""

_REPLICA_COST: Final = {"resize_seconds": 5}
"""What growing or shrinking an elastic array costs unless the configuration says: the other replicas go on, only what a requeued one had begun is lost."""

_BROKEN: Final = ("DOWN", "ERROR", "FAIL", "FAILING", "FUTURE", "INVAL", "INVALID", "INVALID_REG", "NOT_RESPONDING", "UNKNOWN", "DYNAMIC_FUTURE", "EXTERNAL")
_LEAVING: Final = ("BLOCKED", "DRAIN", "DRAINED", "DRAINING", "MAINT", "MAINTENANCE", "REBOOT_ISSUED", "RESERVED")
_OFF: Final = ("POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWER_DRAIN")
_UNHEALTHY: Final = frozenset((*_BROKEN, *_LEAVING, *_OFF))
"""States and flags of nodes on which nothing new is started."""


@dataclass(slots=True)
class _Counted:
    gpu: int = 0
    cpu: int = 0
    mib: float = 0.0

    def add(self, gpu: float, cpu: float, mib: float) -> None:
        self.gpu += round(gpu)
        self.cpu += round(cpu)
        self.mib += mib

    def written(self) -> dict[str, Any]:
        return amounts_of(max(0, self.gpu), max(0, self.cpu), max(0.0, self.mib))


def amounts_of(gpu: float, cpu: float, mib: float) -> dict[str, Any]:
    """Return amounts as states write them."""
    return {"gpu": round(gpu), "cpu": round(cpu), "mem": f"{round(mib)}Mi"}


def pool_of(gpu_type: str, gpus: int, settings: Settings) -> str:
    """Return the pool of nodes with such cards."""
    return gpu_type or ("gpu" if gpus else settings.default_pool)


def make_state(
    nodes: Sequence[NodeRecord], groups: Sequence[Group], others: Sequence[JobRecord], accounts: Mapping[str, Account], settings: Settings, now: float
) -> tuple[State, list[str]]:
    """Return the state and notes.

    The nodes of the partitions that are shared out and work make the capacity, without what jobs that are not planned hold. What planned jobs hold on a
    node that is drained stays theirs until they end. Spare cores and memory are not handed out, for a replica takes what it asked for.
    """
    ours = {node.name: node for node in nodes if not settings.partitions or set(settings.partitions) & set(node.partitions)}
    works = {name for name, node in ours.items() if not node.states & _UNHEALTHY}
    capacity: dict[str, _Counted] = {}
    for name, node in ours.items():
        total = capacity.setdefault(pool_of(node.gpu_type, node.gpus, settings), _Counted())
        if name in works:
            total.add(node.gpus, node.cpus, node.memory_mib)
    notes = [f"node {name} is {' '.join(sorted(ours[name].states & _UNHEALTHY)).lower()} and left out" for name in sorted(ours.keys() - works)]
    _count(capacity, others, ours, works, settings, sign=-1)
    _count(capacity, [record for one in groups for record in one.running], ours, ours.keys() - works, settings, sign=1)
    if others:
        notes.append(f"{len(others)} running jobs or tasks are not planned; what they hold is taken off")
    jobs = [_job(one, ours, settings, notes, now) for one in groups]
    queues = [_queue(name, accounts.get(name), others, settings) for name in sorted({one.example.account for one in groups} - {""})]
    pools = [Pool.model_validate({"name": name, "capacity": total.written()}) for name, total in sorted(capacity.items())]
    return State.model_validate({"resources": RESOURCES, "pools": pools, "queues": queues, "jobs": jobs, "options": {"spare": False}}), notes


def _count(
    capacity: Mapping[str, _Counted], records: Iterable[JobRecord], nodes: Mapping[str, NodeRecord], where: Iterable[str], settings: Settings, *, sign: int
) -> None:
    """Add what records hold on some nodes to the pools of those nodes; a job of several nodes holds as much on each."""
    counts = frozenset(where)
    for record in records:
        for host in record.hosts:
            if host in counts:
                n = len(record.hosts)
                node = nodes[host]
                total = capacity[pool_of(node.gpu_type, node.gpus, settings)]
                total.add(sign * record.gpus / n, sign * record.cpus / n, sign * record.memory_mib / n)


def _queue(name: str, account: Account | None, others: Sequence[JobRecord], settings: Settings) -> Queue:
    """Return the queue of an account: its GrpTRES, without what its other jobs hold, is the most it may borrow; Slurm guarantees nothing."""
    if account is None or not account.limits or settings.group_quotas != "read":
        return Queue(name=name)
    used = _Counted()
    for record in others:
        if record.account == name:
            used.add(record.gpus, record.cpus, record.memory_mib)
    left = {"gpu": account.limits.get("gpu", 0) - used.gpu, "cpu": account.limits.get("cpu", 0) - used.cpu, "mem": account.limits.get("mem", 0) - used.mib}
    written = amounts_of(max(0, left["gpu"]), max(0, left["cpu"]), max(0.0, left["mem"]))
    return Queue.model_validate({"name": name, "borrowing_limit": {key: written[key] for key in written if key in account.limits}})


def _job(one: Group, nodes: Mapping[str, NodeRecord], settings: Settings, notes: list[str], now: float) -> Job:
    example = one.example
    asks = {"gpu": example.gpus, "cpu": example.cpus, "mib": example.memory_mib}
    if one.is_array:
        n_most = len(one.running) + one.n_pending
        per_task = amounts_of(**_times(asks, 1))
        stage: dict[str, Any] = {
            "min_quota": per_task,
            "max_quota": amounts_of(**_times(asks, n_most)),
            "unit": {name: amount for name, amount in per_task.items() if amount not in (0, "0Mi")},
            "demand": amounts_of(**_times(asks, one.n_wanted)),
            "preemption_cost": _REPLICA_COST,
        }
    else:
        whole = amounts_of(**_times(asks, 1))
        stage = {"min_quota": whole, "max_quota": whole, "demand": whole}
        if example.n_nodes > 1 and example.gpus % example.n_nodes == 0 and example.gpus:
            stage["unit"] = {"gpu": example.gpus // example.n_nodes}
    if example.gpu_type:
        stage["pools"] = [example.gpu_type]
    fields: dict[str, Any] = {
        "id": one.id,
        "submitted": min(record.submitted for record in (*one.pending, *one.running)),
        "preemptible": all(record.is_requeueable for record in one.running),
        **stage,
    }
    if example.account:
        fields["queue"] = example.account
    if one.running:
        fields["running_seconds"] = max(0.0, now - one.running[0].started)
        fields["allocation"] = _allocation(one, nodes, settings, notes)
    return Job.model_validate(fields)


def _times(asks: Mapping[str, Any], n: int) -> dict[str, Any]:
    return {"gpu": n * asks["gpu"], "cpu": n * asks["cpu"], "mib": n * asks["mib"]}


def _allocation(one: Group, nodes: Mapping[str, NodeRecord], settings: Settings, notes: list[str]) -> dict[str, Any]:
    by_pool: dict[str, int] = {}
    held = _Counted()
    for record in one.running:
        node = nodes.get(record.hosts[0]) if record.hosts else None
        pool = pool_of(node.gpu_type, node.gpus, settings) if node is not None else pool_of(record.gpu_type, record.gpus, settings)
        by_pool[pool] = by_pool.get(pool, 0) + 1
        held.add(record.gpus, record.cpus, record.memory_mib)
    pool = max(sorted(by_pool), key=by_pool.__getitem__)
    if len(by_pool) > 1:
        notes.append(f"job {one.id!r} runs in {', '.join(sorted(by_pool))}; it is planned as if all of it were in {pool!r}")
    return {"pool": pool, "resources": held.written()}
