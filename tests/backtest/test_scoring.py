"""Scores: zero for the perfect forecast, least for the true quantile, calibrated for draws from the prediction."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.backtest.scoring import below, covered, pinball

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def test_perfect_forecast_has_no_loss():
    actual = np.array([0.0, 3.0])
    assert pinball(np.repeat(actual[:, None], 5, axis=1), LEVELS, actual).tolist() == [0.0, 0.0]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(0, 50), st.sampled_from(LEVELS.tolist()))
def test_no_constant_has_a_lower_loss_than_the_quantile_of_what_came(actual, other, level):
    values = np.array(actual, dtype=np.float64)
    best = np.quantile(values, level, method="inverted_cdf")

    def loss(constant):
        return pinball(np.full((len(values), 1), constant, dtype=np.float64), np.array([level]), values).mean()

    assert loss(best) <= loss(other) + 1e-9


def test_what_was_not_measured_has_no_score():
    nothing = np.array([np.nan])
    assert np.isnan(pinball(np.zeros((1, 5)), LEVELS, nothing)).all()
    assert np.isnan(covered(np.zeros(1), np.ones(1), nothing)).all()
    assert np.isnan(below(np.zeros((1, 5)), LEVELS, nothing)).all()


def test_bounds_belong_to_the_interval_and_rounding_does_not_matter():
    assert covered(np.array([1.0, 1.0, 1.0, 0.3]), np.array([2.0, 2.0, 2.0, 0.3]), np.array([1.0, 2.0, 2.1, 0.1 + 0.2])).tolist() == [1, 1, 0, 1]


def test_ties_are_shared_out_so_that_the_true_distribution_of_counts_is_calibrated():
    generator = np.random.default_rng(1)
    sample = generator.poisson(0.7, 200_000)
    quantiles = np.quantile(sample, LEVELS, method="inverted_cdf")
    fresh = generator.poisson(0.7, 20_000).astype(np.float64)
    closed = covered(np.full(len(fresh), quantiles[0]), np.full(len(fresh), quantiles[-1]), fresh).mean()
    shared = below(np.broadcast_to(quantiles, (len(fresh), 5)), LEVELS, fresh).mean(axis=0)
    assert closed > 0.95
    assert 0.85 < shared[-1] - shared[0] < 0.95


def test_share_below_is_the_level_for_continuous_draws():
    generator = np.random.default_rng(2)
    quantiles = np.quantile(generator.normal(5, 1, 200_000), LEVELS)
    shares = below(np.broadcast_to(quantiles, (20_000, 5)), LEVELS, generator.normal(5, 1, 20_000)).mean(axis=0)
    assert np.allclose(shares, LEVELS, atol=0.01)


def test_point_forecast_that_is_right_counts_as_its_level():
    assert np.allclose(below(np.full((1, 5), 3.0), LEVELS, np.array([3.0])), LEVELS)
