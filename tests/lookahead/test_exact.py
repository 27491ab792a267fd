"""On tiny states the horizon's objective is the best there is, found by trying all plans; and what the plan says holds."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt import allocate
from libra_opt.domain import State
from libra_opt.verification import verify
from tests.lookahead.brute import most_value, value_of

_RESOURCES = [{"name": "gpu", "unit": "cards", "costly": True}, {"name": "cpu", "unit": "cores", "quantum": 1}]


@st.composite
def tiny_states(draw: st.DrawFn, periods: int, most_cards: int, most_cores: int) -> dict[str, Any]:
    capacity = {"gpu": draw(st.integers(1, most_cards)), "cpu": draw(st.integers(0, most_cores))}
    demands = st.builds(lambda gpu, cpu: {"gpu": gpu, "cpu": cpu}, st.integers(0, most_cards + 1), st.integers(0, most_cores))
    jobs = []
    left = dict(capacity)
    for name in "ab"[: draw(st.integers(1, 2))]:
        lo = draw(st.integers(1, 2))
        job: dict[str, Any] = {
            "id": name,
            "min_quota": {"gpu": lo},
            "max_quota": {"gpu": draw(st.integers(lo, most_cards + 1))},
            "demand": draw(demands),
            "demand_ahead": draw(st.lists(demands, min_size=1, max_size=periods - 1)),
            "weight": draw(st.integers(1, 3)),
            "preemptible": True,
            "preemption_cost": {"resize_seconds": draw(st.sampled_from((0, 15, 60, 200))), "evict_seconds": draw(st.sampled_from((0, 45, 300)))},
        }
        now = {"gpu": draw(st.integers(0, left["gpu"])), "cpu": draw(st.integers(0, left["cpu"]))}
        if draw(st.booleans()) and any(now.values()):
            job["allocation"] = {"pool": "p", "resources": now}
            left = {resource: amount - now[resource] for resource, amount in left.items()}
        else:
            job["preemptible"] = draw(st.booleans())
        match draw(st.integers(0, 4)):
            case 0:
                job["remaining"] = draw(st.sampled_from((20, 60, 90, 120)))
            case 1:
                job["remaining_work"] = draw(st.sampled_from((0.5, 1, 2, 3.5)))
        jobs.append(job)
    options = {"lookahead": periods, "spare": False, "gap": 0, "effort": 20}
    return {"resources": _RESOURCES, "pools": [{"name": "p", "capacity": capacity}], "jobs": jobs, "options": options}


def _answered(document: dict[str, Any], periods: int) -> None:
    state = State.model_validate(document)
    plan = allocate(state)
    assert not [warning for warning in plan.warnings if "fault" in warning]
    assert verify(state, plan).holds
    horizon = plan.certificate.horizon
    assert horizon is not None
    best = float(most_value(document, periods))
    assert horizon.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert horizon.bound == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert horizon.status == "optimal"
    planned = [{job.id: job.stages for job in period} for period in (plan.jobs, *(later.jobs for later in plan.ahead))]
    held = [[_amounts(period.get(job["id"], ())) for job in document["jobs"]] for period in planned]
    assert float(value_of(document, held)) == pytest.approx(horizon.objective, rel=1e-9, abs=1e-9)


def _amounts(stages: Any) -> tuple[int, int]:
    if not stages:
        return 0, 0
    resources = stages[0].resources
    return int(resources["gpu"]), int(resources["cpu"])


@given(tiny_states(periods=2, most_cards=3, most_cores=2))
@settings(max_examples=30, deadline=None)
def test_two_periods_of_cards_and_cores_are_planned_best(document: dict[str, Any]) -> None:
    _answered(document, 2)


@given(tiny_states(periods=3, most_cards=3, most_cores=0))
@settings(max_examples=30, deadline=None)
def test_three_periods_of_cards_are_planned_best(document: dict[str, Any]) -> None:
    _answered(document, 3)
