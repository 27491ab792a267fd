"""Policies where many jobs share: plans come near what is proven, and what is proven holds of the exact division of the same state."""

import numpy as np
import pytest

from libra_opt.adapters.synthetic import generate
from libra_opt.allocation import allocate
from libra_opt.domain import State
from libra_opt.forecast import forecast
from libra_opt.formulation.encode import encode
from libra_opt.formulation.program import Program
from libra_opt.solvers.fair import _by_level
from libra_opt.solvers.filling import fill_levels
from libra_opt.verification import verify


def made(family: str, objective: str, n_jobs: int, seed: int, contention: float = 3.0, **options: float) -> State:
    state = generate(family, n_jobs, np.random.default_rng(seed), contention=contention, title="synthetic")
    return state.replace({"options": state.options.replace({"objective": objective, **options})})


def encoded(state: State) -> Program:
    return encode(state, state.ledger.with_forecast(forecast(state)))


def test_proportional_fairness_is_proven_within_the_gap() -> None:
    """In this state the first prices lie so far off that a narrow descent loses a whole pool."""
    state = made("full", "proportional_fairness", 1_000, 2)
    plan = allocate(state)
    assert plan.certificate.status == "within_gap"
    assert plan.certificate.gap <= state.options.gap
    assert verify(state, plan).holds


def test_proportional_fairness_of_rigid_jobs_is_proven_within_the_gap() -> None:
    assert allocate(made("rigid", "proportional_fairness", 2_000, 0)).certificate.status == "within_gap"


def test_max_min_serves_nearly_as_many_as_any_plan_can() -> None:
    state = made("plain", "max_min", 1_000, 0)
    plan = allocate(state)
    assert verify(state, plan).holds
    unserved = next(tier for tier in plan.certificate.tiers if tier.name == "unserved")
    assert unserved.bound <= unserved.objective <= unserved.bound + 3


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_filling_hold_of_the_exact_division(seed: int) -> None:
    state = made("full", "max_min", 7, seed, 2.0, effort=1.0)
    exact = {tier.name: tier.objective for tier in allocate(state).certificate.tiers}
    program = encoded(state)
    assert program.fairness is not None
    divided = fill_levels(program, program.fairness, state.options.replace({"effort": 0.05})).divided
    assert divided is not None
    assert divided.unserved <= exact["unserved"]
    assert divided.level >= exact["level"] * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bound_of_the_queues_level_holds_of_the_exact_division(seed: int) -> None:
    state = made("full", "drf", 7, seed, 2.0, effort=1.0)
    exact = {tier.name: tier.objective for tier in allocate(state).certificate.tiers}
    program = encoded(state)
    assert program.fairness is not None
    divided = _by_level(program, program.fairness, state.options.replace({"effort": 0.05})).divided
    assert divided is not None
    assert divided.level >= exact["level"] * (1 - 1e-9)
