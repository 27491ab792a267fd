"""A user's own series, there and back."""

import numpy as np
import pytest

from libra_opt.adapters.phase_switching import generate
from libra_opt.adapters.series_csv import convert, write
from libra_opt.errors import InputError
from libra_opt.recordings import Document


def read(text):
    return convert(Document("own.csv", text))


def test_three_columns_are_enough_and_periods_that_are_missing_were_not_measured():
    made = read("series,period,value\nb,7,1\na,5,2\nb,5,3\na,6,\n")
    only = made.measured[0]
    assert only.labels == ("a", "b")
    assert only.compressible
    assert np.array_equal(only.series.values, [[2, np.nan, np.nan], [3, np.nan, 1]], equal_nan=True)
    assert only.series.step is None


def test_memory_is_known_by_its_name():
    assert [each.compressible for each in read("series,period,value,resource\na,0,1,mem\na,0,1,cpu\na,0,1,disk\n").measured] == [True, True, False]


def test_step_and_phase_may_be_known_of_some_periods():
    series = read("series,period,value,step,phase\na,0,1,0,2\na,1,1,,\n").measured[0].series
    assert series.step.tolist() == [[0, -1]]
    assert series.phase.tolist() == [[2, -1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("series,period\na,0\n", "no column 'value'"),
        ("series,period,value\na,0.5,1\n", "line 2, period: 0.5 is not a whole number"),
        ("series,period,value\na,0,1\na,0,2\n", "line 3: 'a' has this period already"),
        ("series,period,value\na,0,1\na,90000000,2\n", "are they in seconds"),
        ("series,period,value\n,0,1\n", "line 2, series: is empty"),
        ("series,period,value,value\na,0,1,2\n", "names the column 'value' more than once"),
        ("series,period,value\na,0,-1\n", "line 2, value: '-1'"),
    ],
)
def test_fault_is_named(text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def test_what_is_written_is_read_again():
    made = generate(np.random.default_rng(1), 3)
    again = read(write(made, made.measured[0].labels))
    by_resource = {each.resource: each for each in again.measured}
    for measured in made.measured:
        other = by_resource[measured.resource]
        assert other.labels == measured.labels
        assert other.compressible == measured.compressible
        assert np.allclose(other.series.values, measured.series.values, atol=1e-4, equal_nan=True)
        assert np.array_equal(other.series.step, measured.series.step)
        assert np.array_equal(other.series.phase, measured.series.phase)


def test_quoted_header_and_windows_line_ends_are_understood():
    series = read('"series","period","value","step"\r\n"a",0,1,5\r\n').measured[0].series
    assert series.step.tolist() == [[5]]
