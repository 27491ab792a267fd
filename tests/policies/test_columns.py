"""Policies that are columns of values: their optimum is the enumerator's, with the objective written again here as plain arithmetic."""

from collections.abc import Callable
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.allocation import allocate
from libra_opt.domain import State
from libra_opt.verification import verify
from tests.policies.brute import Outcome, TooLargeError, best
from tests.strategies import states

Gain = Callable[[State, int, float], float]
EXAMPLES = 12


def important(state: State, j: int) -> float:
    return float(state.jobs[j].weight * state.options.priority_base ** state.jobs[j].priority)


def fair(state: State, j: int, y: float) -> float:
    return important(state, j) * (1 + log(y / 0.01) if y > 0.01 else y / 0.01)


def share_done(state: State, j: int, y: float) -> float:
    return important(state, j) * y * state.period.seconds / max(state.jobs[j].remaining, state.period.seconds / 1000)


def seconds_saved(state: State, j: int, y: float) -> float:
    job, options, seconds = state.jobs[j], state.options, state.period.seconds
    early = 0.001 * seconds * y
    if job.deadline is None:
        return important(state, j) * early
    until = job.deadline - state.period.begins
    span = max(until, options.hold_periods * seconds)

    def late(pace: float) -> float:
        """Return how late the job ends when it is held at a pace for the span and served in full from there on."""
        done_by_then = pace * span
        return max(0.0, span - until + job.remaining - done_by_then)

    return important(state, j) * (late(0) - late(y) + early)


def moving_share(state: State, j: int) -> float:
    """What a period without service costs: the slope of the gain at its beginning, or the weight where that is a logarithm."""
    if state.options.objective == "proportional_fairness":
        return important(state, j)
    gain = GAINS[state.options.objective]
    return gain(state, j, 1e-9) / 1e-9


GAINS: dict[str, Gain] = {"proportional_fairness": fair, "least_completion_time": share_done, "on_time": seconds_saved}


def value(state: State, plan: Outcome) -> float:
    gain, spread = GAINS[state.options.objective], 1000 * state.period.seconds * state.options.hold_periods
    return sum(gain(state, j, y) - moving_share(state, j) * ms / spread for j, (y, ms) in enumerate(zip(plan.service, plan.ms, strict=True)))


@st.composite
def timed(draw: st.DrawFn, objective: str, backend: str) -> State:
    state = draw(states())
    begins = state.period.begins
    jobs = []
    for job in state.jobs:
        remaining = draw(st.sampled_from((0, 1, 20, 60, 300, 5000)))
        deadline = draw(st.sampled_from((None, begins - 50, begins + 30, begins + 90, begins + 400, begins + 9000)))
        jobs.append(job.replace({"remaining": remaining, "deadline": deadline, "submitted": begins - draw(st.integers(0, 500))}))
    options = state.options.replace({"objective": objective, "backend": backend, "gap": 0.0, "effort": 20.0})
    return state.replace({"jobs": tuple(jobs), "options": options})


@pytest.mark.parametrize("backend", ["cp_sat", "auto"])
@pytest.mark.parametrize("objective", list(GAINS))
def test_optimum_is_the_enumerators(objective: str, backend: str) -> None:
    compared = 0

    @settings(max_examples=EXAMPLES)
    @given(timed(objective, backend))
    def agree(state: State) -> None:
        nonlocal compared
        gain = GAINS[objective]
        try:
            _, tiers = best(state, [gain(state, j, 1.0) for j in range(len(state.jobs))], lambda plan: value(state, plan))
        except TooLargeError:
            return
        plan = allocate(state)
        report = verify(state, plan)
        assert report.holds, report
        found = [tier.objective for tier in plan.certificate.tiers]
        expected = [tiers[0], tiers[1] / 1000, tiers[2], tiers[3]]
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert plan.certificate.bound >= tiers[3] - 1e-6 * max(1.0, abs(tiers[3]))
        compared += 1

    agree()
    assert compared > EXAMPLES / 2
