"""Samples and intervals to periods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.errors import InputError
from libra_opt.recordings.periods import mean_per_period, overlap_per_period, peak_per_period, shape_of

SAMPLES = (np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([2.0, 4.0, 7.0]), (2, 2))


def test_mean_of_the_samples_of_a_period_and_nan_without_any():
    assert np.array_equal(mean_per_period(*SAMPLES), [[np.nan, 3.0], [7.0, np.nan]], equal_nan=True)


def test_peak_of_the_samples_of_a_period_and_nan_without_any():
    assert np.array_equal(peak_per_period(*SAMPLES), [[np.nan, 4.0], [7.0, np.nan]], equal_nan=True)


def test_sample_that_is_nan_is_no_sample():
    row, period, values, shape = SAMPLES
    values = np.where(values == 4, np.nan, values)
    assert mean_per_period(row, period, values, shape)[0, 1] == 2
    assert peak_per_period(row, period, values, shape)[0, 1] == 2


intervals = st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50), st.floats(0, 10)), max_size=12)


@given(intervals)
def test_overlap_is_that_of_every_interval_by_itself(given_intervals):
    start = np.array([min(a, b) for a, b, _ in given_intervals])
    end = np.array([max(a, b) for a, b, _ in given_intervals])
    weight = np.array([w for _, _, w in given_intervals])
    expected = [sum(w * max(0.0, min(e, 10.0 * (p + 1)) - max(s, 10.0 * p)) for s, e, w in zip(start, end, weight, strict=True)) / 10 for p in range(5)]
    assert np.allclose(overlap_per_period(start, end, weight, 10.0, 5), expected, atol=1e-9)


def test_times_that_are_no_seconds_are_refused_before_memory_is():
    assert shape_of("f", 3, 7.0) == (3, 7)
    with pytest.raises(InputError, match="are they in seconds"):
        shape_of("f", 100, 1e12)
