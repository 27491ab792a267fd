"""What looking ahead is for: peaks are met by room made ahead, work is done while it can be, and holding a plan is something else."""

from typing import Any

import pytest
from hypothesis import given, settings

from libra_opt import allocate
from libra_opt.domain import Plan, State
from tests.lookahead.brute import value_of
from tests.lookahead.loop import periods_to_finish
from tests.lookahead.test_exact import tiny_states

_CARDS = [{"name": "gpu", "unit": "cards", "costly": True}, {"name": "cpu", "unit": "cores", "quantum": 1}]


def _job(name: str, least: int, demands: list[int], **fields: Any) -> dict[str, Any]:
    first, *ahead = ({"gpu": cards, "cpu": 0} for cards in demands)
    cost = {"resize_seconds": 15, "evict_seconds": 45}
    job = {"id": name, "min_quota": {"gpu": least}, "max_quota": {"gpu": 8}, "demand": first, "demand_ahead": ahead, "weight": 1, "preemptible": True}
    return {**job, "preemption_cost": cost, **fields}


def _document(jobs: list[dict[str, Any]], lookahead: int, cards: int = 8) -> dict[str, Any]:
    options = {"lookahead": lookahead, "spare": False}
    return {"resources": _CARDS, "pools": [{"name": "p", "capacity": {"gpu": cards, "cpu": 0}}], "jobs": jobs, "options": options}


def _holding(cards: int) -> dict[str, Any]:
    return {"pool": "p", "resources": {"gpu": cards}}


def _acted(jobs: list[dict[str, Any]], lookahead: int, periods: int) -> list[Plan]:
    """Plan period after period, each from what the plan before left."""
    plans = []
    for t in range(periods):
        now = []
        held = {job.id: job.stages for job in plans[-1].jobs} if plans else None
        for job in jobs:
            told = [job["demand"], *job["demand_ahead"]][t:]
            entry = {**job, "demand": told[0], "demand_ahead": told[1:]}
            if held is not None:
                entry.pop("allocation", None)
                if held[job["id"]]:
                    entry["allocation"] = _holding(int(held[job["id"]][0].resources["gpu"]))
            now.append(entry)
        plans.append(allocate(State.model_validate(_document(now, lookahead))))
    return plans


def _held(plans: list[Plan]) -> list[list[tuple[int, int]]]:
    return [[(int(job.stages[0].resources["gpu"]), 0) if job.stages else (0, 0) for job in plan.jobs] for plan in plans]


def test_four_jobs_finish_in_nine_periods_where_one_at_a_time_takes_ten() -> None:
    assert periods_to_finish(9) == 9
    assert periods_to_finish(1) == 10


def test_a_coming_peak_is_met_without_an_eviction() -> None:
    peak = _job("peak", 4, [4, 8, 8], preemptible=False, allocation=_holding(4), weight=4)
    rigid = _job("rigid", 4, [4, 4, 4], preemption_cost={"resize_seconds": 15, "evict_seconds": 150})
    alone, ahead = _acted([peak, rigid], 1, 3), _acted([peak, rigid], 3, 3)
    assert [plan.jobs[1].action for plan in alone] == ["admit", "evict", "queue"]
    assert [plan.jobs[1].action for plan in ahead] == ["queue", "queue", "queue"]
    assert ahead[0].jobs[1].reason.code == "later"
    document = _document([peak, rigid], 3)
    assert value_of(document, _held(ahead)) > value_of(document, _held(alone))


def test_a_job_that_ends_before_the_peak_is_let_in() -> None:
    peak = _job("peak", 4, [4, 8, 8], preemptible=False, allocation=_holding(4), weight=4)
    short = _job("short", 4, [4, 4, 4], preemption_cost={"resize_seconds": 15, "evict_seconds": 150}, remaining=60)
    plan = allocate(State.model_validate(_document([peak, short], 3)))
    assert plan.jobs[1].action == "admit"
    assert [[job.id for job in period.jobs] for period in plan.ahead] == [["peak"], ["peak"]]


