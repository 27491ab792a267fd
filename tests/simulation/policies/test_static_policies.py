"""Equal split and reservation: what is held, and who waits for whom."""

import json
from typing import Any

import pytest

from libra_opt.domain import Workload, read_workload
from libra_opt.simulation.loop import Run, simulate
from libra_opt.simulation.policies import EqualSplit, Reserving, max_min
from libra_opt.simulation.workloads import make


def _workload(jobs: list[dict[str, Any]], cards: int = 8, **pool: Any) -> Workload:
    document = {
        "format": "libra-opt/workload/1",
        "period_seconds": 60,
        "horizon_seconds": 600,
        "resources": [
            {"name": "gpu", "quantum": 1, "compressible": True, "costly": True},
            {"name": "gpu_mem", "quantum": 1, "compressible": False, "costly": True},
        ],
        "pools": [{"name": "p", "capacity": {"gpu": cards, "gpu_mem": 10 * cards}, **pool}],
        "jobs": [{"id": f"j{i}", "submitted": i, "restart": {"cold_seconds": 0}, **job} for i, job in enumerate(jobs)],
    }
    return read_workload(json.dumps(document))


def _job(gpu: float, seconds: float, memory: float = 0, **fields: Any) -> dict[str, Any]:
    return {"stages": [fields], "steps": [{"parts": [{"seconds": seconds, "use": {"main": {"gpu": gpu, "gpu_mem": memory}}}]}]}


def _cards(run: Run, period: int) -> dict[int, float]:
    return {job.index: job.holding[0].amounts[0] for job in run.periods[period].jobs if job.holding is not None and job.holding[0] is not None}


def test_four_jobs_in_equal_parts_take_fourteen_periods():
    assert len(simulate(make("four_jobs"), EqualSplit()).periods) == 14


def test_slots_are_as_many_as_jobs():
    assert _cards(simulate(_workload([_job(8, 100)] * 4), EqualSplit()), 2) == {0: 2, 1: 2, 2: 2, 3: 2}


def test_gang_takes_several_slots():
    jobs = [_job(8, 100, min_quota={"gpu": 4})] * 4
    assert _cards(simulate(_workload(jobs), EqualSplit()), 2) == {0: 4, 1: 4}


def test_memory_that_was_asked_for_takes_the_slots_whose_cards_carry_it():
    jobs = [_job(1, 300, 35, unit=2, request={"gpu": 2, "gpu_mem": 35})] * 4
    assert _cards(simulate(_workload(jobs, card_mem=10), EqualSplit()), 2) == {0: 4, 1: 4}


def test_large_job_does_not_enlarge_the_slots_of_others():
    jobs = [_job(8, 100, min_quota={"gpu": 4}), *[_job(8, 100)] * 3]
    assert _cards(simulate(_workload(jobs), EqualSplit()), 2) == {0: 4, 1: 2, 2: 2}


def test_a_slot_is_held_when_it_is_not_needed():
    jobs = [_job(1, 60), _job(8, 400)]
    run = simulate(_workload(jobs), EqualSplit())
    assert _cards(run, 3) == {1: 4}  # the first is done, and its slot stays empty


def test_reservation_holds_the_maximum_whatever_is_used():
    run = simulate(_workload([_job(1, 100, max_quota={"gpu": 6}), _job(1, 100, max_quota={"gpu": 6})]), Reserving())
    assert _cards(run, 1) == {0: 6}


@pytest.mark.parametrize(("backfill", "expected"), [(False, {0: 6}), (True, {0: 6, 2: 2})])
def test_backfill_lets_a_small_job_pass(*, backfill: bool, expected: dict[int, float]):
    jobs = [_job(6, 600, max_quota={"gpu": 6}), _job(4, 100, max_quota={"gpu": 4}), _job(2, 600, max_quota={"gpu": 2})]
    assert _cards(simulate(_workload(jobs), Reserving(backfill=backfill)), 2) == expected


def test_reservation_of_the_request_holds_what_was_asked_for():
    run = simulate(_workload([_job(1, 100, max_quota={"gpu": 6}, request={"gpu": 2, "gpu_mem": 35})], card_mem=10), Reserving("request"))
    assert _cards(run, 1) == {0: 4}  # the cards that its memory needs


def test_job_too_large_for_the_cluster_holds_up_nobody():
    jobs = [_job(9, 100, min_quota={"gpu": 9}), _job(2, 100, max_quota={"gpu": 2})]
    assert _cards(simulate(_workload(jobs), Reserving()), 1) == {1: 2}


def test_cards_are_released_lazily():
    steps = [{"parts": [{"seconds": 120, "use": {"main": {"gpu": 6}}}, {"seconds": 300, "use": {"main": {"gpu": 1}}}]}]
    alone = _workload([{"stages": [{"request": {"gpu": 6}, "max_quota": {"gpu": 6}}], "steps": steps}])
    run = simulate(alone, max_min())
    assert {job.action for period in run.periods for job in period.jobs} == {"admit", "keep"}
