"""Plans for stages with profiles (R15): what is no entry, or states another service than its entry's, is rejected."""

import json
from typing import Any

import pytest

from libra_opt import Plan, allocate, verify
from libra_opt.domain import State, read_state

PROFILE = [
    {"pool": "a", "resources": {"gpu": 1}, "rate": 1},
    {"pool": "a", "resources": {"gpu": 2}, "rate": 3},
    {"pool": "a", "resources": {"gpu": 4}, "rate": 2},
    {"pool": "b", "resources": {"gpu": 3}, "rate": 4},
]


def state(gpus: int = 3, **fields: Any) -> State:
    pools = [{"name": "a", "capacity": {"gpu": gpus, "gpu_mem": 64, "cpu": 8}}, {"name": "b", "capacity": {"gpu": 2}}]
    return read_state(json.dumps({"pools": pools, "jobs": [{"id": "x", "profile": PROFILE, "need": {"gpu_mem": 8}, **fields}], "options": {"gap": 0}}))


def test_the_best_entry_that_fits_is_held_exactly_and_what_it_does_not_list_follows_the_need() -> None:
    plan = allocate(state())
    assert plan.jobs[0].service == pytest.approx(3 / 4)
    assert dict(plan.jobs[0].stages[0].resources) == {"gpu": 2, "gpu_mem": "8Gi", "cpu": 0, "mem": 0, "net": 0}
    assert plan.certificate.status == "optimal"


def test_a_larger_and_slower_entry_is_never_taken_for_itself() -> None:
    assert dict(allocate(state(gpus=4)).jobs[0].stages[0].resources)["gpu"] == 2


def test_what_is_not_listed_may_be_kept_where_changing_it_costs() -> None:
    held = {"pool": "a", "resources": {"gpu": 2, "gpu_mem": 40}}
    job = allocate(state(allocation=held)).jobs[0]
    assert (job.action, dict(job.stages[0].resources)["gpu_mem"]) == ("keep", "40Gi")


def test_an_allocation_that_is_no_entry_cannot_be_kept() -> None:
    job = allocate(state(allocation={"pool": "a", "resources": {"gpu": 3, "gpu_mem": 8}})).jobs[0]
    assert (job.action, dict(job.stages[0].resources)["gpu"]) == ("shrink", 2)


def test_a_job_whose_entries_fit_nowhere_waits_and_is_told_so() -> None:
    job = allocate(state(gpus=0)).jobs[0]
    assert job.action == "queue"
    assert (job.reason.code, "no entry of its profile" in job.reason.message) == ("never_fits", True)


def test_a_protected_job_with_a_profile_keeps_running_on_an_entry_that_fits() -> None:
    job = allocate(state(gpus=1, preemptible=False, allocation={"pool": "a", "resources": {"gpu": 2, "gpu_mem": 8}})).jobs[0]
    assert (job.action, dict(job.stages[0].resources)["gpu"]) == ("shrink", 1)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"resources": {"gpu": 3, "gpu_mem": "8Gi"}}, "R15"),
        ({"resources": {"gpu": 0, "gpu_mem": "8Gi"}}, "R15"),
        ({"pool": "b"}, "R15"),
        ({"resources": {"gpu": 1, "gpu_mem": "8Gi"}}, "R6"),
        ({"resources": {"gpu": 2, "gpu_mem": "9Gi"}}, "R14"),
        ({"resources": {"gpu": 2, "gpu_mem": "8Gi", "cpu": 1}}, "R14"),
        ({"resources": {"gpu": 2, "gpu_mem": "7Gi"}}, "R5"),
    ],
)
def test_a_plan_damaged_in_one_place_is_rejected(changes: dict[str, Any], rule: str) -> None:
    asked = state()
    document = json.loads(allocate(asked).model_dump_json())
    document["jobs"][0]["stages"][0] |= changes
    broken = verify(asked, Plan.model_validate_json(json.dumps(document))).broken
    assert rule in {fault.rule for fault in broken}


def test_stages_with_and_without_a_profile_go_at_the_pace_of_the_slower() -> None:
    entries = [{"pool": "a", "resources": {"gpu": n}, "rate": rate} for n, rate in ((1, 1), (2, 4))]
    stages = [{"name": "rollout", "demand": {"gpu": 4}}, {"name": "train", "profile": entries}]
    document = {"pools": [{"name": "a", "capacity": {"gpu": 4}}], "jobs": [{"id": "x", "stages": stages}], "options": {"gap": 0}}
    job = allocate(read_state(json.dumps(document))).jobs[0]
    assert [dict(stage.resources)["gpu"] for stage in job.stages] == [2, 2]
    assert job.service == pytest.approx(0.5)
