"""The edges of rules: exactly at a limit, in a cluster that lacks something, beside a job that waits or cannot be read."""

from typing import Any

import pytest

from libra_opt.domain import State
from libra_opt.verification import verify

Document = dict[str, Any]


def pool(name: str = "p", **capacity: Any) -> Document:
    return {"name": name, "capacity": {"gpu": 8, "gpu_mem": 640, "cpu": 64, "mem": 64, **capacity}}


def runs(name: str, action: str, service: float, at: str = "p", **held: Any) -> Document:
    return {"id": name, "action": action, "service": service, "stages": [{"name": "main", "pool": at, "resources": held}]}


def waits(name: str, action: str = "queue") -> Document:
    return {"id": name, "action": action, "service": 0.0, "stages": []}


def holding(**held: Any) -> Document:
    return {"allocation": {"pool": "p", "resources": held}}


def found(answer: Any, jobs: list[Document], planned: list[Document], value: float | None = None, **state: Any) -> list[tuple[str, str, float]]:
    """Every broken rule with its margin; without a value, but for what the certificate says wrongly."""
    certificate = state.pop("certificate", {})
    asked = State.model_validate({"pools": [pool()], "jobs": jobs, **state})
    plan = answer(asked, planned, value or 0.0, certificate=certificate)
    broken = [(fault.rule, fault.where, fault.margin) for fault in verify(asked, plan).broken]
    return [fault for fault in broken if value is not None or fault[0] != "objective"]


def test_only_what_is_exceeded_is_listed(answer: Any) -> None:
    jobs = [{"id": "a", "demand": {"gpu": 4, "cpu": 2}, "max_quota": {"gpu": 4, "cpu": 1}}]
    plan = [runs("a", "admit", 1.0, gpu=4, cpu=2)]
    assert found(answer, jobs, plan, pools=[pool(gpu=4, cpu=1)]) == [("R1", "pools.p.cpu", 1.0), ("R3", "jobs[0].stages[0].resources.cpu", 1.0)]
    queues = [{"name": "t", "nominal_quota": {"gpu": 4, "cpu": 1}, "borrowing_limit": {"gpu": 0, "cpu": 0}}]
    queued = [{"id": "a", "queue": "t", "demand": {"gpu": 4, "cpu": 2}, "min_quota": {"gpu": 4, "cpu": 3}, "need": {"mem": 3, "gpu_mem": 2}}]
    plan = [runs("a", "admit", 1.0, gpu=4, cpu=2, mem=3, gpu_mem=1)]
    assert found(answer, queued, plan, queues=queues) == [
        ("R2", "jobs[0].stages[0].resources.cpu", 1.0),
        ("R5", "jobs[0].stages[0].resources.gpu_mem", 1.0),
        ("R10", "queues.t.cpu", 1.0),
    ]


def test_jobs_behind_one_that_waits_are_counted(answer: Any) -> None:
    jobs = [{"id": "a", "demand": {"gpu": 1}}, {"id": "b", "demand": {"gpu": 9}}]
    assert found(answer, jobs, [waits("a"), runs("b", "admit", 1.0, gpu=9)]) == [("R1", "pools.p.gpu", 1.0)]
    jobs[1] |= {"max_quota": {"gpu": 8}, "unit": 2, "demand": {"gpu": 4}}
    plan = [waits("a"), runs("b", "admit", 0.5, gpu=4)]
    assert found(answer, jobs, plan) == [("R6", "jobs[1].service", 0.5)]
    assert found(answer, jobs, [waits("a"), runs("b", "admit", 1.0, gpu=6)]) == [("R14", "jobs[1].stages[0].resources.gpu", 2.0)]


def test_job_behind_one_that_cannot_be_read_is_checked(answer: Any) -> None:
    jobs = [{"id": "a", "demand": {"gpu": 1}, "pools": ["p"]}, {"id": "b", "demand": {"gpu": 4}, **holding(gpu=4)}]
    plan = [runs("a", "admit", 0.3, "q", gpu=1), runs("b", "keep", 0.5, gpu=4)]
    assert found(answer, jobs, plan, pools=[pool(), pool("q")]) == [("R4", "jobs[0].stages[0].pool", 1.0), ("R6", "jobs[1].service", 0.5)]


