"""R16: no plan costs more than the ceiling, and under it plans are the best there are, whoever solves."""

import pytest
from hypothesis import given, settings

from libra_opt import State, allocate, verify
from libra_opt.domain.quantity import exact
from tests.cost.priced import cost, priced_states, with_options
from tests.oracle.agreement import BACKENDS, assert_agrees, differ
from tests.oracle.enumerate import TooLargeError, enumerate_tiers
from tests.oracle.mathprog import OracleGaveUpError, solve
from tests.strategies import PROVABLE


def ceiling(state: State) -> float:
    """The ceiling of a state that has one."""
    assert state.options.cost_ceiling is not None
    return state.options.cost_ceiling


def tiers(state: State) -> tuple[float, ...]:
    """The tiers that a plan reaches, each the less the better."""
    reached = {tier.name: tier.objective for tier in allocate(state).certificate.tiers}
    return reached["protected_lost"], reached["over_budget_seconds"], reached["guarantee_shortfall"], -reached["value"]


def is_no_worse(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether tiers are no worse than others in the strict order, but for rounding."""
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > 1e-6 * max(1.0, abs(a), abs(b)):
            return a < b
    return True


@settings(max_examples=40)
@given(priced_states())
def test_every_back_end_agrees_with_the_oracles_under_a_ceiling(state: State) -> None:
    try:
        answer = solve(state).tiers
    except OracleGaveUpError:
        return
    try:
        exactly = enumerate_tiers(state)
    except TooLargeError:
        exactly = None
    if exactly is not None:
        assert not differ(answer, exactly)
    for backend in BACKENDS:
        assert_agrees(state, backend, answer if exactly is None else exactly)


@settings(max_examples=15)
@given(priced_states(trees=True))
def test_trees_of_queues_keep_the_ceiling_as_well(state: State) -> None:
    try:
        exactly = enumerate_tiers(state)
    except TooLargeError:
        return
    for backend in BACKENDS:
        assert_agrees(state, backend, exactly)


@settings(max_examples=25)
@given(priced_states(PROVABLE))
def test_no_plan_costs_more_than_the_ceiling(state: State) -> None:
    for backend in ("auto", "cp_sat", "lp_relaxation", "greedy"):
        plan = allocate(with_options(state, backend=backend))
        spent = cost(state, plan)
        assert spent <= exact(ceiling(state))
        assert plan.cost_per_hour == pytest.approx(float(spent))


@settings(max_examples=25)
@given(priced_states())
def test_a_higher_ceiling_is_never_worse_and_a_high_one_is_none(state: State) -> None:
    free = with_options(state, cost_ceiling=None)
    most = with_options(state, cost_ceiling=1e12)
    higher = with_options(state, cost_ceiling=1.5 * ceiling(state) + 1)
    assert is_no_worse(tiers(higher), tiers(state))
    assert is_no_worse(tiers(most), tiers(higher))
    assert tiers(most) == pytest.approx(tiers(free), rel=1e-9, abs=1e-9)


@settings(max_examples=20)
@given(priced_states())
def test_plan_above_a_ceiling_is_refused(state: State) -> None:
    plan = allocate(state)
    spent = cost(state, plan)
    lower = with_options(state, cost_ceiling=float(spent) / 2)
    found = {broken.rule for broken in verify(lower, plan).broken}
    assert ("R16" in found) == (spent > 0)
