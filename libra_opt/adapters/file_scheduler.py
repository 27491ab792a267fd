"""A scheduler in a file: the cluster is a state document, and what is done changes what its jobs hold in it.

For a first dry run beside no scheduler at all, and for tests that need a real one that does exactly what it is told. It refuses what does not fit, as any
scheduler does. Everything that changed is a line of ``<cluster>.journal``.
"""

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from libra_opt.domain import Allocation, Job, Plan, PlannedJob, State, read_state, write
from libra_opt.domain.base import Text, Value
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.errors import InputError
from libra_opt.scheduler import Command, Observed, Outcome, UnavailableError

__all__ = ["FileScheduler", "Settings", "connect"]

_HOLDS: Final = TypeAdapter(FrozenMapping[str, Allocation])
_FREES: Final = frozenset({"evict", "shrink"})


class Settings(Value):
    """The section ``[scheduler]`` of a loop beside a file.

    Attributes
    ----------
    cluster
        Path of the state document that is the cluster.
    """

    cluster: Text


def connect(settings: Settings) -> "FileScheduler":
    """Return the scheduler; its file is read when it is observed."""
    return FileScheduler(Path(settings.cluster))


class FileScheduler:
    """A cluster in one file.

    Parameters
    ----------
    cluster
        The state document; anybody may change it between two commands, as a whole.
    """

    def __init__(self, cluster: Path) -> None:
        self._cluster = cluster
        self._journal = cluster.with_name(f"{cluster.name}.journal")

    def observe(self) -> Observed:
        """Return the cluster as it stands in the file; raises `UnavailableError` while the file is not there or not whole."""
        try:
            return Observed(state=self._read())
        except FileNotFoundError as error:
            where = str(self._cluster)
            raise UnavailableError(f"there is no file {where!r}; write the state document that is the cluster there, or correct scheduler.cluster") from error
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UnavailableError(f"{str(self._cluster)!r} cannot be read ({why}); correct it or scheduler.cluster") from error
        except InputError as error:
            raise UnavailableError(str(error)) from error

    def commands(self, observed: Observed, plan: Plan) -> tuple[Command, ...]:
        """Return one command for every job that is to hold something else: who leaves, who shrinks, who changes, who grows, who comes."""
        jobs = {job.id: job for job in observed.state.jobs}
        ranks = {action: rank for rank, action in enumerate(("evict", "shrink", "migrate", "reshape", "keep", "grow", "admit", "queue"))}
        planned = sorted(plan.jobs, key=lambda job: ranks[job.action])
        return tuple(_command(job) for job in planned if not _is_so(jobs[job.id], _planned_holds(job), observed.state))

    def perform(self, command: Command) -> Outcome:
        """Let a job hold what the command says, unless it does not fit."""
        key, job_id, holds = command.arguments
        wanted = dict(_HOLDS.validate_json(holds))
        try:
            with self._alone():
                state = self._read()
                job = next((job for job in state.jobs if job.id == job_id), None)
                if job is None:
                    return Outcome(command=command, status="refused", message=f"there is no job {job_id!r}")
                if _is_so(job, wanted, state):
                    return Outcome(command=command, status="already")
                changed = state.replace({"jobs": tuple(_holding(job, wanted) if job.id == job_id else job for job in state.jobs)})
                if full := _overfull(changed):
                    return Outcome(command=command, status="refused", message=full)
                self._write(changed)
                self._note({"at": time.time(), "key": key, "job": job_id, "holds": json.loads(holds)})
        except (InputError, ValidationError, OSError) as error:
            return Outcome(command=command, status="failed", message=str(error))
        return Outcome(command=command, status="done")

    def _read(self) -> State:
        return read_state(self._cluster.read_bytes(), str(self._cluster))

    def _write(self, state: State) -> None:
        beside = self._cluster.with_name(f".{self._cluster.name}.part")
        beside.write_bytes(f"{write(state)}\n".encode())
        beside.replace(self._cluster)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._journal.open("ab") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    def _note(self, entry: dict[str, Any]) -> None:
        with self._journal.open("ab") as stream:
            stream.write(f"{json.dumps(entry)}\n".encode())


def _planned_holds(planned: PlannedJob) -> dict[str, Allocation]:
    return {stage.name: Allocation(pool=stage.pool, resources=stage.resources) for stage in planned.stages}


def _command(planned: PlannedJob) -> Command:
    holds = _planned_holds(planned)
    document = _HOLDS.dump_json(FrozenMapping(holds)).decode()
    what = ", ".join(f"{name} in {held.pool} {dict(held.resources)}" for name, held in holds.items()) or "nothing"
    key = f"file/{planned.id}"[:253]
    effect = "frees" if planned.action in _FREES else "takes" if planned.action in ("admit", "grow") else "either"
    return Command(key=key, job=planned.id, text=f"{planned.action} {planned.id}: hold {what}", arguments=(key, planned.id, document), effect=effect)


def _is_so(job: Job, wanted: dict[str, Allocation], state: State) -> bool:
    has = {stage.name: stage.allocation for stage in job.all_stages if stage.allocation is not None}
    return _counted(has, state) == _counted(wanted, state)


def _counted(holds: dict[str, Allocation], state: State) -> dict[str, tuple[str, list[int]]]:
    """Return the pool and the whole quanta of what is held, however they are written; who holds nothing of anything is left out."""
    counted: dict[str, tuple[str, list[int]]] = {}
    for name, held in holds.items():
        amounts = [resource.quanta(held.resources.get(resource.name, 0), round_up=True) for resource in state.resources]
        if any(amounts):
            counted[name] = (held.pool, amounts)
    return counted


def _holding(job: Job, wanted: dict[str, Allocation]) -> Job:
    if job.is_shorthand:
        return job.replace({"allocation": next(iter(wanted.values()), None)})
    return job.replace({"stages": tuple(stage.replace({"allocation": wanted.get(stage.name)}) for stage in job.all_stages)})


def _overfull(state: State) -> str:
    ledger = state.ledger
    for k, pool in enumerate(ledger.pools):
        rows = [row for row, current in enumerate(ledger.current) if current is not None and ledger.current_pool[row] == k]
        for r, resource in enumerate(ledger.resources):
            used = sum(current[r] for row in rows if (current := ledger.current[row]) is not None)
            if used > ledger.capacity[k][r]:
                return f"pool {pool!r} has no room for it: {resource.write(used)} of {resource.write(ledger.capacity[k][r])} {resource.name}"
    return ""
