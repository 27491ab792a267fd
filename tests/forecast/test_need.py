"""Needs of memory: covered with room, capped at what the stage may hold, and overruled by what the stage states."""

import pytest

from libra_opt.domain import Resource, StageForecast, State
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.forecast import forecast

GPU_MEM, MEM = 1, 3


def forecast_one(history: list[dict[str, object]], **fields: object) -> StageForecast:
    state = State.model_validate({"jobs": [{"id": "a", "history": history, **fields}], "options": {"forecast": {"method": "last_value"}}})
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


def test_a_need_stays_writable_with_steps_of_several_units():
    resource = Resource(name="disk", unit="B", quantum=4, compressible=False)
    state = State.model_validate({"resources": [resource], "jobs": [{"id": "a", "history": [{"disk": 1}, {"disk": (1 << 63) - 8}]}]})
    ((_, expected),) = forecast(state).stages
    assert resource.quanta(resource.write(expected.need[0]), round_up=True) == expected.need[0]
