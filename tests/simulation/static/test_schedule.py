"""What the search predicts of fixed quotas is what the plant makes of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import Workload
from libra_opt.simulation.loop import simulate
from libra_opt.simulation.policies.static_best import StaticPolicy
from libra_opt.simulation.static.quota import Shaper
from libra_opt.simulation.static.reservation import Reservation
from libra_opt.simulation.static.schedule import Problem
from tests.simulation.drawn import PERIOD, workloads


def _reservation(problem: Problem, dice: np.random.Generator) -> Reservation:
    """Return random quotas: a rung of the ladder and a few moves from it, in a random order."""
    quotas = []
    for j, job in enumerate(problem.workload.jobs):
        shaper = Shaper(problem.ledger, j, job, problem.demands[j], problem.horizon)
        ladder = shaper.ladder()
        quota = ladder[int(dice.integers(len(ladder)))] if ladder else None
        for _ in range(2):
            moves = list(shaper.moves(quota)) if quota is not None else []
            quota = moves[int(dice.integers(len(moves)))] if moves else quota
        quotas.append(quota)
    return Reservation(tuple(quotas), tuple(dice.permutation(len(quotas)).tolist()), bool(dice.integers(2)))


def _agrees(workload: Workload, problem: Problem, reservation: Reservation) -> None:
    expected = problem.evaluate(reservation)
    run = simulate(workload, StaticPolicy("fixed", reservation), period_seconds=PERIOD)
    assert run.finished_work == pytest.approx(expected.finished_work, rel=1e-9, abs=1e-6)
    for job, done, predicted in zip(workload.jobs, run.done_at, expected.done_at, strict=True):
        assert (done is None) == (predicted is None), job.id
        if done is not None and (job.clock == "progress" or job.work is not None):
            assert done == pytest.approx(predicted, abs=1e-4)


@given(workload=workloads(), seed=st.integers(0, 1000))
def test_prediction_is_what_the_plant_gives(workload: Workload, seed: int):
    problem = Problem(workload, PERIOD)
    _agrees(workload, problem, _reservation(problem, np.random.default_rng(seed)))


@given(workload=workloads(has_changes=True), seed=st.integers(0, 1000))
def test_prediction_holds_when_capacity_changes(workload: Workload, seed: int):
    problem = Problem(workload, PERIOD)
    _agrees(workload, problem, _reservation(problem, np.random.default_rng(seed)))


@given(workload=workloads(), seed=st.integers(0, 1000))
def test_packed_amounts_decide_as_separate_ones(workload: Workload, seed: int):
    problem = Problem(workload, PERIOD)
    reservation = _reservation(problem, np.random.default_rng(seed))
    packed, general = problem.evaluate(reservation), problem.evaluate_by_events(reservation)
    assert packed.finished_work == pytest.approx(general.finished_work)
    assert packed.score == pytest.approx(general.score)


def test_job_that_moves_to_slower_cards_goes_on_from_where_it_was():
    step = {"parts": [{"seconds": 50, "use": {"main": {"gpu": 2}}}, {"seconds": 40, "use": {"main": {"gpu": 1}}}]}
    workload = Workload.model_validate(
        {
            "horizon_seconds": 600,
            "resources": ({"name": "gpu"},),
            "pools": ({"name": "fast", "capacity": {"gpu": 2}}, {"name": "slow", "capacity": {"gpu": 2}}),
            "jobs": (
                {
                    "id": "a",
                    "stages": ({"pools": {"fast": 1.0, "slow": 0.5}, "request": {"gpu": 2}},),
                    "steps": (step, step, step),
                    "restart": {"cold_seconds": 10},
                    "preemption_cost": {"migrate_seconds": 20},
                },
            ),
            "changes": ({"at_seconds": 120, "pool": "fast", "capacity": {}},),
        }
    )
    problem = Problem(workload, PERIOD)
    shaper = Shaper(problem.ledger, 0, workload.jobs[0], problem.demands[0], 600)
    reservation = Reservation((shaper.ladder()[-1],), (0,), backfill=True)
    _agrees(workload, problem, reservation)
    # 110 s of running on fast cards (a step, and 20 s of the next), 20 s to migrate, then half the pace where it can use both cards
    assert problem.evaluate(reservation).done_at == pytest.approx([120 + 20 + 60 + 40 + 100 + 40])
