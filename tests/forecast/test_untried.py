"""A stage before a phase it waits for that it never was in: taken to use what it may have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt import allocate
from libra_opt.domain import State
from libra_opt.forecast import forecast

GPU, MEM, CPU = 0, 1, 2
RESOURCES = [{"name": "gpu"}, {"name": "gpu_mem", "unit": "GiB", "compressible": False}, {"name": "cpu"}]
MOST = {"gpu": 8, "gpu_mem": 640, "cpu": 32}

Entry = dict[str, Any]


def entry(phase: str, progress: float | None, step: int = 0, **usage: float) -> Entry:
    place = {} if progress is None else {"progress": progress}
    return {"usage": usage, "allocation": {"gpu": 2, "gpu_mem": 160, "cpu": 4}, "step": step, "phase": phase, **place}


def rollout(step: int = 0) -> list[Entry]:
    return [entry("rollout", done / 5, step, gpu=1, gpu_mem=30, cpu=2) for done in range(1, 6)]


DOOR = entry("train", 0.0, gpu=0.4, gpu_mem=30, cpu=1)
WAITS = entry("train", 0.0)
SILENT: Entry = {"usage": {}}


def job(history: list[Entry], **stage: Any) -> Entry:
    return {"id": "a", "history": history, "max_quota": MOST, "waits_in": ["train"], "need": {"gpu_mem": 600}, **stage}


def state_of(*jobs: Entry, **options: Any) -> State:
    pool = {"name": "p", "capacity": {"gpu": 8, "gpu_mem": 640, "cpu": 64}}
    return State.model_validate({"resources": RESOURCES, "pools": [pool], "jobs": jobs, "options": options})


def told(history: list[Entry], options: Entry | None = None, **stage: Any):
    ((_, found),) = forecast(state_of(job(history, **stage), **(options or {}))).stages
    return found


@pytest.mark.parametrize("method", ["auto", "own_step", "ewma", "last_value"])
@pytest.mark.parametrize("door", [[DOOR], [DOOR, WAITS], [WAITS, WAITS, WAITS], [DOOR, SILENT]])
def test_before_the_first_time_of_a_phase_it_waits_for_a_stage_can_use_all_it_may_have(method, door):
    found = told([*rollout(), *door], {"forecast": {"method": method}})
    assert (found.demand[GPU], found.demand[CPU]) == (8, 32)
    assert found.intensity == ()
    assert "nothing was ever measured" in found.why


@pytest.mark.parametrize(
    ("history", "stage"),
    [
        pytest.param([*rollout(), DOOR], {"waits_in": []}, id="waits for nothing"),
        pytest.param([*rollout(), DOOR], {"waits_in": ["evaluate"]}, id="waits elsewhere"),
        pytest.param([*rollout(), entry("train", 0.2, gpu=0.4, cpu=1)], {}, id="has begun it"),
        pytest.param([*rollout(), entry("train", 0.2)], {}, id="has begun it and was not measured"),
        pytest.param([*rollout(), entry("train", None, gpu=0.4, cpu=1)], {}, id="tells no progress"),
        pytest.param([*rollout(), DOOR, entry("train", 0.5, gpu=4, cpu=8), *rollout(1), DOOR | {"step": 1}], {}, id="was in it before"),
        pytest.param(rollout(), {}, id="is not there yet"),
    ],
)
def test_elsewhere_a_stage_is_told_by_what_it_used(history, stage):
    assert told(history, **stage).demand[GPU] < 8
    assert "nothing was ever measured" not in told(history, **stage).why


def test_a_maximum_that_is_not_stated_says_nothing():
    found, without = told([*rollout(), DOOR], max_quota={"cpu": 32}), told([*rollout(), DOOR], max_quota={})
    assert (found.demand[CPU], found.demand[GPU]) == (32, without.demand[GPU])
    assert without.demand[GPU] <= 2
    assert "nothing was ever measured" not in without.why


@pytest.mark.parametrize("most", [9, 10**6, 2**62])
def test_a_maximum_beyond_what_there_is_is_no_demand(most):
    assert told([*rollout(), DOOR], max_quota={**MOST, "gpu": most}).demand[GPU] == 8
    first = {**job([*rollout(), DOOR], max_quota={**MOST, "gpu": most}), "allocation": {"pool": "p", "resources": {"gpu": 2, "gpu_mem": 160, "cpu": 4}}}
    (planned,) = allocate(state_of(first)).jobs
    assert planned.stages[0].resources["gpu"] == 8


def test_where_a_cluster_has_none_of_a_resource_it_is_foretold_as_before():
    bare = {"pools": [{"name": "p", "capacity": {"gpu": 8}}], "resources": RESOURCES, "jobs": [job([*rollout(), DOOR])]}
    ((_, found),) = forecast(State.model_validate(bare)).stages
    assert (found.demand[GPU], found.demand[CPU]) == (8, told([*rollout(), DOOR], max_quota={}).demand[CPU])


def test_without_a_pool_all_is_foretold_as_before():
    ((_, found),) = forecast(State.model_validate({"resources": RESOURCES, "jobs": [job([*rollout(), DOOR])]})).stages
    assert found.demand[GPU] == told([*rollout(), DOOR], max_quota={}).demand[GPU] < 8


def test_later_periods_are_told_alike():
    found = told([*rollout(), DOOR], {"lookahead": 3})
    assert [demand[GPU] for demand, _ in found.ahead] == [8, 8]


def test_memory_is_covered_as_before():
    assert told([*rollout(), DOOR], need=None).need[MEM] == told([*rollout(), DOOR], need=None, max_quota={"gpu_mem": 640}).need[MEM]


def test_a_job_that_is_to_train_for_the_first_time_is_not_stopped_for_one_that_rolls_out():
    first = {**job([*rollout(), DOOR]), "id": "first", "allocation": {"pool": "p", "resources": {"gpu": 2, "gpu_mem": 160, "cpu": 4}}}
    other = {
        "id": "other",
        "demand": {"gpu": 6, "cpu": 4},
        "need": {"gpu_mem": 80},
        "min_quota": {"gpu": 1},
        "allocation": {"pool": "p", "resources": {"gpu": 6, "gpu_mem": 480, "cpu": 4}},
    }
    plan = allocate(state_of(first, other))
    assert {each.id: bool(each.stages) for each in plan.jobs} == {"first": True, "other": False}


Place = tuple[str, float, float]

PLACES = st.tuples(st.sampled_from(["rollout", "train", "sync"]), st.sampled_from([0.0, 0.3, 1.0]), st.floats(0, 8))
NEVER_IN_TRAIN = PLACES.filter(lambda place: place[0] != "train" or place[1] == 0)
IN_TRAIN = st.tuples(st.just("train"), st.sampled_from([0.3, 1.0]), st.floats(0, 8))
AT_THE_DOOR = st.tuples(st.just("train"), st.just(0.0), st.floats(0, 8))


def found_after(places: list[Place]):
    return told([entry(phase, done, step=t, gpu=gpu, gpu_mem=1, cpu=gpu) for t, (phase, done, gpu) in enumerate(places)], waits_in=["train", "sync"])


@given(before=st.lists(NEVER_IN_TRAIN, max_size=7), last=AT_THE_DOOR)
def test_whatever_came_before_an_untried_phase_all_of_the_maximum_is_told_for_sure(before, last):
    found = found_after([*before, last])
    assert "nothing was ever measured" in found.why
    assert (found.demand[GPU], found.demand[CPU], found.intensity) == (8, 32, ())


@given(before=st.lists(PLACES, max_size=3), once=IN_TRAIN, since=st.lists(PLACES, max_size=3), last=AT_THE_DOOR)
def test_whatever_else_came_a_phase_that_was_measured_once_is_told_by_that(before, once, since, last):
    assert "nothing was ever measured" not in found_after([*before, once, *since, last]).why


@given(before=st.lists(PLACES, max_size=7), last=PLACES.filter(lambda place: place[0] == "rollout" or place[1] > 0))
def test_within_a_phase_or_where_it_waits_for_nothing_a_stage_is_told_by_what_it_used(before, last):
    assert "nothing was ever measured" not in found_after([*before, last]).why
