"""Reclaim: the least that is owed, from those who borrowed most, cheapest to move first; and it settles at once."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libra_opt import State, allocate, verify
from tests.trees.cases import Document, cards, job, queue, state, with_plan

LEVELS = [queue("root"), queue("left", 0, "root"), queue("right", 0, "root")]
"""Two branches; the leaves of each are added below them."""


def owed(borrowed: tuple[int, int], need: int, costs: tuple[int, int], least: int = 1) -> State:
    """Return a state in which `owner` asks for cards that `a` and `b`, each with a quota of 2, have borrowed; costs are in seconds of a card's work."""
    queues = [*LEVELS, queue("a", 2, "left"), queue("b", 2, "right"), queue("owner", sum(borrowed), "root")]
    jobs = [
        job(name, name, 2 + more, held=2 + more, least=least, preemption_cost={"evict_seconds": 30, "resize_seconds": cost / (2 + more)})
        for name, more, cost in zip("ab", borrowed, costs, strict=True)
    ]
    return state(4 + sum(borrowed), queues, [*jobs, job("owner", "owner", need)])


@pytest.mark.parametrize("backend", ["auto", "cp_sat"])
@pytest.mark.parametrize(
    ("borrowed", "need", "costs", "left"),
    [
        ((4, 4), 2, (30, 60), {"a": 4, "b": 6}),
        ((4, 4), 2, (60, 30), {"a": 6, "b": 4}),
        ((2, 6), 2, (60, 60), {"a": 4, "b": 6}),
        ((6, 2), 2, (60, 60), {"a": 6, "b": 4}),
        ((2, 6), 2, (30, 60), {"a": 2, "b": 8}),
        ((2, 6), 6, (60, 60), {"a": 4, "b": 2}),
    ],
    ids=["cheaper first, a", "cheaper first, b", "borrowed most, b", "borrowed most, a", "cheaper before borrowed most", "no more than was borrowed"],
)
def test_who_gives_back(backend: str, borrowed: tuple[int, int], need: int, costs: tuple[int, int], left: dict[str, int]) -> None:
    asked = owed(borrowed, need, costs)
    asked = asked.replace({"options": asked.options.replace({"backend": backend})})
    plan = allocate(asked)
    assert verify(asked, plan).holds
    assert cards(plan) == left | {"owner": need}


def test_of_two_branches_the_one_that_borrowed_most_gives_back() -> None:
    queues = [*LEVELS, queue("a", 2, "left"), queue("b", 2, "left"), queue("c", 2, "right"), queue("owner", 10, "root")]
    jobs = [job(name, name, held, held, preemption_cost={"resize_seconds": 0}) for name, held in (("a", 5), ("b", 5), ("c", 6))]
    left = cards(allocate(state(16, queues, [*jobs, job("owner", "owner", 1)])))
    assert left["c"] == 6, "c has borrowed more than a or b, and less than the two together"
    assert left["owner"] == 1


def test_what_a_sibling_leaves_idle_is_not_owed_to_a_cousin() -> None:
    queues = [*LEVELS, queue("a", 2, "left"), queue("b", 2, "right"), queue("owner", 8, "right")]
    jobs = [job(name, name, 6, held=6, preemption_cost={"resize_seconds": cost}) for name, cost in (("a", 20), ("b", 1))]
    left = cards(allocate(state(12, queues, [*jobs, job("owner", "owner", 2)])))
    assert left == {"a": 4, "b": 6, "owner": 2}, "b has borrowed from its sibling alone, so it keeps what it has though it is cheaper to move"


def test_a_heavier_queue_may_borrow_more() -> None:
    def left(weight: int) -> dict[str, int]:
        queues = [queue("root"), queue("a", 2, "root", weight=weight), queue("b", 2, "root"), queue("owner", 8, "root")]
        return cards(allocate(state(12, queues, [job("a", "a", 6, held=6), job("b", "b", 6, held=6), job("owner", "owner", 2)])))

    assert left(4) == {"a": 6, "b": 4, "owner": 2}
    assert sorted(left(1).values()) == [2, 4, 6]


@st.composite
def crowds(draw: st.DrawFn) -> State:
    """Return trees of up to three levels whose leaves run jobs of single cards, in a cluster as large as its quotas."""
    queues: list[Document] = [queue("root", draw(st.integers(0, 2)))]
    for i in range(draw(st.integers(2, 5))):
        above = draw(st.sampled_from([each["name"] for each in queues[:3]]))
        queues.append(queue(f"q{i}", draw(st.integers(0, 4)), above))
    total = sum(each["nominal_quota"]["gpu"] for each in queues)
    jobs, free = [], total
    for i in range(draw(st.integers(1, 7))):
        demand = draw(st.integers(1, 4))
        held = draw(st.sampled_from((0, min(demand, free))))
        free -= held
        more: dict[str, Any] = {"weight": draw(st.sampled_from((1, 1, 2, 3))), "priority": draw(st.sampled_from((0, 0, 1)))}
        jobs.append(job(f"j{i}", draw(st.sampled_from(queues))["name"], demand, held, least=draw(st.sampled_from((0, 0, 1))), **more))
    return state(total, queues, jobs)


def under(asked: State, q: int) -> list[int]:
    """Return the jobs of a queue and of all below it."""
    ledger = asked.ledger
    members = {q}
    for _ in ledger.queues:
        members |= {c for c, above in enumerate(ledger.parent) if above in members}
    return [j for j, at in enumerate(ledger.job_queue) if at in members]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(crowds())
def test_no_queue_within_its_guarantee_loses_to_another_and_no_more_is_taken_than_is_owed(asked: State) -> None:
    plan = allocate(asked)
    assert verify(asked, plan).holds
    after, ledger = list(cards(plan).values()), asked.ledger
    before = [sum(ledger.current[s][0] for s in rows if ledger.current[s] is not None) for rows in ledger.stage_of]
    wanted = [sum(ledger.demand[s][0] for s in rows) for rows in ledger.stage_of]
    assert plan.certificate.tiers[2].objective == 0, "single cards divide as quotas do"
    for q, (quota,) in enumerate(ledger.nominal):
        members = under(asked, q)
        assert sum(after[j] for j in members) >= min(quota, sum(wanted[j] for j in members), sum(before[j] for j in members))
    assert sum(after) == min(sum(wanted), sum(row[0] for row in ledger.capacity)), "what is taken is used by its owner or was not needed"


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(crowds())
def test_a_tree_settles_at_once(asked: State) -> None:
    settled = cards(allocate(asked))
    for _ in range(2):
        asked = with_plan(asked, allocate(asked))
        assert cards(allocate(asked)) == settled


def test_queues_that_reclaim_from_each_other_rest_for_ten_periods() -> None:
    queues = [*LEVELS, queue("a", 2, "left"), queue("b", 2, "left"), queue("c", 4, "right")]
    asked = state(8, queues, [job("a1", "a", 3, held=3), job("a2", "a", 3, held=3), job("b1", "b", 4), job("c1", "c", 5), job("c2", "c", 1, held=1)])
    seen = []
    for _ in range(10):
        plan = allocate(asked)
        assert verify(asked, plan).holds
        seen.append(cards(plan))
        asked = with_plan(asked, plan)
    assert seen[0]["b1"] == 2
    assert seen[0]["c1"] + seen[0]["c2"] == 4
    assert all(held == seen[0] for held in seen)
