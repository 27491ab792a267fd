"""Max-min and dominant resource fairness give the allocations that their sources work out by hand."""

from typing import Any

import pytest

from libra_opt.allocation import allocate
from libra_opt.domain import Plan, State
from libra_opt.verification import verify


def planned(document: dict[str, Any]) -> Plan:
    state = State.model_validate(document)
    plan = allocate(state)
    report = verify(state, plan)
    assert report.holds, report
    assert plan.certificate.status == "optimal"
    return plan


def tasks(queue: str, n: int, cpu: int, mem: int) -> list[dict[str, Any]]:
    amounts = {"cpu": cpu, "mem": mem}
    return [{"id": f"{queue}{i}", "queue": queue, "min_quota": amounts, "max_quota": amounts, "demand": amounts, "need": {"mem": mem}} for i in range(n)]


RESOURCES = [{"name": "cpu", "unit": "cores"}, {"name": "mem", "unit": "GiB", "compressible": True}]


@pytest.mark.parametrize("backend", ["auto", "cp_sat"])
def test_drf_gives_three_and_two_tasks_as_in_its_paper(backend: str) -> None:
    """Ghodsi et al. 2011, section 4.1: 9 CPUs and 18 GB, A's tasks take <1, 4> and B's <3, 1>."""
    users = [task for name, cpu, mem in (("A", 1, 4), ("B", 3, 1)) for task in [{k: v for k, v in t.items() if k != "need"} for t in tasks(name, 5, cpu, mem)]]
    plan = planned(
        {
            "resources": RESOURCES,
            "pools": [{"name": "p", "capacity": {"cpu": 9, "mem": 18}}],
            "queues": [{"name": "A"}, {"name": "B"}],
            "jobs": users,
            "options": {"objective": "drf", "backend": backend, "gap": 0, "effort": 30, "spare": False},
        }
    )
    running = [job.id[0] for job in plan.jobs if job.stages]
    assert (running.count("A"), running.count("B")) == (3, 2)
    assert next(tier.objective for tier in plan.certificate.tiers if tier.name == "level") == pytest.approx(2 / 3)


def test_drf_with_divisible_users_is_the_same() -> None:
    jobs = [
        {"id": "a", "queue": "A", "unit": {"cpu": 1, "mem": 4}, "demand": {"cpu": 9, "mem": 36}},
        {"id": "b", "queue": "B", "unit": {"cpu": 3, "mem": 1}, "demand": {"cpu": 27, "mem": 9}},
    ]
    plan = planned(
        {
            "resources": RESOURCES,
            "pools": [{"name": "p", "capacity": {"cpu": 9, "mem": 18}}],
            "queues": [{"name": "A"}, {"name": "B"}],
            "jobs": jobs,
            "options": {"objective": "max_min", "gap": 0, "effort": 30, "spare": False},
        }
    )
    held = {job.id: dict(job.stages[0].resources) for job in plan.jobs}
    assert held["a"]["cpu"] >= 3
    assert held["b"]["cpu"] == 6


def test_max_min_fills_like_water() -> None:
    """Bertsekas and Gallager 1992, section 6.5.2: sessions on two links; the one that shares the narrow link is held down, the other takes what that leaves.

    Link 1 has room for 4 and link 2 for 6: session 0 crosses both, session 1 the first alone, session 2 the second alone; 2, 2 and 4 is max-min.
    """
    links = [{"name": "link1", "unit": "x", "compressible": True}, {"name": "link2", "unit": "x", "compressible": True}]
    demands = [{"link1": 10, "link2": 10}, {"link1": 10}, {"link2": 10}]
    plan = planned(
        {
            "resources": links,
            "pools": [{"name": "p", "capacity": {"link1": 4, "link2": 6}}],
            "jobs": [{"id": f"s{i}", "demand": demand} for i, demand in enumerate(demands)],
            "options": {"objective": "max_min", "gap": 0, "effort": 30, "spare": False},
        }
    )
    assert [job.service for job in plan.jobs] == pytest.approx([0.2, 0.2, 0.4])


def test_weighted_max_min_divides_by_weight() -> None:
    jobs = [{"id": name, "weight": weight, "demand": {"gpu": 12}} for name, weight in (("a", 1), ("b", 2), ("c", 3))]
    plan = planned({"pools": [{"name": "p", "capacity": {"gpu": 12}}], "jobs": jobs, "options": {"objective": "max_min", "gap": 0, "effort": 30}})
    assert [dict(job.stages[0].resources)["gpu"] for job in plan.jobs] == [2, 4, 6]


def test_a_later_job_fills_only_what_the_earlier_cannot_use() -> None:
    jobs = [
        {"id": "late", "submitted": 30, "min_quota": {"gpu": 2}, "demand": {"gpu": 2}},
        {"id": "first", "submitted": 10, "min_quota": {"gpu": 6}, "demand": {"gpu": 6}},
        {"id": "second", "submitted": 20, "min_quota": {"gpu": 4}, "demand": {"gpu": 4}, "weight": 1000},
    ]
    plan = planned({"pools": [{"name": "p", "capacity": {"gpu": 8}}], "jobs": jobs, "options": {"objective": "fifo_backfill", "gap": 0, "effort": 30}})
    assert {job.id: bool(job.stages) for job in plan.jobs} == {"late": True, "first": True, "second": False}


def test_makespan_serves_in_proportion_to_what_is_left() -> None:
    jobs = [{"id": "long", "remaining": 300, "demand": {"gpu": 8}}, {"id": "short", "remaining": 100, "demand": {"gpu": 8}}]
    plan = planned({"pools": [{"name": "p", "capacity": {"gpu": 8}}], "jobs": jobs, "options": {"objective": "makespan", "gap": 0, "effort": 30}})
    assert [dict(job.stages[0].resources)["gpu"] for job in plan.jobs] == [6, 2]
