"""States with profiles (R15) that look ahead: the plan holds, and tiers 1 to 3 are those of the period alone."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt import allocate
from libra_opt.domain import State
from libra_opt.verification import verify
from tests.profiled import profiled_documents


@st.composite
def looking_ahead(draw: st.DrawFn) -> State:
    document: dict[str, Any] = draw(profiled_documents())
    for job in document["jobs"]:
        for stage in job.get("stages") or [job]:
            if stage.get("demand"):
                stage["demand_ahead"] = [{name: round(amount * draw(st.sampled_from((0, 0.5, 2)))) for name, amount in stage["demand"].items()}]
        job.update(draw(st.sampled_from(({}, {"remaining": 30}, {"remaining_work": 2}))))
    return State.model_validate({**document, "options": {**document["options"], "lookahead": 3}})


@given(looking_ahead())
@settings(max_examples=10, deadline=None)
def test_a_plan_that_looks_ahead_holds_with_profiles(state: State) -> None:
    plan = allocate(state)
    assert [warning for warning in plan.warnings if "fault" in warning] == []
    assert verify(state, plan).broken == ()
    horizon = plan.certificate.horizon
    assert horizon is not None
    assert horizon.objective <= horizon.bound
    alone = allocate(state.replace({"options": state.options.replace({"lookahead": 1})})).certificate
    assert [tier.objective for tier in plan.certificate.tiers[:3]] == [tier.objective for tier in alone.tiers[:3]]
