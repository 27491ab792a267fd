"""Histories of usage alone and with more in them: in any order, with gaps, and what is refused at the door."""

import json
from typing import Any

import numpy as np
import pytest

from libra_opt.domain import DEFAULT_RESOURCES, Observation, State, read_state
from libra_opt.errors import InputError
from libra_opt.forecast import describe, forecast
from libra_opt.forecast.observations import observe


def state_of(history: list[Any], **fields: Any) -> State:
    return State.model_validate({"jobs": [{"id": "a", "history": history}], **fields})


def history_of(state: State) -> tuple[Any, ...]:
    history = state.jobs[0].history
    assert history is not None
    return history


def faults_of(history: list[Any], **fields: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        read_state(json.dumps({"jobs": [{"id": "a", "history": history}], **fields}))
    return {fault.path: fault.message for fault in caught.value.faults}


def test_usage_alone_and_usage_in_an_observation_forecast_the_same():
    amounts = [{"gpu": 1.5, "mem": "3Gi"}, {"gpu": 4, "cpu": None}, {"mem": 9, "gpu": 2}, {"gpu": 3}]
    alone = forecast(state_of(amounts)).stages
    assert forecast(state_of([{"usage": sample} for sample in amounts])).stages == alone
    assert forecast(state_of([amounts[0], {"usage": amounts[1]}, amounts[2], {"usage": amounts[3]}])).stages == alone


def test_observations_survive_writing_and_reading():
    history = [{"gpu": 1}, {"usage": {"gpu": 2}, "allocation": {"gpu": 4}, "phase": "rollout", "progress": 0.5, "period": 7}]
    state = state_of(history)
    again = read_state(state.model_dump_json(exclude_unset=True))
    assert again == state
    assert isinstance(history_of(again)[1], Observation)
    assert not isinstance(history_of(again)[0], Observation)


def test_late_samples_are_sorted_and_missing_periods_are_gaps():
    history = [{"usage": {"gpu": 30}, "period": 3}, {"usage": {"gpu": 60}, "period": 6}, {"usage": {"gpu": 40}, "period": 4}]
    (block,) = observe([history_of(state_of(history))], DEFAULT_RESOURCES)
    assert block.quanta[0, :, 0].tolist() == [30, 40, -1, 60]


def test_periods_between_the_last_sample_and_the_planned_one_are_gaps():
    history = [{"usage": {"gpu": 30}, "period": 3}, {"usage": {"gpu": 40}, "period": 4}]
    (block,) = observe([history_of(state_of(history))], DEFAULT_RESOURCES, planned=7)
    assert block.quanta[0, :, 0].tolist() == [30, 40, -1, -1]


def test_an_entry_without_a_period_follows_the_one_before():
    history = [{"gpu": 1}, {"usage": {"gpu": 2}, "period": 5}, {"gpu": 3}]
    (block,) = observe([history_of(state_of(history))], DEFAULT_RESOURCES)
    assert block.quanta[0, :, 0].tolist() == [1, 2, 3]


def test_periods_far_apart_cost_no_memory():
    history = [{"usage": {"gpu": 1}, "period": 0}, {"usage": {"gpu": 2}, "period": (1 << 63) - 1}]
    (block,) = observe([history_of(state_of(history))], DEFAULT_RESOURCES)
    assert block.quanta[0, :, 0].tolist() == [2]


def test_a_watermark_above_the_usage_is_covered():
    history = [{"usage": {"mem": 40}, "watermark": {"mem": 70}}] * 5
    ((_, expected),) = forecast(state_of(history)).stages
    assert expected.need[3] == 70


def test_a_job_follows_its_own_steps():
    levels = {"rollout": 9, "reward": 1, "train": 4}
    plan = [("rollout", 4), ("reward", 1), ("train", 3)]
    places = [(step, phase) for step in range(8) for phase, length in plan for _ in range(length)]
    rng = np.random.default_rng(0)
    usage = [round(levels[phase] * float(rng.uniform(0.97, 1.03)), 3) for _, phase in places]
    history = [{"usage": {"cpu": value}, "step": step, "phase": phase} for value, (step, phase) in zip(usage, places, strict=True)]
    for end in range(41, 56):
        ((_, expected),) = forecast(state_of(history[:end])).stages
        assert expected.demand[2] / 10 == pytest.approx(levels[places[end][1]], rel=0.1, abs=0.15)
        assert expected.method == "auto: own_step"


REFUSED: list[tuple[str, list[Any], str, str]] = [
    ("the same period twice", [{"usage": {}, "period": 3}, {"usage": {}, "period": 3}], "jobs[0].history[1].period", "period 3 is taken by entry 0"),
    ("twice by counting", [{"usage": {}, "period": 3}, {"usage": {}, "period": 2}, {}], "jobs[0].history[2]", "period 3 is taken by entry 0"),
    ("a negative queue", [{"usage": {}, "cpu_queue": -1}], "jobs[0].history[0].cpu_queue", "-1 is not a number from 0"),
    ("progress beyond 1", [{"usage": {}, "progress": 1.5}], "jobs[0].history[0].progress", "1.5 is not a number from 0 to 1"),
    ("a negative step", [{"usage": {}, "step": -1}], "jobs[0].history[0].step", "-1 is not a whole number"),
    ("a negative amount", [{"usage": {"gpu": -1}}], "jobs[0].history[0].usage.gpu", "-1 is negative"),
    ("an unknown resource", [{"usage": {"gpus": 1}}], "jobs[0].history[0].usage.gpus", "unknown resource"),
    ("an unknown allocation", [{"usage": {}, "allocation": {"gpus": 1}}], "jobs[0].history[0].allocation.gpus", "unknown resource"),
    ("an unknown field", [{"usage": {}, "tool_call": 1}], "jobs[0].history[0].tool_call", "did you mean 'tool_calls'?"),
    ("a watermark of cores", [{"usage": {}, "watermark": {"cpu": 1}}], "jobs[0].history[0].watermark.cpu", "is compressible"),
    ("a field beside bare amounts", [{"gpu": 1, "period": 3}], "jobs[0].history[0].period", 'write {"usage": {..}, "period": ..}'),
    ("no amount at all", [{"usage": 3}], "jobs[0].history[0].usage", "belongs beside the amounts"),
]


@pytest.mark.parametrize(("history", "path", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_bad_observation_is_refused_with_its_path(history, path, message):
    faults = faults_of(history)
    assert set(faults) == {path}
    assert message in faults[path]


@pytest.mark.parametrize(
    ("amount", "quantum", "message"),
    [(2.0**63, 1, "not below 2^63"), (1e10, 1e-9, "quanta of 1e-09"), (1 << 70, 1, "not below 2^63"), (4e15, 1e-4, "quanta of 0.0001")],
)
@pytest.mark.parametrize("entry", [lambda amount: {"gpu": amount}, lambda amount: {"usage": {}, "allocation": {"gpu": amount}}])
def test_a_measured_amount_of_more_quanta_than_can_be_counted_is_refused(amount, quantum, message, entry):
    faults = faults_of([entry(amount)], resources=[{"name": "gpu", "quantum": quantum}])
    (path,) = faults
    assert path.startswith("jobs[0].history[0]")
    assert message in faults[path]


def test_an_observation_of_the_planned_period_or_later_is_refused():
    faults = faults_of([{"usage": {}, "period": 4}, {"usage": {}, "period": 5}], period={"index": 5})
    assert faults.keys() == {"jobs[0].history[1].period"}
    assert "not before the planned period 5" in faults["jobs[0].history[1].period"]


def test_every_fault_of_a_history_is_told_at_once():
    history = [{"usage": {"gpu": -1}, "period": 1}, {"usage": {"gpus": 1}, "cpu_queue": -1}, {"usage": {}, "period": 1}]
    assert faults_of(history).keys() == {
        "jobs[0].history[0].usage.gpu",
        "jobs[0].history[1].usage.gpus",
        "jobs[0].history[1].cpu_queue",
        "jobs[0].history[2].period",
    }


def test_the_plan_tells_what_a_forecast_rests_on():
    state = State.model_validate({"jobs": [{"id": "a", "history": [{"mem": 90}] * 3, "max_quota": {"mem": 80}}, {"id": "b", "history": []}]})
    short, nothing = describe(state, forecast(state))
    assert "cut to max_quota" in short.why
    assert "100% of periods" in short.why
    assert nothing.why == "Nothing was measured, so nothing is expected."


def test_options_choose_method_coverage_and_horizon():
    history = [{"cpu": 2 + t % 4, "mem": 100 if t == 5 else 10} for t in range(40)]

    def asked(**options: Any) -> Any:
        ((_, expected),) = forecast(state_of(history, options={"forecast": options})).stages
        return expected

    assert asked(method="seasonal_naive").method == "seasonal_naive"
    assert asked(method="seasonal_naive").demand[2] == 20
    assert asked(method="seasonal_naive", horizon=4).demand[2] == 35
    assert asked(coverage=0.99).need[3] == 110
    assert asked(coverage=0.9).need[3] == 11
