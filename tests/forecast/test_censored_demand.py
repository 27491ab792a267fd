"""Usage is censored by the allocation: demand is found again, and no stage stays small because it was small."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from libra_opt.domain import StageForecast, State
from libra_opt.forecast import forecast
from libra_opt.forecast.demand import MOST_FACTOR, PROBE

Observed = dict[str, Any]

QUOTA = 64.0


def forecast_one(history: list[Observed], quota: float = QUOTA) -> StageForecast:
    resources = [{"name": "gpu", "unit": "cards", "quantum": 0.1}, {"name": "cpu", "unit": "cores", "quantum": 0.1}]
    state = State.model_validate({"resources": resources, "jobs": [{"id": "a", "history": history, "max_quota": {"gpu": quota, "cpu": quota}}]})
    ((_, expected),) = forecast(state).stages
    return expected


def observed(usage: float, allocation: float, resource: str = "gpu", **more: object) -> Observed:
    return {"usage": {resource: usage}, "allocation": {resource: allocation}, **more}


def play(demand: Callable[[int], float], held: float, n_before: int, n_after: int, describe: Callable[[int], Observed] = lambda _: {}) -> list[float]:
    """Hold a stage at `held`, then let it have what is forecast: the allocations it got."""
    history = [observed(min(demand(t), held), held, **describe(t)) for t in range(n_before)]
    allocations = []
    for t in range(n_before, n_before + n_after):
        allocation = min(forecast_one(history).demand[0] / 10, QUOTA)
        history.append(observed(min(demand(t), allocation), allocation, **describe(t)))
        allocations.append(allocation)
    return allocations


@pytest.mark.parametrize("n_before", [1, 3, 20, 100])
def test_a_stage_held_at_a_quarter_is_estimated_within_a_quarter_in_five_periods(n_before):
    allocations = play(lambda _: 16.0, 4.0, n_before, 12)
    assert any(abs(allocation - 16) <= 4 for allocation in allocations[:5])
    assert min(allocations[5:]) >= 12


@pytest.mark.parametrize("seed", range(4))
def test_the_same_with_noise(seed):
    noise = np.exp(0.1 * np.random.default_rng(seed).normal(size=200))
    allocations = play(lambda t: 16 * noise[t], 4.0, 20, 16)
    assert any(abs(allocation - 16) <= 4 for allocation in allocations[:5])
    assert np.mean(allocations[5:]) >= 14


@pytest.mark.parametrize("is_described", [False, True])
def test_a_stage_that_was_free_in_a_calm_phase_is_not_held_there(is_described):
    def busy(t: int) -> bool:
        return (t // 8) % 2 == 1

    def describe(t: int) -> Observed:
        return {"step": t // 16, "phase": "rollout" if busy(t) else "train"} if is_described else {}

    allocations = play(lambda t: 16.0 if busy(t) else 2.0, 4.0, 8, 40, describe)
    late = [allocation for t, allocation in enumerate(allocations, start=8) if busy(t) and t >= 40]
    assert np.median(late) >= 12


def play_two(cards: float, cores: float, held: tuple[float, float], n_before: int, n_after: int) -> list[tuple[float, float]]:
    """Hold a stage that uses cards and cores in proportion at some of both, then let it have what is forecast of both: what it got."""

    def entry(allocation: tuple[float, float]) -> Observed:
        served = min(1.0, allocation[0] / cards, allocation[1] / cores)
        return {"usage": {"gpu": cards * served, "cpu": cores * served}, "allocation": dict(zip(("gpu", "cpu"), allocation, strict=True))}

    history = [entry(held)] * n_before
    got = []
    for _ in range(n_after):
        gpu, cpu = forecast_one(history).demand[:2]
        got.append((min(gpu / 10, QUOTA), min(cpu / 10, QUOTA)))
        history.append(entry(got[-1]))
    return got


@pytest.mark.parametrize("held", [(2.0, 32.0), (8.0, 8.0), (2.0, 8.0)])
@pytest.mark.parametrize("n_before", [1, 20, 60])
def test_one_that_is_short_of_one_resource_grows_in_all(held, n_before):
    got = play_two(8.0, 32.0, held, n_before, 16)
    assert min(gpu for gpu, _ in got[6:]) >= 6
    assert min(cpu for _, cpu in got[6:]) >= 24


def both(gpu: tuple[float, float], cpu: tuple[float, float]) -> Observed:
    """Return an entry: what was used and what was held of each."""
    return {"usage": {"gpu": gpu[0], "cpu": cpu[0]}, "allocation": {"gpu": gpu[1], "cpu": cpu[1]}}


def test_room_beside_all_the_cores_it_may_have_tells_what_cards_it_needs():
    history = [both((1.0, 4.0), (62.0, QUOTA))] * 20 + [both((1.0, 1.0), (62.0, QUOTA))] * 3
    assert forecast_one(history).demand[0] == 10


def test_room_beside_too_few_cores_tells_nothing_of_the_cards():
    history = [both((2.0, 3.0), (8.0, 8.0))] * 20 + [both((2.0, 2.0), (8.0, 16.0))] * 3
    assert forecast_one(history).demand[0] == 20 * PROBE


def test_one_that_may_have_a_little_more_of_one_resource_could_use_a_little_more_of_the_others():
    history = [both((1.0, 4.0), (60.0, 60.0))] * 20
    assert forecast_one(history).demand[:2] == (11, 640)


def test_growing_demand_is_followed():
    allocations = play(lambda t: 8 * 1.05**t, 8.0, 10, 25)
    assert allocations[-1] >= 0.75 * min(8 * 1.05**34, QUOTA)


def test_a_stage_at_its_allocation_is_probed_upward_and_the_plan_says_so():
    expected = forecast_one([observed(4, 4)] * 10)
    assert expected.demand[0] == 40 * PROBE
    assert "gpu ran at its allocation" in expected.why


def test_a_probe_stays_within_the_quota():
    assert forecast_one([observed(4, 4)] * 10, quota=5).demand[0] == 50


def test_without_allocations_usage_is_demand():
    assert forecast_one([{"usage": {"gpu": 4}}] * 10).demand[0] == 40


def test_a_stage_below_its_allocation_is_not_probed():
    assert forecast_one([observed(4, 8)] * 10).demand[0] == 40


def test_waiting_requests_tell_how_much_more_is_asked():
    history = [observed(4, 4, requests_running=8, requests_waiting=6)] * 10
    assert forecast_one(history).demand[0] == 70


def test_running_requests_without_waiting_ones_tell_that_nothing_more_is_asked():
    history = [observed(4, 4, requests_running=8, requests_waiting=0)] * 10
    assert forecast_one(history).demand[0] == 40


def test_an_enormous_queue_does_not_make_an_enormous_demand():
    history = [observed(4, 4, requests_running=1, requests_waiting=1e9)] * 10
    assert forecast_one(history).demand[0] == 40 * MOST_FACTOR


def test_a_cpu_queue_asks_for_a_core_a_thread():
    history = [observed(4, 4, "cpu", cpu_queue=3)] * 10
    assert forecast_one(history).demand[1] == 70


def test_tool_calls_ask_for_what_one_took_when_the_stage_was_free():
    free = [observed(2, 8, "cpu", tool_calls=10)] * 6
    assert forecast_one([*free, observed(4, 4, "cpu", tool_calls=30)]).demand[1] == 60


def test_free_periods_above_take_the_place_of_a_probe():
    history = [*[observed(10, 12)] * 6, observed(8, 8)]
    assert forecast_one(history).demand[0] == 100


def cards(usage: list[float], held: list[float]) -> int:
    """Return how many whole cards are expected after such a history of a phase that goes on."""
    n = len(usage)
    history = [
        {"usage": {"gpu": min(used, had)}, "allocation": {"gpu": had}, "step": 0, "phase": "tail", "progress": (t + 1) / (2 * n)}
        for t, (used, had) in enumerate(zip(usage, held, strict=True))
    ]
    ((_, expected),) = forecast(State.model_validate({"jobs": [{"id": "a", "history": history, "max_quota": {"gpu": 16}}]})).stages
    return expected.demand[0]


@pytest.mark.parametrize("seed", range(8))
def test_one_card_that_is_measured_with_an_error_is_not_two(seed):
    usage = np.exp(0.03 * np.random.default_rng(seed).standard_normal(16)).tolist()
    assert cards(usage, [2.0] * 16) == 1


@pytest.mark.parametrize("seed", range(4))
def test_one_card_that_was_seen_to_do_with_room_does_at_the_limit(seed):
    usage = np.exp(0.03 * np.random.default_rng(seed).standard_normal(16)).tolist()
    assert cards(usage, [2.0] * 10 + [1.0] * 6) == 1


def test_what_lies_between_room_and_limit_is_no_room():
    """Eight cards' worth of work on three of them, measured low now and then, is not satisfied with three."""
    usage = [2.75, 3.0, 2.8, 3.0, 2.7, 3.0, 2.76, 3.0]
    assert cards(usage, [3.0] * 8) > 3


@pytest.mark.parametrize("long_ago", [30, 90])
def test_free_use_of_the_same_phase_is_remembered_from_the_step_before(long_ago):
    free = [observed(6, 8, step=0, phase="rollout", progress=(t + 1) / 10) for t in range(10)]
    between = [observed(1, 2, step=0, phase="train", progress=(t + 1) / long_ago) for t in range(long_ago)]
    squeezed = [observed(3, 3, step=1, phase="rollout", progress=(t + 1) / 20) for t in range(4)]
    assert forecast_one([*free, *between, *squeezed]).demand[0] / 10 == pytest.approx(6)
    unplaced = [{name: value for name, value in each.items() if name in ("usage", "allocation")} for each in (*free, *between, *squeezed)]
    assert forecast_one(unplaced).demand[0] / 10 < 6
