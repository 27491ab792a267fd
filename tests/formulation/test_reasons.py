"""Reasons name the limits that stand in a job's way, and no others."""

from typing import Any

from libra_opt import State, allocate
from libra_opt.domain import read_plan, write

POOLS = [{"name": name, "capacity": {"gpu": 8, "gpu_mem": 400}} for name in ("a", "b")]
HOLDS = {
    "id": "holds",
    "queue": "q",
    "preemptible": False,
    "min_quota": {"gpu": 2},
    "max_quota": {"gpu": 2, "gpu_mem": 40},
    "demand": {"gpu": 2, "gpu_mem": 40},
    "allocation": {"pool": "a", "resources": {"gpu": 2, "gpu_mem": 40}},
}


def reason(asks: dict[str, Any], most: dict[str, int]) -> tuple[str, str]:
    """Return code and message for a job that waits beside one that holds 2 cards and 40 GiB of a queue with these ceilings."""
    queue = {"name": "q", "nominal_quota": most, "borrowing_limit": dict.fromkeys(most, 0)}
    plan = allocate(State.model_validate({"pools": POOLS, "queues": [queue], "jobs": [HOLDS, {"id": "waits", "queue": "q", **asks}]}))
    assert [job.action for job in plan.jobs] == ["keep", "queue"]
    return plan.jobs[1].reason.code, plan.jobs[1].reason.message


def test_ceiling_that_one_pool_would_keep_is_not_named_for_the_sum_of_all_pools() -> None:
    code, message = reason({"min_quota": {"gpu": 1}, "demand": {"gpu": 1, "gpu_mem": 40}}, {"gpu": 2, "gpu_mem": 100})
    assert (code, message) == ("queue_ceiling", "waits: queue 'q' would pass its ceiling of gpu")


def test_ceiling_that_all_stages_pass_together_is_named() -> None:
    stages = [{"name": name, "min_quota": {"gpu": 1}, "demand": {"gpu": 1}} for name in ("rollout", "train")]
    code, message = reason({"stages": stages}, {"gpu": 3, "gpu_mem": 100})
    assert (code, message) == ("queue_ceiling", "waits: queue 'q' would pass its ceiling of gpu")


def test_reason_stays_readable_where_many_rows_are_full() -> None:
    names = [f"r{i:02}" + "x" * 250 for i in range(64)]
    pools = ["a" * 253, "b" * 253]
    stages = [
        {
            "name": pool[0],
            "pools": [pool],
            "min_quota": dict.fromkeys(names, 1),
            "demand": dict.fromkeys(names, 2),
            "allocation": {"pool": pool, "resources": dict.fromkeys(names, 1)},
        }
        for pool in pools
    ]
    state = State.model_validate(
        {
            "resources": [{"name": name} for name in names],
            "pools": [{"name": pool, "capacity": dict.fromkeys(names, 2)} for pool in pools],
            "jobs": [{"id": name, "preemptible": False, "stages": stages} for name in ("x", "y")],
        }
    )
    plan = allocate(state)
    assert {job.reason.code for job in plan.jobs} == {"partly_served"}
    assert "28 more" in plan.jobs[0].reason.message
    assert read_plan(write(plan)) == plan
