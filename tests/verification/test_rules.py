"""R1 to R14: for each rule a plan that holds, and one broken in one place that is rejected under the rule's name with the right margin."""

from copy import deepcopy
from typing import Any

import pytest

from libra_opt.domain import State
from libra_opt.verification import Broken, Report, verify

Document = dict[str, Any]


def pool(name: str = "p", **capacity: Any) -> Document:
    return {"name": name, "capacity": {"gpu": 8, "gpu_mem": 640, "cpu": 64, "mem": 512, "net": 10, **capacity}}


def stage(name: str = "main", at: str = "p", **resources: Any) -> Document:
    return {"name": name, "pool": at, "resources": resources}


def planned(name: str, action: str, service: float, *stages: Document) -> Document:
    return {"id": name, "action": action, "service": service, "stages": list(stages)}


def found(report: Report, rule: str) -> Broken:
    [broken] = [broken for broken in report.broken if broken.rule == rule]
    return broken


@pytest.fixture
def two_jobs() -> tuple[State, list[Document]]:
    """The smallest useful state: `a` gives up 6 of its 8 cards, `b` is admitted with them and spare CPU."""
    state = State.model_validate(
        {
            "pools": [pool()],
            "jobs": [
                {
                    "id": "a",
                    "min_quota": {"gpu": 1},
                    "max_quota": {"gpu": 8},
                    "demand": {"gpu": 2, "gpu_mem": 160, "cpu": 16},
                    "allocation": {"pool": "p", "resources": {"gpu": 8, "gpu_mem": 640, "cpu": 64}},
                },
                {"id": "b", "min_quota": {"gpu": 4}, "max_quota": {"gpu": 8}, "demand": {"gpu": 8, "gpu_mem": 320, "cpu": 32}},
            ],
        }
    )
    jobs = [
        planned("a", "shrink", 1.0, stage(gpu=2, gpu_mem="160Gi", cpu=16, mem=0, net=0)),
        planned("b", "admit", 0.75, stage(gpu=6, gpu_mem="320Gi", cpu=32, mem=0, net=0)),
    ]
    return state, jobs


