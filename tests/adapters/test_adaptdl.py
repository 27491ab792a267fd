"""`LibraPolicy` on jobs and nodes of the shapes that AdaptDL publishes (`policy/utils.py`), made here; the speedups are synthetic."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.adapters.adaptdl import LibraPolicy

GPU = "nvidia.com/gpu"


@dataclass
class JobInfo:
    resources: Mapping[str, int]
    speedup_fn: Callable[[int, int], float]
    creation_timestamp: datetime
    max_replicas: int
    min_replicas: int = 0
    preemptible: bool = True


@dataclass
class NodeInfo:
    resources: Mapping[str, int]
    preemptible: bool = False


def speedup(power: float, network: float = 0.9) -> Callable[[int, int], float]:
    """Speed grows with replicas to a power, and every node more costs some of it."""
    return lambda n_nodes, n_replicas: n_replicas**power * network ** (n_nodes - 1)


def job(power: float = 0.8, most: int = 8, resources: Mapping[str, int] | None = None, **fields: Any) -> JobInfo:
    return JobInfo(resources or {GPU: 1, "pods": 1}, speedup(power), datetime(2026, 1, 1, tzinfo=UTC), most, **fields)


def node(cards: int = 4, **fields: Any) -> NodeInfo:
    return NodeInfo({GPU: cards, "pods": 32}, **fields)


def assert_valid(jobs: Mapping[Any, JobInfo], nodes: Mapping[Any, NodeInfo], allocations: Mapping[Any, list[Any]]) -> None:
    assert allocations.keys() == jobs.keys()
    used: Counter[tuple[Any, str]] = Counter()
    for key, held in allocations.items():
        assert not held or max(1, jobs[key].min_replicas) <= len(held) <= jobs[key].max_replicas
        for where in held:
            for name, amount in jobs[key].resources.items():
                used[where, name] += amount
    assert all(amount <= nodes[where].resources.get(name, 0) for (where, name), amount in used.items())


def total(jobs: Mapping[Any, JobInfo], allocations: Mapping[Any, list[Any]]) -> float:
    return sum(jobs[key].speedup_fn(len(set(held)), len(held)) for key, held in allocations.items() if held)


def greedy(jobs: Mapping[Any, JobInfo], nodes: Mapping[Any, NodeInfo]) -> dict[Any, list[Any]]:
    """Give one replica after the other to the job and node that gain most, beginning with the least replicas of a job on one node."""
    free = {where: info.resources[GPU] for where, info in nodes.items()}
    held: dict[Any, list[Any]] = {key: [] for key in jobs}
    while True:
        best: tuple[float, Any, list[Any]] = (1e-9, None, [])
        for key, info in jobs.items():
            now = total(jobs, {key: held[key]})
            step = 1 if held[key] else max(1, info.min_replicas)
            for where, left in free.items():
                more = held[key] + [where] * step
                shared = len(set(more)) > 1 and any(len(set(other)) > 1 and set(other) & set(more) for name, other in held.items() if name != key)
                if left >= step and len(more) <= info.max_replicas and not shared:
                    gain = total(jobs, {key: more}) - now
                    best = max(best, (gain, key, [where] * step), key=lambda found: found[0])
        if best[1] is None:
            return held
        held[best[1]] = held[best[1]] + best[2]
        for where in best[2]:
            free[where] -= 1


@pytest.mark.parametrize("n_nodes", [1, 2, 4, 8, 16])
def test_sixteen_jobs_on_sixteen_devices_and_again_from_where_they_are(n_nodes: int) -> None:
    jobs = {i: job() for i in range(16)}
    nodes = {i: node(16 // n_nodes) for i in range(n_nodes)}
    policy, held = LibraPolicy(), {}
    for _ in range(3):
        before = held
        held, desired = policy.optimize(jobs, nodes, held, node(16 // n_nodes))
        assert_valid(jobs, nodes, held)
        assert desired == n_nodes
    assert held == before
    assert sum(map(len, held.values())) == 16


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, JobInfo], dict[str, NodeInfo], dict[str, list[str]]]:
    nodes = {f"n{i}": node(draw(st.integers(0, 4)), preemptible=draw(st.booleans())) for i in range(draw(st.integers(0, 4)))}
    jobs, base = {}, {}
    room = {where: info.resources[GPU] for where, info in nodes.items()}
    for i in range(draw(st.integers(0, 5))):
        least = draw(st.integers(0, 3))
        need = draw(st.sampled_from((1, 1, 2)))
        jobs[f"j{i}"] = job(draw(st.sampled_from((0.3, 0.7, 1.0))), least + draw(st.integers(0 if least else 1, 5)), {GPU: need, "pods": 1}, min_replicas=least)
        jobs[f"j{i}"].preemptible = draw(st.integers(0, 3)) > 0
        where = draw(st.sampled_from([*nodes, "lost"]))
        count = max(1, least)
        if draw(st.booleans()) and room.get(where, 99) >= count * need:
            base[f"j{i}"] = [where] * count
            room[where] = room.get(where, 99) - count * need
    return jobs, nodes, base


@settings(max_examples=30, deadline=None)
@given(clusters())
def test_nodes_are_never_overfull_and_the_bounds_of_jobs_hold(cluster: tuple[dict[str, JobInfo], dict[str, NodeInfo], dict[str, list[str]]]) -> None:
    jobs, nodes, base = cluster
    allocations, desired = LibraPolicy().optimize(jobs, nodes, base, node())
    assert_valid(jobs, nodes, allocations)
    assert desired == (len(nodes) or int(bool(jobs)))
    for key, held in base.items():
        if not jobs[key].preemptible and "lost" not in held:
            assert allocations[key] == held
    assert LibraPolicy().optimize(dict(reversed(jobs.items())), dict(reversed(nodes.items())), base, node())[0] == allocations


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from((0.2, 0.5, 0.8, 1.0)), st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=6),
)
def test_the_total_speedup_is_not_below_a_plain_greedy(cards: list[int], kinds: list[tuple[float, int, int]]) -> None:
    nodes = {f"n{i}": node(count) for i, count in enumerate(cards)}
    jobs = {f"j{i}": job(power, least + more, min_replicas=least) for i, (power, least, more) in enumerate(kinds)}
    allocations, _ = LibraPolicy().optimize(jobs, nodes, {}, node())
    assert total(jobs, allocations) >= total(jobs, greedy(jobs, nodes)) - 1e-9


def test_what_fragmentation_makes_impossible_is_reduced_to_what_fits() -> None:
    nodes = {f"n{i}": node(3) for i in range(2)}
    jobs = {f"j{i}": job(1.0, 2, min_replicas=2) for i in range(3)}
    allocations, _ = LibraPolicy().optimize(jobs, nodes, {}, node())
    assert_valid(jobs, nodes, allocations)
    assert sorted(map(len, allocations.values())) == [2, 2, 2]
    allocations, _ = LibraPolicy().optimize({key: job(1.0, 1, {GPU: 2}) for key in range(3)}, nodes, {}, node())
    assert sorted(map(len, allocations.values())) == [0, 1, 1]


def test_a_node_serves_at_most_one_job_of_several_nodes() -> None:
    nodes = {f"n{i}": node(3) for i in range(3)}
    jobs = {f"j{i}": job(1.0, 4, min_replicas=4) for i in range(2)}
    allocations, _ = LibraPolicy().optimize(jobs, nodes, {}, node())
    spread = [set(held) for held in allocations.values() if len(set(held)) > 1]
    assert len(spread) == 1


def test_a_job_stays_where_it_is_unless_moving_gains_a_tenth() -> None:
    nodes = {"a": node(2), "b": node(2)}
    held = {"x": ["a", "b"]}
    close, far = job(0.8, 2), job(0.8, 2)
    close.speedup_fn, far.speedup_fn = speedup(0.8, 0.95), speedup(0.8, 0.8)
    assert LibraPolicy().optimize({"x": close}, nodes, held, node())[0] == held
    assert len(set(LibraPolicy().optimize({"x": far}, nodes, held, node())[0]["x"])) == 1


def test_a_new_job_gets_the_first_node_that_holds_its_least() -> None:
    nodes = {"a": node(4, preemptible=True), "b": node(1), "c": node(2)}
    policy = LibraPolicy()
    assert policy.allocate_job(job(min_replicas=2), nodes) == ["c", "c"]
    assert policy.allocate_job(job(), nodes) == ["b"]
    assert policy.allocate_job(job(min_replicas=5), nodes) == []


def test_without_nodes_or_jobs_nobody_gets_anything() -> None:
    policy = LibraPolicy()
    assert policy.optimize({}, {}, {}, node()) == ({}, 0)
    assert policy.optimize({}, {"a": node()}, {}, node()) == ({}, 1)
    assert policy.optimize({"x": job()}, {}, {}, node()) == ({"x": []}, 1)
    assert policy.optimize({"x": job(resources={GPU: 8})}, {}, {}, node(4)) == ({"x": []}, 0)
    late = job()
    late.creation_timestamp += timedelta(days=1)
    assert policy.optimize({"x": late}, {"a": node(0)}, {}, node()) == ({"x": []}, 1)
