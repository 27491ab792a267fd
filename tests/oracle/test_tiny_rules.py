"""Tiny states, one or more for every rule, small enough to plan by hand: GLPK, the enumerator, `allocate` and the hand agree."""

import json
from fractions import Fraction
from typing import Any

import pytest

from libra_opt.domain import State, read_state
from tests.oracle.agreement import BACKENDS, assert_agrees, differ
from tests.oracle.enumerate import TooLargeError, enumerate_tiers
from tests.oracle.mathprog import OracleError, solve

RESOURCES = [
    {"name": "gpu", "unit": "cards", "compressible": True, "costly": True},
    {"name": "gpu_mem", "unit": "GiB", "compressible": False, "costly": True},
    {"name": "cpu", "unit": "cores", "compressible": True, "costly": False},
]
CHARGES = {"evict_seconds": 30, "resize_seconds": 12, "migrate_seconds": 24}


def cluster(*capacities: dict[str, int], jobs: list[dict[str, Any]], **more: Any) -> State:
    """Return a state with pools a, b, ..; a moved second costs 1/60 of a period, as a plan holds for one period."""
    pools = [{"name": name, "capacity": amounts} for name, amounts in zip("abc", capacities, strict=False)]
    for pool, memory in more.pop("card_mem", {}).items():
        next(entry for entry in pools if entry["name"] == pool)["card_mem"] = memory
    options = {"hold_periods": 1, **more.pop("options", {})}
    return read_state(json.dumps({"resources": RESOURCES, "pools": pools, "jobs": jobs, "options": options, **more}))


