"""How much pools and queues hand out, and whether one more job fits beside it (R1, R10, R16).

The question whether a job fits is answered by trying its stages in every pool, the largest first, for so many steps; a "yes" is a proof, and
after the last step the answer is "no", so that no plan is rejected for what was not shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add, gt, sub
from typing import Final

from libra_opt.domain import Ledger
from libra_opt.verification.reading import Reading, Vector
from libra_opt.verification.tree import Booked, is_tree, reserves_at

__all__ = ["Usage", "Way", "booked", "fits", "reserve", "total", "usage"]

_STEPS: Final = 2000
"""How many placements of a stage are tried before a job is taken not to fit."""

Way = tuple[int, Vector]
"""A pool, and what a stage would hold there."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What is handed out, in quanta.

    Attributes
    ----------
    pool
        ``[k][r]``.
    queue
        ``[q][r]``, what the queue's own jobs hold, and one last row for the jobs outside every queue.
    """

    pool: tuple[Vector, ...]
    queue: tuple[Vector, ...]

    def without(self, reading: Reading, j: int) -> "Usage":
        """Return what remains when a job gives back what it holds."""
        pool, queue = list(self.pool), list(self.queue)
        q = reading.ledger.job_queue[j]
        for s in reading.ledger.stage_of[j]:
            k, held = reading.pool[s], reading.held[s]
            if held is not None and k >= 0:
                pool[k] = tuple(map(sub, pool[k], held))
                queue[q] = tuple(map(sub, queue[q], held))
        return Usage(tuple(pool), tuple(queue))


def usage(reading: Reading, jobs: Iterable[int]) -> Usage:
    """Add up what `jobs` hold in the plan."""
    ledger = reading.ledger
    in_pool: list[list[Vector]] = [[] for _ in ledger.pools]
    in_queue: list[list[Vector]] = [[] for _ in range(len(ledger.queues) + 1)]
    for j in jobs:
        if not reading.runs[j]:
            continue
        rows = in_queue[ledger.job_queue[j]]
        for s in ledger.stage_of[j]:
            k, held = reading.pool[s], reading.held[s]
            if held is not None and k >= 0:
                in_pool[k].append(held)
                rows.append(held)
    zeros: Vector = (0,) * ledger.n_resources
    return Usage(tuple(total(rows, zeros) for rows in in_pool), tuple(total(rows, zeros) for rows in in_queue))


def total(rows: Sequence[Vector], nothing: Vector) -> Vector:
    """Add up vectors; `nothing` where there are none."""
    return tuple(map(sum, zip(*rows, strict=True))) if rows else nothing


def reserve(ledger: Ledger) -> list[tuple[int, list[int], int]]:
    """Return, per resource of which some is never lent, the resource, what each queue has reserved, and the capacity of the cluster (R10).

    Where the reserved amounts add up to more than the capacity they are cut in proportion, rounded down.
    """
    return [(r, *reserves_at(ledger, r)) for r in range(ledger.n_resources) if any(row[r] for row in ledger.reserved)]


def booked(ledger: Ledger, used: Usage) -> Iterator[tuple[int, Booked]]:
    """Yield, per resource, what every queue holds with all below it, what these reserve and do not use included (R10)."""
    nothing = [0] * len(ledger.queues)
    reserved = {r: amounts for r, amounts, _ in reserve(ledger)}
    for r in range(ledger.n_resources):
        yield r, Booked.of(ledger, [row[r] for row in used.queue], reserved.get(r, nothing))


def fits(ledger: Ledger, used: Usage, q: int, stages: Sequence[Sequence[Way]]) -> bool:
    """Say whether a job of queue `q` fits beside `used`, with one of its ways for every stage."""
    if not all(stages):
        return False
    largest_first = sorted(stages, key=lambda ways: max(map(max, (held for _, held in ways))) if ledger.n_resources else 0, reverse=True)
    return _Search(ledger, used, q, largest_first).place(0, dict(enumerate(used.pool)), used.queue[q])


class _Search:
    """One depth-first search for a placement."""

    def __init__(self, ledger: Ledger, used: Usage, q: int, stages: Sequence[Sequence[Way]]) -> None:
        self.ledger, self.used, self.q, self.stages = ledger, used, q, stages
        self.reserve = reserve(ledger)
        self.steps = _STEPS

    def place(self, i: int, pools: dict[int, Vector], queue: Vector) -> bool:
        """Place the stages from the i-th on, in pools that are filled up to `pools`, in a queue that holds `queue`."""
        if not self._queue_allows(queue):
            return False
        if i == len(self.stages):
            return self._cost_allows(pools)
        for k, held in self.stages[i]:
            self.steps -= 1
            if self.steps < 0:
                return False
            row = tuple(map(add, pools[k], held))
            if not any(map(gt, row, self.ledger.capacity[k])) and self.place(i + 1, {**pools, k: row}, tuple(map(add, queue, held))):
                return True
        return False

    def _cost_allows(self, pools: dict[int, Vector]) -> bool:
        cost = self.ledger.cost
        return cost is None or cost.of(pools.items()) <= cost.ceiling

    def _queue_allows(self, queue: Vector) -> bool:
        if self.q >= 0 and any(map(gt, queue, self.ledger.ceiling[self.q])):
            return False
        rows = list(self.used.queue)
        rows[self.q] = queue
        if is_tree(self.ledger):
            capacity = {r: limit for r, _, limit in self.reserve}
            return all(
                all(held <= limit[r] for held, limit in zip(found.queue, self.ledger.ceiling, strict=True))
                and (r not in capacity or found.cluster <= capacity[r])
                for r, found in booked(self.ledger, Usage(self.used.pool, tuple(rows)))
            )
        return all(sum(max(row[r], kept) for row, kept in zip(rows, reserved, strict=False)) + rows[-1][r] <= limit for r, reserved, limit in self.reserve)