def test_job_in_a_pool_it_does_not_allow_is_not_measured(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 1}, "pools": ["p"]}
    assert found(answer, [job], [runs("a", "admit", 0.3, "q", gpu=4)], pools=[pool(), pool("q")]) == [("R4", "jobs[0].stages[0].pool", 1.0)]


def test_cluster_without_pools_lets_jobs_wait_and_nothing_else(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 1}}
    assert found(answer, [job], [waits("a")], 0.0, pools=[]) == []
    asked = State.model_validate({"jobs": [job]})
    [fault] = [fault for fault in verify(asked, answer(asked, [runs("a", "admit", 1.0, gpu=1)], 0.0)).broken if fault.rule == "R4"]
    assert fault.message == "job 'a', stage 'main' sits in pool 'p'; it allows none"


def test_known_stage_behind_an_unknown_one_is_read(answer: Any) -> None:
    stages = [{"name": name, "pool": "p", "resources": {"gpu": amount}} for name, amount in (("other", 0), ("main", 9))]
    plan = [{"id": "a", "action": "admit", "service": 1.0, "stages": stages}]
    assert found(answer, [{"id": "a", "demand": {"gpu": 9}}], plan) == [("format", "jobs[0].stages[0].name", 1.0), ("R1", "pools.p.gpu", 1.0)]


def test_least_is_a_whole_number_of_units(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 3}, "unit": 2}
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=4)]) == []
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=8)]) == [("R14", "jobs[0].stages[0].resources.gpu", 4.0)]
    three = {"id": "a", "demand": {"gpu": 4}, "unit": 3}
    assert found(answer, [three], [runs("a", "admit", 1.0, gpu=9)], pools=[pool(gpu=9)]) == [("R14", "jobs[0].stages[0].resources.gpu", 3.0)]


def test_speed_of_a_pool_enters_the_least(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 4}, "pools": {"p": 0.75}}
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=6)]) == []
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=8)]) == [("R14", "jobs[0].stages[0].resources.gpu", 2.0)]


def test_resources_behind_the_cards_are_checked(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 1}, "need": {"gpu_mem": 20, "mem": 2}}
    exclusive = [{**pool(), "card_mem": 10}]
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=2, gpu_mem=20, mem=2)], pools=exclusive) == []
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=2, gpu_mem=20, mem=5)], pools=exclusive) == [("R14", "jobs[0].stages[0].resources.mem", 3.0)]


def test_one_gibibyte_a_card_is_a_card_a_gibibyte(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 1}, "need": {"gpu_mem": 3}}
    one = [{**pool(), "card_mem": 1}]
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=3, gpu_mem=3)], pools=one) == []
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=2, gpu_mem=3)], pools=one) == [("R9", "jobs[0].stages[0].resources.gpu_mem", 1.0)]


def test_cards_without_memory_hold_none(answer: Any) -> None:
    none = [{**pool(), "card_mem": 0}]
    assert found(answer, [{"id": "a", "demand": {"gpu": 2}}], [runs("a", "admit", 1.0, gpu=2)], pools=none) == []
    assert found(answer, [{"id": "a", "demand": {"gpu": 2}}], [runs("a", "admit", 1.0, gpu=3)], pools=none) == [("R14", "jobs[0].stages[0].resources.gpu", 1.0)]
    job = {"id": "a", "demand": {"gpu": 2}, "need": {"gpu_mem": 1}}
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=2, gpu_mem=1)], pools=none) == [("R9", "jobs[0].stages[0].resources.gpu_mem", 1.0)]


def test_memory_per_card_may_be_a_fraction(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 1}, "need": {"gpu_mem": 3}}
    halves = [{**pool(), "card_mem": 2.5}]
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=2, gpu_mem=3)], pools=halves) == []
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=1, gpu_mem=3)], pools=halves) == [("R9", "jobs[0].stages[0].resources.gpu_mem", 1.0)]


def test_stage_in_an_unknown_pool_is_judged_by_no_other(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 1}, "need": {"gpu_mem": 30}}
    pools = [pool("p"), {**pool("q"), "card_mem": 1}]
    assert found(answer, [job], [runs("a", "admit", 1.0, "r", gpu=1, gpu_mem=30)], pools=pools) == [("R4", "jobs[0].stages[0].pool", 1.0)]