def job(name: str, demand: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    return {"id": name, "preemption_cost": CHARGES, **({} if demand is None else {"demand": demand}), **more}


def held(pool: str, **amounts: int) -> dict[str, Any]:
    return {"allocation": {"pool": pool, "resources": amounts}}


def measured(**rates: float) -> list[dict[str, Any]]:
    """Return a profile: `a4=2` is the rate 2 with 4 cards of pool a."""
    return [{"pool": place[0], "resources": {"gpu": int(place[1:])}, "rate": rate} for place, rate in rates.items()]


CASES = {
    "R1: capacity is shared and the heavier job is served first": (
        cluster({"gpu": 6}, jobs=[job("x", {"gpu": 4}, weight=2), job("y", {"gpu": 4})]),
        (0, 0, 0, 8 + 2),
    ),
    "R1: capacity holds per pool": (
        cluster({"gpu": 3}, {"gpu": 3}, jobs=[job("x", {"gpu": 4}, min_quota={"gpu": 4})]),
        (0, 0, 0, 0),
    ),
    "R2: below its minimum a job waits": (
        cluster({"gpu": 6}, jobs=[job("x", {"gpu": 4}, min_quota={"gpu": 4}, weight=2), job("y", {"gpu": 4}, min_quota={"gpu": 3})]),
        (0, 0, 0, 8),
    ),
    "R2: all stages run or none": (
        cluster({"gpu": 4, "gpu_mem": 3}, jobs=[job("x", stages=[{"name": "s", "demand": {"gpu": 2}}, {"name": "t", "demand": {"gpu_mem": 4}}])]),
        (0, 0, 0, 0),
    ),
    "R3: the maximum binds": (
        cluster({"gpu": 8}, jobs=[job("x", {"gpu": 8}, max_quota={"gpu": 2})]),
        (0, 0, 0, 2),
    ),
    "R4: a stage sits in one pool of those it allows, at that pool's speed": (
        cluster({"gpu": 2}, {"gpu": 4}, {"gpu": 8}, jobs=[job("x", {"gpu": 4}, pools={"a": 2, "b": 0.5})]),
        (0, 0, 0, 4),
    ),
    "R5: the scarcest compressible resource sets the level": (
        cluster({"gpu": 4, "cpu": 2}, jobs=[job("x", {"gpu": 4, "cpu": 8})]),
        (0, 0, 0, 1),
    ),
    "R5: never half the memory": (
        cluster({"gpu": 4, "gpu_mem": 5}, jobs=[job("x", {"gpu": 2, "gpu_mem": 3}), job("y", {"gpu": 2, "gpu_mem": 3})]),
        (0, 0, 0, 2),
    ),
    "R5: a need above the maximum is cut to it": (
        cluster({"gpu": 4, "gpu_mem": 5}, jobs=[job("x", {"gpu": 2}, need={"gpu_mem": 9}, max_quota={"gpu_mem": 4})]),
        (0, 0, 0, 2),
    ),
    "R6: service is the mean over the intensities": (
        cluster({"gpu": 2}, jobs=[job("x", {"gpu": 2}, demand_intensity=[0.5, 1, 2, 0])]),
        (0, 0, 0, 2 * Fraction(7, 8)),
    ),
    "R6: a stage may bring a curve of its own": (
        cluster({"gpu": 2}, jobs=[job("x", {"gpu": 4}, curve=[[0.5, 0.75], [1, 1]])]),
        (0, 0, 0, 3),
    ),
    "R6: an idle stage has the service of its curve's top": (
        cluster({"gpu": 1}, jobs=[job("x", {"gpu": 4}, curve=[[0, 0.5]])]),
        (0, 0, 0, 2),
    ),
    "R7: the slowest stage sets the pace": (
        cluster({"gpu": 3}, jobs=[job("x", stages=[{"name": "s", "demand": {"gpu": 2}}, {"name": "t", "demand": {"gpu": 4}}])]),
        (0, 0, 0, 3),
    ),
    "R8: whole units only": (
        cluster({"gpu": 7}, jobs=[job("x", {"gpu": 8}, unit=4)]),
        (0, 0, 0, 4),
    ),
    "R9: memory takes cards where they are exclusive": (
        cluster({"gpu": 4, "gpu_mem": 8}, card_mem={"a": 2}, jobs=[job("x", {"gpu": 1, "gpu_mem": 6}), job("y", {"gpu": 2})]),
        (0, 0, 0, 2),
    ),
    "R10: a queue stays under its ceiling over all pools": (
        cluster(
            {"gpu": 4},
            {"gpu": 4},
            queues=[{"name": "q", "nominal_quota": {"gpu": 4}, "borrowing_limit": {"gpu": 1}}],
            jobs=[job("x", {"gpu": 4}, queue="q"), job("y", {"gpu": 4}, queue="q")],
        ),
        (0, 0, 0, 5),
    ),
    "R10: what is not lent stays reserved": (
        cluster(
            {"gpu": 8},
            queues=[{"name": "q", "nominal_quota": {"gpu": 4}, "lending_limit": {"gpu": 1}}, {"name": "p"}],
            jobs=[job("x", {"gpu": 4}, queue="p"), job("y", {"gpu": 4})],
        ),
        (0, 0, 0, 5),
    ),
    "R10: reserves are cut in proportion where the cluster is smaller": (
        cluster(
            {"gpu": 5},
            queues=[
                {"name": "q", "nominal_quota": {"gpu": 4}, "lending_limit": {"gpu": 0}},
                {"name": "p", "nominal_quota": {"gpu": 4}, "lending_limit": {"gpu": 0}},
            ],
            jobs=[job("x", {"gpu": 4}, queue="p")],
        ),
        (0, 0, Fraction(1, 4), 3),
    ),
    "R11: an eviction is charged once": (
        cluster({"gpu": 4}, jobs=[job("x", {"gpu": 4}, min_quota={"gpu": 4}, **held("a", gpu=4)), job("y", {"gpu": 4}, min_quota={"gpu": 4}, weight=3)]),
        (0, 0, 0, 12 - 4 * Fraction(30, 60)),
    ),
    "R11: a resize costs the largest charge, once per stage": (
        cluster({"gpu": 8, "gpu_mem": 8}, jobs=[job("x", {"gpu": 4, "gpu_mem": 4}, **held("a", gpu=2, gpu_mem=2))]),
        (0, 0, 0, 4 - 4 * Fraction(12, 60)),
    ),
    "R11: a migration costs once per stage, and a stage that held nothing starts free": (
        cluster(
            {"gpu": 1},
            {"gpu": 8},
            jobs=[job("x", stages=[{"name": "s", "demand": {"gpu": 4}, **held("a", gpu=1)}, {"name": "t", "demand": {"gpu": 4}}])],
        ),
        (0, 0, 0, 8 - 8 * Fraction(24, 60)),
    ),
    "R11: a move whose gain does not beat its cost is not made": (
        cluster({"gpu": 8}, jobs=[job("x", {"gpu": 8}, **held("a", gpu=7))]),
        (0, 0, 0, 7),
    ),
    "R12: charges stay inside the budget": (
        cluster(
            {"gpu": 8},
            jobs=[job("x", {"gpu": 4}, **held("a", gpu=2)), job("y", {"gpu": 4}, **held("a", gpu=2))],
            options={"preemption_budget_seconds": 20},
        ),
        (0, 0, 0, 2 + 4 - 4 * Fraction(12, 60)),
    ),
    "R12: lost capacity may force more than the budget": (
        cluster({}, jobs=[job("x", {"gpu": 4}, min_quota={"gpu": 1}, **held("a", gpu=2))], options={"preemption_budget_seconds": 20}),
        (0, 10, 0, -4 * Fraction(30, 60)),
    ),
    "R13: a protected job keeps running, whatever else would be worth": (
        cluster(
            {"gpu": 4},
            jobs=[job("x", {"gpu": 4}, min_quota={"gpu": 2}, preemptible=False, **held("a", gpu=4)), job("y", {"gpu": 4}, min_quota={"gpu": 4}, weight=9)],
        ),
        (0, 0, 0, 4),
    ),
    "R13: of protected jobs that do not fit the least valuable is shed": (
        cluster(
            {"gpu": 3},
            jobs=[
                job("x", {"gpu": 2}, min_quota={"gpu": 2}, preemptible=False, **held("a", gpu=2)),
                job("y", {"gpu": 3}, min_quota={"gpu": 2}, min_runtime_seconds=9, **held("a", gpu=2)),
            ],
        ),
        (2, 0, 0, 3 - 3 * Fraction(12, 60) - 2 * Fraction(30, 60)),
    ),
    "R14: a job holds no more than its service needs, not even to fill a guarantee": (
        cluster(
            {"gpu": 8, "cpu": 2},
            queues=[{"name": "q", "nominal_quota": {"gpu": 8}}],
            jobs=[job("x", {"gpu": 8, "cpu": 8}, queue="q")],
        ),
        (0, 0, Fraction(6, 8), 2),
    ),
    "R14: cards are kept where giving them up costs": (
        cluster({"gpu": 8, "cpu": 2}, jobs=[job("x", {"gpu": 8, "cpu": 8}, **held("a", gpu=8, cpu=2))]),
        (0, 0, 0, 2),
    ),
    "R14: the dearer resource is kept while the cheaper one is resized": (
        cluster(
            {"gpu": 4, "gpu_mem": 6},
            jobs=[
                job("x", {"gpu": 4, "gpu_mem": 2}, preemption_cost={"resize_seconds": {"gpu": 6, "gpu_mem": 30}}, **held("a", gpu=2, gpu_mem=6)),
            ],
        ),
        (0, 0, 0, 4 - 4 * Fraction(6, 60)),
    ),
    "R14: who pays for the dearer resource may not keep the cheaper one": (
        cluster(
            {"gpu": 8, "gpu_mem": 4, "cpu": 1},
            queues=[{"name": "q", "nominal_quota": {"gpu": 2}}],
            jobs=[
                job(
                    "x",
                    {"gpu": 8, "gpu_mem": 4, "cpu": 8},
                    queue="q",
                    preemption_cost={"evict_seconds": 30, "resize_seconds": {"gpu": 6, "gpu_mem": 30}},
                    **held("a", gpu=2, gpu_mem=2),
                ),
            ],
        ),
        (0, 0, Fraction(1, 2), 1 - 8 * Fraction(30, 60)),
    ),
    "R15: a larger entry may be slower, and pools need not agree": (
        cluster({"gpu": 4}, {"gpu": 4}, jobs=[job("x", profile=measured(a4=2, a2=3, b4=4)), job("y", {"gpu": 4}, min_quota={"gpu": 4}, pools=["b"], weight=2)]),
        (0, 0, 0, 8 + 3),
    ),
    "R15: nothing is held but an entry": (
        cluster({"gpu": 3}, jobs=[job("x", profile=measured(a2=1, a4=4))]),
        (0, 0, 0, 1),
    ),
    "R15: the full rate may be above the table": (
        cluster({"gpu": 2}, jobs=[job("x", profile=measured(a2=1), full_rate=4)]),
        (0, 0, 0, Fraction(1, 2)),
    ),
    "R15: what is no entry cannot be kept": (
        cluster({"gpu": 3}, jobs=[job("x", profile=measured(a2=1), **held("a", gpu=3))]),
        (0, 0, 0, 2 * (1 - Fraction(12, 60))),
    ),
    "R15: a stage with a profile and one without go at the pace of the slower": (
        cluster({"gpu": 4}, jobs=[job("x", stages=[{"name": "s", "profile": measured(a1=1, a2=4)}, {"name": "t", "demand": {"gpu": 4}}])]),
        (0, 0, 0, 3),
    ),
    "R15: a queue asks for the fastest entry": (
        cluster(
            {"gpu": 4},
            queues=[{"name": "q", "nominal_quota": {"gpu": 4}}],
            jobs=[job("x", profile=measured(a2=1, a4=2), queue="q"), job("y", {"gpu": 4}, weight=10)],
        ),
        (0, 0, 0, 4),
    ),
    "R14: what breaks today's minimum cannot be kept": (
        cluster({"gpu": 8}, jobs=[job("x", {"gpu": 4}, min_quota={"gpu": 4}, **held("a", gpu=2))]),
        (0, 0, 0, 4 - 4 * Fraction(12, 60)),
    ),
    "tier 3: a guarantee comes before value": (
        cluster(
            {"gpu": 4},
            queues=[{"name": "q", "nominal_quota": {"gpu": 3}}, {"name": "p"}],
            jobs=[job("x", {"gpu": 4}, queue="q"), job("y", {"gpu": 4}, queue="p", weight=9)],
        ),
        (0, 0, 0, 3 + 9),
    ),
    "a job without cards is worth its dominant share of the cluster's cards": (
        cluster({"gpu": 10, "cpu": 4}, jobs=[job("x", {"cpu": 2})]),
        (0, 0, 0, 5),
    ),
    "a job that demands nothing is worth its minima": (
        cluster({"gpu": 10}, jobs=[job("x", {}, min_quota={"gpu": 2})]),
        (0, 0, 0, 2),
    ),
    "a stated rate is the work": (
        cluster({"gpu": 2}, jobs=[job("x", {"gpu": 4}, rates={"tokens": 3}, priority=1)]),
        (0, 0, 0, 10 * 3 * 60 / 2),
    ),
    "the cards of the mean over its steps are half of the work": (
        cluster({"gpu": 4}, jobs=[job("x", {"gpu": 4}, min_quota={"gpu": 4}, rates={"cards": 1}), job("y", {"gpu": 2}, rates={"cards": 5})]),
        (0, 0, 0, (2 + 5) / 2),
    ),
    "the cards of the mean count where a rate of another meaning is stated": (
        cluster({"gpu": 4}, jobs=[job("x", {"gpu": 4}, rates={"cards": 2, "tokens": 9})], options={"throughput": "steps"}),
        (0, 0, 0, (4 + 2) / 2),
    ),
    "no jobs": (cluster({"gpu": 2}, jobs=[]), (0, 0, 0, 0)),
    "no cluster": (read_state(json.dumps({"jobs": [job("x", {"gpu": 4})]})), (0, 0, 0, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_glpk_and_the_enumerator_find_what_the_hand_finds(name: str) -> None:
    state, by_hand = CASES[name]
    assert not differ(enumerate_tiers(state), by_hand), [float(tier) for tier in enumerate_tiers(state)]
    assert not differ(solve(state).tiers, by_hand), solve(state).tiers


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_allocate_finds_and_proves_what_the_hand_finds(name: str, backend: str) -> None:
    state, by_hand = CASES[name]
    assert assert_agrees(state, backend, by_hand), f"{backend} does not prove its plan"


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("R9: memory takes cards where they are exclusive", ("R9",)),
        ("R10: what is not lent stays reserved", ("R10_lending",)),
        ("R14: a job holds no more than its service needs, not even to fill a guarantee", ("R14_least",)),
        ("R14: who pays for the dearer resource may not keep the cheaper one", ("R14_keep_dearer",)),
        ("R15: nothing is held but an entry", ("R15_exactly",)),
        ("R15: a larger entry may be slower, and pools need not agree", ("R15_service",)),
    ],
)
def test_a_rule_that_is_dropped_is_missed(name: str, rows: tuple[str, ...]) -> None:
    state, by_hand = CASES[name]
    assert differ(solve(state, lambda row: row.startswith(rows)).tiers, by_hand)


def test_too_large_a_state_is_refused_by_the_enumerator() -> None:
    state, _ = CASES["R1: capacity is shared and the heavier job is served first"]
    with pytest.raises(TooLargeError):
        enumerate_tiers(state, most_plans=3)


def test_what_glpk_cannot_read_is_an_error_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.oracle.mathprog.write_data", lambda _: "data;\nset J := 1;\nend;\n")
    with pytest.raises(OracleError, match="could not"):
        solve(CASES["no jobs"][0])