def test_smallest_plan_holds_and_is_valued_by_hand(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    report = verify(state, answer(state, jobs, 7.75, tiers={"protected_lost": 0, "over_budget_seconds": 0, "guarantee_shortfall": 0, "value": 7.75}))
    assert report.broken == ()
    assert report.tiers.value == 2 * (1 - 15 / 120) + 8 * 0.75


def test_capacity_is_exceeded(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    jobs[1] = planned("b", "admit", 1.0, stage(gpu=8, gpu_mem=320, cpu=32))
    report = verify(state, answer(state, jobs, 9.75))
    assert [broken.rule for broken in report.broken] == ["R1"]
    assert (report.broken[0].where, report.broken[0].margin) == ("pools.p.gpu", 2.0)
    assert "10" in report.broken[0].message
    assert "8" in report.broken[0].message


def test_amount_is_below_minimum(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    jobs[1] = planned("b", "admit", 0.25, stage(gpu=2, gpu_mem=320, cpu=32))
    report = verify(state, answer(state, jobs, 3.75))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R2", "jobs[1].stages[0].resources.gpu", 2.0)]


def test_amount_is_above_maximum(answer: Any) -> None:
    state = State.model_validate({"pools": [pool()], "jobs": [{"id": "a", "max_quota": {"cpu": 4}, "demand": {"gpu": 1, "cpu": 3.5}}]})
    assert verify(state, answer(state, [planned("a", "admit", 1.0, stage(gpu=1, cpu=4))], 1.0)).holds
    report = verify(state, answer(state, [planned("a", "admit", 1.0, stage(gpu=1, cpu=4.5))], 1.0))
    assert found(report, "R3").margin == 0.5
    assert {broken.rule for broken in report.broken} == {"R3", "R14"}


def test_stage_sits_in_a_pool_it_does_not_allow(answer: Any) -> None:
    state = State.model_validate({"pools": [pool(), pool("q")], "jobs": [{"id": "a", "demand": {"gpu": 1}, "pools": ["p"]}]})
    assert verify(state, answer(state, [planned("a", "admit", 1.0, stage(gpu=1))], 1.0)).holds
    for name in ("q", "nowhere"):
        report = verify(state, answer(state, [planned("a", "admit", 1.0, stage(at=name, gpu=1))], 1.0))
        assert [(broken.rule, broken.where) for broken in report.broken] == [("R4", "jobs[0].stages[0].pool")]


def test_memory_is_below_need(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    jobs[1]["stages"][0]["resources"]["gpu_mem"] = "319Gi"
    report = verify(state, answer(state, jobs, 7.75))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R5", "jobs[1].stages[0].resources.gpu_mem", 1.0)]


def test_service_of_a_single_stage_is_misstated(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    jobs[1]["service"] = 0.8
    report = verify(state, answer(state, jobs, 7.75))
    assert [(broken.rule, broken.where) for broken in report.broken] == [("R6", "jobs[1].service")]
    assert report.broken[0].margin == pytest.approx(0.05)


@pytest.fixture
def pipeline() -> tuple[State, list[Document]]:
    """Three stages in two pools; the rollout in the fast pool, the idle replay beside it; the train stage sets the pace."""
    state = State.model_validate(
        {
            "pools": [pool(), pool("h100", gpu=2)],
            "jobs": [
                {
                    "id": "a",
                    "stages": [
                        {"name": "rollout", "demand": {"gpu": 4, "cpu": 8}, "pools": {"p": 1, "h100": 2}},
                        {"name": "train", "demand": {"gpu": 4, "gpu_mem": 80}, "unit": 2, "pools": ["p"]},
                        {"name": "replay", "demand": {"mem": 100}},
                    ],
                }
            ],
        }
    )
    jobs = [planned("a", "admit", 0.5, stage("rollout", "h100", gpu=1, cpu=2), stage("train", gpu=2, gpu_mem=80), stage("replay", "h100", mem=100))]
    return state, jobs


def test_slowest_stage_sets_the_service(pipeline: Any, answer: Any) -> None:
    state, jobs = pipeline
    assert verify(state, answer(state, jobs, 4.0)).broken == ()
    jobs[0]["service"] = 1.0
    report = verify(state, answer(state, jobs, 4.0))
    assert [(broken.rule, broken.margin) for broken in report.broken] == [("R7", 0.5)]


def test_stages_run_all_or_none(pipeline: Any, answer: Any) -> None:
    state, jobs = pipeline
    jobs[0]["stages"].pop()
    report = verify(state, answer(state, jobs, 4.0))
    assert [(broken.rule, broken.where) for broken in report.broken] == [("R2", "jobs[0].stages")]


def test_stages_may_be_listed_in_any_order(pipeline: Any, answer: Any) -> None:
    state, jobs = pipeline
    jobs[0]["stages"].reverse()
    assert verify(state, answer(state, jobs, 4.0)).broken == ()


def test_faster_stage_does_not_hold_more_than_the_pace_asks(pipeline: Any, answer: Any) -> None:
    state, jobs = pipeline
    jobs[0]["stages"][0]["resources"]["gpu"] = 2
    report = verify(state, answer(state, jobs, 4.0))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R14", "jobs[0].stages[0].resources.gpu", 1.0)]


def test_amount_is_no_multiple_of_unit(pipeline: Any, answer: Any) -> None:
    state, jobs = pipeline
    jobs[0]["stages"][1]["resources"]["gpu"] = 3
    report = verify(state, answer(state, jobs, 4.0))
    assert (found(report, "R8").where, found(report, "R8").margin) == ("jobs[0].stages[1].resources.gpu", 1.0)


def test_amount_is_no_whole_number_of_quanta(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    jobs[0]["stages"][0]["resources"]["cpu"] = "16050m"
    report = verify(state, answer(state, jobs, 7.75))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R8", "jobs[0].stages[0].resources.cpu", 0.05)]


def test_memory_is_more_than_the_cards_carry(answer: Any) -> None:
    state = State.model_validate({"pools": [{**pool(), "card_mem": "80Gi"}], "jobs": [{"id": "a", "demand": {"gpu": 1, "gpu_mem": 200}, "weight": 2}]})
    assert verify(state, answer(state, [planned("a", "admit", 1.0, stage(gpu=3, gpu_mem=200))], 2.0)).holds
    report = verify(state, answer(state, [planned("a", "admit", 1.0, stage(gpu=2, gpu_mem=200))], 2.0))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R9", "jobs[0].stages[0].resources.gpu_mem", 40.0)]
    report = verify(state, answer(state, [planned("a", "admit", 1.0, stage(gpu=4, gpu_mem=200))], 2.0))
    assert [(broken.rule, broken.margin) for broken in report.broken] == [("R14", 1.0)]


def test_queue_exceeds_its_ceiling(answer: Any) -> None:
    queue = {"name": "t", "nominal_quota": {"gpu": 2}, "borrowing_limit": {"gpu": 1}}
    state = State.model_validate({"pools": [pool()], "queues": [queue], "jobs": [{"id": "a", "queue": "t", "demand": {"gpu": 4}}]})
    assert verify(state, answer(state, [planned("a", "admit", 0.75, stage(gpu=3))], 3.0)).holds
    report = verify(state, answer(state, [planned("a", "admit", 1.0, stage(gpu=4))], 4.0))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R10", "queues.t.gpu", 1.0)]


def test_reserved_quota_is_lent(answer: Any) -> None:
    queue = {"name": "t", "nominal_quota": {"gpu": 4}, "lending_limit": {"gpu": 1}}
    state = State.model_validate({"pools": [pool()], "queues": [queue], "jobs": [{"id": "a", "demand": {"gpu": 8}}]})
    assert verify(state, answer(state, [planned("a", "admit", 0.625, stage(gpu=5))], 5.0)).holds
    report = verify(state, answer(state, [planned("a", "admit", 0.75, stage(gpu=6))], 6.0))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R10", "queues.gpu", 1.0)]


def test_reserve_is_cut_in_proportion_when_the_cluster_is_smaller(answer: Any) -> None:
    queues = [{"name": name, "nominal_quota": {"gpu": 8}, "lending_limit": {"gpu": 0}} for name in ("t", "u")]
    state = State.model_validate({"pools": [pool(gpu=5)], "queues": queues, "jobs": [{"id": "a", "queue": "t", "demand": {"gpu": 8}}]})
    tiers = {"guarantee_shortfall": 0.625}
    assert verify(state, answer(state, [planned("a", "admit", 0.375, stage(gpu=3))], 3.0, tiers=tiers)).holds
    report = verify(state, answer(state, [planned("a", "admit", 0.5, stage(gpu=4))], 4.0, tiers={"guarantee_shortfall": 0.5}))
    assert [(broken.rule, broken.margin) for broken in report.broken] == [("R10", 1.0)]


@pytest.fixture
def crowded() -> tuple[Document, list[Document]]:
    """Two running jobs on 8 cards and a better one that waits; there is budget for one resize."""
    document = {
        "pools": [pool()],
        "jobs": [
            {"id": "a", "demand": {"gpu": 4}, "allocation": {"pool": "p", "resources": {"gpu": 4}}},
            {"id": "b", "demand": {"gpu": 4}, "allocation": {"pool": "p", "resources": {"gpu": 4}}},
            {"id": "c", "demand": {"gpu": 4}, "priority": 1},
        ],
        "options": {"preemption_budget_seconds": 45},
    }
    jobs = [planned("a", "keep", 1.0, stage(gpu=4)), planned("b", "evict", 0.0), planned("c", "admit", 1.0, stage(gpu=4))]
    return document, jobs


def test_charges_stay_inside_the_budget(crowded: Any, answer: Any) -> None:
    document, jobs = crowded
    state = State.model_validate(document)
    assert verify(state, answer(state, jobs, 4 + 40 - 4 * 45 / 120)).broken == ()


def test_budget_is_exceeded_by_a_move_that_nothing_forces(crowded: Any, answer: Any) -> None:
    document, jobs = crowded
    document["options"]["preemption_budget_seconds"] = 40
    jobs[2] = planned("c", "queue", 0.0)
    state = State.model_validate(document)
    report = verify(state, answer(state, jobs, 4 - 1.5, tiers={"over_budget_seconds": 5}))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R12", "jobs[1]", 5.0)]


def test_budget_may_be_exceeded_where_capacity_was_lost(crowded: Any, answer: Any) -> None:
    document, jobs = crowded
    document["options"]["preemption_budget_seconds"] = 0
    document["pools"] = [pool(gpu=4)]
    jobs[2] = planned("c", "queue", 0.0)
    state = State.model_validate(document)
    report = verify(state, answer(state, jobs, 4 - 1.5, tiers={"over_budget_seconds": 45}))
    assert report.broken == ()
    assert report.tiers.over_budget_seconds == 45


def test_protected_job_waits_although_it_fits(crowded: Any, answer: Any) -> None:
    document, jobs = crowded
    document["jobs"][1]["preemptible"] = False
    state = State.model_validate(document)
    report = verify(state, answer(state, jobs, 42.5, tiers={"protected_lost": 4}))
    assert [(broken.rule, broken.where) for broken in report.broken] == [("R13", "jobs[1]")]
    assert report.tiers.protected_lost == 4


def test_protected_job_that_does_not_fit_is_shed(crowded: Any, answer: Any) -> None:
    document, jobs = crowded
    for job in document["jobs"][:2]:
        job.update(min_runtime_seconds=60, running_seconds=59, min_quota={"gpu": 4})
    document["pools"] = [pool(gpu=4)]
    jobs[2] = planned("c", "queue", 0.0)
    state = State.model_validate(document)
    assert verify(state, answer(state, jobs, 2.5, tiers={"protected_lost": 4, "over_budget_seconds": 0})).broken == ()


@pytest.mark.parametrize(
    "change",
    [
        {"queues": [{"name": "t", "nominal_quota": {}, "borrowing_limit": {"gpu": 3}}]},
        {"queues": [{"name": "t"}, {"name": "u", "nominal_quota": {"gpu": 5}, "lending_limit": {"gpu": 0}}]},
    ],
    ids=["ceiling", "reserve"],
)
def test_protected_job_is_shed_by_what_queues_allow(change: Document, answer: Any) -> None:
    job = {"id": "a", "queue": "t", "demand": {"gpu": 4}, "min_quota": {"gpu": 4}, "preemptible": False, "allocation": {"pool": "p", "resources": {"gpu": 4}}}
    state = State.model_validate({"pools": [pool()], "jobs": [job], **change})
    assert verify(state, answer(state, [planned("a", "evict", 0.0)], -1.5, tiers={"protected_lost": 4})).broken == ()


def test_protected_job_of_many_stages_is_tried_in_every_pool(answer: Any) -> None:
    fixed = {"min_quota": {"gpu": 5}, "demand": {"gpu": 5}}
    small = {"min_quota": {"gpu": 2}, "demand": {"gpu": 2}, "pools": ["p", "q"]}
    job = {"id": "a", "preemptible": False, "stages": [{"name": "small", **small}, {"name": "large", **fixed, "pools": ["p"]}]}
    job["stages"][0]["allocation"] = {"pool": "p", "resources": {"gpu": 2}}
    for gpu, expected in ((2, ["R13"]), (1, [])):
        state = State.model_validate({"pools": [pool(gpu=6), pool("q", gpu=gpu)], "jobs": [job]})
        report = verify(state, answer(state, [planned("a", "evict", 0.0)], -7 * 45 / 120, tiers={"protected_lost": 7}))
        assert [broken.rule for broken in report.broken] == expected


def test_cards_are_kept_but_not_grown(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 2, "cpu": 4}, "allocation": {"pool": "p", "resources": {"gpu": 5, "gpu_mem": 9, "cpu": 50}}}
    state = State.model_validate({"pools": [pool()], "jobs": [job]})
    kept = stage(gpu=5, gpu_mem=9, cpu=4)
    assert verify(state, answer(state, [planned("a", "shrink", 1.0, kept)], 2.0)).broken == ()
    report = verify(state, answer(state, [planned("a", "reshape", 1.0, stage(gpu=6, gpu_mem=0, cpu=4))], 1.75))
    assert [(broken.rule, broken.margin) for broken in report.broken] == [("R14", 4.0)]
    assert [broken.rule for broken in verify(state, answer(state, [planned("a", "shrink", 1.0, stage(gpu=5, gpu_mem=0, cpu=4))], 1.75)).broken] == ["R14"]


def test_what_costs_more_than_is_paid_may_be_kept(answer: Any) -> None:
    cost = {"resize_seconds": {"gpu": 10, "gpu_mem": 20}}
    job = {"id": "a", "demand": {"gpu": 2}, "preemption_cost": cost, "allocation": {"pool": "p", "resources": {"gpu": 5, "gpu_mem": 9}}}
    state = State.model_validate({"pools": [pool()], "jobs": [job]})
    assert verify(state, answer(state, [planned("a", "shrink", 1.0, stage(gpu=2, gpu_mem=9))], 2 - 20 / 120)).broken == ()


def test_nothing_is_kept_across_pools(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 2}, "allocation": {"pool": "p", "resources": {"gpu": 5}}}
    state = State.model_validate({"pools": [pool(), pool("q")], "jobs": [job]})
    assert verify(state, answer(state, [planned("a", "migrate", 1.0, stage(at="q", gpu=2))], 2 - 90 / 120)).broken == ()
    report = verify(state, answer(state, [planned("a", "migrate", 1.0, stage(at="q", gpu=5))], 2 - 90 / 120))
    assert [broken.rule for broken in report.broken] == ["R14"]


def test_kept_memory_holds_on_to_its_cards(answer: Any) -> None:
    cost = {"resize_seconds": {"gpu": 10, "gpu_mem": 20}}
    job = {"id": "a", "demand": {"gpu": 1}, "preemption_cost": cost, "allocation": {"pool": "p", "resources": {"gpu": 8, "gpu_mem": 200}}}
    state = State.model_validate({"pools": [{**pool(), "card_mem": "80Gi"}], "jobs": [job]})
    assert verify(state, answer(state, [planned("a", "shrink", 1.0, stage(gpu=3, gpu_mem=200))], 1 - 10 / 120)).broken == ()


@pytest.mark.parametrize(("cpu", "margin"), [(8, 0), (12, 0), (12.1, 0.1)])
def test_spare_reaches_up_to_the_highest_intensity(answer: Any, cpu: float, margin: float) -> None:
    job = {"id": "a", "demand": {"gpu": 1, "cpu": 8}, "demand_intensity": [0.5, 1, 1.5], "max_quota": {"gpu": 1}}
    state = State.model_validate({"pools": [pool()], "jobs": [job]})
    service = (1 + 1 + 1 / 1.5) / 3
    report = verify(state, answer(state, [planned("a", "admit", service, stage(gpu=1, cpu=cpu))], service))
    assert [broken.rule for broken in report.broken] == (["R14"] if margin else [])
    assert sum(broken.margin for broken in report.broken) == pytest.approx(margin)


def test_spare_that_lifts_the_service_is_counted(answer: Any) -> None:
    state = State.model_validate({"pools": [pool()], "jobs": [{"id": "a", "demand": {"gpu": 3, "cpu": 8}, "unit": {"cpu": 4}}]})
    assert verify(state, answer(state, [planned("a", "admit", 0.5, stage(gpu=2, cpu=4))], 1.5)).broken == ()
    assert verify(state, answer(state, [planned("a", "admit", 2 / 3, stage(gpu=2, cpu=8))], 2.0)).broken == ()


def test_spare_is_not_handed_out_when_the_option_is_off(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    state = state.replace({"options": {"spare": False}})
    report = verify(state, answer(state, jobs, 7.75))
    assert [(broken.rule, broken.where, broken.margin) for broken in report.broken] == [("R14", "jobs[1].stages[0].resources.cpu", 8.0)]


def test_every_broken_rule_is_listed(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    jobs[1] = planned("b", "keep", 0.9, stage(gpu=9, gpu_mem=1, cpu=99))
    rules = [broken.rule for broken in verify(state, answer(state, jobs, 99.0)).broken]
    assert rules == ["format", "R1", "R1", "R3", "R5", "R6", "R14", "R14", "objective"]


def test_verifying_changes_nothing(two_jobs: Any, answer: Any) -> None:
    state, jobs = two_jobs
    plan = answer(state, deepcopy(jobs), 7.75)
    assert verify(state, plan) == verify(state, plan)