def test_margin_of_a_unit_is_in_the_resource_s_own(answer: Any) -> None:
    job = {"id": "a", "demand": {"cpu": 0.7}, "unit": {"cpu": 0.5}}
    assert found(answer, [job], [runs("a", "admit", 1.0, cpu=0.7)]) == [("R8", "jobs[0].stages[0].resources.cpu", pytest.approx(0.2))]


def test_stage_that_asks_for_no_cards_holds_none(answer: Any) -> None:
    assert found(answer, [{"id": "a", "demand": {"mem": 2}}], [runs("a", "admit", 1.0, gpu=1, mem=2)]) == [("R14", "jobs[0].stages[0].resources.gpu", 1.0)]


def test_stage_without_memory_asks_for_no_card_that_carries_none(answer: Any) -> None:
    none = [{**pool(), "card_mem": 0}]
    assert found(answer, [{"id": "a", "demand": {"mem": 2}}], [runs("a", "admit", 1.0, gpu=1, mem=2)], pools=none) == [
        ("R14", "jobs[0].stages[0].resources.gpu", 1.0)
    ]


@pytest.mark.parametrize("known", ["gpu_mem", "net", "gpu"])
def test_amount_of_an_unknown_resource_is_not_read_as_that_of_another(answer: Any, known: str) -> None:
    job = {"id": "a", "demand": {"gpu": 4, "net": 4}, "need": {"gpu_mem": 4}}
    plan = [runs("a", "admit", 1.0, **{"gpu": 4, "net": 4, "gpu_mem": 4, known: 4, "tpu": 4})]
    assert found(answer, [job], plan, pools=[pool(net=9)]) == [("format", "jobs[0].stages[0].resources.tpu", 1.0)]


def test_quanta_of_several_units_are_whole_where_they_divide(answer: Any) -> None:
    state = {"resources": [{"name": "cpu", "quantum": 2}, {"name": "gpu", "quantum": 0.75}], "pools": [{"name": "p", "capacity": {"cpu": 8, "gpu": 6}}]}
    job = {"id": "a", "demand": {"cpu": 4, "gpu": 1.5}}
    assert found(answer, [job], [runs("a", "admit", 1.0, cpu=4, gpu=1.5)], **state) == []
    assert found(answer, [job], [runs("a", "admit", 1.0, cpu=4, gpu=1)], **state) == [("R8", "jobs[0].stages[0].resources.gpu", 0.25)]
    assert found(answer, [job], [runs("a", "admit", 1.0, cpu=5, gpu=1.5)], **state) == [("R8", "jobs[0].stages[0].resources.cpu", 1.0)]


def test_costly_resource_is_no_spare_even_where_changing_it_is_free(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 4, "cpu": 2}, "max_quota": {"cpu": 1}, "preemption_cost": {"resize_seconds": 0}}
    assert found(answer, [job], [runs("a", "admit", 0.5, gpu=3, cpu=1)]) == [("R14", "jobs[0].stages[0].resources.gpu", 1.0)]
    charged = {"id": "a", "demand": {"gpu": 4, "cpu": 2}, "max_quota": {"gpu": 2}, "preemption_cost": {"resize_seconds": {"cpu": 1}}}
    assert found(answer, [charged], [runs("a", "admit", 0.5, gpu=2, cpu=2)]) == [("R14", "jobs[0].stages[0].resources.cpu", 1.0)]


def test_certain_demand_is_the_cap_of_spare(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 4, "cpu": 2}, "max_quota": {"gpu": 2}}
    assert found(answer, [job], [runs("a", "admit", 0.5, gpu=2, cpu=2)]) == []
    assert found(answer, [job], [runs("a", "admit", 0.5, gpu=2, cpu=3)]) == [("R14", "jobs[0].stages[0].resources.cpu", 1.0)]


def test_spare_that_may_not_pass_the_least_is_not_spoken_of(answer: Any) -> None:
    asked = State.model_validate({"pools": [pool()], "jobs": [{"id": "a", "demand": {"cpu": 2}}]})
    [fault] = [fault for fault in verify(asked, answer(asked, [runs("a", "admit", 1.0, cpu=3)], 0.0)).broken if fault.rule == "R14"]
    assert fault.message == "job 'a', stage 'main' holds 3 cpu, above the least at its service, 2"


