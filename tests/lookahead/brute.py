"""All plans of a tiny state tried one by one, from the prose: jobs of one stage in one pool with cards and cores, nothing protected, no budget."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

__all__ = ["most_value", "value_of"]

DISCOUNT = Fraction(995, 1000)

Held = tuple[int, int]
"""Cards and cores of a job; nothing for a job that waits."""

NOTHING: Held = (0, 0)


class _Job(NamedTuple):
    lo: int
    hi: int
    demands: tuple[Held, ...]
    held: Held
    resize: int
    evict: int
    weight: int
    left: Fraction | None
    counts_work: bool
    preemptible: bool


def most_value(state: Mapping[str, Any], periods: int) -> Fraction:
    """Return the most that all periods can be worth together."""
    return max(_values(state, periods))


def value_of(state: Mapping[str, Any], plan: Sequence[Sequence[Held]]) -> Fraction:
    """Return what a plan is worth, given per period what every job holds."""
    jobs = [_job(entry, len(plan)) for entry in state["jobs"]]
    return sum((_worth(state, job, [period[j] for period in plan]) for j, job in enumerate(jobs)), Fraction(0))


def _job(entry: Mapping[str, Any], periods: int) -> _Job:
    told = [entry["demand"], *entry.get("demand_ahead", ())]
    demands = tuple((told[min(t, len(told) - 1)].get("gpu", 0), told[min(t, len(told) - 1)].get("cpu", 0)) for t in range(periods))
    cost = entry["preemption_cost"]
    now = entry.get("allocation", {}).get("resources", {})
    left = entry.get("remaining_work") or entry.get("remaining")
    return _Job(
        entry["min_quota"]["gpu"],
        entry["max_quota"]["gpu"],
        demands,
        (now.get("gpu", 0), now.get("cpu", 0)),
        cost["resize_seconds"],
        cost["evict_seconds"],
        entry["weight"],
        None if left is None else Fraction(str(left)),
        "remaining_work" in entry,
        entry["preemptible"],
    )


def _values(state: Mapping[str, Any], periods: int) -> Iterator[Fraction]:
    capacity = state["pools"][0]["capacity"]
    jobs = [_job(entry, periods) for entry in state["jobs"]]
    ways = [_paths(job, capacity, periods) for job in jobs]
    worth = [{path: _worth(state, job, path) for path in paths} for job, paths in zip(jobs, ways, strict=True)]
    for paths in product(*ways):
        if all(sum(path[t][r] for path in paths) <= capacity[name] for t in range(periods) for r, name in enumerate(("gpu", "cpu"))):
            yield sum((known[path] for known, path in zip(worth, paths, strict=True)), Fraction(0))


def _paths(job: _Job, capacity: Mapping[str, int], periods: int) -> list[tuple[Held, ...]]:
    free = [NOTHING, *product(range(job.lo, min(job.hi, capacity["gpu"]) + 1), range(capacity["cpu"] + 1))]
    return list(product(_first(job, capacity), *([free] * (periods - 1))))


def _first(job: _Job, capacity: Mapping[str, int]) -> list[Held]:
    """R14: the least at some service, with what a stage holds of cards kept or not."""
    demand, most = job.demands[0], min(job.hi, capacity["gpu"])
    found = [NOTHING]
    for cards, cores in product(range(job.lo, most + 1), range(capacity["cpu"] + 1)):
        service = _service((cards, cores), demand)
        least = max(job.lo, _up(demand[0] * service)), _up(demand[1] * service)
        keeps = job.resize > 0 and job.held != NOTHING and cards == job.held[0]
        if (cards == least[0] or keeps) and cores == least[1]:
            found.append((cards, cores))
    return found


def _up(number: Fraction) -> int:
    return -int(-number // 1)


def _service(held: Held, demand: Held) -> Fraction:
    return min([Fraction(1), *(Fraction(x, d) for x, d in zip(held, demand, strict=True) if d)])


def _worth(state: Mapping[str, Any], job: _Job, path: Sequence[Held]) -> Fraction:
    seconds, capacity = Fraction(60), state["pools"][0]["capacity"]
    spread = seconds * 2
    total, made, before = Fraction(0), Fraction(0), job.held
    leaving = job.evict + (0 if job.preemptible else spread * len(path))
    for t, held in enumerate(path):
        if job.left is not None and made >= job.left:
            break
        work = _work(job, job.demands[t], capacity)
        service = Fraction(0) if held == NOTHING else _service(held, job.demands[t])
        step = service * (work if job.counts_work else seconds)
        share = Fraction(1) if job.left is None or step <= 0 else min(Fraction(1), (job.left - made) / step)
        charge: int | Fraction = 0
        if before != NOTHING:
            charge = (leaving if t else job.evict) if held == NOTHING else job.resize if held[0] != before[0] else 0
        total += DISCOUNT**t * job.weight * work * (service * share - Fraction(charge) / spread)
        made, before = made + step, held
    return total


def _work(job: _Job, demand: Held, capacity: Mapping[str, int]) -> Fraction:
    if demand[0]:
        return Fraction(demand[0])
    asked = demand if any(demand) else (job.lo, 0)
    shares = [Fraction(amount, capacity[name]) for amount, name in zip(asked, ("gpu", "cpu"), strict=True) if capacity[name]]
    return max(shares, default=Fraction(0)) * (capacity["gpu"] or 1)
