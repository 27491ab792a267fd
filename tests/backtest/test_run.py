"""The runner: no method sees the future, all see the same, and known answers come out."""

import json

import numpy as np
import pytest

from libra_opt.adapters.phase_switching import generate
from libra_opt.backtest import LEVELS, Settings, backtest, checks, cut, document, pooled
from libra_opt.forecast.need import cover_values
from libra_opt.forecast.quantiles import METHODS, predict_quantiles
from libra_opt.forecast.series import Series
from libra_opt.recordings import Measured, Recording

QUICK = Settings(most_origins=4, window=48)
GENERATED = generate(np.random.default_rng(3), n_jobs=4)


def recording(values, *, compressible=True, name="own"):
    series = Series(np.array(values, dtype=np.float64))
    labels = tuple(f"s{i}" for i in range(len(series.values)))
    return Recording(name, "", "", 60, (Measured("cpu" if compressible else "mem", "", series, labels, compressible=compressible),))


@pytest.mark.parametrize("measured", GENERATED.measured, ids=lambda measured: measured.resource)
@pytest.mark.parametrize("method", METHODS)
def test_another_future_changes_no_prediction(method, measured):
    def predictions(values):
        series = Series(values, measured.series.step, measured.series.phase)
        cuts = cut(series, horizon=2, window=48, most_origins=6)
        return cuts, predict_quantiles(cuts.history, LEVELS, horizon=2, method=method).values

    cuts, before = predictions(measured.series.values)
    for row in range(len(measured.labels)):
        own = np.flatnonzero(cuts.row == row)
        moment = cuts.origin[own[2]]
        changed = measured.series.values.copy()
        changed[row, moment:] = changed[row, moment:] * 7 + 100
        again, after = predictions(changed)
        assert np.array_equal(again.origin, cuts.origin)
        untouched = (cuts.row != row) | (cuts.origin <= moment)
        assert np.allclose(after[untouched], before[untouched], rtol=1e-12, atol=1e-12)
        assert not np.allclose(again.future[~untouched], cuts.future[~untouched])


def test_another_future_changes_no_need():
    values = GENERATED.measured[1].series.values
    cuts = cut(Series(values), horizon=1, window=48, most_origins=6)
    moment = cuts.origin[2]
    changed = values.copy()
    changed[:, moment:] *= 9
    again = cut(Series(changed), horizon=1, window=48, most_origins=6)
    known = cuts.origin <= moment
    assert np.array_equal(cover_values(cuts.history)[known], cover_values(again.history)[known])


def test_steady_growth_costs_last_value_its_step():
    found = backtest([recording([np.arange(1.0, 61.0)])], Settings(("last_value",), window=30))
    scores = found.sets[0].resources[0].methods["last_value"]
    assert scores.covered[0] == 1
    assert scores.loss[0] < 0.01


def test_scores_do_not_change_with_the_unit():
    values = GENERATED.measured[0].series.values
    small, large = (backtest([recording(values * factor)], QUICK).sets[0].resources[0] for factor in (1.0, 1024.0))
    for method in METHODS:
        assert np.allclose(small.methods[method].loss, large.methods[method].loss, rtol=1e-6)
        assert np.allclose(small.methods[method].covered, large.methods[method].covered)


def test_constant_and_hardly_measured_series_are_left_out_and_counted():
    nothing, once = np.full(20, np.nan), np.full(20, np.nan)
    once[3] = 1
    varying = np.tile([1.0, 2.0], 10)
    result = backtest([recording([np.zeros(20), np.full(20, 5.0), nothing, once, varying])], QUICK).sets[0].resources[0]
    assert result.labels == ("s4",)
    assert (result.constant, result.short) == (4, 0)


def test_need_that_is_exceeded_is_counted():
    result = backtest([recording([[1.0] * 15 + [1.5] * 5 + [9.0] * 10], compressible=False)], Settings(("last_value",), most_origins=1))
    assert result.sets[0].resources[0].need.periods.tolist() == [1]
    jump = backtest([recording([[1.0, 2.0] * 10 + [50.0] + [1.0, 2.0] * 9], compressible=False)], Settings(("last_value",)))
    assert jump.sets[0].resources[0].need.exceeded.tolist() == [1]


def test_need_is_asked_of_incompressible_resources_alone():
    found = backtest([GENERATED], QUICK)
    assert [resource.need is None for resource in found.sets[0].resources] == [resource.compressible for resource in found.sets[0].resources]


def test_same_series_give_the_same_bytes():
    first, second = (json.dumps(document(backtest([generate(np.random.default_rng(3), n_jobs=4)], QUICK))) for _ in range(2))
    assert first == second


def test_pools_by_series_and_by_set_weigh_differently():
    swinging, calm = np.tile([1.0, 9.0, 4.0], 20), np.tile([5.0, 5.1, 5.2], 20)
    found = backtest([recording([calm] * 9, name="many"), recording([swinging], name="few")], Settings(("last_value",)))
    pool = pooled(found)
    a, b = (each.resources[0].methods["last_value"].loss[0] for each in found.sets)
    assert pool.by_set["last_value"].loss == pytest.approx((a + b) / 2)
    assert pool.by_series["last_value"].loss == pytest.approx((9 * a + b) / 10)


def test_baseline_alone_is_not_compared_with_itself():
    found = backtest([GENERATED], Settings(("last_value", "ewma"), most_origins=4))
    named = [check.name for check in checks(found)]
    assert any("ewma over that of last_value" in name for name in named)
    assert not any("last_value over" in name or "over that of ewma" in name for name in named)


def test_nothing_to_score_is_a_document_all_the_same():
    held = document(backtest([recording([np.zeros(9)])], QUICK))
    assert held["checks"] == []
    assert held["pooled"]["by_set"]["auto"]["pinball"] is None
    json.dumps(held, allow_nan=False)
