"""What a plan must look like to answer its state: jobs, stages, amounts, actions, forecasts and the digest."""

from typing import Any

import pytest

from libra_opt.domain import State
from libra_opt.verification import verify

Document = dict[str, Any]
POOLS = [{"name": "p", "capacity": {"gpu": 8, "cpu": 64, "mem": 512}}, {"name": "q", "capacity": {"gpu": 8}}]


def planned(name: str, action: str, service: float, **resources: Any) -> Document:
    return {"id": name, "action": action, "service": service, "stages": [{"name": "main", "pool": "p", "resources": resources}] if resources else []}


@pytest.fixture
def state() -> State:
    return State.model_validate({"pools": POOLS, "jobs": [{"id": "a", "demand": {"gpu": 2}}, {"id": "b", "demand": {"gpu": 2}}]})


def rejected(state: State, plan: Any) -> list[tuple[str, str]]:
    return [(broken.rule, broken.where) for broken in verify(state, plan).broken]


def test_order_of_jobs_does_not_matter(state: State, answer: Any) -> None:
    assert rejected(state, answer(state, [planned("b", "queue", 0.0), planned("a", "admit", 1.0, gpu=2)], 2.0)) == []


def test_empty_state_has_an_empty_plan(answer: Any) -> None:
    state = State.model_validate({})
    assert rejected(state, answer(state, [], 0.0)) == []


@pytest.mark.parametrize(
    ("jobs", "where"),
    [
        ([planned("a", "queue", 0.0)], "jobs"),
        ([planned("a", "queue", 0.0), planned("b", "queue", 0.0), planned("c", "queue", 0.0)], "jobs[2].id"),
        ([planned("a", "queue", 0.0), planned("b", "queue", 0.0), planned("b", "queue", 0.0)], "jobs[2].id"),
        ([planned("a", "queue", 0.0), planned("b", "admit", 0.0)], "jobs[1].action"),
    ],
    ids=["missing", "unknown", "twice", "action"],
)
def test_jobs_must_be_those_of_the_state(state: State, answer: Any, jobs: list[Document], where: str) -> None:
    assert rejected(state, answer(state, jobs, 0.0)) == [("format", where)]


@pytest.mark.parametrize("names", [["other"], ["main", "main"]])
def test_stages_must_be_those_of_the_job(state: State, answer: Any, names: list[str]) -> None:
    stages = [{"name": name, "pool": "p", "resources": {"gpu": 2}} for name in names]
    jobs = [planned("a", "queue", 0.0), {"id": "b", "action": "admit", "service": 1.0, "stages": stages}]
    assert ("format", f"jobs[1].stages[{len(names) - 1}].name") in rejected(state, answer(state, jobs, 2.0))


@pytest.mark.parametrize("resources", [{"gpu": 2, "tpu": 1}, {"gpu": "two"}], ids=["unknown resource", "unparsable"])
def test_amounts_must_be_readable(state: State, answer: Any, resources: Document) -> None:
    jobs = [planned("a", "queue", 0.0), planned("b", "admit", 1.0, **resources)]
    name = list(resources)[-1]
    assert rejected(state, answer(state, jobs, 2.0)) == [("format", f"jobs[1].stages[0].resources.{name}")]


def test_plan_of_another_state_is_rejected(state: State, answer: Any) -> None:
    jobs = [planned("a", "queue", 0.0), planned("b", "queue", 0.0)]
    assert rejected(state, answer(state, jobs, 0.0, state_digest="sha256:00")) == [("format", "state_digest")]
    assert rejected(state, answer(state, jobs, 0.0, period={"index": 3, "seconds": 60})) == [("format", "period")]


@pytest.mark.parametrize(
    ("held", "action"),
    [
        ({"gpu": 2, "cpu": 4}, "keep"),
        ({"gpu": 2, "cpu": 5}, "shrink"),
        ({"gpu": 2, "cpu": 3}, "grow"),
        ({"gpu": 3, "cpu": 3}, "reshape"),
    ],
)
def test_action_compares_with_what_is_held(answer: Any, held: Document, action: str) -> None:
    job = {"id": "a", "demand": {"gpu": 2, "cpu": 4}, "preemption_cost": {"resize_seconds": 0}, "allocation": {"pool": "p", "resources": held}}
    state = State.model_validate({"pools": POOLS, "jobs": [job]})
    assert rejected(state, answer(state, [planned("a", action, 1.0, gpu=2, cpu=4)], 2.0)) == []
    assert rejected(state, answer(state, [planned("a", "migrate", 1.0, gpu=2, cpu=4)], 2.0)) == [("format", "jobs[0].action")]


