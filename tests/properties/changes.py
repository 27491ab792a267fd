"""Changes to a state document that leave its meaning as it is, or change it in a known direction."""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from typing import Any

from libra_opt import Plan, State, read_state, write

__all__ = ["Document", "carried", "document_of", "enter", "holdings", "reordered", "scaled", "stages_in", "tiers", "with_options", "worse"]

Document = dict[str, Any]
TOLERANCE = 1e-6


def document_of(state: State) -> Document:
    document: Document = json.loads(write(state))
    return document


def enter(document: Document) -> State:
    return read_state(json.dumps(document))


def with_options(state: State, **options: Any) -> State:
    return state.replace({"options": state.options.replace(options)})


def stages_in(document: Document) -> list[Document]:
    """Return the stages of all jobs, whichever way they are written; they can be changed in place."""
    return [stage for job in document["jobs"] for stage in job.get("stages") or [job]]


def holdings(state: State, plan: Plan) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Return what every job holds, in quanta: per stage the pool and the amounts; an empty list for a job that waits."""
    return {
        job.id: [(stage.pool, tuple(r.quanta(stage.resources.get(r.name, 0), round_up=False) for r in state.resources)) for stage in job.stages]
        for job in plan.jobs
    }


def tiers(plan: Plan) -> list[float]:
    """Return the four tiers, each the less the better."""
    assert [tier.name for tier in plan.certificate.tiers] == ["protected_lost", "over_budget_seconds", "guarantee_shortfall", "value"]
    *least, most = [tier.objective for tier in plan.certificate.tiers]
    return [*least, -most]


def bounds(plan: Plan) -> list[float]:
    *least, most = [tier.bound for tier in plan.certificate.tiers]
    return [*least, -most]


def worse(one: Sequence[float], other: Sequence[float], slack: float = TOLERANCE) -> bool:
    """Tell whether `one` is worse than `other` in the strict order of the tiers, by more than rounding."""
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > slack * max(1.0, abs(a), abs(b)):
            return a > b
    return False


def carried(document: Document, plan: Plan) -> Document:
    """Return the document of the next period in which every stage holds what the plan gave it."""
    following = deepcopy(document)
    given = {job.id: {stage.name: {"pool": stage.pool, "resources": dict(stage.resources)} for stage in job.stages} for job in plan.jobs}
    for job in following["jobs"]:
        for stage in job.get("stages") or [job]:
            name = stage["name"] if job.get("stages") else "main"
            stage.pop("allocation", None)
            if name in given.get(job["id"], {}):
                stage["allocation"] = given[job["id"]][name]
    return following


def reordered(document: Document, key: str, order: Sequence[int]) -> Document:
    return {**document, key: [document[key][i] for i in order]}


def scaled(document: Document, factors: Mapping[str, Fraction]) -> Document:
    """Return the document with the quanta of resources and all amounts of them multiplied, which are plain numbers throughout."""

    def amounts(written: Document) -> Document:
        return {name: float(Fraction(amount) * factors[name]) for name, amount in written.items()}

    result = deepcopy(document)
    for resource in result["resources"]:
        resource["quantum"] = float(Fraction(resource["quantum"]) * factors[resource["name"]])
    for pool in result["pools"]:
        _apply(pool, ("capacity",), amounts)
        if "card_mem" in pool:
            pool["card_mem"] = float(Fraction(pool["card_mem"]) * factors["gpu_mem"] / factors["gpu"])
    for queue in result["queues"]:
        _apply(queue, ("nominal_quota", "borrowing_limit", "lending_limit"), amounts)
    for job in result["jobs"]:
        _apply(job.get("rates", {}), ("cards",), lambda cards: float(Fraction(cards) * factors.get("gpu", 1)))
    for stage in stages_in(result):
        if isinstance(stage.get("unit"), int):
            stage["unit"] = {"gpu": stage["unit"]}
        _apply(stage, ("min_quota", "max_quota", "demand", "need", "unit"), amounts)
        if "allocation" in stage:
            _apply(stage["allocation"], ("resources",), amounts)
    return result


def _apply(place: Document, names: Sequence[str], change: Callable[[Document], Document]) -> None:
    for name in names:
        if place.get(name) is not None:
            place[name] = change(place[name])
