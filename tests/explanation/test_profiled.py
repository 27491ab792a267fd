"""Why a job with a profile (R15) is not served better, and what would change that."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from libra_opt import State, allocate
from libra_opt.explanation import apply, explain
from tests.profiled import profiled_states

SOLVES = 12


@settings(max_examples=6, deadline=None)
@given(state=profiled_states(), draw=st.data())
def test_every_job_of_a_state_with_profiles_can_be_explained(state: State, draw: st.DataObject) -> None:
    plan = allocate(state)
    short = [job.id for job in plan.jobs if job.reason.code != "fully_served"]
    assume(short)
    told = explain(state, draw.draw(st.sampled_from(short)), plan, most_solves=SOLVES)
    assert told.changes or told.why_none
    for change in told.changes:
        assert allocate(apply(state, change.settings)).certificate.objective == change.value


def test_the_capacity_that_an_entry_lacks_is_named() -> None:
    profile = [{"pool": "a", "resources": {"gpu": 2}, "rate": 1}, {"pool": "a", "resources": {"gpu": 6}, "rate": 4}]
    state = State.model_validate({"pools": [{"name": "a", "capacity": {"gpu": 4}}], "jobs": [{"id": "x", "profile": profile}]})
    told = explain(state, "x")
    assert told.cheapest is not None
    assert told.cheapest.settings == ("pools.a.capacity.gpu=+2",)
    assert told.cheapest.service == 1