def test_stage_that_held_nothing_counts_from_zero_and_starts_free(answer: Any) -> None:
    stages = [{"name": "x", "demand": {"gpu": 2}, "allocation": {"pool": "p", "resources": {"gpu": 2}}}, {"name": "y", "demand": {"gpu": 1}}]
    state = State.model_validate({"pools": POOLS, "jobs": [{"id": "a", "stages": stages}]})
    placed = [{"name": "x", "pool": "p", "resources": {"gpu": 2}}, {"name": "y", "pool": "q", "resources": {"gpu": 1}}]
    assert rejected(state, answer(state, [{"id": "a", "action": "grow", "service": 1.0, "stages": placed}], 3.0)) == []


def test_allocation_that_breaks_todays_quota_is_resized_and_not_kept(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 4}, "max_quota": {"gpu": 2}, "allocation": {"pool": "p", "resources": {"gpu": 4}}}
    state = State.model_validate({"pools": POOLS, "jobs": [job], "options": {"preemption_budget_seconds": 0}})
    jobs = [planned("a", "shrink", 0.5, gpu=2)]
    assert rejected(state, answer(state, jobs, 2 - 0.5, tiers={"over_budget_seconds": 15})) == []
    assert ("R3", "jobs[0].stages[0].resources.gpu") in rejected(state, answer(state, [planned("a", "keep", 1.0, gpu=4)], 4.0))


def test_idle_job_and_worthless_job_are_served(answer: Any) -> None:
    jobs = [{"id": "a", "demand": {"mem": 128}}, {"id": "b", "demand": {"gpu": 1}, "weight": 0}, {"id": "c"}]
    state = State.model_validate({"pools": POOLS, "jobs": jobs})
    plan = answer(state, [planned("a", "admit", 1.0, mem=128), planned("b", "admit", 1.0, gpu=1), planned("c", "admit", 1.0, gpu=0)], 0.25 * 16)
    assert rejected(state, plan) == []


@pytest.fixture
def with_history() -> State:
    return State.model_validate({"pools": POOLS, "jobs": [{"id": "a", "history": [{"gpu": 3, "mem": 9}]}]})


def forecast(**changes: Any) -> Document:
    return {"job": "a", "stage": "main", "method": "test", "demand": {"gpu": 4}, "demand_intensity": [1, 2], "need": {"mem": 10}, **changes}


def test_forecast_takes_the_place_of_the_demand(with_history: State, answer: Any) -> None:
    jobs = [planned("a", "admit", 0.75, gpu=4, mem=10)]
    assert rejected(with_history, answer(with_history, jobs, 3.0, forecast=[forecast()])) == []


@pytest.mark.parametrize(
    ("entries", "where"),
    [
        ([], "forecast"),
        ([forecast(), forecast()], "forecast[1]"),
        ([forecast(), forecast(job="b")], "forecast[1]"),
        ([forecast(demand={"gpu": 3.5})], "forecast[0].demand.gpu"),
        ([forecast(demand={"mem": 3})], "forecast[0].demand.mem"),
        ([forecast(need={"gpu": 3})], "forecast[0].need.gpu"),
    ],
    ids=["missing", "twice", "unasked", "fraction", "demand of memory", "need of cards"],
)
def test_forecast_must_be_there_and_whole(with_history: State, answer: Any, entries: list[Document], where: str) -> None:
    jobs = [planned("a", "admit", 0.75, gpu=4, mem=10)]
    assert rejected(with_history, answer(with_history, jobs, 3.0, forecast=entries)) == [("format", where)]


def test_forecast_that_nobody_asked_for_is_refused(state: State, answer: Any) -> None:
    jobs = [planned("a", "queue", 0.0), planned("b", "queue", 0.0)]
    assert rejected(state, answer(state, jobs, 0.0, forecast=[forecast()])) == [("format", "forecast[0]")]
