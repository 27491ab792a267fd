"""States at the ends of what is valid: numbers near 2^63, and thousands of levels to divide fairly by."""

import json
import time
from typing import Any

import pytest

from libra_opt.allocation import allocate
from libra_opt.domain import read_state
from libra_opt.verification import verify


def test_a_queue_that_asks_for_more_than_any_cluster_has_is_planned_ahead() -> None:
    """HiGHS refuses a row with a coefficient above 1e15, and so has no duals to price by."""
    huge = {"gpu": 1 << 62}
    document: dict[str, Any] = {
        "pools": [{"name": "p", "capacity": {"gpu": 3}}],
        "queues": [{"name": "q", "nominal_quota": huge}],
        "jobs": [{"id": "a", "queue": "q", "demand": huge}],
        "options": {"lookahead": 2},
    }
    state = read_state(json.dumps(document))
    plan = allocate(state)
    assert verify(state, plan).holds
    assert plan.jobs[0].stages[0].resources["gpu"] == 3


def test_dividing_fairly_takes_few_searches_where_levels_are_many() -> None:
    """One search a level would take minutes on the processor, and effort does not count what they take to begin."""
    fields = {"remaining": 60, "queue": "team", "preemptible": False}
    swinging = {"demand_intensity": [0.5, 1, 3]}
    held = {"pool": "p0", "resources": {"gpu": 3, "gpu_mem": 382}}
    document: dict[str, Any] = {
        "pools": [
            {"name": "p0", "capacity": {"gpu": 9, "cpu": 64}},
            {"name": "p1", "capacity": {"gpu": 9, "gpu_mem": 640, "cpu": 128.5}},
        ],
        "queues": [{"name": "all", "nominal_quota": {"gpu": 10, "cpu": 76.6}}, {"name": "team", "parent": "all", "borrowing_limit": {"gpu": 1}}],
        "jobs": [
            {**fields, "id": "a", "min_quota": {"gpu": 2, "gpu_mem": 194, "cpu": 3.2}, "demand": {"gpu": 9, "gpu_mem": 612, "cpu": 59.5}, **swinging},
            {
                **fields,
                "id": "b",
                "stages": [
                    {
                        "name": "s0",
                        "max_quota": {"gpu": 6, "gpu_mem": 224},
                        "demand": {"gpu_mem": 169, "cpu": 37.6},
                        "need": {"gpu_mem": 188},
                        "pools": {"p1": 1e-6},
                        "allocation": held,
                    },
                    {"name": "s1", "min_quota": {"gpu_mem": 97, "cpu": 15}, "demand": {"gpu": 9}, **swinging},
                ],
            },
        ],
        "options": {"objective": "makespan"},
    }
    state = read_state(json.dumps(document))
    began = time.process_time()
    plan = allocate(state)
    taken = time.process_time() - began
    assert verify(state, plan).holds
    assert plan.certificate.status == "optimal"
    assert taken < 20, f"{taken:.0f} s on the processor"


@pytest.mark.parametrize(
    ("period", "job"),
    [
        ({"seconds": 0.001, "start": 1e9}, {"deadline": 30, "remaining": 1e8}),
        ({"seconds": 60}, {"deadline": 1e9, "remaining": 0.001, "profile": [{"pool": "p", "resources": {"gpu": 1}, "rate": 2.5}], "full_rate": 1e10}),
    ],
    ids=["long-overdue", "far-away"],
)
def test_lateness_is_counted_to_the_digit_where_deadlines_are_far(period: dict[str, Any], job: dict[str, Any]) -> None:
    """Seconds since 1970 less seconds since 1970 leave few digits to what a short period avoids."""
    document = {"period": period, "pools": [{"name": "p", "capacity": {"gpu": 1}}], "jobs": [{"id": "a", **job}], "options": {"objective": "on_time"}}
    state = read_state(json.dumps(document))
    assert verify(state, allocate(state)).holds
