"""Staying: what is said of a job whose progress tells that its phase goes on, and that nothing is said where it may end."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import StageForecast, State
from libra_opt.forecast import forecast

GPU, MEM = 0, 3
Entry = dict[str, Any]


def entries(phase: str, step: int, cards: list[float], mem: float = 50, length: int | None = None) -> list[Entry]:
    length = length or len(cards)
    return [
        {"usage": {"gpu": used, "mem": mem}, "allocation": {"gpu": 16, "mem": 200}, "step": step, "phase": phase, "progress": (t + 1) / length}
        for t, used in enumerate(cards)
    ]


def expected(history: list[Entry], **options: Any) -> StageForecast:
    ((_, told),) = forecast(State.model_validate({"jobs": [{"id": "a", "history": history}], "options": {"forecast": {"need": "own_step", **options}}})).stages
    return told


ROLLOUT = [8.0, 8, 8, 7, 7, 6, 6, 5, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1]
TRAIN = [8.0] * 6


def run(steps: int) -> list[Entry]:
    return [each for step in range(steps) for each in (*entries("rollout", step, ROLLOUT), *entries("train", step, TRAIN, mem=120))]


def test_in_the_tail_of_a_rollout_the_cards_of_training_are_not_asked_for():
    told = expected([*run(2), *entries("rollout", 2, ROLLOUT)[:17]])
    highest = told.demand[GPU] * max(told.intensity or (1,))
    assert highest <= 2
    assert told.need[MEM] <= 55


def test_where_the_phase_may_end_what_follows_is_asked_for():
    told = expected([*run(3), *entries("rollout", 3, ROLLOUT)])
    assert told.demand[GPU] * max(told.intensity or (1,)) >= 7
    assert told.need[MEM] >= 120


def test_the_period_in_which_a_phase_began_says_nothing_of_its_memory_once_it_was_measured_alone():
    begun = entries("rollout", 2, ROLLOUT)
    begun[0]["usage"]["mem"] = 120  # partly of the training before
    assert expected([*run(2), *begun[:1]]).need[MEM] >= 55
    assert expected([*run(2), *begun[:2]]).need[MEM] <= 55


def test_memory_of_the_phase_before_is_let_go_where_the_new_one_took_less_than_half_of_it_before():
    def begun(mem: float) -> int:
        steps = [each for step in range(2) for each in (*entries("rollout", step, ROLLOUT, mem=mem), *entries("train", step, TRAIN, mem=120))]
        first = entries("rollout", 2, ROLLOUT, mem=120)[0]
        return expected([*steps, first], margin=0).need[MEM]

    assert begun(50) == 50
    assert begun(70) == 120  # it may have grown since


@pytest.mark.parametrize(("phase", "cards", "mixed"), [("train", TRAIN, 3.0), ("rollout", ROLLOUT, 1.5)])
def test_while_only_the_beginning_of_a_phase_was_measured_demand_is_what_it_was_about_there_before(phase, cards, mixed):
    history = run(2) if phase == "rollout" else [*run(2), *entries("rollout", 2, ROLLOUT)]
    first = entries(phase, 2, cards)[0]
    first["usage"]["gpu"] = mixed  # most of the period was the phase before
    told = expected([*history, first])
    assert (told.demand[GPU], set(told.intensity) <= {1.0}) == (8, True)


def test_what_came_of_a_phase_before_counts_for_the_latest_three_times_only():
    older = [each for step in range(3) for each in (*entries("rollout", step, [1.0] * 4), *entries("train", step, [2.0] * 8))]
    newer = [each for step in range(3, 6) for each in (*entries("rollout", step, [1.0] * 4), *entries("train", step, [8.0] * 8))]
    first = entries("train", 6, [5.0] * 8)[0]
    told = expected([*older, *newer, *entries("rollout", 6, [1.0] * 4), first])
    assert (told.demand[GPU], set(told.intensity) <= {1.0}) == (8, True)


def test_memory_that_was_used_about_there_the_times_before_is_covered():
    history = run(3)
    history[26 + 9]["usage"]["mem"] = 90
    assert expected([*history, *entries("rollout", 3, ROLLOUT)[:9]]).need[MEM] >= 90
    assert expected([*history, *entries("rollout", 3, ROLLOUT)[:15]]).need[MEM] <= 55


def test_memory_that_grows_for_the_first_time_is_covered_ahead():
    growing = entries("rollout", 0, [4.0] * 8, length=20)
    for t, each in enumerate(growing):
        each["usage"]["mem"] = 20 + 10 * t
    assert expected(growing).need[MEM] >= 100


@pytest.mark.parametrize("missing", ["progress", "phase"])
def test_without_progress_or_phase_nothing_is_taken_to_stay(missing):
    history = [*run(1), *entries("rollout", 1, ROLLOUT)[:17]]
    bare = [{name: value for name, value in each.items() if name != missing} for each in history]
    assert expected(bare).need[MEM] >= 120


def test_a_phase_that_ran_faster_before_is_not_taken_to_stay():
    history = [*run(1), *entries("rollout", 1, [8.0, 4], length=2), *entries("train", 1, TRAIN, mem=120), *entries("rollout", 2, [8.0, 7], length=8)]
    assert expected(history).need[MEM] >= 120


@pytest.mark.parametrize("need", ["own_step", "whole_history"])
def test_a_stage_keeps_the_memory_it_holds_while_nothing_of_its_present_phase_was_measured(need):
    begun = {"usage": {}, "step": 1, "phase": "train", "progress": 0.1}
    rollouts = [*entries("rollout", 0, ROLLOUT), *entries("rollout", 1, ROLLOUT)]
    held = {"pool": "p", "resources": {"gpu": 8, "mem": 150}}

    def needed(history: list[Entry], **fields: Any) -> int:
        job = {"id": "a", "history": history, **fields}
        state = {"pools": [{"name": "p", "capacity": {"gpu": 8, "mem": 200}}], "jobs": [job], "options": {"forecast": {"need": need, "margin": 0}}}
        ((_, told),) = forecast(State.model_validate(state)).stages
        return told.need[MEM]

    assert needed([*rollouts, begun], allocation=held) == 150
    assert needed([*rollouts, begun], allocation=held, max_quota={"mem": 120}) == 120
    assert needed([*rollouts, begun]) == 50
    assert needed([*rollouts, {**begun, "usage": {"gpu": 8, "mem": 90}}], allocation=held) == 90
    assert needed([*rollouts, {**begun, "usage": {"gpu": 1, "mem": 60}, "progress": 0}, begun], allocation=held) == 150
    assert needed(rollouts, allocation=held) == 50


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=12))
def test_need_is_never_under_the_last_measurement_of_a_phase_that_goes_on(drawn):
    history = [
        {"usage": {"gpu": 1, "mem": used}, "step": 0, "phase": "rollout", "progress": done}
        for used, done in zip([u for u, _ in drawn], sorted(d for _, d in drawn), strict=True)
    ]
    assert expected(history).need[MEM] >= int(drawn[-1][0])


GATED = {"waits_in": ["train"]}


def needed(history: list[Entry], need: str = "own_step", **stage: Any) -> int:
    state = {"jobs": [{"id": "a", "history": history, **stage}], "options": {"forecast": {"need": need, "margin": 0}}}
    ((_, told),) = forecast(State.model_validate(state)).stages
    return told.need[MEM]


@pytest.mark.parametrize("need", ["own_step", "whole_history"])
@pytest.mark.parametrize("steps", [1, 3])
def test_memory_that_a_phase_waits_for_is_not_held_for_it_before(need, steps):
    history = [*run(steps), *entries("rollout", steps, ROLLOUT)]
    assert needed(history, need) == 120
    assert needed(history, need, **GATED) == 50
    assert needed(history, need, waits_in=["evaluation"]) == 120


def test_memory_that_a_phase_waits_for_is_needed_once_the_job_stands_there():
    history = [*run(3), *entries("rollout", 3, ROLLOUT)]
    at_the_door = {"usage": {}, "step": 3, "phase": "train", "progress": 0.0}
    assert needed([*history, at_the_door], **GATED) == 120
    assert needed([*history, *entries("train", 3, TRAIN, mem=130)[:2]], **GATED) == 130


def test_the_period_after_a_phase_that_waits_is_partly_that_phase():
    begun = entries("rollout", 1, ROLLOUT)
    begun[0]["usage"]["mem"] = 120
    assert needed([*run(1), *begun, *entries("train", 1, TRAIN, mem=120), *entries("rollout", 2, ROLLOUT)], "whole_history", **GATED) == 50


def brief(memory: float, step: int = 0, n: int = 1) -> list[Entry]:
    """Return a phase that follows the update and is over before it is measured again."""
    return [{"usage": {"gpu": 8, "mem": memory}, "step": step, "phase": "sync", "progress": (t + 1) / (n + 1)} for t in range(n)]


@pytest.mark.parametrize("need", ["own_step", "whole_history"])
@pytest.mark.parametrize(("memory", "covered"), [(40, 50), (120, 50), (131, 50), (140, 140), (300, 300)])
def test_a_phase_too_brief_to_be_measured_again_counts_only_for_what_the_update_before_did_not_use(need, memory, covered):
    history = [*run(1), *entries("train", 1, TRAIN, mem=120), *brief(memory, 1), *entries("rollout", 2, ROLLOUT)]
    assert needed(history, need, **GATED) == covered
    assert needed(history, need) == max(120, memory)


def test_what_a_brief_phase_used_is_held_against_the_most_of_the_update_right_before_it():
    varies = [*entries("train", 1, TRAIN[:3], mem=140, length=6), *entries("train", 1, TRAIN, mem=100)[3:]]
    assert needed([*run(1), *varies, *brief(140, 1), *entries("rollout", 2, ROLLOUT)], "whole_history", **GATED) == 50
    large = [*entries("rollout", 0, ROLLOUT), *entries("train", 0, TRAIN, mem=300), *entries("rollout", 1, ROLLOUT), *entries("train", 1, TRAIN, mem=120)]
    assert needed([*large, *brief(200, 1), *entries("rollout", 2, ROLLOUT)], "whole_history", **GATED) == 200


def test_a_phase_after_the_update_that_was_measured_again_counts_from_then_on():
    history = [*run(1), *entries("train", 1, TRAIN, mem=120), *brief(120, 1, n=2), *entries("rollout", 2, ROLLOUT)]
    assert needed(history, "whole_history", **GATED) == 120


@pytest.mark.parametrize("memory", [40, 120, 300])
def test_a_brief_phase_that_is_the_present_one_is_covered(memory):
    history = [*run(1), *entries("train", 1, TRAIN, mem=120), *brief(memory, 1)]
    assert needed(history, "whole_history", **GATED) >= memory


def test_what_was_measured_only_while_its_phase_began_is_covered_though_a_phase_that_waits_came_before():
    begun = {"usage": {"gpu": 1, "mem": 90}, "step": 0, "phase": "evaluate", "progress": 0.2}
    history = [*run(1), begun, {"usage": {}, "step": 0, "phase": "evaluate", "progress": 0.4}]
    assert needed(history, "whole_history", **GATED) == 90


def test_a_job_of_which_news_is_late_may_stand_in_the_phase_that_it_waits_for():
    numbered = [{**each, "period": t} for t, each in enumerate([*run(2), *entries("rollout", 2, ROLLOUT)])]

    def planned(index: int) -> int:
        job = {"id": "a", "history": numbered, **GATED}
        state = {"period": {"index": index, "seconds": 60}, "jobs": [job], "options": {"forecast": {"need": "own_step", "margin": 0}}}
        ((_, told),) = forecast(State.model_validate(state)).stages
        return told.need[MEM]

    assert planned(len(numbered)) == 50
    assert planned(len(numbered) + 1) == 120


@pytest.mark.parametrize(("trained", "need"), [((120, 118, 121), 117), ((90, 90, 90), 90)])
def test_one_period_that_is_left_beside_a_phase_that_waits_is_no_constant_history(trained, need):
    history = [*(entries("train", 0, [8.0], mem=mem)[0] for mem in trained), *entries("rollout", 0, [8.0], mem=90, length=20)]
    told = forecast(State.model_validate({"jobs": [{"id": "a", "history": history, **GATED}], "options": {"forecast": {"need": "own_step", "margin": 0.3}}}))
    assert told.stages[0][1].need[MEM] == need


def test_what_was_measured_last_does_not_count_where_that_was_a_phase_that_waits():
    begun = {"usage": {}, "step": 1, "phase": "rollout", "progress": 0.2}
    assert needed([*run(1), begun], "whole_history") == 120
    assert needed([*run(1), begun], "whole_history", **GATED) == 50


def test_a_history_of_nothing_but_a_phase_that_waits_is_not_forgotten():
    assert needed([*entries("train", 0, TRAIN, mem=120), {"usage": {}, "step": 0, "phase": "rollout", "progress": 0.2}], **GATED) == 120


@given(st.lists(st.tuples(st.sampled_from(["rollout", "reward", "train"]), st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=12), st.booleans())
def test_a_phase_that_waits_never_raises_the_need_of_the_whole_history_and_never_lowers_it_where_the_job_stands_in_it(drawn, is_numbered):
    history = [
        {"usage": {"mem": used}, "step": t // 4, "phase": phase, "progress": done, **({"period": 2 * t} if is_numbered else {})}
        for t, (phase, used, done) in enumerate(drawn)
    ]
    with_it, without = needed(history, "whole_history", **GATED), needed(history, "whole_history")
    assert with_it <= without
    if drawn[-1][0] == "train":
        assert with_it == without
