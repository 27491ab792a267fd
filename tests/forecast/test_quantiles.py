"""Every method on series of every awkward kind: finite, not negative, ascending, each series by itself; and better where there is something to know."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from libra_opt.errors import MissingExtraError
from libra_opt.forecast.need import cover_values
from libra_opt.forecast.period import detect_period
from libra_opt.forecast.quantiles import METHODS, predict_quantiles
from libra_opt.forecast.series import Series
from libra_opt.forecast.statistical import STATISTICAL

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
Floats = NDArray[np.float64]

amounts = st.one_of(st.none(), st.integers(0, 5).map(float), st.floats(0, 1e18), st.just(-1.0), st.just(np.inf))
rows = st.integers(0, 40).flatmap(lambda n: st.lists(st.lists(amounts, min_size=n, max_size=n), max_size=5).map(lambda given: (n, given)))


def pinball(series: Floats, method: str, first: int, step: NDArray[np.int64] | None = None, phase: NDArray[np.int64] | None = None) -> float:
    """Return the mean pinball loss one period ahead over all origins from `first` on."""
    losses = []
    for t in range(first, series.shape[1]):
        known = Series(series[:, :t], None if step is None else step[:, :t], None if phase is None else phase[:, :t])
        above = series[:, t, None] - predict_quantiles(known, LEVELS, method=method).values[:, 0]
        losses.append(np.maximum(LEVELS * above, (np.array(LEVELS) - 1) * above).mean())
    return float(np.mean(losses))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40, deadline=None)
@given(rows, st.integers(1, 3))
def test_quantiles_are_finite_not_negative_and_ascending(method, case, horizon):
    n_periods, given_rows = case
    values = np.array([[np.nan if value is None else value for value in row] for row in given_rows], dtype=np.float64).reshape(len(given_rows), n_periods)
    predicted = predict_quantiles(Series(values), LEVELS, horizon=horizon, method=method)
    assert predicted.values.shape == (len(values), horizon, len(LEVELS))
    assert len(predicted.methods) == len(values)
    assert np.isfinite(predicted.values).all()
    assert (predicted.values >= 0).all()
    assert (np.diff(predicted.values, axis=2) >= 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", [[5.0], [5.0] * 30, [np.nan, 5.0, np.nan], [5.0, np.nan] * 10])
def test_a_constant_is_predicted_exactly(method, row):
    assert (predict_quantiles(Series(np.array([row])), LEVELS, horizon=2, method=method).values == 5).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_series_that_fell_silent_after_two_values_is_predicted(method):
    predicted = predict_quantiles(Series(np.array([[0.0, 1.0, *[np.nan] * 6]])), LEVELS, horizon=3, method=method).values
    assert np.isfinite(predicted).all()
    assert predicted.max() <= 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", [[0.0] * 20, [np.nan] * 20, [-1.0] * 20, []])
def test_nothing_is_predicted_as_nothing(method, row):
    assert (predict_quantiles(Series(np.array([row])), LEVELS, method=method).values == 0).all()


def test_negatives_and_infinities_count_as_not_measured():
    values = np.array([[4.0, -3.0, 5.0, np.inf, 4.0, 6.0, 5.0, 4.0]])
    missing = np.where((values >= 0) & (values < np.inf), values, np.nan)
    np.testing.assert_array_equal(predict_quantiles(Series(values), LEVELS).values, predict_quantiles(Series(missing), LEVELS).values)


def test_one_enormous_spike_leaves_the_median_where_it_was():
    values = np.random.default_rng(0).uniform(4, 5, size=(20, 60))
    values[:, 30] = 1e12
    middle = predict_quantiles(Series(values), [0.5]).values
    assert (middle > 3.5).all()
    assert (middle < 5.5).all()


def test_a_series_is_predicted_the_same_whatever_stands_beside_it():
    rng = np.random.default_rng(1)
    values = rng.gamma(2, 3, size=(60, 50))
    for i in range(0, 60, 3):
        values[i, : rng.integers(0, 44)] = np.nan
    values[5, 20:25] = np.nan
    values[7] = 3
    together = predict_quantiles(Series(values), LEVELS).values
    order = rng.permutation(60)
    np.testing.assert_array_equal(predict_quantiles(Series(values[order]), LEVELS).values, together[order])
    for i in range(0, 60, 7):
        np.testing.assert_array_equal(predict_quantiles(Series(values[i : i + 1]), LEVELS).values[0], together[i])


def test_periods_before_the_first_measured_one_change_nothing():
    rng = np.random.default_rng(2)
    values = rng.gamma(2, 3, size=(4, 40))
    padded = np.concatenate([np.full((4, 25), np.nan), values], axis=1)
    np.testing.assert_array_equal(predict_quantiles(Series(padded), LEVELS).values, predict_quantiles(Series(values), LEVELS).values)


def test_the_season_is_detected_and_one_longer_than_half_the_history_is_not():
    daily = np.tile(np.array([1.0, 2, 5, 9, 5, 2]), 8)[None]
    assert detect_period(daily).tolist() == [6]
    assert detect_period(np.arange(40.0)[None] % 30).tolist() == [1]
    assert detect_period(np.ones((1, 3))).tolist() == [1]


@pytest.mark.parametrize("method", ["auto", "seasonal_naive", "holt_winters"])
def test_methods_that_know_seasons_beat_the_last_value_on_one(method):
    rng = np.random.default_rng(3)
    values = np.tile(np.array([2.0, 4, 12, 18, 9, 3]), 12)[None] + rng.normal(0, 0.4, size=(6, 72)).clip(-1.9)
    assert pinball(values, method, 50) < 0.6 * pinball(values, "last_value", 50)


def test_a_level_that_changed_is_followed_at_once_after_a_reset():
    values = np.concatenate([np.full(40, 4.0), np.full(4, 12.0)])[None] + np.random.default_rng(4).normal(0, 0.1, size=(5, 44))
    reset = predict_quantiles(Series(values), [0.5], method="ewma_reset").values
    assert (np.abs(reset - 12) < 1).all()


def test_quantile_tracking_beats_the_last_value_on_a_series_that_jumps_about():
    values = np.random.default_rng(5).choice([1.0, 10.0], size=(8, 80))
    assert pinball(values, "quantile_tracking", 60) < 0.85 * pinball(values, "last_value", 60)
    assert pinball(values, "auto", 60) < 0.85 * pinball(values, "last_value", 60)


def test_own_steps_of_varying_length_are_aligned_by_phase():
    rng = np.random.default_rng(6)
    levels, phases, steps = [], [], []
    for step in range(14):
        for phase, (level, most) in enumerate([(9.0, 7), (2.0, 3), (5.0, 5)]):
            n = most if phase else int(rng.integers(4, most + 1))
            levels += [level] * n
            phases += [phase] * n
            steps += [step] * n
    values = np.array(levels)[None] * np.exp(0.03 * rng.normal(size=(4, len(levels))))
    step, phase = (np.tile(codes, (4, 1)) for codes in (steps, phases))
    own = pinball(values, "own_step", 90, step, phase)
    assert own < 0.6 * pinball(values, "last_value", 90)
    assert pinball(values, "auto", 90, step, phase) < 1.15 * own


def test_series_of_one_job_share_its_steps():
    rng = np.random.default_rng(7)
    values = rng.gamma(2, 3, size=(6, 48))
    step, phase = np.tile(np.arange(48) // 8, (2, 1)), np.tile(np.arange(48) % 8 // 4, (2, 1))
    shared = predict_quantiles(Series(values, step, phase), LEVELS).values
    np.testing.assert_array_equal(shared, predict_quantiles(Series(values, step.repeat(3, axis=0), phase.repeat(3, axis=0)), LEVELS).values)


def test_intervals_widen_after_misses_and_cover():
    rng = np.random.default_rng(8)
    values = 50 + rng.normal(0, 1, size=(200, 100)) * np.where(np.arange(100) < 60, 1, 4)
    covered = []
    for t in range(84, 100):
        low, high = predict_quantiles(Series(values[:, :t]), [0.05, 0.95]).values[:, 0].T
        covered.append((low <= values[:, t]) & (values[:, t] <= high))
    assert 0.84 <= np.mean(covered) <= 0.96


def test_ninety_percent_intervals_cover_ninety_percent_of_noise():
    values = np.random.default_rng(9).gamma(3, 2, size=(2000, 81))
    low, high = predict_quantiles(Series(values[:, :80]), [0.05, 0.95]).values[:, 0].T
    assert 0.87 <= np.mean((low <= values[:, 80]) & (values[:, 80] <= high)) <= 0.93


def test_the_future_does_not_change_a_prediction_and_the_past_does():
    values = np.random.default_rng(10).gamma(2, 3, size=(3, 40))
    changed = values.copy()
    changed[:, 39] += 5
    np.testing.assert_array_equal(predict_quantiles(Series(changed[:, :39]), LEVELS).values, predict_quantiles(Series(values[:, :39]), LEVELS).values)
    assert (predict_quantiles(Series(changed), LEVELS).values != predict_quantiles(Series(values), LEVELS).values).any()


def test_needs_cover_what_was_used_lately_and_are_rarely_exceeded():
    values = np.random.default_rng(11).gamma(9, 2, size=(3000, 130))
    need = cover_values(Series(values[:, :129]))
    assert (need >= values[:, 121:129].max(axis=1)).all()
    assert np.mean(values[:, 129] > need) <= 0.02
    assert cover_values(Series(np.full((2, 3), np.nan))).tolist() == [0, 0]


@pytest.mark.parametrize("method", STATISTICAL)
def test_methods_of_statsforecast_predict_or_name_the_extra(method):
    series = Series(10 + np.random.default_rng(12).normal(size=(1, 40)))
    if find_spec("statsforecast") is None:
        with pytest.raises(MissingExtraError, match=r"libra-opt\[statsforecast\]"):
            predict_quantiles(series, LEVELS, method=method)
        pytest.skip("statsforecast is not installed: only the error was tried")
    predicted = predict_quantiles(series, LEVELS, horizon=2, method=method).values
    assert (np.diff(predicted, axis=2) >= 0).all()
    assert (np.abs(predicted[:, :, 3] - 10) < 3).all()
