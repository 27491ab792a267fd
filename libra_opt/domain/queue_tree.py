"""Queues as a tree: who is above whom, and how much a queue has together with all below it (R10).

A forest without parents is the flat case: every queue is a root, and borrows from the cluster alone.
"""

from collections.abc import Callable, Sequence
from operator import add
from typing import Final, TypeAlias

from libra_opt.domain.cluster import Queue
from libra_opt.domain.faults import Location
from libra_opt.domain.vectors import Vector

__all__ = ["MOST_LEVELS", "idle_below", "parents_of", "together", "top_down", "way_up"]

MOST_LEVELS: Final = 16
"""Most levels of a tree of queues, its root counted."""

_Fault: TypeAlias = Callable[[Location, str, str], None]


def parents_of(queues: Sequence[Queue], index: dict[str, int], fault: _Fault) -> list[int]:
    """Return the index of the queue above each queue, -1 for a root; a parent that is refused is taken for none.

    Parameters
    ----------
    index
        Where each name is.
    fault
        Takes the place of what is wrong, the sentence, and the collection that has to be whole for it to be wrong.
    """
    parents = [-1] * len(queues)
    for q, queue in enumerate(queues):
        if queue.parent is None:
            continue
        above = index.get(queue.parent, -1)
        if queue.parent == queue.name:
            fault(("queues", q, "parent"), f"{queue.parent!r} is the queue itself; name the queue above it, or leave parent out", "")
        elif above < 0:
            known = ", ".join(repr(name) for name in list(index)[:8])
            fault(("queues", q, "parent"), f"unknown queue {queue.parent!r}; known are {known}; list it, or leave parent out", "queues")
        else:
            parents[q] = above
    _cut_circles(queues, parents, fault)
    _cut_depth(queues, parents, fault)
    return parents


def _cut_circles(queues: Sequence[Queue], parents: list[int], fault: _Fault) -> None:
    state = [0] * len(parents)  # 0: not seen, 1: on the way up from the queue at hand, 2: known to end at a root
    for start in range(len(parents)):
        way, q = [], start
        while q >= 0 and not state[q]:
            state[q] = 1
            way.append(q)
            q = parents[q]
        if q >= 0 and state[q] == 1:
            circle = way[way.index(q) :]
            first = min(circle)
            turned = circle[circle.index(first) :] + circle[: circle.index(first)]
            names = " -> ".join(repr(queues[i].name) for i in [*turned[:8], first])
            fault(("queues", first, "parent"), f"is below itself, {names}; leave out the parent of one of them", "queues")
            parents[first] = -1
        for i in way:
            state[i] = 2


def _cut_depth(queues: Sequence[Queue], parents: list[int], fault: _Fault) -> None:
    level = [0] * len(parents)
    for q in top_down(parents):
        level[q] = 1 if parents[q] < 0 else level[parents[q]] + 1
        if level[q] > MOST_LEVELS:
            message = f"puts {queues[q].name!r} on level {level[q]} of its tree, which has at most {MOST_LEVELS}; hang it higher"
            fault(("queues", q, "parent"), message, "queues")
            parents[q], level[q] = -1, 1


def top_down(parents: Sequence[int]) -> list[int]:
    """Return all queues, each behind the one above it; those of a level in their order.

    >>> top_down([1, -1, 0])
    [1, 0, 2]
    """
    below: list[list[int]] = [[] for _ in parents]
    for q, above in enumerate(parents):
        if above >= 0:
            below[above].append(q)
    level = [q for q, above in enumerate(parents) if above < 0]
    order = []
    while level:
        order += level
        level = sorted(child for q in level for child in below[q])
    return order


def way_up(parents: Sequence[int], q: int) -> list[int]:
    """Return a queue and all above it; nothing for -1.

    >>> way_up([1, -1, 0], 2)
    [2, 0, 1]
    """
    way = []
    while q >= 0:
        way.append(q)
        q = parents[q]
    return way


def idle_below(parents: Sequence[int], used: Sequence[int], reserved: Sequence[int]) -> list[int]:
    """Return what is reserved of one resource of each queue, or of those below it where that is more, and not in use (R10).

    Parameters
    ----------
    used
        Of each queue and all below it together.

    >>> idle_below([1, -1], [1, 1], [4, 2])
    [3, 3]
    """
    idle, below = [0] * len(parents), [0] * len(parents)
    for q in reversed(top_down(parents)):
        idle[q] = max(0, reserved[q] - used[q], below[q])
        if parents[q] >= 0:
            below[parents[q]] += idle[q]
    return idle


def together(parents: Sequence[int], own: Sequence[Vector]) -> list[Vector]:
    """Return what each queue has together with all below it.

    >>> together([1, -1], [(4, 0), (1, 2)])
    [(4, 0), (5, 2)]
    """
    summed = list(own)
    if any(above >= 0 for above in parents):
        for q in reversed(top_down(parents)):
            if parents[q] >= 0:
                summed[parents[q]] = tuple(map(add, summed[parents[q]], summed[q]))
    return summed
