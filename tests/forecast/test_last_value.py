"""Demand and intensity: what the next period is said to bring, from histories of every awkward kind."""

import numpy as np
import pytest

from libra_opt.domain import Resource, StageForecast, State
from libra_opt.forecast import forecast
from libra_opt.forecast.last_value import LARGEST_RATIO, PROBABILITIES, LastValue
from libra_opt.forecast.observations import observe

CARDS = Resource(name="gpu", unit="cards")


def forecast_one(history: list[dict[str, object]], **fields: object) -> StageForecast:
    state = State.model_validate({"jobs": [{"id": "a", "history": history, **fields}], "options": {"forecast": {"method": "last_value"}}})
    ((s, expected),) = forecast(state).stages
    assert s == 0
    return expected


def cards(*values: int | None) -> list[dict[str, object]]:
    return [{"gpu": value} for value in values]


def test_a_fall_to_zero_is_forecast_as_zero_and_not_below():
    expected = forecast_one(cards(8, 6, 4, 2, 0))
    assert expected.demand == (0, 0, 0, 0, 0)
    assert expected.intensity == ()


def test_a_flat_history_is_forecast_as_itself_without_spread():
    expected = forecast_one([{"gpu": 4, "mem": "7Gi", "cpu": "300m"}] * 6)
    assert expected == StageForecast(demand=(4, 0, 3, 0, 0), need=(0, 0, 0, 7, 0), intensity=(), method="last_value")


@pytest.mark.parametrize(("history", "demand"), [(cards(3), 3), (cards(2, 2, 2), 2), (cards(9, 1, 5), 5)])
def test_a_job_that_just_started_gets_its_last_value_for_certain(history, demand):
    expected = forecast_one(history)
    assert expected.demand[0] == demand
    assert expected.intensity == ()


def test_gaps_are_neither_zeros_nor_the_end_of_the_history():
    expected = forecast_one(cards(2, None, 2, 2, None, 2, None))
    assert expected.demand[0] == 2
    assert expected.intensity == ()


def test_a_resource_that_is_missing_from_a_sample_was_not_measured():
    assert forecast_one([{"gpu": 2, "cpu": 5}, {"cpu": 6}]).demand == (2, 0, 60, 0, 0)


@pytest.mark.parametrize("history", [[], [{}], [{}, {}], cards(None, None), [{"gpu": None, "mem": None}]])
def test_without_observations_nothing_is_expected_and_the_method_says_so(history):
    assert forecast_one(history) == StageForecast((0,) * 5, (0,) * 5, (), "last_value (no observations)")


def test_all_zero_is_zero_but_was_observed():
    assert forecast_one(cards(0, 0, 0, 0, 0, 0)) == StageForecast((0,) * 5, (0,) * 5, (), "last_value")


def test_demand_rounds_up_to_quanta():
    assert forecast_one([{"gpu": 1.01, "cpu": 0.11, "net": "1M"}]).demand == (2, 0, 2, 0, 1)


def test_tenths_are_read_exactly():
    values = [i / 10 for i in range(1, 200)] + [1.1 + 2.2, 12.3456789, 1e-9, 1e-300, 1e14 + 0.3]
    resource = Resource(name="cpu", unit="cores", quantum=0.1)
    (observed,) = observe([[{"cpu": value} for value in values]], [resource])
    assert observed.quanta[0, :, 0].tolist() == [resource.quanta(value, round_up=True) for value in values]


def test_strings_numbers_and_gaps_mix():
    assert forecast_one([{"net": "1G"}, {"net": None}, {"net": 2.5}, {"net": "1500M"}]).demand[4] == 15


def test_five_ratios_are_their_own_intensities():
    expected = forecast_one(cards(100, 50, 50, 150, 90, 108))
    assert expected.intensity == (0.5, 0.6, 1.0, 1.2, 3.0)
    assert expected.demand[0] == 108


def test_ratios_of_all_compressible_resources_are_pooled_and_memory_is_left_out():
    history = [{"gpu": 10, "cpu": 10, "mem": 1}, {"gpu": 5, "cpu": 20, "mem": 100}, {"gpu": 5, "cpu": 20, "mem": 1}]
    assert forecast_one(history).intensity == (0.5, 0.85, 1.0, 1.3, 2.0)


def test_ratios_from_zero_are_ignored():
    assert forecast_one(cards(8, 0, 8, 0, 8, 0, 8)).intensity == ()
    assert forecast_one(cards(8, 4, 0, 8, 8, 0, 8, 8)).intensity == (0.0, 0.0, 0.5, 1.0, 1.0)


def test_ratios_reach_over_gaps():
    assert forecast_one(cards(8, None, 4, None, 8, None, None, 4, None, 8)).intensity == (0.5, 0.5, 1.25, 2.0, 2.0)


def test_a_stage_that_always_stops_after_work_is_not_planned_as_idle():
    expected = forecast_one(cards(8, 0, 8, 0, 8, 0, 8, 0, 8))
    assert expected.demand[0] == 8
    assert expected.intensity == ()


def test_an_enormous_spike_does_not_make_an_enormous_intensity():
    for history in (cards(1, 1, 10**15, 1, 1, 1), cards(1, 10**6, 1, 10**6, 1, 10**6)):
        expected = forecast_one(history)
        assert expected.demand[0] in {1, 10**6}
        assert all(0 <= factor <= LARGEST_RATIO for factor in expected.intensity)


def test_a_single_change_in_a_long_flat_history_is_no_spread():
    assert forecast_one(cards(*[4] * 100, *[5] * 100)).intensity == ()


def test_an_intensity_that_the_stage_states_wins():
    assert forecast_one(cards(4, 4), demand_intensity=[0.5, 2]).intensity == (0.5, 2.0)
    assert forecast_one(cards(4, 0), demand_intensity=[0.5, 2]).intensity == ()


def test_counts_near_the_limit_keep_every_digit():
    large = (1 << 62) + 1
    assert forecast_one(cards(large, 1, large, large, large, large)).demand[0] == large


def test_large_numbers_mean_the_same_in_whatever_order_they_are_read():
    whole, floating = 1 << 60, float(1 << 60)
    (observed,) = observe([[{"gpu": floating}, {"gpu": whole}]], [CARDS])
    assert observed.quanta[0, :, 0].tolist() == [CARDS.quanta(floating, round_up=True), CARDS.quanta(whole, round_up=True)]


def test_histories_of_very_different_length_are_not_padded_to_the_longest():
    histories = [[{"gpu": 1}] * 2_000_000, *[[{"gpu": 2}]] * 2_000]
    blocks = list(observe(histories, [CARDS]))
    assert sum(block.quanta.size for block in blocks) < 2_100_000
    assert sorted(i for block in blocks for i in block.stages) == list(range(2_001))


def test_outlook_has_ascending_factors_in_the_promised_shape():
    rng = np.random.default_rng(5)
    histories = [[{"gpu": int(value)} for value in rng.integers(0, 9, size=12)] for _ in range(7)]
    (observed,) = observe(histories, [CARDS])
    outlook = LastValue().predict(observed)
    assert outlook.demand.shape == (7, 1)
    assert outlook.intensity.shape == (7, len(PROBABILITIES))
    assert (np.diff(outlook.intensity, axis=1) >= 0).all()


def test_observations_cannot_be_changed():
    (observed,) = observe([[{"gpu": 1}]], [CARDS])
    with pytest.raises(ValueError, match="read-only"):
        observed.quanta[0, 0, 0] = 2
