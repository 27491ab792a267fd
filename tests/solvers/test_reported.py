"""States that an attacker found: each once ended without a plan."""

from libra_opt import State, allocate
from libra_opt.verification import verify


def planned(document: dict[str, object]):
    state = State.model_validate(document)
    plan = allocate(state)
    assert verify(state, plan).holds
    assert not plan.warnings
    return plan


def test_where_nobody_can_run_any_more_everybody_is_evicted_though_the_budget_is_overrun():
    train = {"name": "train", "pools": ["a"], "min_quota": {"gpu": 4}, "demand": {"gpu": 8}, "allocation": {"pool": "a", "resources": {"gpu": 8}}}
    rollout = {"name": "rollout", "pools": ["b"], "demand": {"gpu": 8, "cpu": 1500}, "allocation": {"pool": "b", "resources": {"gpu": 4, "cpu": 100}}}
    lost, left = {"name": "a", "capacity": {"gpu": 0}}, {"name": "b", "capacity": {"gpu": 64, "cpu": 2000}}
    plan = planned({"pools": [lost, left], "jobs": [{"id": "j", "stages": [train, rollout]}], "options": {"preemption_budget_seconds": 10}})
    assert [job.action for job in plan.jobs] == ["evict"]
    assert plan.certificate.status == "optimal"


def test_a_level_next_to_nothing_takes_a_whole_unit():
    stages = [{"name": "x", "demand": {"gpu": 10}}, {"name": "y", "demand": {"gpu": 3}, "demand_intensity": [1e-9]}]
    plan = planned({"pools": [{"name": "p", "capacity": {"gpu": 2}}], "jobs": [{"id": "a", "stages": stages}]})
    assert [dict(stage.resources)["gpu"] for stage in plan.jobs[0].stages] == [1, 1]


def test_network_in_bytes_per_second_is_planned_to_the_byte():
    first = {"name": "x", "demand": {"net": 2_494_333_050}, "demand_intensity": [1.9]}
    second = {"name": "y", "demand": {"net": 176_980_443}, "demand_intensity": [1.07, 2.03, 2.42]}
    pool = {"name": "p", "capacity": {"net": 100_000_000_000}}
    network = {"name": "net", "unit": "B/s", "quantum": 1}
    planned({"resources": [network], "pools": [pool], "jobs": [{"id": "j", "stages": [first, second]}], "options": {"spare": False}})
