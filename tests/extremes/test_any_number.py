"""Whatever numbers a state holds, as small and as large as its fields allow, it has a verified plan, or it is refused with the path and the remedy."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from libra_opt import InputError, allocate, read_plan, read_state, verify, write
from libra_opt.domain import Plan, State
from tests.extremes.drawn import OBJECTIVES, Document, extreme_documents

TWICE = 2 * settings().max_examples
"""Of these states there are 200 in continuous integration, and thousands by night."""


def entered(document: Document) -> State | InputError:
    try:
        return read_state(json.dumps(document))
    except InputError as error:
        return error


def planned_or_refused(document: Document) -> Plan | None:
    """Return the plan of a document, None where it is refused."""
    state = entered(document)
    if isinstance(state, InputError):
        assert all(fault.path and fault.message for fault in state.faults)
        return None
    plan = allocate(state)
    assert [warning for warning in plan.warnings if "our fault" in warning] == []
    assert verify(state, plan).broken == ()
    assert read_plan(write(plan)) == plan
    return plan


@given(extreme_documents())
@settings(max_examples=TWICE, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_state_of_extremes_has_a_verified_plan_or_is_refused(document: Document) -> None:
    planned_or_refused(document)


HUGE = 1 << 62
HERE: Document = {"pool": "p"}


def one(demand: Document, **fields: Any) -> Document:
    return {"id": "a", "demand": demand, **fields}


CASES: dict[str, Document] = {
    "a-move-that-nothing-forces-is-not-made-for-a-part-in-2^62": {
        "pools": [{"name": "p", "capacity": {"gpu": 9}}],
        "jobs": [one({"gpu": HUGE}, allocation={**HERE, "resources": {"cpu": 44.6}})],
        "options": {"preemption_budget_seconds": 0},
    },
    "two-protected-jobs-that-want-all-fit-at-the-least": {
        "pools": [{"name": "p", "capacity": {"gpu": 9}}],
        "jobs": [one({"gpu": HUGE}, id=name, preemptible=False, allocation={**HERE, "resources": {"gpu": 1}}) for name in "ab"],
    },
    "a-stage-that-serves-a-part-in-2^63-holds-another-down-to-one-quantum": {
        "pools": [{"name": "p", "capacity": {"gpu": 9, "cpu": 2**53 + 1}}],
        "jobs": [{"id": "a", "stages": [{"name": "s", "demand": {"gpu": 2**63 - 1}}, {"name": "t", "demand": {"cpu": 2}}]}],
    },
    "memory-that-is-compressible-follows-cores-to-the-last-of-1e9": {
        "resources": [{"name": "gpu_mem", "quantum": 1e-9, "costly": True}, {"name": "cpu"}],
        "pools": [{"name": "p", "capacity": {"gpu_mem": 1, "cpu": 44.6}}],
        "jobs": [{"id": "a", "stages": [{"name": "s", "demand": {"cpu": 9 * 10**18}}, {"name": "t", "demand": {"gpu_mem": 3, "cpu": 0.3}}]}],
    },
    "a-curve-that-begins-above-0-and-hardly-rises": {
        "pools": [{"name": "p", "capacity": {"gpu": 9}}],
        "jobs": [one({"gpu": 10**14}, curve=[[0, 0.3], [1e6, 1]], preemptible=False, allocation={**HERE, "resources": {"gpu": 3}}), one({"gpu": 9}, id="b")],
        "options": {"preemption_budget_seconds": 0},
    },
    "cards-carry-2^62-of-memory-exactly": {
        "pools": [{"name": "p", "capacity": {"gpu": HUGE - 1, "gpu_mem": HUGE}, "card_mem": 3}],
        "jobs": [one({"gpu": 1, "gpu_mem": HUGE})],
    },
    "a-unit-is-owed-however-little-is-wanted": {
        "pools": [{"name": "p", "capacity": {}}, {"name": "r", "capacity": {"gpu": 1}}],
        "queues": [{"name": "q", "nominal_quota": {"gpu": 9}}],
        "jobs": [one({"gpu": 1}, queue="q", demand_intensity=[1e-9, 1e-9]), one({"gpu": 1}, id="b", weight=1e9)],
    },
    "guarantees-are-counted-in-quanta-where-rows-are-coarse": {
        "resources": [{"name": "gpu"}, {"name": "cpu"}],
        "pools": [{"name": "p", "capacity": {"cpu": 2**53 - 1}}, {"name": "r", "capacity": {"cpu": 44}}],
        "queues": [{"name": "q", "nominal_quota": {"cpu": 2}}],
        "jobs": [one({"gpu": 10**15, "cpu": 9 * 10**18}, queue="q", min_quota={"cpu": 1})],
    },
    "a-protected-job-runs-beside-one-of-1e17-times-its-worth": {
        "pools": [{"name": "p", "capacity": {"gpu": 44}}, {"name": "r", "capacity": {}}],
        "jobs": [
            {
                "id": "a",
                "preemptible": False,
                "profile": [{**HERE, "resources": {"gpu": 1}, "rate": 1}],
                "allocation": {"pool": "r", "resources": {"cpu": 2}},
            },
            one({"gpu": 3 * 10**17, "gpu_mem": 1}, id="b", preemptible=False, allocation={"pool": "r", "resources": {"cpu": 1}}),
        ],
        "options": {"effort": 0},
    },
    "spare-stays-below-a-ceiling-of-2^57-to-the-last-quantum": {
        "resources": [{"name": "cpu"}, {"name": "net"}],
        "pools": [{"name": "p", "capacity": {"cpu": 2520674219496515697, "net": 2**39}}],
        "queues": [{"name": "q", "nominal_quota": {"cpu": 2**57}, "borrowing_limit": {"cpu": 0}}],
        "jobs": [one({"cpu": 1171806844305, "net": 2**40}, queue="q", demand_intensity=[1e6])],
    },
    "a-profile-serves-a-part-in-1e24": {
        "pools": [{"name": "p", "capacity": {"gpu": 9}}],
        "jobs": [{"id": "a", "profile": [{**HERE, "resources": {"gpu": n}, "rate": rate} for n, rate in ((1, 1e-9), (2, 400), (3, 1))], "full_rate": 1e15}],
    },
    "a-forecast-of-later-periods-that-are-not-planned": {
        "pools": [{"name": "p", "capacity": {"gpu": 9}}],
        "jobs": [{"id": "a", "history": [{"gpu": 2**53 + 1}, {"gpu": 3}]}],
        "options": {"lookahead": 3, "effort": 0},
    },
}


@pytest.mark.parametrize("name", CASES)
def test_an_extreme_state_has_a_verified_plan(name: str) -> None:
    document = CASES[name]
    for job in document["jobs"]:
        job |= {"submitted": 0, "remaining": 60, "deadline": 600}
    options = document.get("options", {})
    for objective in [options["objective"]] if "objective" in options else OBJECTIVES:
        told = {**options, "objective": objective} | ({"lookahead": 1} if objective != "weighted_throughput" else {})
        assert planned_or_refused({**document, "options": told}) is not None, objective


def test_services_too_small_to_be_told_apart_are_refused() -> None:
    document = {"pools": [{"name": "p", "capacity": {"gpu": 9}}], "jobs": [one({"gpu": 1 << 42}, curve=[[1, 5e-324]])]}
    with pytest.raises(InputError, match=r"curve\[0\]\[1\]"):
        read_state(json.dumps(document))


def test_the_least_move_is_kept_from_a_job_that_gains_nothing_to_speak_of() -> None:
    plan = planned_or_refused(CASES["a-move-that-nothing-forces-is-not-made-for-a-part-in-2^62"])
    assert plan is not None
    assert plan.certificate.tiers[1].objective == 0


def test_a_service_that_bends_more_often_than_can_be_looked_at_is_refused() -> None:
    points = [[i / 1000, (i / 1000) ** 0.5] for i in range(1000)]
    document = {"pools": [{"name": "p", "capacity": {"gpu": 9}}], "jobs": [one({"gpu": 4}, curve=points, demand_intensity=[1 + i for i in range(11)])]}
    with pytest.raises(InputError, match=r"curve: 1000 points times 11 intensities"):
        read_state(json.dumps(document))
