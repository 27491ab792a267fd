"""Point methods: what is done once for all horizons says the same as a recursion run anew for each, one series and one period after the other."""

import math

import numpy as np
import pytest

from libra_opt.forecast import holt_winters, points
from libra_opt.forecast.empirical import around
from libra_opt.forecast.period import detect_period
from libra_opt.forecast.quantiles import predict_quantiles
from libra_opt.forecast.series import Series, fill

LEVELS = np.array([0.1, 0.5, 0.9])
HORIZONS = (1, 2, 7, 13, 30)


@pytest.fixture(scope="module")
def measured():
    """Series with seasons of two lengths and with none, with gaps, one that begins late, one constant, one never measured."""
    drawn = np.random.default_rng(0)
    period = np.arange(60)
    rows = [10 + 4 * np.sin(2 * np.pi * period / season) + drawn.normal(0, 0.3, 60) for season in (6, 11)]
    rows += [drawn.lognormal(0, 1, 60), np.cumsum(drawn.normal(0.2, 1, 60)) + 20, np.full(60, 3.0), np.full(60, np.nan)]
    values = np.maximum(np.stack(rows), 0)
    values[1, :17] = np.nan
    values[:4][drawn.random((4, 60)) < 0.1] = np.nan
    return values


def weighted_mean(row, horizon):
    """Predict by the rate of least squared error, in plain Python."""
    best, least = [math.nan] * len(row), math.inf
    for rate in points.RATES:
        level, said = math.nan, []
        for value in row:
            level = value if math.isnan(level) else level + rate * (value - level)
            said.append(level)
        errors = [(came - then) ** 2 for came, then in zip(row[horizon:], said, strict=False)]
        error = sum(each for each in errors if not math.isnan(each))
        if error < least * (1 - 1e-12):
            best, least = said, error
    return best


def damped_trend_and_season(row, period, horizon):
    """Predict by level, trend and season, in plain Python."""
    level, trend, season, said = math.nan, 0.0, [0.0] * period, []
    damped = sum(0.9**i for i in range(1, horizon + 1))
    for t, value in enumerate(row):
        held = season[t % period] if period > 1 else 0.0
        before = value - held if math.isnan(level) else level + 0.9 * trend
        now = before + 0.3 * (value - held - before)
        trend = 0.0 if math.isnan(level) else 0.9 * trend + 0.05 * (now - before)
        level = now
        if period > 1 and not math.isnan(value):
            season[t % period] = held + 0.2 * (value - now - held)
        to_come = season[(t + horizon) % period] if period > 1 else 0.0
        said.append(level if math.isnan(level) else max(level + damped * trend + to_come, 0.0))
    return said


@pytest.mark.parametrize("horizon", HORIZONS)
def test_weighted_mean_is_that_of_a_plain_recursion(measured, horizon):
    filled = fill(measured)
    expected = np.array([weighted_mean(row, horizon) for row in filled.tolist()])
    assert np.allclose(points.ewma(filled)(horizon), expected, equal_nan=True)


@pytest.mark.parametrize("horizon", HORIZONS)
def test_trend_and_season_are_those_of_a_plain_recursion(measured, horizon):
    filled = fill(measured)
    season = detect_period(filled).tolist()
    assert {6, 11} <= set(season)
    expected = np.array([damped_trend_and_season(row, max(period, 1), horizon) for row, period in zip(filled.tolist(), season, strict=True)])
    assert np.allclose(holt_winters.holt_winters(filled)(horizon), expected, equal_nan=True)


@pytest.mark.parametrize("method", ["last_value", "ewma", "ewma_reset", "seasonal_naive", "holt_winters"])
def test_many_horizons_at_once_are_each_by_itself(measured, method):
    together = predict_quantiles(Series(measured), LEVELS.tolist(), horizon=max(HORIZONS), method=method).values
    prepare = getattr(holt_winters if method in {"ewma_reset", "holt_winters"} else points, method)
    for horizon in HORIZONS:
        alone = around(measured, prepare(fill(measured))(horizon), horizon, LEVELS)
        assert np.array_equal(together[:, horizon - 1], alone)


def test_series_at_a_time_say_what_they_say_together(measured, monkeypatch):
    together = predict_quantiles(Series(measured), LEVELS.tolist(), horizon=3, method="holt_winters").values
    monkeypatch.setattr("libra_opt.forecast.quantiles._CELLS_AT_ONCE", 120)
    assert np.array_equal(predict_quantiles(Series(measured), LEVELS.tolist(), horizon=3, method="holt_winters").values, together)
