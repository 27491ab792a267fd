"""Demand across phases: a change is seen coming where progress is told, and a stage that waits for its gang is not one that wants nothing."""

from typing import Any

import numpy as np
import pytest

from libra_opt.domain import StageForecast, State
from libra_opt.forecast import forecast
from libra_opt.forecast.last_value import LARGEST_RATIO

Observed = dict[str, Any]

HELD = {"gpu": 10, "gpu_mem": 640}
NOTHING = {"gpu": 0, "gpu_mem": 0}


def forecast_one(history: list[Observed], method: str = "auto") -> StageForecast:
    job = {"id": "a", "max_quota": {"gpu": 16}, "history": history}
    ((_, expected),) = forecast(State.model_validate({"jobs": [job], "options": {"forecast": {"method": method}}})).stages
    return expected


def gpu_after(history: list[Observed], method: str = "auto") -> int:
    return forecast_one(history, method).demand[0]


def training(seed: int, n_steps: int = 8, *, progress: bool = True, held: dict[str, int] | None = None) -> list[Observed]:
    """Return the history of the training stage of a job: idle in a rollout of 6 to 10 periods, then 8 cards for 3 to 5."""
    drawn = np.random.default_rng(seed)
    return [
        {
            "usage": {"gpu": cards, "gpu_mem": 60 * cards},
            "step": step,
            "phase": phase,
            **({"progress": (t + 1) / length} if progress else {}),
            **({} if held is None else {"allocation": held}),
        }
        for step in range(n_steps)
        for phase, cards, length in (("rollout", 0, int(drawn.integers(6, 11))), ("train", 8, int(drawn.integers(3, 6))))
        for t in range(length)
    ]


@pytest.mark.parametrize("method", ["auto", "own_step"])
@pytest.mark.parametrize("held", [None, HELD])
def test_a_change_of_phase_is_seen_one_period_ahead(method, held):
    asked: dict[tuple[str, str], list[int]] = {}
    for seed in range(3):
        history = training(seed, held=held)
        for t in range(60, len(history)):
            asked.setdefault((history[t - 1]["phase"], history[t]["phase"]), []).append(gpu_after(history[:t], method))
    assert np.median(asked["rollout", "train"]) == 8
    assert np.mean(asked["rollout", "train"]) >= 7
    assert np.mean(asked["rollout", "rollout"]) <= 0.5
    assert min(asked["train", "train"]) == 8
    assert max(asked["train", "rollout"]) <= 2


@pytest.mark.parametrize("method", ["auto", "own_step", "ewma"])
@pytest.mark.parametrize("progress", [True, False])
@pytest.mark.parametrize("n_waiting", [1, 3, 12, 40])
def test_a_stage_that_waits_for_its_gang_wants_what_it_used_in_this_phase(method, progress, n_waiting):
    history = training(0, 6, progress=progress, held=HELD)
    while history[-1]["phase"] == "train":
        history.pop()
    waiting = {"usage": NOTHING, "allocation": NOTHING, "step": 5, "phase": "train", **({"progress": 0.0} if progress else {})}
    assert gpu_after([*history, *[waiting] * n_waiting], method) in ((7, 8) if method == "ewma" else (8,))


def test_a_stage_that_was_sent_away_in_its_phase_wants_what_it_used_before():
    history = training(1, 6, held=HELD)[:-1]
    history[-1]["usage"] = {"gpu": 6}
    waiting = {**history[-1], "usage": NOTHING, "allocation": NOTHING}
    assert gpu_after([*history, *[waiting] * 5], "ewma") == 6


def test_a_stage_that_waits_in_a_phase_that_wanted_nothing_wants_nothing():
    history = training(1, 6, held=HELD)
    waiting = {"usage": NOTHING, "allocation": NOTHING, "step": 6, "phase": "rollout", "progress": 0.0}
    assert gpu_after([*history, *[waiting] * 3]) <= 1


def test_waiting_in_the_past_is_no_idleness():
    waited = {"usage": NOTHING, "allocation": {}}
    used = {"usage": {"gpu": 8}, "allocation": HELD}
    assert gpu_after([used, *[waited] * 20, used, *[waited] * 5]) == 8
    assert gpu_after([{**each, "phase": "train"} for each in [*[waited] * 20, used, used, *[waited] * 5]], "ewma") == 8


def test_nothing_used_of_nothing_held_is_no_measurement():
    used, waited = {"usage": {"gpu_mem": 40}, "allocation": {"gpu_mem": 50}}, {"usage": {"gpu_mem": 0}, "allocation": {"gpu_mem": 0}}
    assert forecast_one([used, waited, used]).need[1] == 40
    assert "2 periods measured" in forecast_one([used, waited, used]).why
    left = {"usage": {"gpu_mem": 70}, "allocation": {}}
    assert forecast_one([used, left, used]).need[1] == 77


def test_idleness_without_a_stated_allocation_or_beside_another_resource_stays_idleness():
    idle = {"usage": {"gpu": 0}, "phase": "train"}
    assert gpu_after([{"usage": {"gpu": 8}, "phase": "train"}, *[idle] * 8], "last_value") == 0
    assert gpu_after([{**each, "allocation": {"cpu": 4}} for each in [{"usage": {"gpu": 8}, "phase": "train"}, *[idle] * 8]], "last_value") == 0


@pytest.mark.parametrize("seed", range(4))
def test_what_was_held_back_never_asks_for_more_than_can_be_held(seed):
    history = training(seed, 8, held={"gpu": 8, "gpu_mem": 640})
    for each in history:
        each["progress"] *= 0.99
    for t in range(80, len(history)):
        expected = forecast_one(history[:t])
        assert expected.demand[0] <= 16
        assert max(expected.intensity, default=1) <= LARGEST_RATIO
