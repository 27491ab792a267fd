"""Needs of memory: covered with room, capped at what the stage may hold, and overruled by what the stage states."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import Resource, StageForecast, State
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.forecast import forecast
from libra_opt.forecast.need import cover, cover_values
from libra_opt.forecast.observations import Observations
from libra_opt.forecast.series import Series

GPU_MEM, MEM = 1, 3


def forecast_one(history: list[dict[str, object]], options: dict[str, object] | None = None, **fields: object) -> StageForecast:
    state = State.model_validate({"jobs": [{"id": "a", "history": history, **fields}], "options": {"forecast": {"method": "last_value", **(options or {})}}})
    ((_, expected),) = forecast(state).stages
    return expected


def memory(*values: object) -> list[dict[str, object]]:
    return [{"mem": value} for value in values]


@pytest.mark.parametrize("history", [memory(40), memory(40, 40, 40), memory("40Gi", None, 40, None)])
def test_a_constant_history_needs_exactly_the_constant(history):
    assert forecast_one(history).need[MEM] == 40


@pytest.mark.parametrize(("history", "need"), [(memory(40, 30), 44), (memory(30, 41), 46), (memory(1, 2), 3), (memory(0, 105), 116), (memory(5, 0), 6)])
def test_a_varying_history_needs_its_maximum_and_a_tenth_rounded_up(history, need):
    assert forecast_one(history).need[MEM] == need


def test_one_value_in_a_hundred_may_be_passed_over_in_a_long_history():
    assert forecast_one(memory(*range(1, 99))).need[MEM] == 108
    assert forecast_one(memory(500, *[10] * 97, 20)).need[MEM] == 550
    assert forecast_one(memory(500, *[10] * 197, 20)).need[MEM] == 22


def test_need_is_never_under_the_last_value():
    assert forecast_one(memory(*[10] * 300, 500)).need[MEM] == 550


def test_need_is_cut_to_the_maximum_quota():
    margin_only = forecast_one(memory(60, 79), max_quota={"mem": "80Gi"})
    assert (margin_only.need[MEM], margin_only.method) == (80, "last_value")
    observed_more = forecast_one(memory(60, 90), max_quota={"mem": "80Gi"})
    assert (observed_more.need[MEM], observed_more.method) == (80, "last_value (need of mem cut to max_quota)")


def test_a_stated_need_wins_for_the_resources_it_names():
    history = [{"mem": 40, "gpu_mem": 10}, {"mem": 30, "gpu_mem": 10}]
    expected = forecast_one(history, need={"mem": 5})
    assert expected.need == (0, 10, 0, 5, 0)
    assert forecast_one(history, need={"mem": 0}).need == (0, 10, 0, 0, 0)
    assert forecast_one(history, need={"mem": 90}, max_quota={"mem": 80}).need[MEM] == 80


def test_need_is_stated_by_a_stage_without_observations():
    assert forecast_one([], need={"gpu_mem": "8Gi"}).need[GPU_MEM] == 8


def test_the_margin_does_not_overflow():
    large = (1 << 63) - 1000
    assert forecast_one(memory(1, large)).need[MEM] == UNLIMITED
    assert forecast_one(memory(1, 10**18)).need[MEM] == 11 * 10**17


@pytest.mark.parametrize(("margin", "need"), [(0, 41), (0.1, 46), (0.29, 53), (0.5, 62), (1, 82), (4, 205), (1e-12, 42)])
def test_the_margin_that_is_asked_for_is_added_rounded_up(margin, need):
    assert forecast_one(memory(30, 41), {"margin": margin}).need[MEM] == need
    assert forecast_one(memory(41, 41), {"margin": margin}).need[MEM] == 41


def test_a_margin_is_the_decimal_that_is_written():
    assert forecast_one(memory(0, 100), {"margin": 0.29}).need[MEM] == 129
    assert forecast_one(memory(0, 10**12), {"margin": 0.1}).need[MEM] == 11 * 10**11


def test_no_margin_adds_nothing_next_to_the_largest_amount():
    assert forecast_one(memory(0, UNLIMITED - 5), {"margin": 0}).need[MEM] == UNLIMITED - 5


@given(st.integers(1, (1 << 63) - 1), st.integers(0, 4 * 10**4))
def test_the_margin_is_exact_and_saturates(most, parts):
    largest = (1 << 63) - 1
    observations = Observations((0,), np.array([[[0], [most]]]), np.array([False]))
    need = int(cover(observations, np.array([[largest]]), margin=parts / 10**4).need[0, 0])
    assert need == min(most + -(-most * Fraction(parts, 10**4) // 1), largest)


def test_the_backtest_covers_with_the_margin_that_is_asked_for():
    series = Series(np.array([[10.0, 20.0], [20.0, 20.0]]))
    assert cover_values(series).tolist() == [22, 20]
    assert cover_values(series, margin=0.5).tolist() == [30, 20]


def test_a_need_stays_writable_with_steps_of_several_units():
    resource = Resource(name="disk", unit="B", quantum=4, compressible=False)
    state = State.model_validate({"resources": [resource], "jobs": [{"id": "a", "history": [{"disk": 1}, {"disk": (1 << 63) - 8}]}]})
    ((_, expected),) = forecast(state).stages
    assert resource.quanta(resource.write(expected.need[0]), round_up=True) == expected.need[0]
