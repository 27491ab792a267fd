"""The tiers by hand, and what a certificate may not say."""

from typing import Any

import pytest

from libra_opt.domain import State
from libra_opt.verification import verify

Document = dict[str, Any]


def planned(name: str, action: str, service: float, **resources: Any) -> Document:
    return {"id": name, "action": action, "service": service, "stages": [{"name": "main", "pool": "p", "resources": resources}] if resources else []}


def valued(answer: Any, job: Document, amounts: Document, *, pools: list[Document] | None = None, **options: Any) -> float:
    """Return the value of a plan that admits one job."""
    state = State.model_validate(
        {"pools": pools or [{"name": "p", "capacity": {"gpu": 8, "cpu": 32, "mem": 64}}], "jobs": [{"id": "a", **job}], "options": options}
    )
    return verify(state, answer(state, [planned("a", "admit", 1.0, **amounts)], 0.0)).tiers.value


@pytest.mark.parametrize(
    ("job", "options", "worth"),
    [
        ({"demand": {"gpu": 2}}, {}, 2),
        ({"demand": {"gpu": 2}, "weight": 1.5, "priority": 2}, {}, 300),
        ({"demand": {"gpu": 2}, "priority": -1}, {"priority_base": 4}, 0.5),
        ({"demand": {"gpu": 2}, "rates": {"tokens": 5}}, {}, 300),
        ({"demand": {"gpu": 2}, "rates": {"tokens": 5, "steps": 2}}, {"throughput": "steps"}, 120),
        ({"demand": {"gpu": 2}, "rates": {"tokens": 5}}, {"throughput": "trajectories"}, 2),
        ({"demand": {"gpu": 2}, "rates": {"tokens": 0}}, {}, 0),
        ({"demand": {"gpu": 2}, "rates": {"cards": 3.5}}, {}, 2.75),
        ({"demand": {"gpu": 2}, "rates": {"cards": 3.5, "tokens": 5}}, {}, 300),
        ({"demand": {"gpu": 2}, "rates": {"cards": 3.5, "tokens": 5}, "weight": 2}, {"throughput": "steps"}, 5.5),
        ({"demand": {"cpu": 8}, "rates": {"cards": 0}}, {}, 2),
        ({"demand": {"gpu": 2}, "remaining": 240}, {"throughput": "jobs"}, 0.25),
        ({"demand": {"gpu": 2}, "remaining": 0}, {"throughput": "jobs"}, 2),
        ({"demand": {"cpu": 8, "mem": 32}}, {}, 4),
        ({"demand": {"cpu": 8, "net": 5}}, {}, 2),
        ({"demand": {"net": 5}}, {}, 0),
        ({"min_quota": {"cpu": 4}}, {}, 1),
        ({}, {}, 0),
    ],
)
def test_worth_of_a_job(answer: Any, job: Document, options: Document, worth: float) -> None:
    amounts = {**job.get("min_quota", {}), **job.get("demand", {})} or {"gpu": 0}
    assert valued(answer, job, amounts, **options) == pytest.approx(worth)


def test_worth_in_a_cluster_without_cards_is_the_dominant_share(answer: Any) -> None:
    pools = [{"name": "p", "capacity": {"cpu": 32}}]
    assert valued(answer, {"demand": {"cpu": 8}}, {"cpu": 8}, pools=pools) == 0.25


@pytest.mark.parametrize(
    ("fields", "gpu", "service"),
    [
        ({"demand_intensity": [0.5, 1, 2]}, 4, (1 + 1 + 0.5) / 3),
        ({"demand_intensity": [0, 1]}, 2, (1 + 0.5) / 2),
        ({"demand_intensity": [0, 0]}, 0, 1.0),
        ({"curve": [[0.5, 0.8], [1, 1]]}, 1, 0.4),
        ({"curve": [[0.5, 0.8], [1, 1]]}, 3, 0.9),
        ({"curve": [[0, 0.2], [1, 1]]}, 0, 0.2),
        ({"curve": [[0, 0.5]]}, 0, 0.5),
        ({"curve": [[0.5, 0.8], [1, 1]], "demand_intensity": [0.5, 2]}, 2, (1 + 0.4) / 2),
        ({"pools": {"p": 2}}, 1, 0.5),
        ({"pools": {"p": 0.5}}, 8, 1.0),
    ],
)
def test_service_of_a_stage(answer: Any, fields: Document, gpu: int, service: float) -> None:
    state = State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 8}}], "jobs": [{"id": "a", "demand": {"gpu": 4}, **fields}]})
    assert verify(state, answer(state, [planned("a", "admit", service, gpu=gpu)], 4 * service)).broken == ()


