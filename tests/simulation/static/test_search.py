"""The search for the best fixed quotas: better than its grid, never blind to gangs, the same every time."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from libra_opt.domain import Workload, read_workload
from libra_opt.simulation.loop import Run, simulate
from libra_opt.simulation.policies.static_best import StaticBest
from libra_opt.simulation.static import search_static
from libra_opt.simulation.workloads import make
from tests.simulation.drawn import PERIOD, workloads

FIRM = 8


def _gangs(*, waits: bool, max_gpu: int = 8) -> Workload:
    """Return jobs whose rollout can run on few cards, but whose training needs the memory of a whole gang."""
    rollout = {"seconds": 100, "phase": "rollout", "use": {"main": {"gpu": 2, "gpu_mem": 20}}}
    train = {"seconds": 50, "phase": "train", "use": {"main": {"gpu": 4, "gpu_mem": FIRM * 10}}, "waits_for_memory": waits}
    job: dict[str, Any] = {
        "stages": [{"max_quota": {"gpu": max_gpu, "gpu_mem": 80}, "request": {"gpu": 8, "gpu_mem": 80}}],
        "steps": [{"parts": [rollout, train]}] * 4,
        "restart": {"cold_seconds": 30},
    }
    return read_workload(
        json.dumps(
            {
                "format": "libra-opt/workload/1",
                "horizon_seconds": 1500,
                "pools": [{"name": "p", "capacity": {"gpu": 20, "gpu_mem": 200, "cpu": 10, "mem": 10, "net": 1}, "card_mem": 10}],
                "jobs": [{"id": f"j{i}", "submitted": 70 * i, **job} for i in range(5)],
            }
        )
    )


def _kills(run: Run) -> int:
    return sum(job.kills for period in run.periods for job in period.jobs)


def _gated(run: Run) -> float:
    return sum(job.gated for period in run.periods for job in period.jobs)


@pytest.mark.parametrize("waits", [True, False])
def test_firm_gang_is_never_left_idle_or_killed(*, waits: bool):
    workload = _gangs(waits=waits)
    fixed = search_static(workload, effort=1500)
    assert all(quota is None or quota[0][0] >= FIRM for quota in fixed.quotas)
    run = simulate(workload, StaticBest(fixed=fixed))
    assert _kills(run) == 0
    assert _gated(run) == 0
    assert sum(run.finished_steps) > 0


def test_job_whose_gang_can_never_be_held_is_not_started_for_nothing():
    fixed = search_static(_gangs(waits=True, max_gpu=6), effort=800)
    assert fixed.outcome.score[0] == 0
    assert fixed.quotas == (None,) * 5


def test_four_jobs_get_fixed_shares_that_end_before_the_equal_split():
    fixed = search_static(make("four_jobs"), effort=4000)
    makespan = -fixed.outcome.score[1]
    assert 9 * 60 < makespan <= 11 * 60


def test_search_is_better_than_its_grid_and_keeps_to_its_effort():
    workload = make("bursty", 0)
    fixed = search_static(workload, effort=3000)
    assert fixed.outcome.score[0] > 1.05 * fixed.grid.score[0]
    assert fixed.n_evaluations <= 3000


def test_same_workload_same_answer():
    workload = _gangs(waits=True)
    first, again = (search_static(workload, effort=900) for _ in range(2))
    assert (first.quotas, first.reservation.order, first.outcome) == (again.quotas, again.reservation.order, again.outcome)


def test_smaller_effort_is_the_grid_alone():
    fixed = search_static(_gangs(waits=True), effort=0)
    assert fixed.outcome == fixed.grid


@settings(max_examples=10)
@given(workload=workloads(has_changes=True))
def test_best_is_what_the_plant_gives_and_no_worse_than_the_grid(workload: Workload):
    fixed = search_static(workload, PERIOD, effort=600)
    run = simulate(workload, StaticBest(fixed=fixed), period_seconds=PERIOD)
    assert run.finished_work == pytest.approx(fixed.outcome.finished_work, abs=1e-6)
    assert fixed.outcome.score >= fixed.grid.score
