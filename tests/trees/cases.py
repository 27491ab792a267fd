"""Small trees of queues over one pool of cards, whose answers are worked out by hand."""

import json
from typing import Any

from libra_opt import Plan, State, read_state

__all__ = ["Document", "cards", "job", "queue", "state", "with_plan"]

Document = dict[str, Any]

CHARGES = {"evict_seconds": 30, "resize_seconds": 10, "migrate_seconds": 20}


def queue(name: str, quota: int = 0, parent: str | None = None, **limits: int) -> Document:
    """Return a queue; limits are `borrows` and `lends`, in cards, and `weight`."""
    made: Document = {"name": name, "nominal_quota": {"gpu": quota}} | ({"parent": parent} if parent else {})
    for key, limit in limits.items():
        made |= {"weight": limit} if key == "weight" else {{"borrows": "borrowing_limit", "lends": "lending_limit"}[key]: {"gpu": limit}}
    return made


def job(name: str, of: str | None, demand: int, held: int = 0, least: int = 1, **more: Any) -> Document:
    """Return a job of a queue that can use so many cards, and holds some now."""
    made: Document = {"id": name, "demand": {"gpu": demand}, "max_quota": {"gpu": demand}, "min_quota": {"gpu": least}, "preemption_cost": CHARGES, **more}
    if of is not None:
        made["queue"] = of
    if held:
        made["allocation"] = {"pool": "p", "resources": {"gpu": held}}
    return made


def state(n_cards: int, queues: list[Document], jobs: list[Document], **options: Any) -> State:
    """Return a state of one pool; a moved second costs 1/60 of a period."""
    pools = [{"name": "p", "capacity": {"gpu": n_cards}}]
    asked = {"hold_periods": 1, "gap": 0, **options}
    return read_state(json.dumps({"resources": [{"name": "gpu", "costly": True}], "pools": pools, "queues": queues, "jobs": jobs, "options": asked}))


def cards(plan: Plan) -> dict[str, int]:
    """Return how many cards every job of a plan holds."""
    return {each.id: sum(int(stage.resources["gpu"]) for stage in each.stages) for each in plan.jobs}


def with_plan(before: State, plan: Plan) -> State:
    """Return the state in which every job holds what a plan gives it."""
    held = cards(plan)
    document = json.loads(before.model_dump_json(exclude_unset=True))
    for each in document["jobs"]:
        each.pop("allocation", None)
        if held[each["id"]]:
            each["allocation"] = {"pool": "p", "resources": {"gpu": held[each["id"]]}}
    return read_state(json.dumps(document))
