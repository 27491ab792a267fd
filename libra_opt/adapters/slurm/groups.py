"""Records of ``squeue`` grouped into what is planned: elastic arrays, and whole jobs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from libra_opt.adapters.slurm.reading import JobRecord
from libra_opt.adapters.slurm.settings import Settings

__all__ = ["HELD", "RELEASED", "Group", "group"]

HELD: Final = "libra:held"
"""AdminComment of a job that the loop holds; one that somebody else holds is never released."""

RELEASED: Final = "libra:released"
"""AdminComment of one that it held before."""

_WANTED: Final = re.compile(r"\blibra demand=(?P<tasks>\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class Group:
    """One job as it is planned.

    Attributes
    ----------
    id
        Its name in states and plans.
    slurm_id
        How commands name it.
    is_array
        It is an elastic array.
    running, pending
        Its records: tasks that run, and what waits.
    """

    id: str
    slurm_id: str
    is_array: bool
    running: tuple[JobRecord, ...]
    pending: tuple[JobRecord, ...]

    @property
    def example(self) -> JobRecord:
        """A record that says what one task, or the job, asks for."""
        return (self.pending or self.running)[0]

    @property
    def n_pending(self) -> int:
        """How many tasks wait and may be started, by whom they are held set aside."""
        return sum(record.n_tasks for record in self.pending if not record.is_held or record.admin_comment == HELD)

    @property
    def is_held_by_us(self) -> bool:
        """Whether the loop holds it; what runs may be held too, and would not start again once it was requeued."""
        return any(record.is_held and record.admin_comment == HELD for record in (*self.pending, *self.running))

    @property
    def is_marked(self) -> bool:
        """Whether it is still marked as held although nothing of it is."""
        return not self.is_held_by_us and any(record.admin_comment == HELD for record in (*self.pending, *self.running))

    @property
    def n_wanted(self) -> int:
        """How many tasks it can use: what its comment says (``libra demand=5``), else all that are not done."""
        n_there = len(self.running) + self.n_pending
        told = [int(found["tasks"]) for record in (*self.pending, *self.running) if (found := _WANTED.search(record.comment))]
        return min(n_there, told[0]) if told else n_there


def group(records: Sequence[JobRecord], settings: Settings) -> tuple[tuple[Group, ...], tuple[JobRecord, ...], list[str]]:
    """Return the groups to plan, the running records of all others, and notes."""
    ours: dict[str, list[JobRecord]] = {}
    others: list[JobRecord] = []
    for record in records:
        if record.is_running or record.state == "PENDING":
            is_ours = record.user in settings.users and any(fnmatchcase(record.name, pattern) for pattern in settings.jobs)
            if is_ours:
                ours.setdefault(str(record.array_id or record.job_id), []).append(record)
            elif record.is_running:
                others.append(record)
    groups: list[Group] = []
    notes: list[str] = []
    taken: set[str] = set()
    for slurm_id in sorted(ours, key=int):
        one = _group(slurm_id, ours[slurm_id], taken)
        if not one.running and not one.n_pending:
            notes.append(f"Slurm job {slurm_id} ({one.example.name}) is held by its owner or an administrator and is not planned")
            continue
        if one.id != one.example.name:
            notes.append(f"Slurm job {slurm_id} is called {one.id!r} here: an older job has the name {one.example.name!r} and what is configured for it")
        taken.add(one.id)
        groups.append(one)
    return tuple(groups), tuple(others), notes


def _group(slurm_id: str, records: Sequence[JobRecord], taken: set[str]) -> Group:
    name = records[0].name
    return Group(
        id=f"{name}#{slurm_id}" if name in taken or not name else name,
        slurm_id=slurm_id,
        is_array=records[0].array_id > 0,
        running=tuple(sorted((record for record in records if record.is_running), key=lambda record: (record.started, record.job_id))),
        pending=tuple(sorted((record for record in records if not record.is_running), key=lambda record: (record.task is not None, record.job_id))),
    )
