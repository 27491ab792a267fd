"""What the verifier says of a broken rule: the rule, the place in the plan, the object, the value and the limit, and by how much."""

from typing import Any

import pytest

from libra_opt.domain import State
from libra_opt.verification import verify

Document = dict[str, Any]
Fault = tuple[str, str, str, float]

STAGES = [
    {"name": "rollout", "demand": {"gpu": 4}, "min_quota": {"gpu": 1, "cpu": 0.5}, "max_quota": {"gpu": 6}, "need": {"gpu_mem": 12}, "pools": ["p", "q"]},
    {"name": "train", "demand": {"gpu": 4}, "unit": {"gpu": 2}, "pools": ["q"]},
]
JOBS = [
    {"id": "a", "stages": STAGES, "queue": "t"},
    {"id": "b", "demand": {"gpu": 4, "cpu": 2}, "allocation": {"pool": "p", "resources": {"gpu": 4, "cpu": 2}}, "preemptible": False},
    {"id": "c", "history": [{"gpu": 1}]},
]
STATE = {
    "pools": [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 640, "cpu": 20}, "card_mem": 8}, {"name": "q", "capacity": {"gpu": 8, "cpu": 20, "mem": 4}}],
    "queues": [
        {"name": "t", "nominal_quota": {"gpu": 8}, "borrowing_limit": {"gpu": 0}},
        {"name": "u", "nominal_quota": {"mem": 2}, "lending_limit": {"mem": 1}},
    ],
    "jobs": JOBS,
    "options": {"preemption_budget_seconds": 60},
}
FORECAST = {"job": "c", "stage": "main", "method": "test", "demand": {"gpu": 2}, "demand_intensity": [], "need": {"mem": 1}}


def stage(name: str = "main", pool: str = "p", **resources: Any) -> Document:
    return {"name": name, "pool": pool, "resources": resources}


def job(name: str, action: str, service: float, *stages: Document) -> Document:
    return {"id": name, "action": action, "service": service, "stages": list(stages)}


SOUND = {
    "a": job("a", "admit", 0.5, stage("rollout", gpu=2, gpu_mem=12, cpu=0.5), stage("train", "q", gpu=2)),
    "b": job("b", "keep", 1.0, stage(gpu=4, cpu=2)),
    "c": job("c", "admit", 1.0, stage(pool="q", gpu=2, mem=1)),
}
TIERS = {"protected_lost": 0, "over_budget_seconds": 0, "guarantee_shortfall": 0.5}


def faults(answer: Any, jobs: Document, value: float | None = 10.0, *, options: Document | None = None, **changes: Any) -> list[Fault]:
    """What is found in the sound plan with some jobs replaced; what its certificate then says wrongly is left out where no value is given."""
    state = State.model_validate({**STATE, "options": options or STATE["options"]})
    planned = [entry for entry in {**SOUND, **jobs}.values() if entry is not None]
    plan = answer(state, planned, 0.0 if value is None else value, **{"tiers": TIERS, "forecast": [FORECAST], **changes})
    found = [(fault.rule, fault.where, fault.message, fault.margin) for fault in verify(state, plan).broken]
    return found if value is not None else [fault for fault in found if fault[0] != "objective"]


def test_sound_plan_holds(answer: Any) -> None:
    assert faults(answer, {}) == []


