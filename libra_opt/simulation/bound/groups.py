"""What a job has to do, coarsened to few groups: neighbouring parts of one step that take nearly the same are one.

A group takes, per second at full service, the least that any of its parts takes, and can be done at the fastest pace of any: whatever a job really does in it costs
at least that, so the bound stays one. Groups never reach over the end of a step, so that a step counts as finished only with the last of its groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Final

from libra_opt.domain import WorkloadJob
from libra_opt.simulation.bound.least_use import Price
from libra_opt.simulation.truth import Truth, Vector

__all__ = ["Group", "groups_of"]

_ALMOST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Group:
    """Parts that are done one after another.

    Attributes
    ----------
    seconds
        At full service.
    pace
        The fastest, 0..1.
    use
        Per stage, unit-seconds of every resource per second at full service.
    credit
        Work that counts as finished once the group is done.
    ends_step
        Whether a step, or the job, ends with it.
    """

    seconds: float
    pace: float
    use: tuple[Vector, ...]
    credit: float
    ends_step: bool


def groups_of(job: WorkloadJob, truth: Truth, prices: Sequence[Price], reach: float, most: int, scale: Vector) -> list[Group]:
    """Return the groups of a job on its own progress, as far as it can come.

    Parameters
    ----------
    prices
        Of its parts.
    reach
        Seconds it can make progress in; what lies beyond is left out.
    most
        How many groups there are to be; more only where there are more steps.
    scale
        Of every resource, how much a unit counts when parts are compared.
    """
    groups = _parts(job, truth, prices, reach)
    return groups if len(groups) <= most else _merged(groups, most, scale)


def _parts(job: WorkloadJob, truth: Truth, prices: Sequence[Price], reach: float) -> list[Group]:
    """Return one group per part, in order, up to the end of the job, a part that cannot be done, or the reach."""
    before = (0.0, *truth.ends)
    found: list[Group] = []
    served, finished, elapsed = 0.0, 0.0, 0.0
    for _ in range(_cycles(job, truth)):
        for p, price in enumerate(prices):
            seconds, rate = truth.ends[p] - before[p], truth.rate[p]
            is_last = False
            if job.work is not None and rate > 0 and served + rate * seconds >= job.work * (1 - _ALMOST):
                seconds, is_last = max(0.0, (job.work - served) / rate), True
            if price.pace <= 0 or elapsed >= reach:
                return found
            served += rate * seconds
            elapsed += seconds / price.pace
            is_end = p + 1 == len(prices) or truth.step[p + 1] != truth.step[p]
            credit = 0.0
            if is_last or is_end:
                credit = served - finished
                finished = served
            if seconds > 0:
                found.append(Group(seconds, price.pace, price.use, credit, is_last or is_end))
            if is_last:
                return found
    return found


def _cycles(job: WorkloadJob, truth: Truth) -> int:
    if not job.repeats:
        return 1
    return ceil((job.work or 0.0) / truth.work + 1) if truth.work > 0 else 1


def _merged(groups: list[Group], most: int, scale: Vector) -> list[Group]:
    """Merge neighbours of one step, those first that lose least, until there are `most` or none is left to merge."""
    alive: list[Group | None] = list(groups)
    after = [*range(1, len(groups)), -1]
    prior = [-1, *range(len(groups) - 1)]
    version = [0] * len(groups)

    def candidate(i: int) -> tuple[float, int, int, int, int] | None:
        left, j = alive[i], after[i]
        right = alive[j] if j >= 0 else None
        if left is None or right is None or left.ends_step:
            return None
        return _loss(left, right, scale), i, j, version[i], version[j]

    heap = [found for i in range(len(groups) - 1) if (found := candidate(i)) is not None]
    heapify(heap)
    left_over = len(groups)
    while heap and left_over > most:
        _, i, j, seen_i, seen_j = heappop(heap)
        left, right = alive[i], alive[j]
        if left is None or right is None or (seen_i, seen_j) != (version[i], version[j]):
            continue
        alive[i], alive[j] = _join(left, right), None
        after[i] = after[j]
        if after[j] >= 0:
            prior[after[j]] = i
        version[i] += 1
        left_over -= 1
        for k in (prior[i], i):
            if k >= 0 and (found := candidate(k)) is not None:
                heappush(heap, found)
    return [group for group in alive if group is not None]


def _join(left: Group, right: Group) -> Group:
    use = tuple(tuple(map(min, a, b)) for a, b in zip(left.use, right.use, strict=True))
    return Group(left.seconds + right.seconds, max(left.pace, right.pace), use, left.credit + right.credit, right.ends_step)


def _loss(left: Group, right: Group, scale: Vector) -> float:
    """Return the share-seconds that the joined group no longer accounts for."""
    lost = 0.0
    for a, b in zip(left.use, right.use, strict=True):
        for x, y, s in zip(a, b, scale, strict=True):
            lost += s * (left.seconds * (x - min(x, y)) + right.seconds * (y - min(x, y)))
    pace = max(left.pace, right.pace)
    return lost + 1e-3 * sum(group.seconds * (1 / group.pace - 1 / pace) for group in (left, right))
