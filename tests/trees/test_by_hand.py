"""Trees of queues against answers worked out by hand: GLPK, the enumerator, every back-end and the verifier agree with the hand (R10, tier 3)."""

import pytest

from libra_opt import allocate, verify
from tests.oracle.agreement import BACKENDS, assert_agrees, differ
from tests.oracle.enumerate import enumerate_tiers
from tests.oracle.mathprog import solve
from tests.trees.cases import cards, job, queue, state

FAMILY = [queue("org", borrows=0), queue("a", 3, "org"), queue("b", 3, "org"), queue("guest", 2)]
"""`org` has 6 of 8 cards through its children and borrows nothing."""

CASES = {
    "a child borrows what its sibling leaves idle": (
        state(8, [queue("org"), queue("a", 3, "org"), queue("b", 3, "org"), queue("guest", 2)], [job("x", "a", 6), job("y", "guest", 6)]),
        {"x": 6, "y": 2},
    ),
    "and what the parent has of its own": (
        state(8, [queue("org", 2), queue("a", 2, "org"), queue("b", 2, "org"), queue("guest", 2)], [job("x", "a", 8), job("y", "guest", 8, weight=9)]),
        {"x": 6, "y": 2},
    ),
    "from the parent first, then from the grandparent": (
        state(
            12,
            [queue("firm", 2), queue("org", 2, "firm"), queue("a", 2, "org"), queue("b", 2, "org"), queue("lab", 2, "firm"), queue("guest", 2)],
            [job("x", "a", 12), job("y", "lab", 12, weight=2), job("z", "guest", 12, weight=4)],
        ),
        {"x": 6, "y": 4, "z": 2},
    ),
    "a parent that borrows nothing holds its children to what they have": (
        state(8, FAMILY, [job("x", "a", 8, weight=5), job("y", "b", 8), job("z", "guest", 1)]),
        {"x": 3, "y": 3, "z": 1},
    ),
    "a child's own limit is below its parent's": (
        state(8, [queue("org"), queue("a", 3, "org", borrows=1), queue("b", 3, "org")], [job("x", "a", 8)]),
        {"x": 4},
    ),
    "a limit two levels up binds": (
        state(9, [queue("firm", borrows=1), queue("org", 0, "firm"), queue("a", 3, "org")], [job("x", "a", 9)]),
        {"x": 4},
    ),
    "what a child does not lend is kept from its sibling, and counts as use of its parent": (
        state(8, [queue("org", borrows=0), queue("a", 4, "org", lends=1), queue("b", 2, "org")], [job("x", "b", 8)]),
        {"x": 3},
    ),
    "what a parent does not lend is kept from its cousins, not from its children": (
        state(10, [queue("org", lends=1), queue("a", 3, "org"), queue("b", 3, "org"), queue("guest", 4)], [job("x", "guest", 10), job("y", "a", 2)]),
        {"x": 5, "y": 2},
    ),
    "lending limits at two levels: the more of both is kept": (
        state(10, [queue("org", 2, lends=6), queue("a", 6, "org", lends=2), queue("guest", 2)], [job("x", "guest", 10)]),
        {"x": 6},
    ),
    "and a child's own use fills what its parent keeps": (
        state(10, [queue("org", 2, lends=3), queue("a", 6, "org", lends=4), queue("guest", 2)], [job("x", "guest", 10), job("y", "a", 4, weight=2)]),
        {"x": 5, "y": 4},
    ),
    "jobs sit in inner queues too": (
        state(6, [queue("org", 2), queue("a", 2, "org"), queue("guest", 2)], [job("x", "org", 6), job("y", "a", 2), job("z", "guest", 6)]),
        {"x": 2, "y": 2, "z": 2},
    ),
    "a parent's guarantee is asked for by all below it": (
        state(
            6,
            [queue("org", 4), queue("a", 0, "org"), queue("b", 0, "org"), queue("guest", 2)],
            [job("x", "a", 3), job("y", "b", 1), job("z", "guest", 6, weight=9)],
        ),
        {"x": 3, "y": 1, "z": 2},
    ),
    "what a child may not use is not owed to its parent": (
        state(8, [queue("org", 4), queue("a", 2, "org", borrows=0), queue("guest", 2)], [job("x", "a", 8), job("z", "guest", 8)]),
        {"x": 2, "z": 6},
    ),
}


def priced(asked, held):
    """Return the value of what runs: all jobs of these states are waiting, and worth their cards."""
    return sum(float(each.weight) * held[each.id] for each in asked.jobs)


@pytest.mark.parametrize("name", CASES)
def test_oracle_and_back_ends_find_what_the_hand_finds(name):
    asked, by_hand = CASES[name]
    tiers = (0, 0, 0, priced(asked, by_hand))
    assert not differ(enumerate_tiers(asked), tiers), [float(tier) for tier in enumerate_tiers(asked)]
    assert not differ(solve(asked).tiers, tiers), solve(asked).tiers
    for backend in BACKENDS:
        assert assert_agrees(asked, backend, tiers)
        assert cards(allocate(asked.replace({"options": asked.options.replace({"backend": backend})}))) == by_hand


@pytest.mark.parametrize("backend", ["lp_relaxation", "greedy"])
@pytest.mark.parametrize("name", CASES)
def test_back_ends_that_prove_less_still_keep_to_the_tree(name, backend):
    asked = CASES[name][0].replace({"options": CASES[name][0].options.replace({"backend": backend})})
    report = verify(asked, allocate(asked))
    assert report.holds, report


@pytest.mark.parametrize(
    ("rows", "name"), [("R10_ceiling", "a limit two levels up binds"), ("R10_reserved", "lending limits at two levels: the more of both is kept")]
)
def test_a_rule_that_is_dropped_is_missed(rows, name):
    asked, by_hand = CASES[name]
    assert differ(solve(asked, lambda row: row.startswith(rows)).tiers, (0, 0, 0, priced(asked, by_hand)))


@pytest.mark.parametrize(
    ("queues", "more", "path", "words"),
    [
        (
            [queue("org", borrows=0), queue("a", 3, "org")],
            {"x": 4},
            "queues.org.gpu",
            "holds, with those below it and what they reserve, 4 gpu, above its ceiling 3",
        ),
        ([queue("org", borrows=0), queue("a", 3, "org", lends=1), queue("b", 1, "org")], {"y": 3}, "queues.org.gpu", "5 gpu, above its ceiling 4"),
        ([queue("org", 1, lends=1), queue("a", 4, "org", lends=2), queue("b", 0)], {"y": 5}, "queues.gpu", "9 gpu, above the capacity of the cluster 8"),
    ],
    ids=["a limit above", "a limit above, filled by what is reserved below", "the cluster, at two levels"],
)
def test_verifier_rejects_what_passes_a_limit_of_a_tree(queues, more, path, words):
    """The plan is one of the same jobs without queues."""
    own = {"x": "a", "y": "b"}
    jobs = {name: job(name, own[name], held) for name, held in more.items()}
    free = state(8, [], [{key: value for key, value in each.items() if key != "queue"} for each in jobs.values()])
    broken = [fault for fault in verify(state(8, queues, list(jobs.values())), allocate(free)).broken if fault.rule == "R10"]
    assert [fault.where for fault in broken] == [path]
    assert words in broken[0].message
