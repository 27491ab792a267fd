"""A step in what jobs ask settles: the price finds the band and stays, with the outcome a period late too; a queue that grows makes moving cheaper."""

import math
from itertools import pairwise

import numpy as np
import pytest

from libra_opt.feedback import LAW, Setpoint, adapt
from tests.feedback.made import CALM, at_work, settled

N_RUNNING = 100


def churn_of(price, restlessness, elasticity):
    """Return the share of running time a monotone plant loses to moves at a price of moving."""
    return restlessness * price**-elasticity


def after_step(plant, n_late, n_periods=200):
    """Return the prices from the step on, and the churn of the plant at each; the outcome is seen `n_late` periods late."""
    setpoint, late = Setpoint(), []
    for _ in range(20):
        setpoint = adapt(setpoint, at_work(n_running=N_RUNNING, lost_seconds=0.08 * N_RUNNING * 60))
    assert setpoint.move_price == 0.5
    prices, churns = [], []
    for _ in range(n_periods):
        churn = min(plant(setpoint.move_price), 1.0)
        late.append(churn)
        prices.append(setpoint.move_price)
        churns.append(churn)
        if len(late) > n_late:
            setpoint = adapt(setpoint, at_work(n_running=N_RUNNING, lost_seconds=late.pop(0) * N_RUNNING * 60))
    return prices, churns


PLANTS = {
    **{f"elasticity {eta}": lambda price, eta=eta: churn_of(price / 0.5, 0.96, eta) for eta in (1.5, 2.0, 2.5)},
    "gains fall off exponentially": lambda price: 2.4 * math.exp(-price / 0.5),
}
"""Six times what the band allows, at the price before the step."""


@pytest.mark.parametrize("n_late", [0, 1])
@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_step_settles_inside_the_dead_band_and_stays(plant, n_late):
    prices, churns = after_step(plant, n_late)
    assert churns[0] > 5 * LAW.lost.high
    assert len(set(prices[30:])) == 1
    assert LAW.lost.low < min(churns) == churns[-1] < LAW.lost.high
    assert max(prices) < LAW.price_most
    assert all(before <= after for before, after in pairwise(prices))


@pytest.mark.parametrize("n_late", [0, 1])
def test_plant_beyond_the_argument_still_settles(n_late):
    """Elasticity 6: more than one answer may be needed, but the swing dies out."""
    prices, churns = after_step(lambda price: churn_of(price / 0.5, 0.96, 6), n_late)
    assert len(set(prices[100:])) == 1
    assert churns[-1] < LAW.lost.high


def test_step_down_leaves_the_price_until_something_asks_for_less():
    prices, _ = after_step(lambda price: churn_of(price / 0.5, 0.004, 1.5), 0)
    assert set(prices) == {0.5}


def test_step_is_answered_at_once_and_never_by_more_than_a_step():
    prices, _ = after_step(PLANTS["elasticity 1.5"], 0)
    assert prices[2] > prices[0]
    assert all(math.log(after / before) <= LAW.price_step + 1e-12 for before, after in pairwise(prices))


@pytest.mark.parametrize("seed", range(3))
def test_noise_inside_the_band_moves_nothing_and_noise_about_a_step_stays_bounded(seed):
    dice = np.random.default_rng(seed)
    setpoint, prices = Setpoint(), []
    for t in range(400):
        restlessness = 0.08 if t < 100 else 0.4
        churn = churn_of(setpoint.move_price / 0.5, restlessness, 1.5) * dice.gamma(4, 0.25)
        setpoint = adapt(setpoint, at_work(n_running=N_RUNNING, lost_seconds=churn * N_RUNNING * 60))
        prices.append(setpoint.move_price)
    late = prices[250:]
    assert max(late) / min(late) < LAW.lost.high / LAW.lost.low
    assert max(late) < LAW.price_most
    assert min(late) > 0.5


def test_queue_delay_that_grows_makes_moving_cheaper():
    setpoint = Setpoint()
    for t in range(40):
        setpoint = adapt(setpoint, at_work(n_waiting=5, mean_delay_seconds=60.0 * t, max_delay_seconds=60.0 * t))
    assert setpoint.move_price < 0.3


def test_queue_delay_that_falls_leaves_the_price():
    long = settled(Setpoint(), at_work(n_waiting=5, mean_delay_seconds=4000.0), 30)
    falling = long
    for t in range(40):
        falling = adapt(falling, at_work(n_waiting=5, mean_delay_seconds=4000.0 - 50 * t))
        assert falling.move_price == long.move_price


def test_overload_lowers_the_price_only_until_moves_cost_the_low_end():
    """A queue that no price can shorten: delay for ever beyond its band, churn a falling function of the price."""
    setpoint, churn = Setpoint(), 0.0
    for _ in range(400):
        churn = churn_of(setpoint.move_price / 0.5, 0.004, 1.5)
        setpoint = adapt(setpoint, at_work(n_running=N_RUNNING, n_waiting=50, mean_delay_seconds=50_000.0, lost_seconds=churn * N_RUNNING * 60))
    assert churn == pytest.approx(LAW.lost.low, rel=0.1)
    assert LAW.price_least < setpoint.move_price < 0.5


def test_queue_that_the_price_can_shorten_settles():
    """A queue that integrates: its delay grows while moving is dearer than it should be, and falls below that."""
    setpoint, delay, prices = Setpoint(move_price=2), 0.0, []
    for _ in range(600):
        delay = min(max(delay + 60 * math.log(setpoint.move_price / 0.7), 0.0), 1e5)
        outcome = at_work(n_waiting=10, mean_delay_seconds=delay, lost_seconds=churn_of(setpoint.move_price / 0.7, 0.008, 0.5) * 600)
        setpoint = adapt(setpoint, outcome)
        prices.append(setpoint.move_price)
    assert len(set(prices[300:])) == 1
    assert delay <= LAW.delay.high
    assert 0.3 < prices[-1] < 0.7


def test_calm_after_the_step_keeps_the_price_it_found():
    setpoint = settled(Setpoint(), at_work(lost_seconds=240.0, n_preemptions=8), 6)
    raised = settled(setpoint, CALM, 20).move_price
    assert raised > 0.5
    assert settled(setpoint, CALM, 200).move_price == raised
