"""Every fault that was reported, as one small state, against the right answer; the titles of the files say why it is right."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from libra_opt import InputError, Plan, State, allocate, read_plan, read_state, verify, write

REGRESSION = Path(__file__).parents[2] / "instances" / "regression"

REFUSED = {
    "maximum-below-minimum": "jobs[1].max_quota.cpu",
    "one-id-twice": "jobs[2].id",
    "not-a-number": "jobs[1].demand.gpu",
}
"""Documents that must not be read, and the one place that is wrong."""

WAITS: dict[str, object] = {}


def cards(n, **others):
    return {"gpu": n, **others}


def one_of(*jobs, holds):
    """Any one of these jobs holds this, the others wait."""
    return some_of(jobs, 1, holds)


def some_of(jobs, n, holds):
    return [{job: holds if job in chosen else WAITS for job in jobs} for chosen in combinations(jobs, n)]


ANSWERS = {
    "oversized-head-of-queue": (29.5, [{"borrower": WAITS, "huge": WAITS, "fits": cards(3)}]),
    "eviction-is-not-undone-1": (59.8, [{"lo": WAITS, "hi": cards(6)}]),
    "eviction-is-not-undone-2": (60, [{"lo": WAITS, "hi": cards(6)}]),
    "minima-above-capacity": (29, [{"a": cards(6), "b": WAITS}]),
    "two-gangs-of-all-cards": (10, one_of("a", "b", holds=cards(10, cpu=20))),
    "equal-jobs-do-not-trade": (8, [{"x": cards(4), "y": cards(4)}]),
    "next-to-no-effort": (None, None),
    "five-alike-room-for-three": (6, some_of("abcde", 3, cards(2))),
    "more-cards-than-there-are": (0, [{"ppo": WAITS}]),
    "maximum-left-out": (2, [{"a": cards(2, net=20)}]),
    "falling-history": (8, [{"fading": WAITS, "steady": cards(8)}]),
    "constant-history": (4, [{"flat": cards(4)}]),
    "short-histories": (5, [{"fresh": cards(3), "fresh3": cards(2)}]),
    "gaps-in-a-history": (2, [{"g": cards(2)}]),
    "weights-far-apart": (4e9, [{"w1": WAITS, "w2": cards(4), "w3": WAITS}, {"w1": cards(4), "w2": WAITS, "w3": WAITS}]),
    "last-replica-passes-the-memory": (4 * 2000 / 9600, some_of(("r1", "r2", "r3", "r4", "r5"), 4, {"gpu_mem": 2000})),
    "ceiling-counts-the-newcomer": (0.7, [{"old": {"cpu": 9, "mem": 9}, "new": WAITS, "other": {"cpu": 10, "mem": 10}}]),
    "owner-gets-its-quota-back": (9.9, [{"a1": cards(6), "b1": cards(4)}]),
    "memory-in-bytes": (4004, [dict.fromkeys("ab", cards(4, gpu_mem="320Gi", mem="50Ti"))]),
    "ten-tenths-of-a-card": (1, some_of([f"f{i}" for i in range(11)], 10, cards(0.1))),
    "one-eviction-is-enough": (41, [{"high": cards(2), **rest} for rest in one_of("low1", "low2", holds=cards(2))]),
    "big-job-among-small-ones": (403.9, [{"big": cards(4), "n1": WAITS, "n2": WAITS, "run": WAITS}]),
    "nothing-to-plan": (0, [{}]),
    "resource-the-cluster-lacks": (1, [{"c": {"cpu": 8, "mem": 16}, "g": WAITS}]),
    "ids-that-look-alike": (3, [{"caf\u00e9": cards(1), "cafe\u0301": cards(2)}]),
    "whole-numbers-with-a-point": (4, [{"a": cards(4, cpu=16)}]),
    "amounts-with-suffixes": (5, [{"a": {"cpu": 0.5, "mem": "80Gi"}, "b": {"cpu": 1.5, "mem": "80Gi"}}]),
    "down-to-nothing-and-back-1": (3, [{"svc": cards(3)}]),
    "down-to-nothing-and-back-2": (0, [{"svc": WAITS}]),
    "down-to-nothing-and-back-3": (3, [{"svc": cards(3)}]),
    "job-that-is-gone-1": (22, [{"gone": cards(4), "stay": cards(2)}]),
    "job-that-is-gone-2": (6, [{"stay": cards(6)}]),
    "allocation-below-the-minimum": (5, [{"a": cards(3, cpu=8), "b": cards(2, cpu=8)}]),
    "thirds-of-a-card": (0.668, some_of("abc", 2, cards(0.334))),
    "maximum-beyond-all-measure": (10, [{"a": cards(4, cpu=40), "b": cards(6, cpu=60)}]),
    "quota-of-cards-only": (0.9, [{"borrower": WAITS, "owner": cards(1, cpu=2)}]),
    "victims-half-gone-1": (38, [{"v1": WAITS, "v2": WAITS, "heavy": cards(4)}]),
    "victims-half-gone-2": (39, [{"v1": WAITS, "v2": WAITS, "heavy": cards(4)}]),
}
"""Value, and what every job holds (a job that holds nothing may run or wait); where several answers are right, all of them. None: see the test of its name."""

REASONS = {
    "oversized-head-of-queue": {"huge": "never_fits", "borrower": "evicted"},
    "minima-above-capacity": {"b": "evicted"},
    "more-cards-than-there-are": {"ppo": "never_fits"},
    "resource-the-cluster-lacks": {"g": "never_fits"},
    "ceiling-counts-the-newcomer": {"new": "queue_ceiling"},
    "big-job-among-small-ones": {"n1": "no_room", "run": "evicted"},
    "owner-gets-its-quota-back": {"b1": "partly_served"},
}

FOLLOWS = {"eviction-is-not-undone": 2, "down-to-nothing-and-back": 3, "job-that-is-gone": 2}
"""Faults in several periods, each of which carries the answer to the one before it."""


def state_of(name: str, **options) -> State:
    state = read_state((REGRESSION / f"{name}.json").read_bytes(), name)
    return state.replace({"options": state.options.replace(options)})


def held(state: State, plan: Plan) -> dict[str, tuple[int, ...]]:
    given = {job.id: job.stages[0].resources if job.stages else WAITS for job in plan.jobs}
    return {job: quanta(state, amounts) for job, amounts in given.items()}


def quanta(state: State, amounts) -> tuple[int, ...]:
    return tuple(resource.quanta(amounts.get(resource.name, 0), round_up=False) for resource in state.resources)


def test_every_file_has_a_right_answer():
    assert {path.stem for path in REGRESSION.glob("*.json")} == {*ANSWERS, *REFUSED}


@pytest.mark.parametrize("name", REFUSED)
def test_document_is_refused_at_its_one_fault(name):
    with pytest.raises(InputError) as caught:
        state_of(name)
    assert [fault.path for fault in caught.value.faults] == [REFUSED[name]]


@pytest.mark.parametrize("name", ANSWERS)
def test_file_says_what_was_reported_and_where(name):
    about = state_of(name).about
    assert "Right" in about.title or name.endswith("-1")
    assert re.search(r"[\w.-]+ #\d+", about.source)
    assert about.synthetic
    assert about.licence == "Apache-2.0"


@pytest.mark.parametrize("backend", ["auto", "cp_sat"])
@pytest.mark.parametrize("name", [name for name, (_, holdings) in ANSWERS.items() if holdings is not None])
def test_reported_fault_does_not_occur(name, backend):
    value, holdings = ANSWERS[name]
    state = state_of(name, backend=backend)
    plan = allocate(state)
    assert verify(state, read_plan(write(plan))).holds
    assert held(state, plan) in [{job: quanta(state, amounts) for job, amounts in each.items()} for each in holdings]
    assert plan.certificate.status == "optimal"
    assert plan.certificate.objective == pytest.approx(value, rel=1e-8)
    assert [tier.objective for tier in plan.certificate.tiers if tier.name != "value"] == [0, 0, 0]


@pytest.mark.parametrize("backend", ["lp_relaxation", "greedy"])
@pytest.mark.parametrize("name", ANSWERS)
def test_approximate_back_end_has_a_verified_plan_and_a_true_bound(name, backend):
    value, _ = ANSWERS[name]
    state = state_of(name, backend=backend)
    plan = allocate(state)
    assert verify(state, plan).holds
    if value is not None:
        assert plan.certificate.bound >= value * (1 - 1e-8)


@pytest.mark.parametrize("name", REASONS)
def test_job_that_gets_less_is_told_why(name):
    reasons = {job.id: job.reason for job in allocate(state_of(name)).jobs}
    assert {job: reasons[job].code for job in REASONS[name]} == REASONS[name]
    assert all(reason.message.strip() for reason in reasons.values())


@pytest.mark.parametrize("name", FOLLOWS)
def test_each_period_carries_the_answer_to_the_one_before(name):
    for period in range(1, FOLLOWS[name]):
        given = held(before := state_of(f"{name}-{period}"), allocate(before))
        now = state_of(f"{name}-{period + 1}")
        carried = {job.id: quanta(now, job.allocation.resources if job.allocation else WAITS) for job in now.jobs}
        assert carried == {job: given[job] for job in carried}


@pytest.mark.parametrize("name", ["eviction-is-not-undone-2", "equal-jobs-do-not-trade"])
def test_nothing_moves_at_rest(name):
    assert {job.action for job in allocate(state_of(name)).jobs} <= {"keep", "queue"}


@pytest.mark.parametrize("name", ["minima-above-capacity", "one-eviction-is-enough", "owner-gets-its-quota-back"])
def test_no_more_is_taken_than_is_owed(name):
    actions = [job.action for job in allocate(state_of(name)).jobs]
    assert actions.count("evict") + actions.count("shrink") == 1


def test_expected_demand_is_that_of_the_history_and_never_negative():
    expected = {"falling-history": [0], "constant-history": [4], "short-histories": [3, 2], "gaps-in-a-history": [2]}
    forecasts = {name: allocate(state_of(name)).forecast for name in expected}
    assert {name: [entry.demand["gpu"] for entry in entries] for name, entries in forecasts.items()} == expected
    assert set(forecasts["constant-history"][0].demand_intensity) <= {1.0}


def test_twins_are_chosen_alike_in_every_call_and_order():
    state = state_of("five-alike-room-for-three")
    plans = [allocate(state) for _ in range(5)]
    assert len({write(plan) for plan in plans}) == 1
    turned = state.replace({"jobs": tuple(reversed(state.jobs))})
    assert held(turned, allocate(turned)) == held(state, plans[0])


@pytest.mark.parametrize("effort", [0, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("backend", ["auto", "cp_sat"])
def test_plan_of_next_to_no_effort_is_no_worse_than_leaving_all_as_it_is(effort, backend):
    state = state_of("next-to-no-effort", effort=effort, backend=backend)
    plan = allocate(state)
    kept = 3 * 8 * (4 / 8) + 2 * 8 * (4 / 8)
    assert verify(state, plan).holds
    assert plan.certificate.objective >= kept
    assert plan.certificate.status in {"optimal", "within_gap", "feasible", "fallback"}
    assert plan.certificate.bound >= 38 * (1 - 1e-8)
    assert plan.certificate.status != "optimal" or plan.certificate.objective == pytest.approx(38)
