"""What a job has to do, coarsened: a few whole steps make a window, and parts of a window that take nearly the same make a class.

A class takes, per second at full service, the least that any of its parts takes, and can be done at the fastest pace of any: whatever a job really does in
it costs at least that. Within a window the order of classes is left open, which any real order satisfies. So the bound stays one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise
from math import ceil
from typing import Final, TypeAlias

from libra_opt.domain import WorkloadJob
from libra_opt.simulation.bound.least_use import Price
from libra_opt.simulation.truth import Truth, Vector

__all__ = ["Class", "Window", "parts_in_order", "whole_steps", "windows_of"]

_ALMOST: Final = 1e-9
_COMPARED: Final = 64
"""Of more parts than this in a window, similar ones are joined before they are compared each with each."""

_CLOSE: Final = 1e-6
"""Seconds by which a step may seem to end after the horizon that it ends at."""

Step: TypeAlias = tuple[tuple[tuple[Price, float], ...], float]
"""The parts of a step (price, seconds at full service), and the work that counts once it is finished."""


@dataclass(frozen=True, slots=True)
class Class:
    """Parts of a window that take nearly the same.

    Attributes
    ----------
    seconds
        At full service.
    pace
        The fastest, 0..1.
    use
        Per set of pools, unit-seconds of every resource per second at full service.
    lead
        The most that the share of the window's work that counts can be above the share of this class that is done, as a factor.
    """

    seconds: float
    pace: float
    use: tuple[Vector, ...]
    lead: float


@dataclass(frozen=True, slots=True)
class Window:
    """Whole steps that follow each other.

    Attributes
    ----------
    classes
        What is to be done, in any order.
    credit
        Work that counts when all of it is done.
    whole
        Per set of pools, unit-seconds of every resource that its finished steps take at least, per share of the credit that counts.
    """

    classes: tuple[Class, ...]
    credit: float
    whole: tuple[Vector, ...]

    @property
    def takes(self) -> float:
        """Seconds it takes at the fastest pace."""
        return sum(one.seconds / one.pace for one in self.classes)


def whole_steps(job: WorkloadJob, truth: Truth, prices: Sequence[Price], reach: float) -> list[Step]:
    """Return the steps of a job on its own progress that it can finish in so many seconds of running; what it begins beyond them never counts."""
    found: list[Step] = []
    parts: list[tuple[Price, float]] = []
    finished = elapsed = 0.0
    for p, seconds, served, is_last in parts_in_order(job, truth):
        price = prices[p]
        if seconds > 0:
            if price.pace <= 0:
                break
            elapsed += seconds / price.pace
            parts.append((price, seconds))
        if elapsed > reach + _CLOSE:
            break
        if is_last or p + 1 == len(prices) or truth.step[p + 1] != truth.step[p]:
            found.append((tuple(parts), served - finished))
            parts, finished = [], served
    return found


def parts_in_order(job: WorkloadJob, truth: Truth) -> Iterator[tuple[int, float, float, bool]]:
    """Yield every part in order: its index, seconds at full service, the work served by its end, and whether the job's work ends in it."""
    before = (0.0, *truth.ends)
    served = 0.0
    cycles = ceil((job.work or 0.0) / truth.work + 1) if job.repeats and truth.work > 0 else 1
    for _ in range(cycles):
        for p, rate in enumerate(truth.rate):
            seconds = truth.ends[p] - before[p]
            if job.work is not None and rate > 0 and served + rate * seconds >= job.work * (1 - _ALMOST):
                yield p, max(0.0, (job.work - served) / rate), job.work, True
                return
            served += rate * seconds
            yield p, seconds, served, False


def windows_of(steps: Sequence[Step], n_windows: int, n_classes: int, scale: Vector) -> list[Window]:
    """Return windows of about equal length, with at most so many classes each.

    Parameters
    ----------
    scale
        Of every resource, how much a unit counts when parts are compared.
    """
    length = sum(seconds / price.pace for parts, _ in steps for price, seconds in parts) / max(1, n_windows)
    found: list[Window] = []
    inside: list[Step] = []
    taken = 0.0
    for step in steps:
        inside.append(step)
        taken += sum(seconds / price.pace for price, seconds in step[0])
        if taken >= length * (len(found) + 1) * (1 - _ALMOST):
            found.append(_window(inside, n_classes, scale))
            inside = []
    if inside:
        found.append(_window(inside, n_classes, scale))
    return [window for window in found if window.classes]