PLACED = "jobs[0].stages[0]"
CASES: dict[str, tuple[Document, list[Fault]]] = {
    "R1": (
        {"b": job("b", "reshape", 0.5, stage(gpu=2, cpu=19.9))},
        [
            ("R1", "pools.p.cpu", "pool 'p' hands out 20.4 cpu, above its capacity 20", 0.4),
            (
                "R14",
                "jobs[1].stages[0].resources.cpu",
                "job 'b', stage 'main' holds 19.9 cpu, above the least at its service and what spare may add, 2",
                17.9,
            ),
        ],
    ),
    "R2": (
        {"a": job("a", "admit", 0.5, stage("rollout", gpu=2, gpu_mem=12, cpu=0.2), stage("train", "q", gpu=2))},
        [("R2", f"{PLACED}.resources.cpu", "job 'a', stage 'rollout' holds 0.2 cpu, below min_quota 0.5", 0.3)],
    ),
    "R2, a stage is missing": (
        {"a": job("a", "admit", 0.5, stage("rollout", gpu=2, gpu_mem=12, cpu=0.5))},
        [("R2", "jobs[0].stages", "job 'a' runs without its stage 'train'; all stages run or none", 1.0)],
    ),
    "R3": (
        {
            "a": job("a", "admit", 1.0, stage("rollout", gpu=7, gpu_mem=12, cpu=0.5), stage("train", "q", gpu=4)),
            "b": job("b", "shrink", 0.25, stage(gpu=1, cpu=0.5)),
        },
        [
            ("R3", f"{PLACED}.resources.gpu", "job 'a', stage 'rollout' holds 7 gpu, above max_quota 6", 1.0),
            ("R10", "queues.t.gpu", "queue 't' holds 11 gpu, above its ceiling 8", 3.0),
            ("R14", f"{PLACED}.resources.gpu", "job 'a', stage 'rollout' holds 7 gpu, above the least at its service, 4", 3.0),
        ],
    ),
    "R4": (
        {"a": job("a", "admit", 0.5, stage("rollout", gpu=2, gpu_mem=12, cpu=0.5), stage("train", "p", gpu=2))},
        [("R4", "jobs[0].stages[1].pool", "job 'a', stage 'train' sits in pool 'p'; it allows 'q'", 1.0)],
    ),
    "R4, among several": (
        {"a": job("a", "admit", 0.5, stage("rollout", "r", gpu=2, gpu_mem=12, cpu=0.5), stage("train", "q", gpu=2))},
        [("R4", f"{PLACED}.pool", "job 'a', stage 'rollout' sits in pool 'r'; it allows 'p', 'q'", 1.0)],
    ),
    "R5": (
        {"a": job("a", "admit", 0.5, stage("rollout", gpu=2, gpu_mem=9, cpu=0.5), stage("train", "q", gpu=2))},
        [("R5", f"{PLACED}.resources.gpu_mem", "job 'a', stage 'rollout' holds 9Gi gpu_mem, below its need 12Gi", 3.0)],
    ),
    "R6": (
        {"b": job("b", "keep", 0.75, stage(gpu=4, cpu=2))},
        [("R6", "jobs[1].service", "job 'b' is served as its stage, 1, and not 0.75", 0.25)],
    ),
    "R7": (
        {"a": job("a", "admit", 0.75, *SOUND["a"]["stages"])},
        [("R7", "jobs[0].service", "job 'a' is served as its slowest stage, 0.5, and not 0.75", 0.25)],
    ),
    "R8": (
        {"a": job("a", "admit", 0.5, stage("rollout", gpu=2, gpu_mem=12, cpu=0.5), stage("train", "q", gpu=3))},
        [("R8", "jobs[0].stages[1].resources.gpu", "job 'a', stage 'train' holds 3 gpu, not a multiple of unit 2", 1.0)],
    ),
    "R8, no whole quanta": (
        {"b": job("b", "keep", 1.0, stage(gpu=4, cpu="2025m"))},
        [("R8", "jobs[1].stages[0].resources.cpu", "'2025m' is not a whole number of quanta of 0.1 cores", 0.025)],
    ),
    "R9": (
        {"a": job("a", "admit", 0.5, stage("rollout", gpu=2, gpu_mem=20, cpu=0.5), stage("train", "q", gpu=2))},
        [
            ("R9", f"{PLACED}.resources.gpu_mem", "job 'a', stage 'rollout' holds 20Gi gpu_mem, above what its 2 gpu carry of gpu_mem, 16Gi", 4.0),
            ("R14", f"{PLACED}.resources.gpu_mem", "job 'a', stage 'rollout' holds 20Gi gpu_mem, above the least at its service, 12Gi", 8.0),
        ],
    ),
    "R10, reserve": (
        {"c": job("c", "admit", 1.0, stage(pool="q", gpu=2, mem=4))},
        [
            ("R10", "queues.mem", "use and reserved quota of all queues come to 5Gi mem, above the capacity of the cluster 4Gi", 1.0),
            ("R14", "jobs[2].stages[0].resources.mem", "job 'c', stage 'main' holds 4Gi mem, above the least at its service, 1Gi", 3.0),
        ],
    ),
    "action": (
        {"b": job("b", "grow", 1.0, stage(gpu=4, cpu=2))},
        [("format", "jobs[1].action", "job 'b' is said to grow; what the plan does is keep", 1.0)],
    ),
    "unknown stage": (
        {"b": job("b", "keep", 1.0, stage("mane", gpu=4, cpu=2))},
        [
            ("format", "jobs[1].stages[0].name", "stage 'mane' is unknown to job 'b'", 1.0),
        ],
    ),
    "stage planned twice": (
        {"b": job("b", "keep", 1.0, stage(gpu=4, cpu=2), stage(gpu=4, cpu=2))},
        [("format", "jobs[1].stages[1].name", "stage 'main' is planned twice in job 'b'", 1.0)],
    ),
    "unknown resource": (
        {"b": job("b", "keep", 1.0, stage(gpu=4, cpu=2, tpu=1))},
        [("format", "jobs[1].stages[0].resources.tpu", "unknown resource 'tpu'", 1.0)],
    ),
    "unknown job": ({"d": job("d", "queue", 0.0)}, [("format", "jobs[3].id", "unknown job 'd'", 1.0)]),
    "job planned twice": ({"again": SOUND["b"]}, [("format", "jobs[3].id", "job 'b' is planned twice", 1.0)]),
}


