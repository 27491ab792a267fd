"""Need by the job's own step: the memory of the place that comes next, asked for in time, and never on the strength of too little."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import StageForecast, State
from libra_opt.forecast import forecast
from libra_opt.forecast.recurrence import MOST_STEPS, recurrence

MEM = 3
LEVELS = {"rollout": 20, "reward": 10, "train": 100}
LENGTHS = ((6, 2, 3), (8, 2, 4), (7, 3, 3), (9, 2, 4), (6, 3, 4), (8, 3, 3))

Observed = dict[str, Any]


def history_of(lengths: Sequence[Sequence[int]] = LENGTHS, *, progress: bool = True) -> list[Observed]:
    """Return steps of a job whose phases last so many periods, each at a level of its own."""
    return [
        {"usage": {"mem": LEVELS[phase]}, "step": step, "phase": phase, **({"progress": (t + 1) / length} if progress else {})}
        for step, each in enumerate(lengths)
        for phase, length in zip(LEVELS, each, strict=True)
        for t in range(length)
    ]


def forecast_one(history: list[Observed], *, need: str = "own_step", stage: Observed | None = None, **options: object) -> StageForecast:
    state = State.model_validate({"jobs": [{"id": "a", "history": history, **(stage or {})}], "options": {"forecast": {"need": need, **options}}})
    ((_, expected),) = forecast(state).stages
    return expected


def need_after(history: list[Observed], **options: Any) -> int:
    return forecast_one(history, **options).need[MEM]


def until(history: list[Observed], step: int, phase: str, n_periods: int) -> list[Observed]:
    """Return the history up to the given period, from 1, of a phase of a step."""
    first = next(t for t, each in enumerate(history) if each["step"] == step and each["phase"] == phase)
    return history[: first + n_periods]


@pytest.mark.parametrize("progress", [True, False])
def test_memory_of_training_is_not_kept_through_the_next_rollout(progress):
    history = history_of(progress=progress)
    assert need_after(until(history, 5, "rollout", 1)) == 22
    assert need_after(until(history, 5, "rollout", 3)) == 22
    assert need_after(until(history, 5, "rollout", 3), need="whole_history") == 110


@pytest.mark.parametrize("progress", [True, False])
def test_memory_of_training_is_asked_for_before_it_begins(progress):
    history = history_of(progress=progress)
    for step in (3, 4, 5):
        assert need_after(until(history, step, "reward", LENGTHS[step][1])) == 110


@pytest.mark.parametrize("progress", [True, False])
def test_memory_of_training_is_kept_while_it_may_last(progress):
    history = history_of(progress=progress)
    for n_periods in (1, 2, 3):
        assert need_after(until(history, 5, "train", n_periods)) == 110


@pytest.mark.parametrize("progress", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("horizon", [1, 3])
def test_need_covers_every_period_ahead_and_asks_for_less_than_the_whole_history(progress, seed, horizon):
    drawn = np.random.default_rng(seed)
    lengths = drawn.integers((6, 2, 3), (10, 5, 6), (9, 3)).tolist()
    history = history_of(lengths, progress=progress)
    asked = []
    for t in range(50, len(history) - horizon, 3):
        used = max(each["usage"]["mem"] for each in history[t : t + horizon])
        asked.append(need_after(history[:t], horizon=horizon, method="last_value"))
        assert asked[-1] >= used
    assert np.mean(asked) < 0.9 * need_after(history, need="whole_history")


def test_entries_that_come_late_widen_the_need_and_three_missing_ones_end_it():
    history = [{**each, "period": t} for t, each in enumerate(history_of())]
    known = until(history, 5, "rollout", 4)
    needs = []
    for n_missing in range(4):
        state = {"period": {"index": len(known) + n_missing}, "jobs": [{"id": "a", "history": known}], "options": {"forecast": {"need": "own_step"}}}
        ((_, expected),) = forecast(State.model_validate(state)).stages
        needs.append((expected.need[MEM], "whole history" in expected.why))
    assert needs == [(22, False), (22, False), (110, False), (110, True)]


def test_a_gap_in_a_phase_does_not_cut_it_in_two():
    history = [{**each, "period": t} for t, each in enumerate(history_of())]
    seen = until(history, 5, "rollout", 5)
    holes = {3, 14, 30, len(seen) - 3}
    assert need_after([each for t, each in enumerate(seen) if t not in holes]) == 22


@pytest.mark.parametrize("field", ["phase", "all"])
def test_without_a_place_the_whole_history_counts(field):
    history = until(history_of(), 5, "rollout", 3)
    bare = [each["usage"] if field == "all" else {name: value for name, value in each.items() if name != field} for each in history]
    expected = forecast_one(bare)
    assert expected.need[MEM] == 110
    assert expected.why.endswith("The need of mem covers the whole history, as too few earlier steps are known to have come to this place.")


def test_two_earlier_steps_are_enough_and_one_is_not_unless_progress_tells_that_the_phase_goes_on():
    untold, told = history_of(progress=False), history_of()
    assert need_after(until(untold, 3, "rollout", 3)) == 22
    assert need_after(until(untold, 2, "rollout", 3)) == 110  # when the first step began is not known
    assert need_after(until(told, 1, "rollout", 3)) == 22
    assert need_after(until(told, 1, "rollout", 7)) == 110  # it may end


def test_a_first_phase_of_unknown_beginning_is_a_place_only_by_its_progress():
    told, untold = (until(history_of(progress=progress)[2:], 2, "rollout", 3) for progress in (True, False))
    assert (need_after(told), need_after(untold)) == (22, 110)


def test_a_phase_that_outlasts_all_earlier_ones_is_covered_whole_without_progress():
    history = history_of([(6, 2, 3)] * 4, progress=False)
    for each in history:
        if each["phase"] == "rollout":
            each["usage"] = {"mem": 20}
    for step in range(3):
        until(history, step, "rollout", 2)[-1]["usage"] = {"mem": 60}
    rollout = {"usage": {"mem": 20}, "step": 4, "phase": "rollout"}
    assert need_after([*history, *[rollout] * 4]) == 22
    assert need_after([*history, *[rollout] * 9]) == 66


def test_the_start_of_what_came_next_is_covered_in_all_steps_where_the_phase_ended_as_soon_in_any():
    history = history_of([(9, 2, 3), (6, 2, 3), (9, 2, 3), (9, 2, 3)], progress=False)
    until(history, 2, "reward", 1)[-1]["usage"] = {"mem": 50}
    assert need_after(until(history, 3, "rollout", 3)) == 22
    assert need_after(until(history, 3, "rollout", 5)) == 55


def test_only_the_latest_steps_count():
    history = history_of([(6, 2, 3)] * (MOST_STEPS + 3))
    until(history, 1, "rollout", 3)[-1]["usage"] = {"mem": 70}
    until(history, 2, "rollout", 3)[-1]["usage"] = {"mem": 60}
    last = MOST_STEPS + 2
    assert need_after(until(history, last - 1, "rollout", 3)) == 77
    assert need_after(until(history, last, "rollout", 3)) == 66


def test_the_last_measurement_is_covered_while_its_phase_goes_on_and_no_longer():
    history = until(history_of(), 5, "rollout", 4)
    history[-1] = {**history[-1], "usage": {"mem": 40}}
    assert need_after(history) == 44
    ended = until(history_of(), 5, "train", 3)
    ended[-1] = {**ended[-1], "usage": {"mem": 200}}
    assert (ended[-1]["progress"], need_after(ended)) == (1, 110)


def test_periods_of_waiting_are_no_place_in_time():
    history = history_of([(6, 2, 3)] * 4, progress=False)
    until(history, 1, "rollout", 2)[-1]["usage"] = {"mem": 60}
    waiting = {"usage": {"mem": 0}, "allocation": {}, "step": 4, "phase": "rollout"}
    assert need_after([*history, *[waiting] * 3]) == 66
    assert need_after([*history, *[{**waiting, "progress": 0.0}] * 3]) == 66
    assert need_after([*history, *[{**waiting, "allocation": {"mem": 60}, "usage": {"mem": 20}}] * 4]) == 22


def test_a_constant_history_needs_exactly_the_constant():
    history = [{**each, "usage": {"mem": 40}} for each in history_of()]
    assert need_after(history) == 40


def test_the_margin_asked_for_is_added():
    assert need_after(until(history_of(), 5, "rollout", 3), margin=0.5) == 30


def test_the_plan_says_which_need_was_used():
    told = forecast_one(until(history_of(), 5, "rollout", 3))
    assert told.why.endswith(" The need of mem covers this place, and what follows it, in the last 5 steps.")
    assert "The need of" not in forecast_one(until(history_of(), 5, "rollout", 3), need="whole_history").why


def test_nothing_is_said_of_a_need_that_is_stated():
    expected = forecast_one(until(history_of(), 5, "rollout", 3), stage={"need": {"mem": 5}})
    assert expected.need[MEM] == 5
    assert "The need of" not in expected.why


def test_a_need_cut_to_the_quota_tells_the_risk_at_this_place():
    history = history_of()
    training = forecast_one(until(history, 5, "train", 2), stage={"max_quota": {"mem": 50}})
    assert training.need[MEM] == 50
    assert "which about 67% of periods at this place for mem go beyond" in training.why
    assert "max_quota" not in forecast_one(until(history, 5, "rollout", 3), stage={"max_quota": {"mem": 50}}).why


def test_each_memory_counts_by_its_own_measurements():
    history = until(history_of(), 5, "rollout", 3)
    for each in history:
        each["usage"] = {**each["usage"], "gpu_mem": 30 if each["step"] == 0 else None}
    history[0]["usage"]["gpu_mem"] = 10
    expected = forecast_one(history)
    assert (expected.need[1], expected.need[MEM]) == (33, 22)
    assert "The need of mem covers this place" in expected.why
    assert "The need of gpu_mem covers the whole history" in expected.why


CODES = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.sampled_from([np.nan, 0.0, 0.3, 0.7, 1.0])), min_size=1, max_size=40)


def arrays(*jobs: list[tuple[int, int, float]]) -> tuple[np.ndarray, ...]:
    length = max(map(len, jobs))
    padded = [[(-1, -1, np.nan)] * (length - len(job)) + job for job in jobs]
    step, phase, progress = (np.array([[entry[i] for entry in job] for job in padded]) for i in range(3))
    return step.astype(np.int64), phase.astype(np.int64), progress.astype(np.float64)


@given(CODES, CODES, st.integers(1, 70))
def test_a_job_recurs_the_same_whatever_stands_beside_it(one, other, horizon):
    together = recurrence(*arrays(one, other), horizon=horizon)
    alone = recurrence(*arrays(one), horizon=horizon)
    assert np.array_equal(together.steps[:1, -len(one) :], alone.steps)
    assert not together.steps[0, : -len(one)].any()
    assert together.since[0] - together.steps.shape[1] == alone.since[0] - len(one) or not alone.steps.any()


@given(CODES, st.integers(1, 5))
def test_a_longer_horizon_only_adds_periods(job, horizon):
    near, far = (recurrence(*arrays(job), horizon=ahead).steps for ahead in (horizon, horizon + 1))
    assert ((near & ~far) == 0).all()
    assert (far < 1 << MOST_STEPS).all()