def _window(steps: Sequence[Step], n_classes: int, scale: Vector) -> Window:
    members: dict[Price, list[float]] = {}
    for i, (parts, _) in enumerate(steps):
        for price, seconds in parts:
            members.setdefault(price, [0.0] * len(steps))[i] += seconds
    classes = _merged(list(members.items()), n_classes, scale)
    credit = sum(work for _, work in steps)
    found = tuple(Class(sum(each), price.pace, price.use, _lead(each, steps, credit)) for price, each in classes)
    return Window(found, credit, _whole(steps, credit))


def _whole(steps: Sequence[Step], credit: float) -> tuple[Vector, ...]:
    """Return the least unit-seconds per share of the credit, over the ends of the steps: what finished steps take, each part for itself."""
    taken: list[list[float]] = []
    least: list[Vector] = []
    counted = 0.0
    for parts, work in steps:
        counted += work
        for price, seconds in parts:
            taken = taken or [[0.0] * len(row) for row in price.use]
            for row, uses in zip(taken, price.use, strict=True):
                row[:] = [amount + seconds * use for amount, use in zip(row, uses, strict=True)]
        if counted > 0:
            scaled = [tuple(amount * credit / counted for amount in row) for row in taken]
            least = [tuple(map(min, *both)) for both in zip(least, scaled, strict=True)] if least else scaled
    return tuple(least)


def _lead(each: Sequence[float], steps: Sequence[Step], credit: float) -> float:
    """Return the most by which the share of the credit can be ahead of the share of a class, over the ends of the steps.

    Infinite where a step counts that needs nothing of the class.
    """
    total = sum(each)
    done = counted = 0.0
    lead = 1.0
    for seconds, (_, work) in zip(each, steps, strict=True):
        done, counted = done + seconds, counted + work
        if credit > 0 and counted > 0:
            lead = max(lead, (counted / credit) / (done / total)) if done > 0 else float("inf")
    return lead


def _merged(members: list[tuple[Price, list[float]]], most: int, scale: Vector) -> list[tuple[Price, list[float]]]:
    """Join those first that lose least, until there are `most`."""
    alive = dict(enumerate(_chunked(members, scale)))
    losses = {(a, b): _loss(alive[a], alive[b], scale) for a, b in combinations(alive, 2)}
    new = len(alive)
    while len(alive) > most:
        a, b = min(losses, key=lambda pair: (losses[pair], pair))
        (left, seconds), (right, others) = alive.pop(a), alive.pop(b)
        losses = {pair: loss for pair, loss in losses.items() if a not in pair and b not in pair}
        joined = _join((left, seconds), (right, others))
        losses.update({(k, new): _loss(other, joined, scale) for k, other in alive.items()})
        alive[new] = joined
        new += 1
    return list(alive.values())


def _chunked(members: list[tuple[Price, list[float]]], scale: Vector) -> list[tuple[Price, list[float]]]:
    """Join parts that take about as much in all, where there are too many to compare each with each."""
    if len(members) <= _COMPARED:
        return members

    def size(member: tuple[Price, list[float]]) -> float:
        return sum(amount * s for row in member[0].use for amount, s in zip(row, scale, strict=True))

    ranked = sorted(members, key=size)
    edges = [round(i * len(ranked) / _COMPARED) for i in range(_COMPARED + 1)]
    return [reduce(_join, ranked[begin:end]) for begin, end in pairwise(edges)]


def _join(left: tuple[Price, list[float]], right: tuple[Price, list[float]]) -> tuple[Price, list[float]]:
    (a, mine), (b, others) = left, right
    use = tuple(tuple(map(min, x, y)) for x, y in zip(a.use, b.use, strict=True))
    return Price(max(a.pace, b.pace), use), [x + y for x, y in zip(mine, others, strict=True)]


def _loss(left: tuple[Price, list[float]], right: tuple[Price, list[float]], scale: Vector) -> float:
    """Return the share-seconds that the joined class no longer accounts for."""
    (a, mine), (b, others) = left, right
    first, second = sum(mine), sum(others)
    lost = 1e-3 * (first * (1 / a.pace - 1 / max(a.pace, b.pace)) + second * (1 / b.pace - 1 / max(a.pace, b.pace)))
    for x, y in zip(a.use, b.use, strict=True):
        for u, v, s in zip(x, y, scale, strict=True):
            lost += s * (first * (u - v) if u > v else second * (v - u))
    return lost