def test_charge_of_a_millisecond_keeps_what_it_is_for(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 2}, "preemption_cost": {"resize_seconds": 0.001}, **holding(gpu=5)}
    assert found(answer, [job], [runs("a", "keep", 1.0, gpu=5)]) == []
    free = {"id": "a", "demand": {"gpu": 2}, "preemption_cost": {"resize_seconds": 0}, **holding(gpu=5)}
    assert found(answer, [free], [runs("a", "keep", 1.0, gpu=5)]) == [("R14", "jobs[0].stages[0].resources.gpu", 3.0)]


@pytest.mark.parametrize(
    ("resources", "capacity", "demand", "held", "worth"),
    [
        ([{"name": "cpu"}, {"name": "net"}], {"cpu": 32, "net": 10}, {"cpu": 8, "net": 5}, {"cpu": 8, "net": 5}, 0.5),
        ([{"name": "cpu"}, {"name": "gpu", "quantum": 0.25}], {"cpu": 32, "gpu": 6}, {"cpu": 8, "gpu": 1.5}, {"cpu": 8, "gpu": 1.5}, 1.5),
        ([{"name": "cpu"}, {"name": "gpu", "quantum": 0.25}], {"cpu": 32, "gpu": 6}, {"cpu": 8}, {"cpu": 8}, 1.5),
        ([{"name": "cpu"}, {"name": "gpu", "quantum": 0.75}], {"cpu": 32, "gpu": 6}, {"cpu": 8, "gpu": 1.5}, {"cpu": 8, "gpu": 1.5}, 1.5),
        ([{"name": "cpu"}, {"name": "gpu", "quantum": 0.75}], {"cpu": 32, "gpu": 6}, {"cpu": 8}, {"cpu": 8}, 1.5),
        ([{"name": "gpu", "quantum": 0.25}, {"name": "cpu"}], {"cpu": 32, "gpu": 6}, {"cpu": 8, "gpu": 1.5}, {"cpu": 8, "gpu": 1.5}, 1.5),
    ],
    ids=["no cards at all", "quarters of cards", "share in quarters of cards", "three quarters", "share in three quarters", "cards first"],
)
def test_worth_is_counted_in_cards(answer: Any, resources: list[Document], capacity: Document, demand: Document, held: Document, worth: float) -> None:
    state = {"resources": resources, "pools": [{"name": "p", "capacity": capacity}]}
    assert found(answer, [{"id": "a", "demand": demand}], [runs("a", "admit", 1.0, **held)], worth, **state) == []


def test_job_has_no_worth_where_the_cluster_has_nothing(answer: Any) -> None:
    job = {"id": "a", "demand": {"cpu": 4}, "preemptible": False, **holding(cpu=1)}
    assert found(answer, [job], [waits("a", "evict")], 0.0, pools=[{"name": "p", "capacity": {}}]) == []


def test_ask_ends_at_the_top_of_the_curve(answer: Any) -> None:
    queues = [{"name": "t", "nominal_quota": {"gpu": 4}}]
    job = {"id": "a", "queue": "t", "demand": {"gpu": 4}, "curve": [[0.5, 1], [1, 1]]}
    assert found(answer, [job], [runs("a", "admit", 1.0, gpu=2)], 4.0, queues=queues) == []


def test_terms_that_cancel_leave_a_value_with_their_noise(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 1}, "weight": 1e6, "preemption_cost": {"migrate_seconds": 60}, **holding(gpu=1)}
    state = {"pools": [pool(), pool("q")], "options": {"hold_periods": 1}}
    plan = [runs("a", "migrate", 1.0, "q", gpu=1)]
    assert found(answer, [job], plan, 1.5e-6, **state) == []
    assert [where for _, where, _ in found(answer, [job], plan, 3e-6, **state)] == ["certificate.objective"]


def test_gap_is_measured_by_the_larger_of_bound_and_objective(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 4}, **holding(gpu=4)}
    certificate = {"bound": -1.0, "gap": 0.5 / 1.5, "status": "feasible"}
    assert found(answer, [job], [waits("a", "evict")], -1.5, certificate=certificate) == []
    certificate["gap"] = 0.5
    assert [where for _, where, _ in found(answer, [job], [waits("a", "evict")], -1.5, certificate=certificate)] == ["certificate.gap"]