@pytest.mark.parametrize("case", CASES)
def test_broken_rule_is_named_with_object_value_and_limit(answer: Any, case: str) -> None:
    jobs, expected = CASES[case]
    found = faults(answer, jobs, None)
    if case == "unknown stage":
        found = found[:1]
    assert [fault[:3] for fault in found] == [fault[:3] for fault in expected]
    assert [fault[3] for fault in found] == pytest.approx([fault[3] for fault in expected])


def test_job_that_is_forgotten_is_named(answer: Any) -> None:
    found = faults(answer, {"b": None}, None)
    assert ("format", "jobs", "job 'b' is missing", 1.0) in found
    assert ("R13", "jobs", "protected job 'b' waits although it fits beside the other protected jobs", 1.0) in found


def test_protected_job_that_waits_is_named(answer: Any) -> None:
    [fault] = faults(answer, {"b": job("b", "evict", 0.0)}, None)
    assert fault == ("R13", "jobs[1]", "protected job 'b' waits although it fits beside the other protected jobs", 1.0)


def test_move_beyond_the_budget_is_named(answer: Any) -> None:
    found = faults(answer, {"b": job("b", "shrink", 0.25, stage(gpu=1, cpu=0.5))}, None, options={"preemption_budget_seconds": 12.5})
    message = "moving job 'b' costs 15 s of a budget that is exceeded by 2.5 s, and it could stay as it is"
    assert found == [("R12", "jobs[1]", message, 2.5)]


def test_service_of_a_job_that_waits_is_named(answer: Any) -> None:
    found = faults(answer, {"c": job("c", "queue", 0.5)}, None)
    assert found == [("R6", "jobs[2].service", "job 'c' waits, 0, and not 0.5", 0.5)]


