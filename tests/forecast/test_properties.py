"""What holds for every forecast: finite, whole, not negative, each stage by itself, and told exactly."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.domain import DEFAULT_RESOURCES, Resource, State, write
from libra_opt.forecast import describe, forecast

amounts = {
    "gpu": st.one_of(st.none(), st.integers(0, 64), st.floats(0, 64), st.integers(0, (1 << 63) - 1), st.sampled_from(["0", "1500m", "8"])),
    "gpu_mem": st.one_of(st.none(), st.floats(0, 640), st.integers(0, (1 << 63) - 1), st.sampled_from(["80Gi", "123456Ki", "0"])),
    "cpu": st.one_of(st.none(), st.floats(0, 500), st.integers(0, 9 * 10**17), st.sampled_from(["250m", "1k"])),
    "mem": st.one_of(st.none(), st.integers(0, 2048), st.floats(0, 1e15), st.sampled_from(["1Ti", "2Gi"])),
    "net": st.one_of(st.none(), st.floats(0, 100), st.integers(0, 10**12), st.sampled_from(["12G", "1Mi"])),
}
samples = st.fixed_dictionaries({}, optional=amounts)
histories = st.lists(samples, max_size=12)
quotas = st.fixed_dictionaries({}, optional={"mem": st.integers(0, 4096), "gpu_mem": st.integers(0, 640), "gpu": st.integers(0, 64)})
needs = st.none() | st.fixed_dictionaries({}, optional={"mem": st.integers(0, 4096), "gpu_mem": st.integers(0, 640)})
stages = st.fixed_dictionaries({"history": histories, "max_quota": quotas, "need": needs})
jobs = st.lists(stages, max_size=5)


def state_of(stages: list[dict[str, Any]], method: str = "auto") -> State:
    given = [{name: value for name, value in stage.items() if value is not None} for stage in stages]
    return State.model_validate({"jobs": [{"id": f"j{j}", **stage} for j, stage in enumerate(given)], "options": {"forecast": {"method": method}}})


@given(jobs)
def test_forecasts_are_whole_finite_and_not_negative(stages):
    state = state_of(stages)
    ledger = state.ledger
    predicted = forecast(state)
    assert [s for s, _ in predicted.stages] == ledger.uncertain
    for s, expected in predicted.stages:
        assert all(type(quanta) is int and 0 <= quanta < 1 << 63 for quanta in (*expected.demand, *expected.need))
        assert all(type(factor) is float and 0 <= factor <= 4 for factor in expected.intensity)
        assert list(expected.intensity) == sorted(expected.intensity)
        assert all(n <= h for n, h in zip(expected.need, ledger.hi[s], strict=True))
        for r, resource in enumerate(ledger.resources):
            assert (expected.need if resource.compressible else expected.demand)[r] == 0


@given(jobs)
def test_the_last_value_is_a_measured_value_and_need_covers_the_last(stages):
    state = state_of(stages, "last_value")
    for (s, expected), stage in zip(forecast(state).stages, stages, strict=True):
        for r, resource in enumerate(DEFAULT_RESOURCES):
            known = [resource.quanta(sample[resource.name], round_up=True) for sample in stage["history"] if sample.get(resource.name) is not None]
            last = known[-1] if known else 0
            if resource.compressible:
                assert expected.demand[r] == last
            elif resource.name not in (stage["need"] or {}):
                assert min(last, state.ledger.hi[s][r]) <= expected.need[r] <= -(-max(known, default=0) * 11 // 10)


@given(jobs, st.randoms(use_true_random=False))
def test_each_stage_is_forecast_by_itself(stages, random):
    order = list(range(len(stages)))
    random.shuffle(order)
    alone = [expected for _, expected in forecast(state_of(stages)).stages]
    shuffled = [expected for _, expected in forecast(state_of([stages[i] for i in order])).stages]
    assert shuffled == [alone[i] for i in order]


runs = st.tuples(st.sampled_from([None, "rollout", "train"]), st.integers(1, 8), st.sampled_from([0, 0.5, 0.9, 1]), st.integers(1, 30))
observed = st.tuples(st.booleans(), st.lists(runs, min_size=1, max_size=4), st.sampled_from([[], ["train"]]))


def observed_stage(drawn: Any) -> dict[str, Any]:
    """Return a stage whose entries tell what it held, and perhaps its place: runs of a phase, cards held, a share of them used, periods."""
    is_placed, told, waits_in = drawn
    history = []
    for step, (phase, held, share, n) in enumerate(told):
        for t in range(n):
            place = {"phase": phase, "step": step, "progress": (t + 1) / n} if is_placed and phase else {}
            memory = {"gpu_mem": 40 * held + t}
            history.append({"usage": {"gpu": share * held, **memory}, "allocation": {"gpu": held, "gpu_mem": 80 * held}, "watermark": memory, **place})
    return {"history": history, "waits_in": waits_in}


@given(st.lists(observed, min_size=2, max_size=4), st.sampled_from(["whole_history", "own_step"]))
def test_each_observed_stage_is_forecast_by_itself(drawn, need):
    def told(stages: list[dict[str, Any]]) -> list[Any]:
        jobs = [{"id": f"j{j}", **stage} for j, stage in enumerate(stages)]
        return [expected for _, expected in forecast(State.model_validate({"jobs": jobs, "options": {"forecast": {"need": need}}})).stages]

    stages = [observed_stage(each) for each in drawn]
    assert told(stages) == [told([stage])[0] for stage in stages]


def test_how_far_back_free_use_is_looked_for_is_the_stage_s_own_matter():
    long_ago = {"history": [*[{"usage": {"gpu": 6}, "allocation": {"gpu": 8}}] * 10, *[{"usage": {"gpu": 3}, "allocation": {"gpu": 3}}] * 40]}
    placed = observed_stage((True, [("rollout", 2, 0.5, 30), ("train", 2, 1, 20)], []))
    (_, alone), *_ = forecast(state_of([long_ago])).stages
    (_, beside), *_ = forecast(state_of([long_ago, placed])).stages
    assert beside == alone


@given(jobs)
def test_the_same_state_gives_the_same_forecast_and_stays_as_it_is(stages):
    state = state_of(stages)
    before = write(state)
    assert forecast(state) == forecast(state)
    assert write(state) == before


@given(jobs)
def test_what_is_described_parses_back_to_the_same_quanta(stages):
    state = state_of(stages)
    predicted = forecast(state)
    described = describe(state, predicted)
    assert len(described) == len(predicted.stages)
    for told, (s, expected) in zip(described, predicted.stages, strict=True):
        assert (told.job, told.stage, told.method, told.demand_intensity) == (f"j{s}", "main", expected.method, expected.intensity)
        for r, resource in enumerate(state.ledger.resources):
            written, quanta = (told.demand, expected.demand[r]) if resource.compressible else (told.need, expected.need[r])
            assert resource.quanta(written[resource.name], round_up=True) == quanta
            assert resource.quanta(written[resource.name], round_up=False) == quanta


@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(1, (1 << 62) + 1), st.integers(0, 3))
def test_a_constant_is_forecast_exactly_however_long_it_is(n_periods, value, n_gaps):
    history = [{"gpu": value, "mem": value}] * n_periods + [{"gpu": None}] * n_gaps
    ((_, expected),) = forecast(state_of([{"history": history}])).stages
    assert (expected.demand[0], expected.need[3], expected.intensity) == (value, value, ())


def test_only_stages_with_a_history_are_forecast_and_told_by_name():
    history = [{"gpu": 2}]
    stages = [{"name": "rollout", "history": history}, {"name": "train", "demand": {"gpu": 4}}, {"name": "reward", "history": []}]
    state = State.model_validate({"jobs": [{"id": "a", "demand": {"gpu": 1}}, {"id": "b", "stages": stages}, {"id": "c", "history": history}]})
    predicted = forecast(state)
    assert [s for s, _ in predicted.stages] == [1, 3, 4]
    assert [(told.job, told.stage) for told in describe(state, predicted)] == [("b", "rollout"), ("b", "reward"), ("c", "main")]
    assert state.ledger.with_forecast(predicted).demand[1][0] == 2


@pytest.mark.parametrize("resources", [[Resource(name="mem", compressible=False)], [Resource(name="tokens")]])
def test_states_with_other_resources_are_forecast(resources):
    history = [{resource.name: value} for value in (1, 2, 3, 4, 5, 6) for resource in resources]
    state = State.model_validate({"resources": resources, "jobs": [{"id": "a", "history": history}], "options": {"forecast": {"method": "last_value"}}})
    ((_, expected),) = forecast(state).stages
    assert len(expected.demand) == len(expected.need) == len(resources)
    assert len(expected.intensity) == (5 if any(resource.compressible for resource in resources) else 0)


def test_states_without_histories_have_an_empty_forecast():
    state = State()
    assert forecast(state).stages == ()
    assert describe(state, forecast(state)) == ()


def test_blocks_do_not_change_a_forecast(monkeypatch):
    rng = np.random.default_rng(3)
    stages = [{"history": [{"gpu": int(value)} for value in rng.integers(0, 9, size=n)]} for n in rng.integers(0, 20, size=40)]
    state = state_of(stages)
    together = forecast(state)
    monkeypatch.setattr("libra_opt.forecast.observations._CELLS_AT_ONCE", 1)
    assert forecast(state) == together
