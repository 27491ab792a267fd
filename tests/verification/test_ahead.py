"""What a plan says of later periods: nothing false about it passes."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from libra_opt import allocate
from libra_opt.domain import Plan, State, read_plan, write
from libra_opt.verification import verify

Edit = Callable[[dict[str, Any]], None]


def _document() -> dict[str, Any]:
    jobs = [
        {"id": "a", "min_quota": {"gpu": 1}, "demand": {"gpu": 4, "gpu_mem": 80}, "demand_ahead": [{"gpu": 8, "gpu_mem": 160}]},
        {"id": "b", "min_quota": {"gpu": 2}, "demand": {"gpu": 4}, "demand_ahead": [{"gpu": 4}, {"gpu": 2}], "remaining": 90},
        {"id": "c", "preemptible": False, "min_quota": {"gpu": 2}, "demand": {"gpu": 2}, "allocation": {"pool": "p", "resources": {"gpu": 2}}},
    ]
    return {"pools": [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 640}}], "jobs": jobs, "options": {"lookahead": 3}}


@pytest.fixture(scope="module")
def answered() -> tuple[State, Plan]:
    state = State.model_validate(_document())
    return state, allocate(state)


def test_what_is_so_holds(answered: tuple[State, Plan]) -> None:
    assert verify(*answered).broken == ()


def _ahead(edit: Edit) -> Edit:
    return lambda plan: edit(plan["ahead"][0])


DAMAGES: dict[str, Edit] = {
    "R1": _ahead(lambda period: period["jobs"][0]["stages"][0]["resources"].update(gpu=9)),
    "R2": _ahead(lambda period: period["jobs"][-1]["stages"][0]["resources"].update(gpu=1)),
    "R4": _ahead(lambda period: period["jobs"][0]["stages"][0].update(pool="q")),
    "R5": _ahead(lambda period: period["jobs"][0]["stages"][0]["resources"].update(gpu_mem=1)),
    "R6": _ahead(lambda period: period["jobs"][0].update(service=0.25)),
    "R8": _ahead(lambda period: period["jobs"][0]["stages"][0]["resources"].update(gpu=1.5)),
    "format": _ahead(lambda period: period.update(index=7)),
    "objective": lambda plan: plan["certificate"]["horizon"].update(objective=plan["certificate"]["horizon"]["objective"] + 1),
}


@pytest.mark.parametrize("rule", DAMAGES)
def test_what_is_not_so_in_a_later_period_is_found(rule: str, answered: tuple[State, Plan]) -> None:
    state, plan = answered
    document = json.loads(write(plan))
    DAMAGES[rule](document)
    broken = verify(state, read_plan(json.dumps(document))).broken
    assert rule in {fault.rule for fault in broken}
    assert all(fault.where.startswith(("ahead[0].", "certificate.horizon")) for fault in broken if fault.rule == rule)


FORGED: dict[str, Edit] = {
    "certificate.horizon.periods": lambda plan: plan["ahead"].pop(),
    "certificate.horizon.discount": lambda plan: plan["certificate"]["horizon"].update(discount=0.5),
    "certificate.horizon.bound": lambda plan: plan["certificate"]["horizon"].update(bound=0),
    "certificate.horizon.gap": lambda plan: plan["certificate"]["horizon"].update(gap=0.5),
    "ahead": lambda plan: plan["certificate"].update(horizon=None),
    "ahead[1].jobs": lambda plan: plan["ahead"][1]["jobs"].append({**plan["ahead"][0]["jobs"][0], "id": "zzz"}),
}


@pytest.mark.parametrize("where", FORGED)
def test_a_forged_horizon_is_found(where: str, answered: tuple[State, Plan]) -> None:
    state, plan = answered
    document = json.loads(write(plan))
    FORGED[where](document)
    assert any(fault.where.startswith(where) for fault in verify(state, read_plan(json.dumps(document))).broken)


def test_a_job_that_has_finished_holds_nothing_later(answered: tuple[State, Plan]) -> None:
    document = _document()
    document["jobs"][1]["remaining"] = 1
    short = State.model_validate(document)
    plan = answered[1].replace({"state_digest": short.digest})
    assert "b" in {job.id for job in plan.jobs if job.stages}
    assert "b" in {job.id for job in plan.ahead[0].jobs}
    messages = [str(fault) for fault in verify(short, plan).broken]
    assert any("has finished before" in message for message in messages)


def test_a_plan_of_one_period_may_not_speak_of_others(answered: tuple[State, Plan]) -> None:
    state, plan = answered
    alone = state.replace({"options": state.options.replace({"lookahead": 1})})
    assert any(fault.where == "certificate.horizon.periods" for fault in verify(alone, plan.replace({"state_digest": alone.digest})).broken)
