"""A static answer, what it comes to, and who starts when."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from libra_opt.simulation.room import Cells, Room
from libra_opt.simulation.static.quota import Quota

__all__ = ["Outcome", "Reservation", "Score", "start_waiting"]

Score: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Reservation:
    """A static answer: a quota per job (None: it never starts), the order of the queue, and whether a job may start before one that does not fit yet."""

    quotas: tuple[Quota | None, ...]
    order: tuple[int, ...]
    backfill: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a static answer comes to.

    Attributes
    ----------
    score
        Larger is better, compared in order: finished work by the horizon, weighted; or, without one, minus the jobs that are never done and minus the
        makespan. Then minus the mean completion time.
    finished_work, done_at
        Per job.
    """

    score: Score
    finished_work: tuple[float, ...]
    done_at: tuple[float | None, ...]


def start_waiting(room: Room, order: list[int], quotas: Sequence[Quota | None], *, backfill: bool) -> list[tuple[int, Cells]]:
    """Take room for the waiting jobs that start now, in the order of the queue.

    Parameters
    ----------
    room
        What is free; it changes.
    order
        The waiting jobs.
    quotas
        By index of the job.
    backfill
        Go on behind a job that does not fit.
    """
    started = []
    for j in order:
        quota = quotas[j]
        if quota is None:
            continue
        cells = room.place(j, quota.stages)
        if cells is not None:
            room.take(j, cells)
            started.append((j, cells))
        elif not backfill:
            break
    return started
