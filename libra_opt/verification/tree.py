"""Queues as a tree, from the prose of R10 and tier 3: what a queue books of the queue above it, and what guarantees it is owed.

A queue *books* the more of what it reserves and what it holds, its own jobs' use and what the queues right below it book.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from libra_opt.domain import Ledger

__all__ = ["Booked", "Claim", "bottom_up", "claims", "is_tree", "members", "reserves_at"]


@dataclass(frozen=True, slots=True)
class Booked:
    """Of one resource, what every queue holds, reserves below it included, and what the cluster does; in quanta."""

    queue: tuple[int, ...]
    cluster: int

    @classmethod
    def of(cls, ledger: Ledger, own: Sequence[int], reserved: Sequence[int]) -> "Booked":
        """Add up what the jobs of each queue use, the last entry for jobs outside every queue, level by level."""
        held, cluster = list(own[:-1]), own[-1]
        for q in bottom_up(ledger):
            taken, above = max(held[q], reserved[q]), ledger.parent[q]
            if above < 0:
                cluster += taken
            else:
                held[above] += taken
        return cls(tuple(held), cluster)


@dataclass(frozen=True, slots=True)
class Claim:
    """Of one queue and resource: the most its jobs and those below it could use, and what stays reserved below it though nobody there asks for it."""

    use: int
    spared: int


def is_tree(ledger: Ledger) -> bool:
    """Return whether some queue has another above it."""
    return any(above >= 0 for above in ledger.parent)


def bottom_up(ledger: Ledger) -> Iterator[int]:
    """Yield all queues, each before the one above it."""
    waits_for = [0] * len(ledger.queues)
    for above in ledger.parent:
        if above >= 0:
            waits_for[above] += 1
    ready = [q for q, count in enumerate(waits_for) if not count]
    while ready:
        q = ready.pop()
        yield q
        above = ledger.parent[q]
        if above >= 0:
            waits_for[above] -= 1
            if not waits_for[above]:
                ready.append(above)


def members(ledger: Ledger) -> list[list[int]]:
    """Return the jobs of every queue and of all below it; the last list is of jobs outside every queue."""
    jobs: list[list[int]] = [[] for _ in range(len(ledger.queues) + 1)]
    for j, q in enumerate(ledger.job_queue):
        jobs[q].append(j)
    if is_tree(ledger):
        for q in bottom_up(ledger):
            if ledger.parent[q] >= 0:
                jobs[ledger.parent[q]] += jobs[q]
    return jobs


def reserves_at(ledger: Ledger, r: int) -> tuple[list[int], int]:
    """Return what each queue has reserved of a resource, and the capacity of the cluster.

    Where what is booked while nothing runs adds up to more than the capacity, reserves are cut in proportion, rounded down.
    """
    reserved = [row[r] for row in ledger.reserved]
    capacity = sum(row[r] for row in ledger.capacity)
    at_rest = sum(reserved) if not is_tree(ledger) else Booked.of(ledger, [0] * (len(reserved) + 1), reserved).cluster
    return ([amount * capacity // at_rest for amount in reserved] if at_rest > capacity else reserved), capacity


def claims(ledger: Ledger, r: int, asked: Sequence[int]) -> list[Claim]:
    """Return the claim of every queue, of what its own jobs ask for: those below it ask for no more than their ceilings let them use."""
    reserved, _ = reserves_at(ledger, r)
    use, spared = list(asked), [0] * len(asked)
    for q in bottom_up(ledger):
        above = ledger.parent[q]
        if above >= 0:
            most = min(use[q], ledger.ceiling[q][r] - spared[q])
            use[above] += most
            spared[above] += max(spared[q], reserved[q] - most)
    return [Claim(*pair) for pair in zip(use, spared, strict=True)]