def test_what_can_only_be_done_now_is_done_now() -> None:
    now = _job("now", 0, [6, 0], remaining_work=6)
    later = _job("later", 0, [6, 6], remaining_work=6, weight=1.5)
    alone, ahead = (allocate(State.model_validate(_document([now, later], n, cards=6))) for n in (1, 2))
    assert [job.service for job in alone.jobs] == [0, 1]
    assert [job.service for job in ahead.jobs] == [1, 0]
    assert [job.id for job in ahead.ahead[0].jobs] == ["later"]


def test_what_is_left_of_a_job_is_counted_by_what_it_does_and_not_by_the_mean_over_its_steps() -> None:
    done_in_one = _job("done in one", 0, [6, 6], remaining_work=6, rates={"cards": 0})
    after = _job("after", 0, [6, 6], weight=0.3)
    plan = allocate(State.model_validate(_document([done_in_one, after], 2, cards=6)))
    assert {job.id: job.service for job in plan.jobs} == {"after": 0, "done in one": 1}
    assert [job.id for job in plan.ahead[0].jobs] == ["after"]


def test_a_plan_held_over_the_mean_demand_is_worse() -> None:
    jobs = [_job("a", 1, [6, 2], allocation=_holding(6)), _job("b", 1, [2, 6], allocation=_holding(2))]
    ahead = allocate(State.model_validate(_document(jobs, 2)))
    mean = [{**job, "demand": {"gpu": 4, "cpu": 0}, "demand_ahead": []} for job in jobs]
    held = _held([allocate(State.model_validate(_document(mean, 1)))])
    horizon = ahead.certificate.horizon
    assert horizon is not None
    assert horizon.objective > float(value_of(_document(jobs, 2), held * 2)) + 1


@given(tiny_states(periods=3, most_cards=3, most_cores=0))
@settings(max_examples=15, deadline=None)
def test_looking_ahead_is_never_worse_than_one_period_at_a_time(document: dict[str, Any]) -> None:
    horizon = allocate(State.model_validate(document)).certificate.horizon
    assert horizon is not None
    plans = _acted_from(document)
    assert horizon.objective >= float(value_of(document, _held(plans))) - 1e-6


def _acted_from(document: dict[str, Any]) -> list[Plan]:
    """Plan three periods one at a time; a job that has finished on the way goes on, which costs it nothing."""
    plans: list[Plan] = []
    for t in range(3):
        jobs = []
        for job in document["jobs"]:
            told = [job["demand"], *job["demand_ahead"]]
            entry = {**job, "demand": told[min(t, len(told) - 1)], "demand_ahead": [], "preemptible": True}
            if plans:
                entry.pop("allocation", None)
                stages = {planned.id: planned.stages for planned in plans[-1].jobs}[job["id"]]
                if stages:
                    entry["allocation"] = {"pool": "p", "resources": dict(stages[0].resources)}
            jobs.append(entry)
        plans.append(allocate(State.model_validate({**document, "jobs": jobs, "options": {**document["options"], "lookahead": 1}})))
    return plans


@pytest.mark.parametrize("lookahead", [2, 3])
def test_the_order_of_jobs_changes_nothing(lookahead: int) -> None:
    jobs = [_job(name, 1, demands) for name, demands in (("a", [4, 1, 6]), ("b", [4, 1, 6]), ("c", [2, 8, 2]), ("d", [5, 5, 1]))]
    one, other = (allocate(State.model_validate(_document(order, lookahead))) for order in (jobs, jobs[::-1]))
    assert {job.id: job.stages for job in one.jobs} == {job.id: job.stages for job in other.jobs}
    assert one.certificate == other.certificate
    for period, reordered in zip(one.ahead, other.ahead, strict=True):
        assert {job.id: job.stages for job in period.jobs} == {job.id: job.stages for job in reordered.jobs}
