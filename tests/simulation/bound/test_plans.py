"""The best plans of single jobs at prices on cards."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import Workload, read_workload
from libra_opt.simulation.bound.plans import Plans
from libra_opt.simulation.bound.priced import plans_of
from libra_opt.simulation.bound.relaxation import Limits, Relaxer
from tests.simulation.drawn import PERIOD, workloads

CELLS = 12


@given(workload=workloads(), seed=st.integers(0, 1000))
def test_what_a_best_plan_holds_is_what_its_net_worth_was_paid_for(workload: Workload, seed: int):
    """A plan that is best at some prices is one of the plans at any other prices: there the best one earns no less than it, paid for anew."""
    dice = np.random.default_rng(seed)
    n_periods = -(-int(workload.horizon_seconds or 0) // int(PERIOD))
    for plan in plans_of(workload, PERIOD, Relaxer(workload, PERIOD, Limits()).jobs, CELLS):
        if not isinstance(plan, Plans):
            continue
        prices = [PERIOD * dice.uniform(0, 1, n_periods) * dice.integers(0, 2, n_periods) for _ in range(3)]
        best = [plan.best(price) for price in prices]
        for there, one in zip(prices, best, strict=True):
            assert one.net >= 0
            for here, other in zip(prices, best, strict=True):
                assert other.net >= one.net + (there - here) @ one.cards - 1e-6 * (1 + one.net)


@given(workload=workloads(), seed=st.integers(0, 1000))
def test_at_prices_beyond_all_worth_nothing_is_held(workload: Workload, seed: int):
    n_periods = -(-int(workload.horizon_seconds or 0) // int(PERIOD))
    price = PERIOD * (100 + np.random.default_rng(seed).uniform(0, 1, n_periods))
    for plan in plans_of(workload, PERIOD, Relaxer(workload, PERIOD, Limits()).jobs, CELLS):
        best = plan.best(price)
        if best.net == 0:
            assert not best.cards.any()
        else:  # work that takes no cards at all
            assert best.cards.sum() == pytest.approx(0)


@given(seed=st.integers(0, 1000), cold=st.sampled_from((0, 30, 130, 250)))
def test_a_plan_is_worth_whole_steps_through_resizes_stops_and_restarts(seed: int, cold: float):
    """What a plan earns, its cards paid for period by period, is so many steps; prices that come and go make it resize, stop and start again."""
    dice = np.random.default_rng(seed)
    parts = [{"seconds": 130, "use": {"main": {"gpu": 4}}}, {"seconds": 70, "use": {"main": {"gpu": 1}}}]
    document = {
        "format": "libra-opt/workload/1",
        "period_seconds": PERIOD,
        "horizon_seconds": 40 * PERIOD,
        "resources": [{"name": "gpu", "unit": "cards", "quantum": 1, "compressible": True, "costly": True}],
        "pools": [{"name": "p", "capacity": {"gpu": 4}}],
        "jobs": [
            {
                "id": "j",
                "stages": [{"min_quota": {"gpu": 1}}],
                "steps": [{"parts": parts}] * 12,
                "preemption_cost": {"resize_seconds": 15},
                "restart": {"cold_seconds": cold, "warm_seconds": 20},
            }
        ],
    }
    workload = read_workload(json.dumps(document))
    (plan,) = plans_of(workload, PERIOD, Relaxer(workload, PERIOD, Limits()).jobs, CELLS)
    price = PERIOD * np.repeat(dice.uniform(0, 1.2, 10), 4) * dice.uniform(0.5, 1, 40)
    best = plan.best(price)
    steps = (best.net + price @ best.cards) / (130 * 4 + 70)
    assert steps == pytest.approx(round(steps), abs=1e-9)
    assert (round(steps) == 0) == (not best.cards.any())
