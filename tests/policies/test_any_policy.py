"""What holds under every policy: plans verify, equal states give equal bytes, the order of jobs is no matter, and lateness that nobody can help is told."""

from typing import Any, get_args

import numpy as np
import pytest

from libra_opt.adapters.synthetic import generate
from libra_opt.allocation import allocate
from libra_opt.cli import main
from libra_opt.domain import State, write
from libra_opt.domain.options import Objective
from libra_opt.verification import verify

OBJECTIVES = get_args(Objective)


def made(objective: str, n_jobs: int, **options: Any) -> State:
    rng = np.random.default_rng(5)
    state = generate("full", n_jobs, rng, contention=3.0, title="synthetic")
    jobs = tuple(
        job.replace({"submitted": float(rng.integers(-5000, 0)), "remaining": float(rng.integers(1, 9000)), "deadline": float(rng.integers(-100, 9000))})
        for job in state.jobs
    )
    return state.replace({"jobs": jobs, "options": state.options.replace({"objective": objective, "effort": 0.05, **options})})


@pytest.mark.parametrize(("objective", "n_jobs"), [(each, 8) for each in OBJECTIVES] + [("max_min", 40), ("drf", 40), ("fifo_backfill", 40)])
def test_plan_verifies_and_repeats_itself(objective: str, n_jobs: int) -> None:
    state = made(objective, n_jobs)
    plan = allocate(state)
    report = verify(state, plan)
    assert report.holds, report
    assert not any("our fault" in warning for warning in plan.warnings)
    assert write(allocate(state)) == write(plan)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_order_of_the_jobs_is_no_matter(objective: str) -> None:
    state = made(objective, 6)
    turned = state.replace({"jobs": state.jobs[::-1]})
    one, other = allocate(state), allocate(turned)
    assert {job.id: job.stages for job in one.jobs} == {job.id: job.stages for job in other.jobs}
    assert one.certificate == other.certificate


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "state", [{}, {"pools": [{"name": "p", "capacity": {"gpu": 1}}]}, {"jobs": [{"id": "a", "submitted": 0, "remaining": 0, "deadline": 0}]}]
)
def test_empty_states_have_a_plan(objective: str, state: dict[str, Any]) -> None:
    asked = State.model_validate({**state, "options": {"objective": objective}})
    assert verify(asked, allocate(asked)).holds


def test_what_can_no_longer_be_on_time_is_told() -> None:
    jobs = [{"id": name, "demand": {"gpu": 1}, "remaining": 500, "deadline": deadline} for name, deadline in (("late", 1300), ("early", 1900))]
    document = {"pools": [{"name": "p", "capacity": {"gpu": 2}}], "period": {"start": 1000}, "jobs": jobs, "options": {"objective": "on_time"}}
    plan = allocate(State.model_validate(document))
    assert [("200 s late at least" in job.reason.message) for job in plan.jobs] == [True, False]
    assert [warning for warning in plan.warnings if "'late'" in warning and "can no longer be met" in warning]


def test_deadline_decides_who_is_served() -> None:
    jobs = [{"id": name, "demand": {"gpu": 1}, "remaining": 500, "deadline": deadline} for name, deadline in (("urgent", 1510), ("relaxed", 9000))]
    document = {"pools": [{"name": "p", "capacity": {"gpu": 1}}], "period": {"start": 1000}, "jobs": jobs, "options": {"objective": "on_time"}}
    assert [bool(job.stages) for job in allocate(State.model_validate(document)).jobs] == [True, False]


def test_format_of_one_objective_refuses_the_others(tmp_path, capsys) -> None:
    document = tmp_path / "state.json"
    document.write_text('{"pools": [], "jobs": [], "options": {"objective": "max_min"}}')
    assert main(["export", str(document), "--format", "lp"]) == 2
    assert "options.objective" in capsys.readouterr().err
