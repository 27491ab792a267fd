"""Spot cards by the hour."""

import pytest

from libra_opt.adapters import spotgpu2026
from libra_opt.adapters.spotgpu2026 import MODELS
from libra_opt.errors import InputError
from libra_opt.recordings import Document

HEADER = ",".join(("hour", *MODELS)) + "\n"


def converted(*lines):
    return spotgpu2026.convert({"hours": [Document("hours.csv", HEADER + "\n".join(lines))]})


def test_one_series_per_card_model():
    made = converted("0,1,2,3,4,5,6", "1,7,8,9,10,11,12")
    assert made.measured[0].labels == MODELS
    assert made.measured[0].series.values.tolist() == [[1, 7], [2, 8], [3, 9], [4, 10], [5, 11], [6, 12]]
    assert made.measured[0].season == (24,) * 6


def test_hour_that_is_missing_is_named():
    with pytest.raises(InputError, match="line 4, hour: 3 does not follow the hour before it"):
        converted("0,1,2,3,4,5,6", "1,1,2,3,4,5,6", "3,1,2,3,4,5,6")
