"""``squeue --json`` and ``sinfo --json`` of 22.05 and of current releases, as the same records.

Releases since 23.02 write numbers as ``{"set": .., "infinite": .., "number": ..}`` and states as lists; 22.05 writes them plainly. GPUs stand in TRES only
where accounting is set up, and in the GRES strings always; so they are read from those.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from libra_opt.scheduler import UnavailableError

__all__ = ["JobRecord", "NodeRecord", "host_names", "read_jobs", "read_nodes"]

_GRES: Final = re.compile(r"(?:gres[:/])?gpu(?::(?P<type>[A-Za-z_][\w.-]*))?(?:[:=](?P<count>\d+))?(?=\(|,|$)")
_SIZE: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGTP]?)")
_MEBIBYTES: Final = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_HOSTS: Final = re.compile(r"(?P<head>[^,\[]*)(?:\[(?P<ranges>[^\]]*)\](?P<tail>[^,\[]*))?(?:,|$)")
_MOST_HOSTS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One record of ``squeue``: a job, a task of an array that was started, or all tasks of an array that were not.

    Attributes
    ----------
    job_id, array_id, task
        Slurm's numbers; `array_id` is 0 for no array, `task` None for a job and for the tasks that were not started.
    n_tasks
        How many tasks the record stands for.
    throttle
        How many tasks of the array may run at a time; 0: all.
    name, user, account, partition
        As Slurm calls them.
    state, reason
        PENDING, RUNNING and so on; why it waits.
    is_held
        It waits for a release.
    n_nodes, gpus, gpu_type, cpus, memory_mib
        What the job asks for in all, or holds when it runs; the type is empty where any will do.
    hosts
        Names of the nodes it runs on.
    comment, admin_comment
        Free text of its owner and of the administrator.
    submitted, started, eligible
        Seconds of the epoch; 0 where not known.
    is_requeueable
        Slurm may stop it and start it again.
    """

    job_id: int
    array_id: int
    task: int | None
    n_tasks: int
    throttle: int
    name: str
    user: str
    account: str
    partition: str
    state: str
    reason: str
    is_held: bool
    n_nodes: int
    gpus: int
    gpu_type: str
    cpus: int
    memory_mib: float
    hosts: tuple[str, ...]
    comment: str
    admin_comment: str
    submitted: float
    started: float
    eligible: float
    is_requeueable: bool

    @property
    def spoken(self) -> str:
        """How commands name it: a task by array and index."""
        return f"{self.array_id}_{self.task}" if self.array_id and self.task is not None else str(self.array_id or self.job_id)

    @property
    def is_running(self) -> bool:
        """Whether it holds resources."""
        return self.state in ("RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "STOPPED", "SIGNALING", "STAGE_OUT", "COMPLETING")


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node.

    Attributes
    ----------
    name, partitions
        Its name and where it belongs.
    states
        Its state and the flags on it, upper case.
    gpu_type, gpus, cpus, memory_mib
        What it has.
    used_gpus, used_cpus, used_memory_mib
        What is allocated of it.
    """

    name: str
    partitions: tuple[str, ...]
    states: frozenset[str]
    gpu_type: str
    gpus: int
    cpus: int
    memory_mib: float
    used_gpus: int
    used_cpus: int
    used_memory_mib: float


def read_jobs(text: str) -> tuple[JobRecord, ...]:
    """Read the output of ``squeue --json``; raises `UnavailableError` where it is something else."""
    with _understood("squeue --json"):
        return tuple(_job(record) for record in _records(text, "jobs", "squeue --json"))


def read_nodes(text: str) -> tuple[NodeRecord, ...]:
    """Read the output of ``sinfo --json``; raises `UnavailableError` where it is something else."""
    with _understood("sinfo --json"):
        return tuple({record["name"]: _node(record) for record in _records(text, "nodes", "sinfo --json")}.values())


@contextmanager
def _understood(command: str) -> Iterator[None]:
    """Turn a shape of the answer that is not known into no answer."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnavailableError(f"{command}: its answer has another shape than is known ({type(error).__name__}: {error})") from error


def _records(text: str, key: str, command: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnavailableError(f"{command}: its answer is not JSON ({error}); is Slurm 21.08 or later, and built with JSON?") from error
    errors = document.get("errors") or []
    if errors or not isinstance(document.get(key), list):
        told = "; ".join(str(each.get("error") or each.get("description") or each) for each in errors)
        raise UnavailableError(f"{command}: {told or f'its answer has no {key}'}")
    return list(document[key])


def _number(value: object) -> float:
    """Return a number of either dialect; 0 for one that is not set or infinite."""
    if isinstance(value, Mapping):
        value = value.get("number", 0) if value.get("set") and not value.get("infinite") else 0
    return float(value) if isinstance(value, (int, float)) else 0.0


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value.upper(),) if value else ()
    return tuple(str(word).upper() for word in value) if isinstance(value, list) else ()


def _is_set(value: object) -> bool:
    return bool(value.get("set")) if isinstance(value, Mapping) else isinstance(value, int)


def _job(record: Mapping[str, Any]) -> JobRecord:
    states = _words(record.get("job_state"))
    array_id = int(_number(record.get("array_job_id")))
    task = int(_number(record.get("array_task_id"))) if array_id and _is_set(record.get("array_task_id")) else None
    n_nodes = max(1, int(_number(record.get("node_count"))))
    gpus, gpu_type = _job_gpus(record, n_nodes)
    reason = str(record.get("state_reason") or "")
    return JobRecord(
        job_id=int(_number(record.get("job_id"))),
        array_id=array_id,
        task=task,
        n_tasks=_n_tasks(str(record.get("array_task_string") or "")) if array_id and task is None else 1,
        throttle=int(_number(record.get("array_max_tasks"))),
        name=str(record.get("name") or ""),
        user=str(record.get("user_name") or ""),
        account=str(record.get("account") or ""),
        partition=str(record.get("partition") or ""),
        state="COMPLETING" if "COMPLETING" in states else states[0] if states else "",
        reason=reason,
        is_held="held" in reason.lower() or record.get("hold") is True,
        n_nodes=n_nodes,
        gpus=gpus,
        gpu_type=gpu_type,
        cpus=int(_number(record.get("cpus"))),
        memory_mib=_job_memory(record, n_nodes),
        hosts=host_names(str(record.get("nodes") or "")),
        comment=str(record.get("comment") or ""),
        admin_comment=str(record.get("admin_comment") or ""),
        submitted=_number(record.get("submit_time")),
        started=_number(record.get("start_time")),
        eligible=_number(record.get("eligible_time")),
        is_requeueable=bool(record.get("requeue")),
    )


def _n_tasks(expression: str) -> int:
    """Return how many indices an expression such as ``3-11%3`` or ``0,4-8:2`` stands for."""
    total = 0
    for part in expression.split("%", maxsplit=1)[0].strip("[]").split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        if first.isdigit():
            total += (int(last) - int(first)) // (int(step) if step.isdigit() and int(step) else 1) + 1 if last.isdigit() else 1
    return max(total, 1)


def _gres(text: str) -> Iterator[tuple[str, int]]:
    for found in _GRES.finditer(text or ""):
        yield found["type"] or "", int(found["count"] or 1)


def _job_gpus(record: Mapping[str, Any], n_nodes: int) -> tuple[int, str]:
    held = [each for detail in record.get("gres_detail") or () for each in _gres(str(detail))]
    if held:
        return sum(count for _, count in held), held[0][0]
    for key, times in (("tres_per_node", n_nodes), ("tres_per_job", 1), ("tres_per_task", max(1, int(_number(record.get("tasks")))))):
        asked = list(_gres(str(record.get(key) or "")))
        if asked:
            return times * sum(count for _, count in asked), asked[0][0]
    return 0, ""


def _job_memory(record: Mapping[str, Any], n_nodes: int) -> float:
    for key in ("tres_alloc_str", "tres_req_str"):
        for part in str(record.get(key) or "").split(","):
            if part.startswith("mem="):
                return _mebibytes(part.removeprefix("mem="))
    return _number(record.get("memory_per_node")) * n_nodes or _number(record.get("memory_per_cpu")) * _number(record.get("cpus"))


def _mebibytes(text: str) -> float:
    found = _SIZE.match(text)
    return float(found["number"]) * _MEBIBYTES[found["unit"]] if found else 0.0


def _node(record: Mapping[str, Any]) -> NodeRecord:
    has = list(_gres(str(record.get("gres") or "")))
    return NodeRecord(
        name=str(record["name"]),
        partitions=tuple(str(name) for name in record.get("partitions") or ()),
        states=frozenset((*_words(record.get("state")), *_words(record.get("state_flags")))),
        gpu_type=has[0][0] if has else "",
        gpus=sum(count for _, count in has),
        cpus=int(_number(record.get("cpus"))),
        memory_mib=_number(record.get("real_memory")),
        used_gpus=sum(count for _, count in _gres(str(record.get("gres_used") or ""))),
        used_cpus=int(_number(record.get("alloc_cpus"))),
        used_memory_mib=_number(record.get("alloc_memory")),
    )


def host_names(expression: str) -> tuple[str, ...]:
    """Return the nodes that an expression such as ``gpu[1-3,07],login`` names; several brackets in one name are not read.

    Examples
    --------
    >>> host_names("gpu[1-3,07],login")
    ('gpu1', 'gpu2', 'gpu3', 'gpu07', 'login')
    """
    names: list[str] = []
    for found in _HOSTS.finditer(expression):
        if found["ranges"] is None:
            names += [found["head"]] if found["head"] else []
            continue
        for part in found["ranges"].split(","):
            first, _, last = part.partition("-")
            if first.isdigit() and (not last or last.isdigit()) and int(last or first) - int(first) < _MOST_HOSTS:
                names += [f"{found['head']}{number:0{len(first)}d}{found['tail']}" for number in range(int(first), int(last or first) + 1)]
    return tuple(names)