def test_amount_that_cannot_be_read_is_named(answer: Any) -> None:
    [(rule, where, message, margin)] = faults(answer, {"b": job("b", "keep", 1.0, stage(gpu="four", cpu=2))}, None)
    assert (rule, where, margin) == ("format", "jobs[1].stages[0].resources.gpu", 1.0)
    assert "'four'" in message


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ([], ("format", "forecast", "job 'c', stage 'main' brought a history and has no forecast", 1.0)),
        ([FORECAST, FORECAST], ("format", "forecast[1]", "job 'c', stage 'main' is forecast twice", 1.0)),
        ([FORECAST, {**FORECAST, "job": "b"}], ("format", "forecast[1]", "job 'b', stage 'main' has no history to forecast from", 1.0)),
        ([{**FORECAST, "demand": {"mem": 3}}], ("format", "forecast[0].demand.mem", "mem is incompressible and has no demand", 1.0)),
        ([{**FORECAST, "need": {"gpu": 3}}], ("format", "forecast[0].need.gpu", "gpu is compressible and has no need", 1.0)),
        ([{**FORECAST, "need": {"mem": 0.5}}], ("format", "forecast[0].need.mem", "0.5 is not a whole number of quanta of 1.0 GiB", 0.5)),
        ([{**FORECAST, "demand": {"gpu": 1.5}}], ("format", "forecast[0].demand.gpu", "1.5 is not a whole number of quanta of 1.0 cards", 0.5)),
    ],
)
def test_fault_of_a_forecast_is_named(answer: Any, entries: list[Document], fault: Fault) -> None:
    assert faults(answer, {}, None, forecast=entries) == [fault]


def test_plan_of_another_state_or_period_is_named(answer: Any) -> None:
    [(rule, where, message, margin)] = faults(answer, {}, state_digest="sha256:00")
    assert (rule, where, margin) == ("format", "state_digest", 1.0)
    assert message.startswith("sha256:00 answers another state; this one is sha256:")
    found = faults(answer, {}, period={"index": 3, "seconds": 60})
    assert found == [("format", "period", "period 3 is planned, not 0 as asked, or its length differs", 1.0)]


CERTIFIED = [{"name": name, "objective": number, "bound": number} for name, number in TIERS.items()]


@pytest.mark.parametrize(
    ("certificate", "fault"),
    [
        ({"objective": 12.5, "bound": 12.5}, ("certificate.objective", "12.5 is stated, but the value of the plan is 10", 2.5)),
        ({"bound": 9.5}, ("certificate.bound", "the bound lies on the wrong side of the objective: 10 should not be above 9.5", 0.5)),
        ({"bound": 12.5, "status": "feasible"}, ("certificate.gap", "0 is stated, but bound and objective are 0.2 apart", 0.2)),
        ({"bound": 12.5, "gap": 0.2}, ("certificate.status", "optimal is stated with a gap of 0.2, above 0", 0.2)),
        ({"bound": 12.5, "gap": 0.2, "status": "within_gap"}, ("certificate.status", "within_gap is stated with a gap of 0.2, above 0.001", 0.199)),
        ({"tiers": CERTIFIED[:2]}, ("certificate.status", "optimal is stated, but guarantee_shortfall 0.5 is not shown to be least: its bound is 0", 0.5)),
        (
            {"tiers": [*CERTIFIED[:2], {"name": "guarantee_shortfall", "objective": 0.25, "bound": 0.25}], "status": "feasible"},
            ("certificate.tiers[2].objective", "0.25 is stated, but guarantee_shortfall is 0.5", 0.25),
        ),
        (
            {"tiers": [*CERTIFIED, {"name": "value", "objective": 9.5, "bound": 10}]},
            ("certificate.tiers[3].objective", "9.5 is stated, but value is 10", 0.5),
        ),
        (
            {"tiers": [*CERTIFIED, {"name": "value", "objective": 10, "bound": 12.5}]},
            ("certificate.tiers[3].bound", "12.5 is stated, but the bound of the certificate is 10", 2.5),
        ),
        (
            {"tiers": [*CERTIFIED, {"name": "value", "objective": 10, "bound": 9}]},
            ("certificate.tiers[3].bound", "the bound lies on the wrong side of the objective: 10 should not be above 9", 1.0),
        ),
    ],
)
def test_lie_of_a_certificate_is_named(answer: Any, certificate: Document, fault: tuple[str, str, float]) -> None:
    found = {(where, message): margin for rule, where, message, margin in faults(answer, {}, certificate={"tiers": CERTIFIED, **certificate})}
    assert found[fault[:2]] == pytest.approx(fault[2])
