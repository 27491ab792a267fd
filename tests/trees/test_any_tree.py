"""Generated trees of queues: GLPK, the enumerator and every back-end agree; every plan verifies, and a damaged one does not."""

import json
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt import Plan, State, allocate, read_plan, verify, write
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.domain.queue_tree import way_up
from tests.oracle.agreement import BACKENDS, asking, assert_agrees, differ
from tests.oracle.enumerate import TooLargeError, enumerate_tiers
from tests.oracle.mathprog import OracleGaveUpError, solve
from tests.properties.damage import DAMAGES, Scene
from tests.properties.reached import FEW, Reached
from tests.properties.test_invariance import may_answer_the_same
from tests.strategies import tree_states
from tests.trees.larger import large_tree

Record = Callable[[str, object], None]


def test_three_answers_agree(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=FEW)
    @given(tree_states())
    def check(state: State) -> None:
        reached.state()
        ledger = state.ledger
        try:
            answer = solve(state).tiers
        except OracleGaveUpError:
            return
        try:
            exact = enumerate_tiers(state)
            reached.note("decided by the enumerator")
            assert not differ(answer, exact), f"GLPK says {answer}, the enumerator {tuple(map(float, exact))}"
        except TooLargeError:
            exact = None
        for backend in BACKENDS:
            reached.note(f"proven by {backend}", holds=assert_agrees(state, backend, answer if exact is None else exact))
        for backend in ("lp_relaxation", "greedy"):
            assert verify(state, allocate(asking(state, backend))).broken == ()
        reached.note("three levels", holds=max(len(way_up(ledger.parent, q)) for q in range(len(ledger.queues))) > 2)
        reached.note("reserves", holds=any(map(any, ledger.reserved)))
        reached.note("short guarantees", holds=answer[2] > 1e-6)

    check()
    floors = {"decided by the enumerator": 0.8, "three levels": 0.2, "reserves": 0.2, "short guarantees": 0.05}
    reached.require(record_property, floors | {f"proven by {backend}": 0.95 for backend in BACKENDS})


def more_than_a_queue_above_may(scene: Scene) -> bool:
    """Give a stage one unit more than the ceiling of some queue above its own leaves."""
    ledger = scene.ledger
    capped = [
        (s, r, above, written)
        for j, s, r, _, written in scene.amounts()
        for above in way_up(ledger.parent, ledger.job_queue[j])[1:]
        if ledger.ceiling[above][r] < UNLIMITED
    ]
    chosen = scene.one(capped)
    if chosen is None:
        return False
    s, r, above, written = chosen
    unit = ledger.unit[s][r]
    return scene.write(written, r, (ledger.ceiling[above][r] // unit + 1) * unit)


def test_damaged_plan_is_rejected(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=FEW)
    @given(state=tree_states(), seed=st.integers(0, 2**32))
    def check(state: State, seed: int) -> None:
        reached.state()
        plan = write(allocate(state))
        for i, (damage, rules) in enumerate({**DAMAGES, more_than_a_queue_above_may: {"R10"}}.items()):
            document = json.loads(plan)
            if not damage(Scene(state, document, Random(seed + i))):
                continue
            report = verify(state, Plan.model_validate(document))
            assert not report.holds, f"{damage.__name__} passes the verifier"
            assert not rules or rules & {fault.rule for fault in report.broken}
            reached.note(damage.__name__)

    check()
    reached.require(record_property, {"more_than_the_queue_may": 0.1, "one_less": 0.3})


@settings(max_examples=FEW)
@given(tree_states(), st.randoms())
def test_the_order_of_queues_in_the_file_changes_no_tier(state: State, dice: Random) -> None:
    queues = list(state.queues)
    dice.shuffle(queues)
    assert may_answer_the_same(allocate(state.replace({"queues": queues})), allocate(state))


@settings(max_examples=FEW)
@given(tree_states())
def test_a_queue_that_adds_nothing_changes_no_tier(state: State) -> None:
    """A root without quota and limits above all roots: what it is owed is owed below it already, so only the shortfall counts it once more."""
    queues = [queue if queue.parent else queue.replace({"parent": "everything"}) for queue in state.queues]
    above = allocate(state.replace({"queues": [*queues, {"name": "everything"}]}))
    plain = allocate(state)
    if plain.certificate.tiers[2].objective == 0 == above.certificate.tiers[2].objective:
        assert [tier.objective for tier in above.certificate.tiers] == pytest.approx([tier.objective for tier in plain.certificate.tiers], rel=1e-6)


@pytest.mark.parametrize(("n_jobs", "seed", "limits", "gap"), [(150, 5, 0.5, 0.08), (500, 6, 0.3, 0.005)])
def test_larger_trees_are_planned_and_bounded(n_jobs: int, seed: int, limits: float, gap: float) -> None:
    state = large_tree(n_jobs, seed, limits=limits)
    asked = state.replace({"options": state.options.replace({"gap": 0.005, "effort": 0.2})})
    plan = allocate(asked)
    assert verify(asked, read_plan(write(plan))).broken == ()
    assert [tier.objective for tier in plan.certificate.tiers[:3]] == [0, 0, 0]
    assert plan.certificate.gap <= gap
