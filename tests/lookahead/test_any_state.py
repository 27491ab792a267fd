"""Whatever the state (queues, pools, stages, budgets, protection, lost capacity), a plan that looks ahead holds and is as good as it says."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt import allocate
from libra_opt.domain import State
from libra_opt.verification import verify
from tests.strategies import documents


@st.composite
def looking_ahead(draw: st.DrawFn) -> State:
    document: dict[str, Any] = draw(documents())
    for job in document["jobs"]:
        for stage in job.get("stages") or [job]:
            if stage.get("demand") and not stage.get("history"):
                factors = draw(st.lists(st.sampled_from((0, 0.5, 1, 2)), min_size=1, max_size=3))
                told = [{name: round(amount * factor) for name, amount in stage["demand"].items() if not isinstance(amount, str)} for factor in factors]
                stage["demand_ahead"] = told
        job.update(draw(st.sampled_from(({}, {"remaining": 30}, {"remaining": 100}, {"remaining_work": 2}))))
    return State.model_validate({**document, "options": {**document.get("options", {}), "lookahead": 3}})


@given(looking_ahead())
@settings(max_examples=25, deadline=None)
def test_a_plan_that_looks_ahead_holds(state: State) -> None:
    plan = allocate(state)
    assert [warning for warning in plan.warnings if "fault" in warning] == []
    assert verify(state, plan).broken == ()
    horizon = plan.certificate.horizon
    assert horizon is not None
    assert horizon.objective <= horizon.bound
    alone = allocate(state.replace({"options": state.options.replace({"lookahead": 1})})).certificate
    assert [tier.objective for tier in plan.certificate.tiers[:3]] == [tier.objective for tier in alone.tiers[:3]]