def test_curves_of_many_digits_are_exact(answer: Any) -> None:
    job = {"id": "a", "demand": {"gpu": 3}, "demand_intensity": [1 / 3, 0.1234567890123456, 1.9999999999999998], "curve": [[1 / 3, 0.7], [1.1, 0.9]]}
    state = State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 8}}], "jobs": [job]})
    service = (2 * 0.9 + (0.7 + 0.2 * (1 / 2 - 1 / 3) / (1.1 - 1 / 3))) / 3
    assert verify(state, answer(state, [planned("a", "admit", service, gpu=3)], 3 * service)).broken == ()


def test_guarantee_counts_what_is_asked_and_not_spare(answer: Any) -> None:
    state = State.model_validate(
        {
            "pools": [{"name": "p", "capacity": {"gpu": 8, "cpu": 100}}],
            "queues": [{"name": "t", "nominal_quota": {"gpu": 6, "cpu": 40}}],
            "jobs": [
                {"id": "a", "queue": "t", "demand": {"gpu": 4, "cpu": 20}},
                {"id": "b", "queue": "t", "demand": {"gpu": 4, "cpu": 8}, "max_quota": {"gpu": 1}},
            ],
        }
    )
    jobs = [planned("a", "admit", 0.5, gpu=2, cpu=20), planned("b", "queue", 0.0)]
    shortfall = (min(6, 4 + 1) - 2) / 6 + (min(40, 20 + 8) - 10) / 40
    report = verify(state, answer(state, jobs, 2.0, tiers={"guarantee_shortfall": shortfall}))
    assert report.broken == ()
    assert report.tiers.guarantee_shortfall == pytest.approx(shortfall)


def test_ask_is_what_the_fastest_pool_needs_at_the_top_of_the_curve(answer: Any) -> None:
    state = State.model_validate(
        {
            "pools": [{"name": "p", "capacity": {"gpu": 8}}, {"name": "q", "capacity": {"gpu": 8}}],
            "queues": [{"name": "t", "nominal_quota": {"gpu": 8}}],
            "jobs": [{"id": "a", "queue": "t", "demand": {"gpu": 8}, "demand_intensity": [0.25, 0.5], "pools": {"p": 1, "q": 2}, "unit": 1}],
        }
    )
    report = verify(state, answer(state, [planned("a", "queue", 0.0)], 0.0, tiers={"guarantee_shortfall": 2 / 8}))
    assert report.broken == ()


def test_moves_are_charged_once_per_stage_and_spread_over_the_hold(answer: Any) -> None:
    held = {"allocation": {"pool": "p", "resources": {"gpu": 4}}}
    stages = [{"name": "x", "demand": {"gpu": 2}, **held}, {"name": "y", "demand": {"gpu": 2}, **held}, {"name": "z", "demand": {"gpu": 4}, **held}]
    cost = {"evict_seconds": 90, "resize_seconds": 12, "migrate_seconds": 30}
    document = {
        "period": {"seconds": 30},
        "pools": [{"name": "p", "capacity": {"gpu": 16}}, {"name": "q", "capacity": {"gpu": 4}}],
        "jobs": [{"id": "a", "preemption_cost": cost, "stages": stages}],
        "options": {"hold_periods": 3},
    }
    state = State.model_validate(document)
    placed = [
        {"name": "x", "pool": "p", "resources": {"gpu": 2}},
        {"name": "y", "pool": "q", "resources": {"gpu": 2}},
        {"name": "z", "pool": "p", "resources": {"gpu": 4}},
    ]
    value = 8 * (1 - (12 + 30) / 90)
    assert verify(state, answer(state, [{"id": "a", "action": "migrate", "service": 1.0, "stages": placed}], value)).broken == ()
    assert verify(state, answer(state, [planned("a", "evict", 0.0)], -8.0)).broken == ()


