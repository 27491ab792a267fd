"""What always holds of plans for states with profiles (R15), larger than an oracle can solve."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from libra_opt import allocate, verify
from libra_opt.domain import State, read_state, write
from tests.profiled import profiled_documents, profiled_states
from tests.strategies import LARGER


@pytest.mark.parametrize("backend", ["auto", "cp_sat", "lp_relaxation", "greedy"])
@settings(max_examples=8)
@given(state=profiled_states(LARGER))
def test_every_back_end_gives_a_plan_that_holds_and_is_as_good_as_it_says(backend: str, state: State) -> None:
    asked = state.replace({"options": state.options.replace({"backend": backend, "effort": 0.2})})
    plan = allocate(asked)
    assert [warning for warning in plan.warnings if "fault" in warning] == []
    assert verify(asked, plan).broken == ()
    assert plan.certificate.objective <= plan.certificate.bound or plan.certificate.tiers[0].bound < plan.certificate.tiers[0].objective


@settings(max_examples=10)
@given(document=profiled_documents(LARGER))
def test_the_order_of_jobs_pools_and_entries_changes_nothing(document: dict[str, Any]) -> None:
    other = json.loads(json.dumps(document))
    other["jobs"].reverse()
    other["pools"].reverse()
    for job in other["jobs"]:
        for stage in job.get("stages", [job]):
            stage.get("profile", []).reverse()
    plans = [allocate(read_state(json.dumps(some))) for some in (document, other)]
    by_id = [{job.id: (job.action, job.service, job.stages) for job in plan.jobs} for plan in plans]
    assert by_id[0] == by_id[1]


@settings(max_examples=10)
@given(state=profiled_states())
def test_plans_are_read_back_and_found_the_same(state: State) -> None:
    assert write(allocate(read_state(write(state)))) == write(allocate(state))
