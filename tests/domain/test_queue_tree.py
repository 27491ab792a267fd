"""Trees of queues as a state writes them: what is refused and where, and what a queue has with all below it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import State, Workload, read_state
from libra_opt.domain.queue_tree import MOST_LEVELS, idle_below, together, top_down, way_up
from libra_opt.errors import InputError


def entered(queues: list[dict[str, Any]], **more: Any) -> State:
    pools = [{"name": "p", "capacity": {"gpu": 100}}]
    return read_state(json.dumps({"resources": [{"name": "gpu"}], "pools": pools, "queues": queues, **more}))


def chain(n: int) -> list[dict[str, Any]]:
    return [{"name": f"q{i}"} | ({"parent": f"q{i - 1}"} if i else {}) for i in range(n)]


REFUSED = {
    "unknown": ([{"name": "a", "parent": "b"}, {"name": "c"}], "queues[0].parent", "unknown queue 'b'; known are 'a', 'c'; list it, or leave parent out"),
    "itself": ([{"name": "a", "parent": "a"}], "queues[0].parent", "'a' is the queue itself; name the queue above it, or leave parent out"),
    "a circle": (
        [{"name": "d", "parent": "b"}, {"name": "a", "parent": "c"}, {"name": "b", "parent": "a"}, {"name": "c", "parent": "b"}],
        "queues[1].parent",
        "is below itself, 'a' -> 'c' -> 'b' -> 'a'; leave out the parent of one of them",
    ),
    "too deep": (chain(MOST_LEVELS + 1), f"queues[{MOST_LEVELS}].parent", "puts 'q16' on level 17 of its tree, which has at most 16; hang it higher"),
    "a name twice": ([{"name": "a"}, {"name": "b", "parent": "a"}, {"name": "a"}], "queues[2].name", "'a' is taken by queues[0]; give each its own"),
    "lends more than all below it have": (
        [{"name": "a", "nominal_quota": {"gpu": 1}, "lending_limit": {"gpu": 4}}, {"name": "b", "parent": "a", "nominal_quota": {"gpu": 2}}],
        "queues[0].lending_limit.gpu",
        "4 is above nominal_quota 3; a queue cannot lend more than it has",
    ),
    "more than can be counted": (
        [{"name": "a", "nominal_quota": {"gpu": 2**62}}, {"name": "b", "parent": "a", "nominal_quota": {"gpu": 2**62}}],
        "queues[0].nominal_quota.gpu",
        "with the queues below, the quota is not below 2^63 quanta; write less or declare a coarser quantum in resources",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_tree_is_refused_once_with_its_path_and_a_remedy(name: str) -> None:
    queues, path, message = REFUSED[name]
    with pytest.raises(InputError) as refused:
        entered(queues)
    assert [(fault.path, fault.message) for fault in refused.value.faults] == [(path, message)]


def test_a_tree_may_be_as_deep_as_it_says() -> None:
    assert entered(chain(MOST_LEVELS)).ledger.parent == [-1, *range(MOST_LEVELS - 1)]


def test_looking_ahead_over_a_tree_is_refused() -> None:
    with pytest.raises(InputError, match=r"options\.lookahead: trees of queues are planned one period at a time"):
        entered(chain(2), options={"lookahead": 2})
    assert entered(chain(1), options={"lookahead": 2}).options.lookahead == 2


def test_a_workload_refuses_what_is_no_tree() -> None:
    jobs = [{"id": "j", "steps": [{"parts": [{"seconds": 1}]}]}]
    workload = {"pools": [{"name": "p"}], "jobs": jobs, "queues": [{"name": "a", "parent": "b"}]}
    with pytest.raises(ValueError, match="unknown queue 'b'"):
        Workload.model_validate(workload)


def test_limits_speak_of_a_queue_and_all_below_it() -> None:
    ledger = entered(
        [
            {"name": "team", "parent": "org", "nominal_quota": {"gpu": 3}, "borrowing_limit": {"gpu": 2}, "lending_limit": {"gpu": 1}},
            {"name": "org", "nominal_quota": {"gpu": 4}, "borrowing_limit": {"gpu": 1}, "lending_limit": {"gpu": 5}},
            {"name": "alone", "nominal_quota": {"gpu": 6}, "lending_limit": {"gpu": 0}},
        ]
    ).ledger
    assert ledger.parent == [1, -1, -1]
    assert ledger.nominal == [(3,), (7,), (6,)]
    assert [row[0] for row in ledger.ceiling[:2]] == [5, 8]
    assert ledger.reserved == [(2,), (2,), (6,)]
    assert ledger.booked_at_rest(0) == 2 + 6


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=6), st.lists(st.integers(0, 9), min_size=6, max_size=6), st.data())
def test_sums_over_a_tree(above: list[int], amounts: list[int], data: st.DataObject) -> None:
    parents = [min(a, q - 1) for q, a in enumerate(above)]
    order = data.draw(st.permutations(range(len(parents))))
    place = {q: i for i, q in enumerate(order)}
    parents = [-1 if parents[q] < 0 else place[parents[q]] for q in order]
    own = amounts[: len(parents)]
    below = [[c for c in range(len(parents)) if q in way_up(parents, c)] for q in range(len(parents))]
    assert sorted(top_down(parents), key=lambda q: len(way_up(parents, q))) == top_down(parents)
    assert together(parents, [(amount,) for amount in own]) == [(sum(own[c] for c in members),) for members in below]
    assert idle_below(parents, [0] * len(own), own) == [
        max(own[q], sum(idle_below(parents, [0] * len(own), own)[c] for c in members if parents[c] == q)) for q, members in enumerate(below)
    ]
