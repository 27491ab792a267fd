"""Cuts: the second half, evenly spaced, with nothing of the future in the history."""

import numpy as np

from libra_opt.backtest import cut
from libra_opt.forecast.series import Series

NAN = np.nan


def test_history_ends_where_the_future_begins():
    cuts = cut(Series(np.arange(20.0)[None]), horizon=2, window=5, most_origins=100)
    assert cuts.origin.tolist() == list(range(10, 19))
    assert cuts.history.values[0].tolist() == [5, 6, 7, 8, 9]
    assert cuts.future[0].tolist() == [10, 11]
    assert cuts.future[-1].tolist() == [18, 19]


def test_origins_are_evenly_spaced_when_there_are_too_many():
    cuts = cut(Series(np.ones((1, 101))), horizon=1, window=5, most_origins=6)
    assert cuts.origin.tolist() == [50, 60, 70, 80, 90, 100]


def test_each_series_has_its_own_second_half():
    values = np.full((2, 12), NAN)
    values[0, :4] = 1
    values[1, 4:] = 2
    cuts = cut(Series(values), horizon=1, window=20, most_origins=50)
    assert cuts.origin[cuts.row == 0].tolist() == [2, 3]
    assert cuts.origin[cuts.row == 1].tolist() == [8, 9, 10, 11]


def test_before_the_beginning_nothing_is_known():
    series = Series(np.arange(4.0)[None], np.arange(4)[None], np.zeros((1, 4), dtype=np.int64))
    cuts = cut(series, horizon=1, window=4, most_origins=1)
    assert np.array_equal(cuts.history.values[0], [NAN, NAN, 0, 1], equal_nan=True)
    assert cuts.history.step[0].tolist() == [-1, -1, 0, 1]
    assert cuts.history.phase[0].tolist() == [-1, -1, 0, 0]


def test_series_that_was_hardly_measured_has_no_cut():
    cuts = cut(Series(np.array([[NAN, NAN, NAN], [NAN, 1.0, NAN]])), horizon=1, window=4, most_origins=9)
    assert len(cuts.row) == 0
