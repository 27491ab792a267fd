"""What holds of every plan: it verifies, its numbers are in order, it is no worse than greedy or than leaving all as it is, back-ends agree."""

import json
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt import Plan, State, allocate, read_plan, read_state, verify, write
from libra_opt.domain import digest
from tests.properties.changes import bounds, document_of, enter, tiers, with_options, worse
from tests.properties.reached import EXAMPLES, FEW, Reached
from tests.strategies import PROVABLE, arbitrary_states, states

Record = Callable[[str, object], None]
BACKENDS = ("auto", "cp_sat", "lp_relaxation", "greedy")
DUTIES = {"R1", "R2", "R3", "R4", "R5", "R8", "R9", "R10", "R14"}
"""What a plan that leaves all as it is may still break, as the cluster or the jobs changed under it."""


def test_every_plan_verifies_before_and_after_json(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=EXAMPLES)
    @given(state=states() | arbitrary_states(), backend=st.sampled_from(BACKENDS))
    def check(state: State, backend: str) -> None:
        reached.state()
        asked = with_options(state, backend=backend)
        plan = allocate(asked)
        assert verify(asked, plan).broken == ()
        assert not [warning for warning in plan.warnings if "our fault" in warning]
        assert [job.id for job in plan.jobs] == [job.id for job in state.jobs]
        again = read_plan(write(plan))
        assert again == plan
        assert write(again) == write(plan)
        assert verify(read_state(write(asked)), again).broken == ()
        ledger, actions = state.ledger, {job.action for job in plan.jobs}
        reached.note("several pools", holds=len(ledger.pools) > 1)
        reached.note("several stages", holds=any(len(stages) > 1 for stages in ledger.stage_of))
        reached.note("queues", holds=bool(ledger.queues))
        reached.note("running", holds=any(ledger.running))
        reached.note("protected", holds=any(ledger.protected))
        for action in sorted(actions):
            reached.note(action)

    check()
    floors = {"several pools": 0.4, "several stages": 0.4, "queues": 0.4, "running": 0.4, "protected": 0.04}
    reached.require(record_property, floors | {"admit": 0.2, "queue": 0.2, "evict": 0.05, "keep": 0.05, "grow": 0.05, "shrink": 0.05, "migrate": 0.02})


def test_bound_objective_greedy_stand_in_this_order(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=EXAMPLES)
    @given(state=states() | arbitrary_states(), backend=st.sampled_from(BACKENDS[:3]))
    def check(state: State, backend: str) -> None:
        reached.state()
        plan = allocate(with_options(state, backend=backend))
        quick = allocate(with_options(state, backend="greedy"))
        for each in (plan, quick):
            certificate = each.certificate
            assert certificate.objective == certificate.tiers[3].objective
            assert certificate.bound == certificate.tiers[3].bound >= certificate.objective
            assert all(tier.bound <= tier.objective for tier in certificate.tiers[:3])
            assert certificate.gap >= 0
        assert not worse(tiers(plan), tiers(quick))
        if tiers(plan)[:3] == tiers(quick)[:3]:
            assert not worse(bounds(quick), tiers(plan)), "the greedy bound lies below a plan"
        reached.note("better than greedy", holds=worse(tiers(quick), tiers(plan)))

    check()
    reached.require(record_property, {"better than greedy": 0.1})


def test_back_ends_agree_where_both_prove_it(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=FEW)
    @given(state=states(PROVABLE))
    def check(state: State) -> None:
        reached.state()
        plans = {backend: allocate(with_options(state, backend=backend, gap=0, effort=20)) for backend in BACKENDS[:3]}
        proven = [plan for plan in plans.values() if plan.certificate.status == "optimal"]
        for plan in proven:
            assert not worse(tiers(proven[0]), tiers(plan))
            assert not worse(tiers(plan), tiers(proven[0]))
        for plan in plans.values():
            for best in proven:
                assert not worse(tiers(best), tiers(plan)), "a plan is better than one that is called optimal"
                if tiers(plan)[:3] == tiers(best)[:3]:
                    assert plan.certificate.bound >= best.certificate.objective - 1e-6 * max(1.0, abs(best.certificate.objective))
        reached.note("both proven", holds=all(plans[backend].certificate.status == "optimal" for backend in ("auto", "cp_sat")))
        reached.note("lp_relaxation proven", holds=plans["lp_relaxation"].certificate.status == "optimal")

    check()
    reached.require(record_property, {"both proven": 0.9})


