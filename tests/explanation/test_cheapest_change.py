"""What an explanation says would help does help: granted, and planned again, the job fares better."""

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from libra_opt import InputError, State, allocate, explain, read_state
from libra_opt.domain import Plan
from libra_opt.domain.plan import REASON_CODES
from libra_opt.explanation import apply
from libra_opt.explanation.search import least_count
from libra_opt.explanation.values import KINDS
from tests.strategies import states

SOLVES = 40
REASONS = Path(__file__).parents[2] / "instances" / "reasons"


def fares_better(before: Plan, after: Plan, name: str) -> bool:
    """Whether a job runs where it did not, or is served better where it did; read off two plans and nothing else."""
    one, two = (next(job for job in plan.jobs if job.id == name) for plan in (before, after))
    return bool(two.stages) and (not one.stages or two.service > one.service)


@settings(max_examples=12)
@given(states(), st.data())
def test_granting_a_change_changes_the_outcome(state: State, draw: st.DataObject) -> None:
    plan = allocate(state)
    assert {job.reason.code for job in plan.jobs} <= set(REASON_CODES)
    short = [job.id for job in plan.jobs if job.reason.code != "fully_served"]
    assume(short)
    name = draw.draw(st.sampled_from(short))
    told = explain(state, name, plan, most_solves=SOLVES)
    assert told.solves <= SOLVES
    assert told.changes or told.why_none
    for change in told.changes:
        granted = allocate(apply(state, change.settings))
        assert fares_better(plan, granted, name)
        job = next(job for job in granted.jobs if job.id == name)
        assert (job.action, job.service, granted.certificate.objective) == (change.action, change.service, change.value)
    costs = [(change.share, KINDS.index(change.kind)) for change in told.changes]
    assert costs == sorted(costs)


def waits(**more: object) -> State:
    """A job that needs 4 of 8 cards waits beside a better one that has them all."""
    other = {"id": "a", "demand": {"gpu": 8}}
    job = {"id": "b", "min_quota": {"gpu": 4}, "demand": {"gpu": 4}, "weight": 0.4, **more}
    return State.model_validate({"pools": [{"name": "a100", "capacity": {"gpu": 8}}], "jobs": [other, job]})


def test_a_quantum_less_than_the_least_does_not_help() -> None:
    state = waits()
    plan = allocate(state)
    told = explain(state, "b", plan)
    assert told.cheapest is not None
    assert told.cheapest.settings == ("pools.a100.capacity.gpu=+3",)
    assert told.cheapest.is_least
    assert not fares_better(plan, allocate(apply(state, ["pools.a100.capacity.gpu=+2"])), "b")
    [weight] = [change for change in told.changes if change.kind == "weight"]
    assert fares_better(plan, allocate(apply(state, weight.settings)), "b")


def test_shares_are_of_the_cluster() -> None:
    shares = {change.kind: change.share for change in explain(waits(), "b").changes}
    assert shares == {"capacity": 0.375, "weight": 0.5, "priority": 0.5}


def test_several_limits_are_raised_together_where_none_helps_alone() -> None:
    queue = {"name": "q", "nominal_quota": {"gpu": 1}, "borrowing_limit": {"gpu": 0}}
    job = {"id": "a", "queue": "q", "min_quota": {"gpu": 6}, "demand": {"gpu": 6}}
    state = State.model_validate({"pools": [{"name": "a100", "capacity": {"gpu": 4}}], "queues": [queue], "jobs": [job]})
    told = explain(state, "a")
    assert told.cheapest is not None
    assert told.cheapest.kind == "several"
    assert set(told.cheapest.settings) == {"queues.q.borrowing_limit.gpu=+5", "pools.a100.capacity.gpu=+2"}


def test_job_that_nothing_helps_is_told_why() -> None:
    state = State.model_validate({"jobs": [{"id": "a", "demand": {"gpu": 1}}]})
    told = explain(state, "a")
    assert told.changes == ()
    assert told.why_none.startswith("It fits nowhere")
    full = explain(State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 1}}], "jobs": [{"id": "a", "demand": {"gpu": 1}}]}), "a")
    assert (full.changes, full.solves) == ((), 0)
    assert full.why_none.startswith("It is served in full")


def test_limit_on_solves_is_kept_and_told() -> None:
    told = explain(waits(), "b", most_solves=1)
    assert (told.solves, told.is_limit_hit) == (1, True)
    nothing = explain(waits(), "b", most_solves=0)
    assert (nothing.solves, nothing.is_limit_hit, nothing.changes) == (0, True, ())
    assert "allow more solves" in nothing.why_none


def test_whole_units_are_given_to_a_maximum() -> None:
    job = {"id": "a", "unit": 2, "max_quota": {"gpu": 2}, "demand": {"gpu": 4}}
    told = explain(State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 8}}], "jobs": [job]}), "a")
    assert told.cheapest is not None
    assert told.cheapest.settings == ("jobs.a.max_quota.gpu=+2",)


@pytest.mark.parametrize("name", ["own-limit-profile", "never-fits-profile"])
def test_larger_pool_lets_an_entry_of_a_profile_in(name: str) -> None:
    told = explain(read_state((REASONS / f"{name}.json").read_bytes()), "told")
    assert told.cheapest is not None
    assert told.cheapest.settings == ("pools.a100.capacity.gpu=+8",)


def test_wanted_bundle_is_priced_part_by_part() -> None:
    told = explain(waits(), "b")
    assert told.wanted is not None
    assert [stage.resources["gpu"] for stage in told.wanted.stages] == [4]
    assert told.wanted.value == pytest.approx(1.6)
    assert told.wanted.price == pytest.approx(sum(part.price for part in told.wanted.parts))
    assert told.wanted.price >= told.wanted.value - 1e-9
    assert [(part.kind, part.name, part.resource, part.amount) for part in told.wanted.parts] == [("pool", "a100", "gpu", 4)]


def test_same_state_is_explained_in_the_same_bytes() -> None:
    assert explain(waits(), "b").model_dump_json() == explain(waits(), "b").model_dump_json()


def test_unknown_job_and_plan_of_another_state_are_refused() -> None:
    with pytest.raises(InputError, match="no job is called 'z'; the state has 'a', 'b'"):
        explain(waits(), "z")
    with pytest.raises(InputError, match="is not that of this state"):
        explain(waits(), "b", allocate(waits(priority=1)))


@pytest.mark.parametrize("least", [1, 2, 3, 7, 8, 13])
def test_bisection_finds_the_least_count(least: int) -> None:
    asked: list[int] = []

    def enough(n: int) -> bool:
        asked.append(n)
        return n >= least

    assert least_count(enough, 13) == least
    assert len(asked) <= 4
