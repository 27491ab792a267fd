"""Explanations look where the reason points: limits of queues above, the budget in its own steps, and in large states with few solves."""

from pathlib import Path

import numpy as np
import pytest

from libra_opt import State, allocate, explain, read_state
from libra_opt.adapters.synthetic import generate
from libra_opt.explanation import apply
from libra_opt.explanation.search import is_better

REASONS = Path(__file__).parents[2] / "instances" / "reasons"


def below(**parent: object) -> State:
    """A job that waits in a queue whose parent may use no more."""
    queues = [{"name": "all", **parent}, {"name": "team", "parent": "all", "nominal_quota": {"gpu": 4}}]
    job = {"id": "a", "queue": "team", "min_quota": {"gpu": 8}, "demand": {"gpu": 8}}
    return State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 8}}], "queues": queues, "jobs": [job]})


def test_limit_of_the_queue_above_is_told() -> None:
    told = explain(below(borrowing_limit={"gpu": 1}), "a")
    assert told.reason.binding is not None
    assert told.reason.binding.queue == "all"
    assert ("queues.all.borrowing_limit.gpu=+3",) in [change.settings for change in told.changes if change.kind == "queue_ceiling"]
    assert ("queues.all.nominal_quota.gpu=+3",) in [change.settings for change in told.changes if change.kind == "queue_guarantee"]


def test_limits_of_a_queue_and_the_one_above_are_raised_together() -> None:
    state = apply(below(borrowing_limit={"gpu": 1}), ["queues.team.borrowing_limit.gpu=2"])
    ceilings = [change.settings for change in explain(state, "a").changes if change.kind == "queue_ceiling"]
    assert [set(settings) for settings in ceilings] == [{"queues.all.borrowing_limit.gpu=+3", "queues.team.borrowing_limit.gpu=+2"}]


@pytest.mark.parametrize(("name", "seconds"), [("preemption-budget-waiting", 35), ("preemption-budget-running", 20), ("move-over-budget", 15)])
def test_budget_is_the_cheapest_change_where_it_is_the_reason(name: str, seconds: int) -> None:
    state = read_state((REASONS / f"{name}.json").read_bytes())
    told = explain(state, "told")
    assert told.reason.code == "preemption_budget"
    assert told.cheapest is not None
    assert told.cheapest.settings == (f"options.preemption_budget_seconds=+{seconds}",)
    assert told.cheapest.is_least


def test_large_state_is_explained_with_few_solves_and_the_cheapest_holds() -> None:
    state = generate("plain", 80, np.random.default_rng(1))
    state = state.replace({"options": state.options.replace({"gap": 0.005, "effort": 0.1})})
    plan = allocate(state)
    j = next(j for j, job in enumerate(plan.jobs) if job.reason.code == "no_room")
    told = explain(state, plan.jobs[j].id, plan)
    assert told.solves <= 40
    assert told.cheapest is not None
    assert (told.cheapest.is_confirmed, told.cheapest.is_least) == (True, False)
    granted = allocate(apply(state, told.cheapest.settings))
    assert is_better(plan.jobs[j], granted.jobs[j])
    assert (granted.jobs[j].service, granted.certificate.objective) == (told.cheapest.service, told.cheapest.value)
    assert explain(state, plan.jobs[j].id, plan, most_solves=5).solves <= 5