def unmoved(state: State, plan: Plan) -> Plan:
    """Return the plan that leaves all as it is; its service and certificate are not filled in."""
    jobs = []
    for job, is_running in zip(state.jobs, state.ledger.running, strict=True):
        stages = [{"name": stage.name, **stage.allocation.model_dump()} for stage in job.all_stages if is_running and stage.allocation is not None]
        action = "keep" if is_running else "queue"
        jobs.append({"id": job.id, "action": action, "service": 0, "stages": stages, "reason": {"code": "kept", "message": "left as it is"}})
    return Plan.model_validate({**json.loads(write(plan)), "state_digest": digest(state), "jobs": jobs})


def test_plan_of_any_effort_is_no_worse_than_leaving_all_as_it_is(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=EXAMPLES)
    @given(state=arbitrary_states() | states(), effort=st.sampled_from((0, 0, 1e-9, 1e-5, 1e-3, 0.1)), backend=st.sampled_from(BACKENDS))
    def check(state: State, effort: float, backend: str) -> None:
        reached.state()
        asked = with_options(state, effort=effort, backend=backend)
        plan = allocate(asked)
        assert verify(asked, plan).broken == ()
        left = verify(asked, unmoved(asked, plan))
        if not any(state.ledger.running) or not DUTIES.isdisjoint(fault.rule for fault in left.broken):
            return
        reached.note("what runs still fits")
        kept = [left.tiers.protected_lost, left.tiers.over_budget_seconds, left.tiers.guarantee_shortfall, -left.tiers.value]
        assert not worse(tiers(plan), kept)
        reached.note("better than leaving all", holds=worse(kept, tiers(plan)))

    check()
    reached.require(record_property, {"what runs still fits": 0.1, "better than leaving all": 0.03})


@settings(max_examples=EXAMPLES)
@given(state=states() | arbitrary_states())
def test_state_there_and_back_is_the_same(state: State) -> None:
    text = write(state)
    again = read_state(text)
    assert again == state
    assert write(again) == text
    assert digest(again) == digest(state)


def emptied(document: dict, how: str) -> dict:  # noqa: PLR0911 - one line a way
    """Take something away altogether, or fill the cluster to the brim."""
    if how == "no jobs":
        return {**document, "jobs": []}
    if how == "no capacity":
        return {**document, "pools": [{**pool, "capacity": {}} for pool in document["pools"]]}
    if how == "no worth":
        return {**document, "jobs": [{**job, "weight": 0} for job in document["jobs"]]}
    if how == "one of each":
        return {**document, "pools": [{**pool, "capacity": dict.fromkeys(pool["capacity"], 1)} for pool in document["pools"]]}
    if how == "no pools":
        return {**document, "pools": [], "jobs": [{"id": job["id"], "demand": {"gpu": 1}} for job in document["jobs"]]}
    if how == "ten times":
        copies = [{**job, "id": f"{job['id']}-{i}"} for i in range(10) for job in document["jobs"]]
        return {**document, "jobs": copies}
    most = 2**53
    return {**document, "pools": [{**pool, "capacity": dict.fromkeys(pool["capacity"], most)} for pool in document["pools"]]}


EXTREMES = ("no jobs", "no capacity", "no worth", "one of each", "no pools", "ten times", "no end of capacity")


@settings(max_examples=EXAMPLES * 2)
@given(state=states() | arbitrary_states(), how=st.sampled_from(EXTREMES), backend=st.sampled_from(BACKENDS))
def test_empty_zero_and_saturated_states_have_a_plan(state: State, how: str, backend: str) -> None:
    asked = with_options(enter(emptied(document_of(state), how)), backend=backend, effort=1)
    plan = allocate(asked)
    assert verify(asked, read_plan(write(plan))).broken == ()
    assert [job.id for job in plan.jobs] == [job.id for job in asked.jobs]
    assert all(job.reason.message for job in plan.jobs)
    if how in {"no jobs", "no worth"}:
        assert plan.certificate.objective == 0
    if how == "no pools":
        assert {job.action for job in plan.jobs} <= {"queue"}
