"""The verifier accepts whatever a second, slow reading of the write-up composes, and rejects it once it is damaged in one place."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from libra_opt.domain import Plan, read_plan, read_state, write
from libra_opt.verification import verify

Damage = Callable[[dict[str, Any], Random], bool]


@pytest.mark.parametrize("seed", range(120))
def test_composed_plan_holds(compose: Any, seed: int) -> None:
    state, plan = compose(seed)
    assert [str(fault) for fault in verify(state, plan).broken] == []


def test_plan_that_went_through_json_holds(compose: Any) -> None:
    state, plan = compose(7)
    assert verify(read_state(write(state)), read_plan(write(plan))).holds


def one_stage(document: dict[str, Any], dice: Random) -> dict[str, Any] | None:
    stages = [stage for job in document["jobs"] for stage in job["stages"]]
    return dice.choice(stages) if stages else None


def add_memory(document: dict[str, Any], dice: Random) -> bool:
    stage = one_stage(document, dice)
    if stage is None:
        return False
    stage["resources"]["mem"] = 1000
    return True


def take_card(document: dict[str, Any], dice: Random) -> bool:
    stage = one_stage(document, dice)
    if stage is None or stage["resources"]["gpu"] == 0:
        return False
    stage["resources"]["gpu"] -= 1
    return True


def add_card(document: dict[str, Any], dice: Random) -> bool:
    stage = one_stage(document, dice)
    if stage is None:
        return False
    stage["resources"]["gpu"] += 1
    return True


def lift_service(document: dict[str, Any], dice: Random) -> bool:
    dice.choice(document["jobs"])["service"] += 1e-4
    return True


def rename_action(document: dict[str, Any], dice: Random) -> bool:
    job = dice.choice(document["jobs"])
    job["action"] = "evict" if job["action"] == "queue" else "queue"
    return True


def forget_job(document: dict[str, Any], dice: Random) -> bool:
    document["jobs"].pop(dice.randrange(len(document["jobs"])))
    return True


def repeat_job(document: dict[str, Any], dice: Random) -> bool:
    document["jobs"].append(dice.choice(document["jobs"]))
    return True


def forget_stage(document: dict[str, Any], dice: Random) -> bool:
    job = dice.choice(document["jobs"])
    if not job["stages"]:
        return False
    job["stages"].pop()
    return True


def lift_value(document: dict[str, Any], _dice: Random) -> bool:
    document["certificate"]["objective"] = document["certificate"]["objective"] * 1.001 + 1e-3
    return True


def lift_tier(document: dict[str, Any], dice: Random) -> bool:
    dice.choice(document["certificate"]["tiers"])["objective"] += 0.01
    return True


def other_digest(document: dict[str, Any], _dice: Random) -> bool:
    document["state_digest"] = "sha256:0"
    return True


def forget_forecast(document: dict[str, Any], _dice: Random) -> bool:
    return bool(document.get("forecast")) and bool(document["forecast"].pop())


DAMAGES: tuple[Damage, ...] = (
    add_memory,
    take_card,
    add_card,
    lift_service,
    rename_action,
    forget_job,
    repeat_job,
    forget_stage,
    lift_value,
    lift_tier,
    other_digest,
    forget_forecast,
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_plan_damaged_in_one_place_is_rejected(compose: Any, damage: Damage) -> None:
    damaged = 0
    for seed in range(25):
        state, plan = compose(seed)
        document = json.loads(write(plan))
        if damage(document, Random(seed)):
            damaged += 1
            assert not verify(state, Plan.model_validate(document)).holds, f"seed {seed}"
    assert damaged >= 5
