"""Hypothesis strategies shared by all tests: small states for the oracle, larger ones that are proven in a second or two, somewhat larger ones for properties.

A state is made as a document and enters through the reader. What runs holds an allocation that fitted the cluster; then the cluster may lose
capacity and a job may change what it asks, so that some allocations cannot be kept. Capacities and quotas follow what is asked, so that
memory, cards and quotas are short in many states and not only in lucky ones.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from libra_opt.domain import State, read_state

__all__ = ["LARGER", "PROVABLE", "TINY", "TREES", "Shape", "arbitrary_states", "documents", "states", "tree_states"]

Document = dict[str, Any]
Draw = st.DrawFn

GPU = {"name": "gpu", "unit": "cards", "quantum": 1, "compressible": True, "costly": True}
GPU_MEM = {"name": "gpu_mem", "unit": "GiB", "quantum": 1, "compressible": False, "costly": True}
CPU = {"name": "cpu", "unit": "cores", "quantum": 1, "compressible": True, "costly": False}
MEM = {"name": "mem", "unit": "GiB", "quantum": 1, "compressible": False, "costly": False}
NET = {"name": "net", "unit": "GB/s", "quantum": 0.5, "compressible": True, "costly": False}

CURVES = ([[0.5, 0.75], [1, 1]], [[0, 0.25], [1, 1]], [[0.5, 0.5], [1, 0.75], [2, 1]], [[1, 0.8]], [[0, 0.5]], [[0, 0.2], [0.5, 0.8], [1, 0.8]])


@dataclass(frozen=True)
class Shape:
    """How large a state may grow; `most` is the largest demand and the largest capacity of a pool."""

    jobs: int
    stages: int
    all_stages: int
    pools: int
    queues: int
    most: int
    resources: tuple[tuple[Document, ...], ...]


TINY = Shape(jobs=4, stages=2, all_stages=6, pools=2, queues=2, most=8, resources=((GPU, GPU_MEM), (GPU, GPU_MEM, CPU), (GPU, GPU_MEM, CPU)))
TREES = Shape(jobs=4, stages=1, all_stages=4, pools=2, queues=4, most=8, resources=((GPU, GPU_MEM), (GPU, GPU_MEM, CPU)))
FIVE = (GPU, GPU_MEM, CPU, MEM, NET)
PROVABLE = Shape(jobs=6, stages=3, all_stages=12, pools=3, queues=3, most=12, resources=(FIVE, FIVE, (CPU, GPU, MEM, GPU_MEM)))
LARGER = Shape(jobs=8, stages=3, all_stages=20, pools=3, queues=3, most=40, resources=(FIVE, FIVE, (CPU, GPU, MEM, GPU_MEM)))


def states(shape: Shape = TINY) -> st.SearchStrategy[State]:
    """Return small valid states that the oracle can solve."""
    return documents(shape).map(_enter)


def arbitrary_states() -> st.SearchStrategy[State]:
    """Return valid states that are somewhat larger, for properties that need no oracle."""
    return documents(LARGER).map(_enter)


def tree_states(shape: Shape = TREES) -> st.SearchStrategy[State]:
    """Return small valid states that the oracle can solve, with queues below others, up to five levels of them."""
    return documents(shape, trees=True).map(_enter)


def _enter(document: Document) -> State:
    return read_state(json.dumps(document))


@st.composite
def documents(draw: Draw, shape: Shape = TINY, *, trees: bool = False) -> Document:
    """Return documents of valid states, ready for JSON; with `trees`, queues may have others above them."""
    resources = list(draw(st.sampled_from(shape.resources)))
    if draw(_one_in(8)):
        resources = [{**resource, "costly": draw(st.booleans())} for resource in resources]
    pools = [f"p{k}" for k in range(draw(st.integers(1, shape.pools)))]
    queues = [f"q{q}" for q in range(draw(st.sampled_from((3, *range(2, shape.queues + 1)) if trees else (1, 0, *range(1, shape.queues + 1)))))]
    jobs, left = [], shape.all_stages
    for j in range(draw(st.integers(1, shape.jobs))):
        n_stages = draw(st.integers(1, max(1, min(shape.stages, left))))
        left -= n_stages
        stages = [_stage(draw, shape, resources, pools, f"s{s}") for s in range(n_stages)]
        jobs.append(_job(draw, f"j{j}", stages, resources, queues))
    capacity = _capacity(draw, shape, resources, pools, jobs)
    card_mem = {pool: draw(st.sampled_from((1, 2, 2, 3))) for pool in pools if draw(_one_in(4))}
    _run(draw, resources, jobs, capacity, card_mem)
    _disturb(draw, resources, jobs, capacity)
    document: Document = {
        "format": "libra-opt/state/1",
        "period": {"index": draw(st.integers(0, 3)), "seconds": draw(st.sampled_from((60, 60, 30, 1)))},
        "resources": resources,
        "pools": [{"name": pool, "capacity": capacity[pool]} | ({"card_mem": card_mem[pool]} if pool in card_mem else {}) for pool in pools],
        "queues": _tree(draw, [_queue(draw, queue, resources, jobs) for queue in queues], jobs)
        if trees
        else [_queue(draw, queue, resources, jobs) for queue in queues],
        "jobs": [_short(draw, job) for job in jobs],
        "options": _options(draw),
    }
    return document


def _one_in(n: int) -> st.SearchStrategy[bool]:
    return st.integers(0, n - 1).map(lambda i: i == n - 1)


def _amount(most: int) -> st.SearchStrategy[int]:
    """Amounts from 0 to `most`, mostly not 0."""
    return st.integers(1, most) | st.integers(1, max(1, most // 2)) | st.integers(0, most)


def _stage(draw: Draw, shape: Shape, resources: list[Document], pools: list[str], name: str) -> Document:
    unit = {"gpu": 2} if draw(_one_in(5)) else {"gpu_mem": 2} if draw(_one_in(8)) else {}
    stage: Document = {"name": name} | _amounts(draw, shape, resources, unit)
    if unit:
        stage["unit"] = unit["gpu"] if "gpu" in unit and draw(st.booleans()) else unit
    if draw(_one_in(4)):
        stage["demand_intensity"] = draw(st.lists(st.sampled_from((0, 0.5, 1, 1.5, 2)), min_size=1, max_size=3))
    if draw(_one_in(4)):
        stage["curve"] = draw(st.sampled_from(CURVES))
    if draw(_one_in(3)):
        allowed = draw(st.lists(st.sampled_from(pools), min_size=1, max_size=len(pools), unique=True))
        stage["pools"] = allowed if draw(_one_in(3)) else {pool: draw(st.sampled_from((0.5, 1, 1, 1.25, 2))) for pool in allowed}
    return stage


def _amounts(draw: Draw, shape: Shape, resources: list[Document], unit: Document) -> Document:
    """Draw demand, quotas and need; the units divide the quotas."""
    demand, least, greatest, need = {}, {}, {}, {}
    for resource in resources:
        r, whole = resource["name"], unit.get(resource["name"], 1)
        demand[r] = draw(_amount(shape.most if resource["compressible"] else max(1, shape.most // 2)))
        if draw(_one_in(3)):
            least[r] = whole * draw(st.integers(0, max(1, demand[r] // (2 * whole))))
        if draw(_one_in(3)):
            greatest[r] = whole * max(-(-least.get(r, 0) // whole), draw(st.integers(0, 1 + shape.most // whole)))
        if not resource["compressible"] and draw(_one_in(3)):
            need[r] = draw(st.integers(0, shape.most))
    if draw(_one_in(8)):
        demand = {r: amount for r, amount in demand.items() if r not in ("gpu", "cpu")}
    amounts: Document = {"demand": demand, "min_quota": least, "max_quota": greatest}
    return amounts | ({"need": need} if need else {})


def _job(draw: Draw, name: str, stages: list[Document], resources: list[Document], queues: list[str]) -> Document:
    resize: int | Document = draw(st.sampled_from((0, 5, 15, 15)))
    if draw(_one_in(3)):
        resize = {resource["name"]: draw(st.sampled_from((0, 2, 10, 20))) for resource in resources if draw(_one_in(2))}
    job: Document = {
        "id": name,
        "stages": stages,
        "priority": draw(st.sampled_from((0, 0, 0, 1, 2, -1))),
        "weight": draw(st.sampled_from((1, 1, 1, 2, 3, 0.5, 1.25))),
        "preemption_cost": {
            "evict_seconds": draw(st.sampled_from((0, 1, 5, 15, 45))),
            "resize_seconds": resize,
            "migrate_seconds": draw(st.sampled_from((0, 2, 10, 45))),
        },
    }
    if queues and not draw(_one_in(5)):
        job["queue"] = draw(st.sampled_from(queues))
    if draw(_one_in(5)):
        job["preemptible"] = False
    if draw(_one_in(6)):
        job |= {"min_runtime_seconds": 100, "running_seconds": draw(st.sampled_from((99, 100)))}
    if draw(_one_in(6)):
        job["rates"] = {"tokens": draw(st.sampled_from((0.05, 0.1, 0.5)))}
    if draw(_one_in(6)):
        job["remaining"] = draw(st.sampled_from((30, 120)))
    return job


def _asked(jobs: list[Document], r: str, queue: str | None = None) -> int:
    mine = [stage for job in jobs if queue is None or job.get("queue") == queue for stage in job["stages"]]
    return sum(max(stage["demand"].get(r, 0), stage["min_quota"].get(r, 0), stage.get("need", {}).get(r, 0)) for stage in mine)


def _capacity(draw: Draw, shape: Shape, resources: list[Document], pools: list[str], jobs: list[Document]) -> dict[str, Document]:
    """Between a quarter of what is asked and more than all of it, per pool and resource; sometimes nothing."""
    capacity: dict[str, Document] = {pool: {} for pool in pools}
    for resource in resources:
        share = draw(st.sampled_from((0.3, 0.5, 0.6, 0.8, 1, 1.5)))
        per_pool = max(1, round(share * _asked(jobs, resource["name"]) / len(pools)))
        for pool in pools:
            capacity[pool][resource["name"]] = 0 if draw(_one_in(24)) else min(shape.most, max(0, per_pool + draw(st.sampled_from((0, 0, 1, -1, 2)))))
    return capacity


def _run(draw: Draw, resources: list[Document], jobs: list[Document], capacity: dict[str, Document], card_mem: Document) -> None:
    """Let some jobs run, with allocations that fit what is left of the cluster and that R2 to R9 allow."""
    free = {pool: {r: Fraction(amount) for r, amount in row.items()} for pool, row in capacity.items()}
    for job in jobs:
        if draw(_one_in(4)):
            continue
        trial = {pool: dict(row) for pool, row in free.items()}
        held = [_place(draw, stage, resources, trial, card_mem) for stage in job["stages"]]
        if all(held):
            free = trial
            for stage, allocation in zip(job["stages"], held, strict=True):
                stage["allocation"] = allocation


def _place(draw: Draw, stage: Document, resources: list[Document], free: dict[str, dict[str, Fraction]], card_mem: Document) -> Document | None:
    """Take an allocation for a stage out of `free`, if one fits."""
    level = draw(st.sampled_from((Fraction(1, 2), Fraction(1, 4), Fraction(1))))
    pools = draw(st.permutations(list(stage.get("pools", free))))
    for pool in pools:
        held = _fit(stage, resources, free[pool], level, card_mem.get(pool))
        if held is not None:
            for r, amount in held.items():
                free[pool][r] -= amount
            return {"pool": pool, "resources": held}
    return None


def _fit(stage: Document, resources: list[Document], free: dict[str, Fraction], level: Fraction, card_mem: int | None) -> dict[str, int] | None:
    """Return the least that a stage holds at a level, if it is free."""
    held: dict[str, int] = {}
    for resource in sorted(resources, key=lambda resource: resource["name"] == "gpu"):
        r = resource["name"]
        unit = _unit(stage, r)
        wanted = stage["demand"].get(r, 0)
        if resource["compressible"]:
            wanted *= level
        else:
            wanted = min(stage.get("need", {}).get(r, wanted), stage["max_quota"].get(r, wanted))
        if r == "gpu" and card_mem:
            wanted = max(wanted, Fraction(held.get("gpu_mem", 0), card_mem))
        amount = unit * -(-max(Fraction(wanted), stage["min_quota"].get(r, 0)) // unit)
        if amount > min(stage["max_quota"].get(r, amount), free.get(r, 0)):
            return None
        held[r] = int(amount)
    return held


def _unit(stage: Document, r: str) -> int:
    unit = stage.get("unit", {})
    return unit.get(r, 1) if isinstance(unit, dict) else unit if r == "gpu" else 1


def _disturb(draw: Draw, resources: list[Document], jobs: list[Document], capacity: dict[str, Document]) -> None:
    """Lose capacity, and change what some stages ask, so that what they hold cannot be kept."""
    if draw(_one_in(4)):
        lost = draw(st.sampled_from(sorted(capacity)))
        capacity[lost] = {} if draw(_one_in(3)) else {r: amount // 2 for r, amount in capacity[lost].items()}
    for stage in (stage for job in jobs for stage in job["stages"] if "allocation" in stage):
        if not draw(_one_in(6)):
            continue
        held = stage["allocation"]["resources"]
        kind = draw(st.sampled_from(("more", "less", "pool", "need")))
        if kind == "more":
            held["gpu"] = held.get("gpu", 0) + 1
        elif kind == "less":
            held[draw(st.sampled_from(sorted(held)))] = 0
        elif kind == "pool":
            stage["allocation"]["pool"] = draw(st.sampled_from(sorted(capacity)))
        else:
            stage["need"] = {resource["name"]: held.get(resource["name"], 0) + 1 for resource in resources if not resource["compressible"]}


def _queue(draw: Draw, name: str, resources: list[Document], jobs: list[Document]) -> Document:
    queue: Document = {"name": name, "nominal_quota": {}}
    is_reserving = draw(st.sampled_from((False, True, False)))
    borrowing: Document = {}
    lending: Document = {}
    for r in (resource["name"] for resource in resources):
        asked = _asked(jobs, r, name)
        if draw(_one_in(5)):
            continue
        shares = st.sampled_from((0.5, 0.3, 0.2, 0, 0.8, 1.2))
        nominal = queue["nominal_quota"][r] = round(draw(shares) * asked) if asked and not is_reserving else draw(st.integers(1, 4))
        if not draw(_one_in(3)):
            borrowing[r] = draw(st.sampled_from((0, 0, 1, 2)))
        if is_reserving:
            lending[r] = draw(st.integers(0, max(0, nominal // 3)))
    if draw(st.sampled_from((True, True, True, False))) and not is_reserving:
        queue["borrowing_limit"] = borrowing
    if is_reserving:
        queue["lending_limit"] = lending
    return queue


def _tree(draw: Draw, queues: list[Document], jobs: list[Document]) -> list[Document]:
    """Hang queues below others, and list them in any order.

    Those above have a part of what all jobs ask; where something is not lent below them they often may not borrow, so that it is short there.
    """
    for i, queue in enumerate(queues):
        if i and not draw(_one_in(4)):
            above = queues[draw(st.sampled_from((i - 1, *range(i))))]
            queue["parent"] = above["name"]
            for r in above["nominal_quota"]:
                above["nominal_quota"][r] = round(draw(st.sampled_from((0.3, 0.5, 0, 0.8))) * _asked(jobs, r))
            if "lending_limit" in above:
                above["lending_limit"] = {r: min(limit, above["nominal_quota"].get(r, 0)) for r, limit in above["lending_limit"].items()}
            if "lending_limit" in queue and draw(st.booleans()):
                above["borrowing_limit"] = dict.fromkeys(queue["lending_limit"], 0)
    return draw(st.permutations(queues))


def _short(draw: Draw, job: Document) -> Document:
    """Sometimes write a job of one stage the short way."""
    if len(job["stages"]) > 1 or draw(st.booleans()):
        return job
    stage = {key: value for key, value in job["stages"][0].items() if key != "name"}
    return {key: value for key, value in job.items() if key != "stages"} | stage


def _options(draw: Draw) -> Document:
    options: Document = {"hold_periods": draw(st.sampled_from((1, 2, 2, 4))), "spare": draw(st.booleans())}
    if draw(_one_in(3)):
        options["preemption_budget_seconds"] = draw(st.sampled_from((0, 1, 5, 15, 30, 60)))
    if draw(_one_in(6)):
        options["throughput"] = "jobs"
    if draw(_one_in(4)):
        options["priority_base"] = draw(st.sampled_from((1, 2, 3)))
    return options
