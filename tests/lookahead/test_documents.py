"""What a state tells of later periods, what a plan says of them, and that nothing false about them passes the verifier."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from libra_opt import allocate
from libra_opt.domain import Plan, State, read_plan, read_state, write
from libra_opt.errors import InputError
from libra_opt.verification import verify

Edit = Callable[[dict[str, Any]], None]


def _document(lookahead: int = 3, **options: Any) -> dict[str, Any]:
    jobs = [
        {"id": "a", "min_quota": {"gpu": 1}, "demand": {"gpu": 4, "gpu_mem": 80}, "demand_ahead": [{"gpu": 8, "gpu_mem": 160}]},
        {"id": "b", "min_quota": {"gpu": 2}, "demand": {"gpu": 4}, "demand_ahead": [{"gpu": 4}, {"gpu": 2}], "remaining": 90},
        {"id": "c", "preemptible": False, "min_quota": {"gpu": 2}, "demand": {"gpu": 2}, "allocation": {"pool": "p", "resources": {"gpu": 2}}},
    ]
    return {"pools": [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 640}}], "jobs": jobs, "options": {"lookahead": lookahead, **options}}


@pytest.fixture(scope="module")
def answered() -> tuple[State, Plan]:
    state = State.model_validate(_document())
    return state, allocate(state)


def test_a_plan_says_what_is_to_be_held_later(answered: tuple[State, Plan]) -> None:
    state, plan = answered
    assert verify(state, plan).holds
    assert [period.index for period in plan.ahead] == [1, 2]
    assert read_plan(write(plan)) == plan
    horizon = plan.certificate.horizon
    assert horizon is not None
    assert horizon.periods == 3


def test_the_same_state_gives_the_same_bytes(answered: tuple[State, Plan]) -> None:
    assert write(allocate(State.model_validate(_document()))) == write(answered[1])


def test_nothing_of_it_is_written_where_nobody_looks_ahead() -> None:
    document = _document(1)
    told = write(allocate(State.model_validate(document)))
    for job in document["jobs"]:
        job.pop("demand_ahead", None)
    plain = write(allocate(State.model_validate(document)))
    assert "ahead" not in told
    assert "horizon" not in told
    assert {**json.loads(told), "state_digest": ""} == {**json.loads(plain), "state_digest": ""}


def test_without_effort_one_period_is_planned_and_the_plan_says_so() -> None:
    plan = allocate(State.model_validate(_document(3, effort=0)))
    assert plan.ahead == ()
    assert plan.certificate.horizon is None
    assert "1 of 3 periods" in " ".join(plan.warnings)


def test_the_need_of_a_later_period_is_met_then() -> None:
    plan = allocate(State.model_validate(_document()))
    memory = [job.stages[0].resources["gpu_mem"] for period in plan.ahead for job in period.jobs if job.id == "a"]
    assert memory == ["160Gi", "160Gi"]


def test_a_history_is_forecast_for_every_period() -> None:
    document = _document(4)
    document["jobs"][0] = {"id": "a", "min_quota": {"gpu": 1}, "history": [{"gpu": 2 + 4 * (t % 4 == 3)} for t in range(40)]}
    state = State.model_validate(document)
    plan = allocate(state)
    assert verify(state, plan).holds
    (told,) = plan.forecast
    demands = [told.demand["gpu"], *(later.demand["gpu"] for later in told.ahead)]
    assert demands == [2, 2, 2, 6]


FAULTS: dict[str, tuple[Edit, str]] = {
    "beside a history": (lambda job: job.update(history=[{"gpu": 1}], demand=None) or job.pop("demand"), "jobs[0].demand_ahead"),
    "without a demand": (lambda job: job.pop("demand"), "jobs[0].demand_ahead"),
    "an unknown resource": (lambda job: job["demand_ahead"].append({"tpu": 1}), "jobs[0].demand_ahead[1].tpu"),
    "too many": (lambda job: job.update(demand_ahead=[{"gpu": 1}] * 64), "jobs[0].demand_ahead"),
    "negative": (lambda job: job.update(demand_ahead=[{"gpu": -1}]), "jobs[0].demand_ahead[0].gpu"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_told_of_later_periods_is_refused_where_it_makes_no_sense(fault: str) -> None:
    edit, where = FAULTS[fault]
    document = _document()
    edit(document["jobs"][0])
    with pytest.raises(InputError) as refused:
        read_state(json.dumps(document))
    assert [found.path for found in refused.value.faults] == [where]


@pytest.mark.parametrize("lookahead", [0, 65, 1.5])
def test_a_lookahead_is_a_whole_number_from_1_to_64(lookahead: float) -> None:
    with pytest.raises(InputError):
        read_state(json.dumps({"options": {"lookahead": lookahead}}))


@pytest.mark.parametrize("jobs", ["[]", '[{"id": "a"}]'], ids=["nothing to plan", "nothing to share"])
def test_a_state_with_nothing_in_it_has_a_plan(jobs: str) -> None:
    state = read_state(f'{{"jobs": {jobs}, "options": {{"lookahead": 2}}}}')
    plan = allocate(state)
    assert plan.certificate.status == "optimal"
    assert verify(state, plan).holds
