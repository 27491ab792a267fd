"""Policies that divide fairly: the sorted levels are the enumerator's, written again here as plain arithmetic, and so is the value that is left."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.allocation import allocate
from libra_opt.domain import State, read_state
from libra_opt.errors import InputError
from libra_opt.verification import verify
from tests.oracle.enumerate import _allocations_exist, _worth
from tests.policies.brute import Outcome, TooLargeError, best
from tests.policies.test_columns import important
from tests.strategies import states

EXAMPLES = 10
OBJECTIVES = ("max_min", "makespan", "finish_time_fairness", "drf", "fifo_backfill")


def able(state: State, j: int) -> bool:
    return all(_allocations_exist(state.ledger, s) for s in state.ledger.stage_of[j])


def dominant(state: State, j: int) -> float:
    ledger = state.ledger
    totals = [sum(pool[r] for pool in ledger.capacity) for r in range(ledger.n_resources)]
    return max((sum(ledger.demand[s][r] for s in ledger.stage_of[j]) / total for r, total in enumerate(totals) if total), default=0.0)


def left(state: State, j: int) -> float:
    return max(state.jobs[j].remaining, state.period.seconds / 1000)


def rho(state: State, j: int, y: float) -> float:
    job = state.jobs[j]
    part = min(1.0, 1 / (len(state.jobs) * dominant(state, j))) if dominant(state, j) else 1.0
    return (state.period.begins - job.submitted + left(state, j) / y) / ((job.running_seconds + left(state, j)) / part)


def levels(state: State, plan: Outcome) -> tuple[tuple[float, ...], ...]:
    """Return what is compared, part by part: sorted levels, or services in their order."""
    objective = state.options.objective
    jobs = [j for j in range(len(state.jobs)) if able(state, j)]
    counted = [j for j in jobs if important(state, j) > 0]
    even = tuple(sorted(plan.service[j] / important(state, j) for j in counted))
    if objective == "max_min":
        return (even,)
    if objective == "makespan":
        return (tuple(sorted(plan.service[j] / left(state, j) for j in jobs)),)
    if objective == "finish_time_fairness":
        return (tuple(sorted(1 / rho(state, j, plan.service[j]) / important(state, j) if plan.service[j] else 0.0 for j in counted)),)
    if objective == "fifo_backfill":
        return (tuple(plan.service[j] for j in sorted(jobs, key=lambda j: (state.jobs[j].submitted, state.jobs[j].id))),)
    weight = {queue.name: queue.weight for queue in state.queues} | {None: 1.0}
    queues: dict[Any, float] = {}
    for j in jobs:
        if dominant(state, j):
            queue = state.jobs[j].queue
            queues[queue] = queues.get(queue, 0.0) + plan.service[j] * dominant(state, j) / weight[queue]
    return tuple(sorted(queues.values())), even


def fairest(state: State, plan: Outcome) -> tuple[float, ...]:
    worth = [float(_worth(state, state.ledger, j)) for j in range(len(state.jobs))]
    spread = 1000 * state.period.seconds * state.options.hold_periods
    value = sum(a * (y - ms / spread) for a, y, ms in zip(worth, plan.service, plan.ms, strict=True))
    return (*(round(level, 9) for part in levels(state, plan) for level in part), value)


@st.composite
def timed(draw: st.DrawFn, objective: str, backend: str) -> State:
    state = draw(states())
    begins = state.period.begins
    jobs = tuple(
        job.replace({"remaining": draw(st.sampled_from((0, 20, 60, 300, 5000))), "submitted": begins - draw(st.sampled_from((0, 30, 30, 200, 900)))})
        for job in state.jobs
    )
    return state.replace({"jobs": jobs, "options": state.options.replace({"objective": objective, "backend": backend, "gap": 0.0, "effort": 20.0})})


@pytest.mark.parametrize("backend", ["cp_sat", "auto"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_division_is_the_enumerators(objective: str, backend: str) -> None:
    compared = 0

    @settings(max_examples=EXAMPLES)
    @given(timed(objective, backend))
    def agree(state: State) -> None:
        nonlocal compared
        worth = [float(_worth(state, state.ledger, j)) for j in range(len(state.jobs))]
        try:
            _, tiers = best(state, worth, lambda plan: fairest(state, plan))
        except TooLargeError:
            return
        plan = allocate(state)
        report = verify(state, plan)
        assert report.holds, report
        by_name = {tier.name: tier.objective for tier in plan.certificate.tiers}
        reached = Outcome(0, 0, (), tuple(job.service for job in plan.jobs), ())
        assert [by_name["protected_lost"], by_name["guarantee_shortfall"]] == pytest.approx([tiers[0], tiers[2]], rel=1e-6, abs=1e-6)
        found = [level for part in levels(state, reached) for level in part]
        assert found == pytest.approx(list(tiers[3][:-1]), rel=1e-5, abs=1e-6)
        assert by_name["value"] == pytest.approx(tiers[3][-1], rel=1e-6, abs=1e-6)
        compared += 1

    agree()
    assert compared > EXAMPLES / 2


@pytest.mark.parametrize(
    ("options", "path", "told"),
    [
        ({"objective": "max_min", "backend": "lp_relaxation"}, "options.backend", "auto or cp_sat"),
        ({"objective": "drf", "backend": "greedy"}, "options.backend", "auto or cp_sat"),
        ({"objective": "makespan"}, "jobs[0].remaining", "state the seconds"),
        ({"objective": "fifo_backfill"}, "jobs[0].submitted", "state when it was submitted"),
        ({"objective": "proportional_fairness", "lookahead": 3}, "options.lookahead", "take 1"),
    ],
)
def test_what_a_policy_cannot_do_is_refused_with_a_remedy(options: dict[str, Any], path: str, told: str) -> None:
    document = {"pools": [{"name": "p", "capacity": {"gpu": 2}}], "jobs": [{"id": "a", "demand": {"gpu": 1}}], "options": options}
    with pytest.raises(InputError) as caught:
        read_state(json.dumps(document))
    assert [(fault.path, told in fault.message) for fault in caught.value.faults] == [(path, True)]