@pytest.fixture
def state() -> State:
    """One admitted job, worth 4, half served; a guarantee that is missed by a third."""
    return State.model_validate(
        {
            "pools": [{"name": "p", "capacity": {"gpu": 2}}],
            "queues": [{"name": "t", "nominal_quota": {"gpu": 3}}],
            "jobs": [{"id": "a", "queue": "t", "demand": {"gpu": 4}}],
        }
    )


def listed(**changes: tuple[float, float]) -> list[Document]:
    tiers = {"protected_lost": (0.0, 0.0), "over_budget_seconds": (0.0, 0.0), "guarantee_shortfall": (1 / 3, 1 / 3), "value": (2.0, 2.0), **changes}
    return [{"name": name, "objective": objective, "bound": bound} for name, (objective, bound) in tiers.items()]


@pytest.mark.parametrize(
    "certificate",
    [
        {},
        {"objective": 2.0000001},
        {"bound": 2.5, "gap": 0.2, "status": "feasible", "tiers": listed(value=(2.0, 2.5))},
        {"bound": 2.0015, "gap": 0.0015 / 2.0015, "status": "within_gap", "tiers": []},
        {"status": "fallback", "tiers": listed(guarantee_shortfall=(1 / 3, 0.1))},
        {"bound": 2 + 1e-12, "gap": 0.0},
    ],
)
def test_honest_certificate_holds(state: State, answer: Any, certificate: Document) -> None:
    plan = answer(state, [planned("a", "admit", 0.5, gpu=2)], 2.0, certificate={"tiers": listed(), **certificate})
    assert verify(state, plan).broken == ()


@pytest.mark.parametrize(
    ("certificate", "where", "margin"),
    [
        ({"objective": 2.5, "bound": 2.5, "tiers": []}, "certificate.objective", 0.5),
        ({"bound": 1.5, "tiers": []}, "certificate.bound", 0.5),
        ({"bound": 2.5, "status": "feasible", "tiers": []}, "certificate.gap", 0.2),
        ({"gap": 0.1, "status": "feasible"}, "certificate.gap", 0.1),
        ({"bound": 2.5, "gap": 0.2, "tiers": listed(value=(2.0, 2.5))}, "certificate.status", 0.2),
        ({"bound": 2.5, "gap": 0.2, "status": "within_gap", "tiers": []}, "certificate.status", 0.199),
        ({"tiers": listed(guarantee_shortfall=(0.25, 0.25))}, "certificate.tiers[2].objective", 1 / 12),
        ({"tiers": listed(guarantee_shortfall=(1 / 3, 0.5))}, "certificate.tiers[2].bound", 1 / 6),
        ({"tiers": listed(guarantee_shortfall=(1 / 3, 0.0))}, "certificate.status", 1 / 3),
        ({"tiers": []}, "certificate.status", 1 / 3),
        ({"tiers": listed(protected_lost=(1.0, 0.0)), "status": "feasible"}, "certificate.tiers[0].objective", 1.0),
        ({"tiers": listed(value=(2.0, 2.5)), "status": "feasible"}, "certificate.tiers[3].bound", 0.5),
    ],
)
def test_lie_in_the_certificate_is_found(state: State, answer: Any, certificate: Document, where: str, margin: float) -> None:
    plan = answer(state, [planned("a", "admit", 0.5, gpu=2)], 2.0, certificate={"tiers": listed(), **certificate})
    faults = {broken.where: broken for broken in verify(state, plan).broken}
    assert {broken.rule for broken in faults.values()} == {"objective"}
    assert faults[where].margin == pytest.approx(margin)
