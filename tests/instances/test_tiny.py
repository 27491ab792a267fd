"""The tiny states against answers worked out by hand; each title says how."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from libra_opt.allocation import allocate
from libra_opt.domain import Plan, Resource, State, read_state
from libra_opt.verification import verify

TINY = Path(__file__).parents[2] / "instances" / "tiny"

WAITS: dict[str, dict[str, object]] = {}
"""A job that waits has no stages."""


def cards(n, **others):
    return {"main": {"gpu": n, **others}}


ANSWERS = {
    "smallest": (7.75, {"a": cards(2, gpu_mem="160Gi", cpu=16), "b": cards(6, gpu_mem="320Gi", cpu=32)}),
    "r01-capacity-is-shared": (8, {"a": cards(4), "b": cards(4)}),
    "r02-nothing-below-the-minimum": (10, {"a": cards(5), "b": WAITS}),
    "r03-maximum-holds": (7, {"a": cards(3), "b": cards(4)}),
    "r04-one-pool-of-those-allowed": (6.5, {"a": cards(5), "b": cards(3)}),
    "r04-speed-of-a-pool": (7, {"a": cards(2), "b": cards(3)}),
    "r05-scarcest-dimension": (7, {"a": cards(3, cpu=24), "b": cards(4, cpu=8)}),
    "r05-memory-never-half": (8, {"a": WAITS, "b": cards(4, mem="60Gi")}),
    "r06-uncertain-demand": (17 / 3, {"a": cards(3), "b": cards(2)}),
    "r06-own-curve": (5.6, {"a": cards(2), "b": cards(2)}),
    "r07-slowest-stage": (4, {"a": {"rollout": {"gpu": 3}, "train": {"gpu": 1}}, "b": WAITS}),
    "r08-whole-units": (6.7, {"a": cards(4), "b": cards(3)}),
    "r09-memory-per-card": (15, {"a": cards(3, gpu_mem="240Gi"), "b": cards(5, gpu_mem="80Gi")}),
    "r10-queue-ceiling": (7, {"a": cards(3), "b": cards(4)}),
    "r10-guarantee-is-reclaimed": (3.4, {"a": cards(4), "b": cards(4)}),
    "r10-reserved-is-not-lent": (5, {"a": cards(5)}),
    "r10-siblings-borrow-first": (18, {"a": cards(6), "b": cards(4)}),
    "r10-reserved-at-two-levels": (6, {"a": cards(6)}),
    "r11-a-move-must-pay": (4, {"a": cards(4), "b": WAITS}),
    "r11-a-move-that-pays": (4.5, {"a": WAITS, "b": cards(4)}),
    "r11-away-from-a-lost-pool": (2.5, {"a": cards(4)}),
    "r12-preemption-budget": (42.9, {"a1": WAITS, "a2": cards(4), "b1": cards(4), "b2": WAITS}),
    "r13-protected-stays": (4, {"a": cards(4), "b": WAITS}),
    "r13-too-young-to-be-stopped": (30.5, {"a": cards(1), "b": cards(3)}),
    "r13-least-valuable-is-shed": (6.5, {"a": WAITS, "b": cards(4)}),
    "r14-spare-is-shared-out": (2, {"a": cards(1, cpu=12), "b": cards(1, cpu=6)}),
    "r14-cards-are-released-lazily": (2, {"a": cards(8)}),
    "no-jobs": (0, {}),
    "no-pools": (0, {"a": WAITS}),
    "no-capacity": (0, {"a": WAITS}),
    "larger-than-the-cluster": (4, {"a": WAITS, "b": cards(4)}),
    "guarantee-larger-than-the-cluster": (8, {"a": cards(8), "b": WAITS}),
}
"""Objective, and per job and stage what it holds."""

POOLS = {
    "r04-one-pool-of-those-allowed": {"a": "big", "b": "small"},
    "r04-speed-of-a-pool": {"a": "fast", "b": "slow"},
    "r11-away-from-a-lost-pool": {"a": "left"},
}

EARLIER_TIERS = {"r13-least-valuable-is-shed": {"protected_lost": 4.0}, "guarantee-larger-than-the-cluster": {"guarantee_shortfall": 0.5}}
"""What the tiers before the value come to, where it is not 0."""


def tiny(name: str) -> State:
    return read_state((TINY / f"{name}.json").read_bytes(), name)


def solved(state: State, backend: str) -> Plan:
    return allocate(state.replace({"options": state.options.replace({"backend": backend})}))


def quanta(resources: tuple[Resource, ...], amounts: Mapping[str, object]) -> tuple[int, ...]:
    return tuple(resource.quanta(amounts.get(resource.name, 0), round_up=False) for resource in resources)


def test_every_tiny_state_has_an_answer_by_hand():
    assert {path.stem for path in TINY.iterdir()} == set(ANSWERS)


@pytest.mark.parametrize("rule", range(1, 15))
def test_every_rule_has_a_tiny_state_where_it_decides(rule):
    assert [name for name in ANSWERS if name.startswith(f"r{rule:02}-")]
    for path in TINY.glob(f"r{rule:02}-*.json"):
        assert f"R{rule}" in read_state(path.read_bytes()).about.title


@pytest.mark.parametrize("backend", ["auto", "cp_sat"])
@pytest.mark.parametrize("name", ANSWERS)
def test_exact_back_end_gives_the_answer_by_hand(name, backend):
    objective, holdings = ANSWERS[name]
    state = tiny(name)
    plan = solved(state, backend)
    held = {job.id: {stage.name: quanta(state.resources, stage.resources) for stage in job.stages} for job in plan.jobs}
    assert held == {job: {stage: quanta(state.resources, amounts) for stage, amounts in stages.items()} for job, stages in holdings.items()}
    assert plan.certificate.objective == pytest.approx(objective, abs=1e-6)
    assert plan.certificate.status == "optimal"
    assert plan.certificate.gap == pytest.approx(0, abs=1e-6)
    tiers = {tier.name: tier.objective for tier in plan.certificate.tiers if tier.name != "value" and abs(tier.objective) > 1e-6}
    assert tiers == pytest.approx(EARLIER_TIERS.get(name, {}), abs=1e-6)
    for job in plan.jobs:
        assert all(stage.pool == POOLS.get(name, {}).get(job.id, stage.pool) for stage in job.stages)


@pytest.mark.parametrize("backend", ["lp_relaxation", "greedy"])
@pytest.mark.parametrize("name", ANSWERS)
def test_approximate_back_end_verifies_and_its_bound_holds(name, backend):
    state = tiny(name)
    state = state.replace({"options": state.options.replace({"backend": backend})})
    plan = allocate(state)
    assert verify(state, plan).broken == ()
    earlier = {tier.name: tier.objective for tier in plan.certificate.tiers if tier.name != "value" and abs(tier.objective) > 1e-6}
    if earlier == pytest.approx(EARLIER_TIERS.get(name, {}), abs=1e-6):
        assert plan.certificate.objective <= ANSWERS[name][0] + 1e-6 <= plan.certificate.bound + 2e-6
