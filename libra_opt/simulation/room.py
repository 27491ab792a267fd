"""What is free: the one place in which baselines count capacity and the quotas of queues (R1, R4, R10), in whole quanta."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from math import floor
from operator import le
from typing import Final, TypeAlias

from libra_opt.domain import Job, Ledger, Stage, State, Workload
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.domain.queue_tree import idle_below, way_up
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.grant import Grant, Holding
from libra_opt.simulation.truth import Vector

__all__ = ["Cells", "Room", "declared", "holding_of", "in_quanta"]

Cells: TypeAlias = tuple[tuple[int, Quanta], ...]
"""Of every stage of a job: the pool it sits in, and what it holds in quanta."""

_ALMOST: Final = 1e-9
_MOST_SEATINGS: Final = 256
"""So many choices of pools for its stages are tried for a job."""


def declared(workload: Workload) -> Ledger:
    """Return a ledger of what the jobs of a workload declare, in their order: quotas, units, pools, and their request as demand and need."""
    jobs = tuple(
        Job(
            id=job.id,
            queue=job.queue,
            stages=tuple(
                Stage(name=stage.name, min_quota=stage.min_quota, max_quota=stage.max_quota, unit=stage.unit, pools=stage.pools, demand=stage.request)
                for stage in job.stages
            ),
        )
        for job in workload.jobs
    )
    return State(resources=workload.resources, pools=workload.pools, queues=workload.queues, jobs=jobs).ledger


def in_quanta(ledger: Ledger, capacity: Mapping[str, Vector]) -> list[Quanta]:
    """Return what every pool has, in the order of the ledger's pools, rounded down to whole quanta."""
    steps = [float(resource.step) for resource in ledger.resources]
    return [tuple(floor(amount / step + _ALMOST) for amount, step in zip(capacity[name], steps, strict=True)) for name in ledger.pools]


def holding_of(ledger: Ledger, cells: Cells) -> Holding:
    """Return what the stages of a job hold, in units; a stage that holds nothing of anything has no grant."""
    steps = [resource.step for resource in ledger.resources]
    return tuple(
        Grant(ledger.pools[k], tuple(float(amount * step) for amount, step in zip(amounts, steps, strict=True))) if any(amounts) else None
        for k, amounts in cells
    )


class Room:
    """What is free of a cluster while a plan is made; it changes as jobs take and release.

    Parameters
    ----------
    ledger
        Pools, queues and the stages' allowed pools.
    capacity
        Of every pool, in quanta.
    """

    def __init__(self, ledger: Ledger, capacity: Sequence[Quanta]) -> None:
        self._ledger = ledger
        self.free = [list(row) for row in capacity]
        self._total = [sum(row) for row in zip(*capacity, strict=True)]
        promised = [ledger.booked_at_rest(r) for r in range(ledger.n_resources)] if ledger.queues else []
        self._reserved = [
            tuple(kept * total // all_kept if all_kept > total else kept for kept, total, all_kept in zip(row, self._total, promised, strict=True))
            for row in ledger.reserved
        ]
        self._is_limited = any(limit != UNLIMITED for row in ledger.ceiling for limit in row) or any(map(any, self._reserved))
        self._used = [[0] * len(self._total) for _ in range(len(ledger.queues) + 1)]

    def place(self, j: int, amounts: Sequence[Quanta], prefer: Sequence[int] = ()) -> Cells | None:
        """Return where the stages of a job can sit with these amounts, or None; nothing is taken yet.

        Every stage goes to the pool it prefers, where it may use that, else to its fastest one; where that does not fit, the last stages look elsewhere first.

        Parameters
        ----------
        prefer
            Per stage a pool, or -1; empty for none.
        """
        free, ledger = self.free, self._ledger
        if len(free) == 1:
            total = amounts[0] if len(amounts) == 1 else tuple(map(sum, zip(*amounts, strict=True)))
            fits = all(map(le, total, free[0])) and all(self._ledger.allowed[s] for s in ledger.stage_of[j])
            return tuple((0, row) for row in amounts) if fits and self._suits_queue(j, amounts) else None
        if not self._suits_queue(j, amounts):
            return None
        choices = []
        for i, s in enumerate(ledger.stage_of[j]):
            pools = [pool for pool, _ in sorted(ledger.allowed[s], key=lambda at: (-at[1], at[0]))]
            choices.append([prefer[i], *pools] if prefer and prefer[i] in pools else pools)
        for seating in islice(product(*choices), _MOST_SEATINGS):
            cells = tuple(zip(seating, amounts, strict=True))
            if self._has(cells):
                return cells
        return None

    def fits(self, j: int, cells: Cells) -> bool:
        """Return whether there is room for what a job's stages would hold."""
        return self._has(cells) and self._suits_queue(j, [row for _, row in cells])

    def _has(self, cells: Cells) -> bool:
        wanted: dict[int, list[int]] = {}
        for k, row in cells:
            known = wanted.get(k)
            wanted[k] = list(row) if known is None else [w + a for w, a in zip(known, row, strict=True)]
        return all(all(map(le, total, self.free[k])) for k, total in wanted.items())

    def take(self, j: int, cells: Cells) -> None:
        """Take what a job's stages hold."""
        self._change(j, cells, 1)

    def release(self, j: int, cells: Cells) -> None:
        """Give back what a job's stages hold."""
        self._change(j, cells, -1)

    def _change(self, j: int, cells: Iterable[tuple[int, Quanta]], sign: int) -> None:
        rows = [self._used[q] for q in self._way_up(j)]
        for k, row in cells:
            self.free[k] = [f - sign * a for f, a in zip(self.free[k], row, strict=True)]
            if self._is_limited:
                for used in rows:
                    used[:] = [u + sign * a for u, a in zip(used, row, strict=True)]

    def _way_up(self, j: int) -> list[int]:
        """Return the job's queue and all above it; the last row outside every queue."""
        return way_up(self._ledger.parent, self._ledger.job_queue[j]) or [-1]

    def _suits_queue(self, j: int, amounts: Sequence[Quanta]) -> bool:
        """R10: the ceilings of the job's queue and of those above it, and what the other queues keep to themselves."""
        if not self._is_limited:
            return True
        ledger, used = self._ledger, list(self._used)
        for q in self._way_up(j):
            used[q] = [u + sum(column) for u, column in zip(used[q], zip(*amounts, strict=True), strict=True)]
            if q >= 0 and not all(map(le, used[q], ledger.ceiling[q])):
                return False
        if max(ledger.parent, default=-1) >= 0:
            return all(self._keeps(r, [row[r] for row in used]) for r in range(len(self._total)))
        for r, total in enumerate(self._total):
            if sum(max(row[r], kept[r]) for row, kept in zip(used[:-1], self._reserved, strict=True)) + used[-1][r] > total:
                return False
        return True

    def _keeps(self, r: int, used: list[int]) -> bool:
        """R10 in a tree: what is reserved below a queue counts against its ceiling, and what is reserved at all against the cluster."""
        ledger = self._ledger
        idle = idle_below(ledger.parent, used, [row[r] for row in self._reserved])
        held, cluster = used[:-1], used[-1]
        for q, above in enumerate(ledger.parent):
            if above < 0:
                cluster += used[q] + idle[q]
            else:
                held[above] += idle[q]
        return cluster <= self._total[r] and all(amount <= row[r] for amount, row in zip(held, ledger.ceiling, strict=True))
