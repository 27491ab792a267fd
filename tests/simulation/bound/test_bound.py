"""The clairvoyant bound: never below what anybody reaches, and tight where it can be worked out by hand."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.domain import Workload, read_workload
from libra_opt.simulation.bound import Limits, clairvoyant_bound
from libra_opt.simulation.grant import Decision, Moment
from libra_opt.simulation.loop import simulate
from libra_opt.simulation.room import Room, holding_of, in_quanta
from libra_opt.simulation.static.quota import Shaper
from libra_opt.simulation.static.schedule import Problem
from libra_opt.simulation.workloads import make
from tests.simulation.drawn import PERIOD, workloads

CARDS = {"name": "gpu", "unit": "cards", "quantum": 1, "compressible": True, "costly": True}
MEMORY = {"name": "gpu_mem", "unit": "GiB", "quantum": 1, "compressible": False, "costly": True}


class Restless:
    """Sees the truth and changes its mind every period: random orders, random sizes, mostly large ones."""

    name = "restless"

    def __init__(self, workload: Workload, dice: np.random.Generator) -> None:
        self._problem, self._dice = Problem(workload, PERIOD), dice
        problem = self._problem
        self._ladders = [Shaper(problem.ledger, j, job, problem.demands[j], np.inf).ladder() for j, job in enumerate(workload.jobs)]

    def decide(self, moment: Moment) -> Decision:
        ledger = self._problem.ledger
        room = Room(ledger, in_quanta(ledger, moment.capacity))
        grants = {}
        for j in self._dice.permutation(moment.arrived).tolist():
            ladder = self._ladders[j]
            rungs = sorted(self._dice.integers(len(ladder), size=2).tolist(), reverse=True) if ladder else []
            for rung in (*([len(ladder) - 1] if ladder and self._dice.random() < 0.5 else []), *rungs):
                cells = room.place(j, ladder[rung].stages)
                if cells is not None:
                    room.take(j, cells)
                    grants[j] = holding_of(ledger, cells)
                    break
        return Decision(grants)


def _workload(jobs: list[dict[str, Any]], capacity: dict[str, float], horizon: float | None = None, **pool: Any) -> Workload:
    document: dict[str, Any] = {
        "format": "libra-opt/workload/1",
        "period_seconds": 60,
        "resources": [CARDS, MEMORY],
        "pools": [{"name": "p", "capacity": capacity, **pool}],
        "jobs": [{"id": f"j{i}", "restart": {"cold_seconds": 0, "warm_seconds": 0}, **job} for i, job in enumerate(jobs)],
    }
    if horizon is not None:
        document["horizon_seconds"] = horizon
    return read_workload(json.dumps(document))


def _steps(*steps: list[tuple[float, dict[str, float]]]) -> list[dict[str, Any]]:
    return [{"parts": [{"seconds": seconds, "use": {"main": use}} for seconds, use in parts]} for parts in steps]


def _weighted(workload: Workload, finished: tuple[float, ...]) -> float:
    return sum(job.weight * work for job, work in zip(workload.jobs, finished, strict=True))


def test_four_jobs_cannot_be_done_before_nine_periods():
    assert clairvoyant_bound(make("four_jobs")).periods == 9


def test_four_jobs_by_a_horizon_fill_what_they_can_use():
    shortened = make("four_jobs").replace({"horizon_seconds": 480.0})
    assert clairvoyant_bound(shortened).finished_work == pytest.approx(480)  # 1 card x 480 s, and the work is more


def test_one_job_alone_takes_its_own_time():
    job = {"steps": _steps([(100, {"gpu": 4}), (80, {"gpu": 1})])}
    assert clairvoyant_bound(_workload([job], {"gpu": 8})).periods == 3
    assert clairvoyant_bound(_workload([job], {"gpu": 2})).periods == 5  # 200 s on two cards, then 80 s
    assert clairvoyant_bound(_workload([{**job, "submitted": 61}], {"gpu": 8})).periods == 5
    assert clairvoyant_bound(_workload([{**job, "restart": {"cold_seconds": 30}}], {"gpu": 8})).periods == 4


def test_a_step_counts_only_when_its_last_part_is_done():
    job = {"steps": _steps([(60, {"gpu": 4}), (60, {})], [(60, {"gpu": 4}), (60, {})])}
    for horizon, expected in ((119, 0), (120, 240), (239, 240), (240, 480)):
        assert clairvoyant_bound(_workload([job], {"gpu": 4}, horizon)).finished_work == pytest.approx(expected)


def test_jobs_share_the_cards():
    job = {"steps": _steps([(120, {"gpu": 4})])}
    assert clairvoyant_bound(_workload([job, job], {"gpu": 4})).periods == 4
    assert clairvoyant_bound(_workload([job, {**job, "weight": 3.0}], {"gpu": 4}, 120)).finished_work == pytest.approx(3 * 480)


def test_memory_and_the_cards_that_carry_it_are_held_while_a_job_runs():
    job = {"steps": _steps([(120, {"gpu": 1, "gpu_mem": 40})])}
    assert clairvoyant_bound(_workload([job, job], {"gpu": 8, "gpu_mem": 80})).periods == 2
    assert clairvoyant_bound(_workload([job, job], {"gpu": 8, "gpu_mem": 79})).periods == 3  # twice 120 s x 40 GiB are more than 120 s x 79
    assert clairvoyant_bound(_workload([job, job], {"gpu": 4, "gpu_mem": 80}, card_mem=10)).periods == 4  # each takes all four cards


def test_a_unit_is_held_whole():
    job = {"stages": [{"unit": 4}], "steps": _steps([(120, {"gpu": 1})])}
    assert clairvoyant_bound(_workload([job, job], {"gpu": 4})).periods == 4


def test_what_can_never_run_has_no_end_and_counts_nothing():
    job = {"steps": _steps([(60, {"gpu": 1})], [(60, {"gpu": 1, "gpu_mem": 99})])}
    assert clairvoyant_bound(_workload([job], {"gpu": 4, "gpu_mem": 80})).periods is None
    assert clairvoyant_bound(_workload([job], {"gpu": 4, "gpu_mem": 80}, 600)).finished_work == pytest.approx(60)


def test_lost_capacity_is_not_there():
    job = {"steps": _steps([(60, {"gpu": 4})], [(60, {"gpu": 4})], [(60, {"gpu": 4})])}
    workload = _workload([job], {"gpu": 4}, 240).replace({"changes": ({"at_seconds": 60, "pool": "p", "capacity": {"gpu": 2}},)})
    assert clairvoyant_bound(workload).finished_work == pytest.approx(4 * 60 + 2 * 180)


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(workload=workloads(has_changes=True), seed=st.integers(0, 1000))
def test_nobody_finishes_more_than_the_bound(workload: Workload, seed: int):
    dice = np.random.default_rng(seed)
    runs = [simulate(workload, Restless(workload, dice), period_seconds=PERIOD) for _ in range(3)]
    best = max(_weighted(workload, run.finished_work) for run in runs)
    for limits in (Limits(prices=0), Limits(blocks=2, columns=1), Limits(prices=5)):
        bound = clairvoyant_bound(workload, PERIOD, limits).finished_work
        assert bound is not None
        assert best <= bound * (1 + 1e-7) + 1e-6


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(workload=workloads(most_jobs=3, has_horizon=False), seed=st.integers(0, 1000))
def test_nobody_is_done_before_the_bound(workload: Workload, seed: int):
    bound = clairvoyant_bound(workload, PERIOD).periods
    if bound is None:
        return
    shown = workload.replace({"horizon_seconds": PERIOD * 60})
    run = simulate(shown, Restless(workload, np.random.default_rng(seed)), period_seconds=PERIOD)
    if None not in run.done_at:
        assert max(filter(None, run.done_at)) > (bound - 1) * PERIOD - 1e-6


def test_stages_that_take_turns_are_counted_together():
    """Steps that lean on one stage or the other take as much in all: no bound above the cards there are."""
    names = ("left", "right")
    steps = [{"parts": [{"seconds": 100, "use": {names[i % 2]: {"gpu": 2}, names[1 - i % 2]: {"gpu": 1}}}]} for i in range(12)]
    job = {"stages": [{"name": name} for name in names], "steps": steps}
    bound = clairvoyant_bound(_workload([job] * 4, {"gpu": 4}, 1200), limits=Limits(blocks=4, columns=40, prices=0)).finished_work
    assert bound == pytest.approx(4 * 1200, rel=1e-6)


def test_many_different_parts_are_joined_and_still_bound():
    parts = [(2.0 + 0.01 * i, {"gpu": 1 + (i * 37 % 300) / 100}) for i in range(300)]
    workload = _workload([{"steps": _steps(parts)}] * 3, {"gpu": 8}, 1200)
    work = 3 * sum(seconds * use["gpu"] for seconds, use in parts)
    assert clairvoyant_bound(workload).finished_work == pytest.approx(work)
    short = workload.replace({"pools": ({"name": "p", "capacity": {"gpu": 4}},)})
    assert clairvoyant_bound(short, limits=Limits(prices=0)).finished_work == pytest.approx(4 * 1200)


def test_cards_are_held_for_whole_periods_and_resizing_takes_time():
    """Jobs that use all four cards for half a minute in every one: on average they fit beside each other, in periods of a minute they do not."""
    job = {"steps": _steps(*[[(30, {"gpu": 4}), (30, {"gpu": 1})]] * 10), "preemption_cost": {"resize_seconds": 60}}
    workload = _workload([job, job], {"gpu": 5}, 600)
    fluid, priced = (clairvoyant_bound(workload, limits=Limits(prices=n)).finished_work for n in (0, 40))
    assert fluid == pytest.approx(2 * 10 * 150)
    reached = 10 * 150 + 4 * 150  # one job on four cards; the other one on the fifth takes 150 s for a step
    assert reached <= priced < 0.75 * fluid


def test_cards_are_dear_only_while_they_are_scarce():
    """The jobs of the test before, with cards enough in the second half: one price for all periods would be paid for these too, and prove nothing."""
    job = {"steps": _steps(*[[(30, {"gpu": 4}), (30, {"gpu": 1})]] * 20), "preemption_cost": {"resize_seconds": 60}}
    workload = _workload([job, job], {"gpu": 5}, 1200).replace({"changes": ({"at_seconds": 600, "pool": "p", "capacity": {"gpu": 50}},)})
    bound = clairvoyant_bound(workload).finished_work
    reached = 2 * 10 * 150 + 4 * 150 + 9 * 150  # as before, then both on four cards, for one of them after a minute
    assert bound is not None
    assert reached <= bound < 0.9 * 2 * 20 * 150


class Dodger:
    """Starts every job in its first period, stops it in the next one, and lets it run from then on, with all it can use."""

    name = "dodger"

    def __init__(self, workload: Workload) -> None:
        self._problem = Problem(workload, PERIOD)
        self._cells = [Shaper(self._problem.ledger, j, job, self._problem.demands[j], np.inf).ladder()[-1] for j, job in enumerate(workload.jobs)]
        self._periods = 0

    def decide(self, moment: Moment) -> Decision:
        self._periods += 1
        ledger, room = self._problem.ledger, Room(self._problem.ledger, in_quanta(self._problem.ledger, moment.capacity))
        there = [] if self._periods == 2 else moment.arrived
        return Decision({j: holding_of(ledger, room.place(j, self._cells[j].stages)) for j in there})


def test_a_cold_start_that_is_broken_off_for_a_warm_one_is_bounded_too():
    """The next start after an eviction counts as warm, though the cold one was never over."""
    job = {"steps": _steps([(60, {"gpu": 4})]), "repeats": True, "restart": {"cold_seconds": 250, "warm_seconds": 5, "warm_within_seconds": 100}}
    workload = _workload([{**job, "work": 2400}], {"gpu": 4}, 300)
    reached = _weighted(workload, simulate(workload, Dodger(workload), period_seconds=PERIOD).finished_work)
    assert reached == 2 * 240  # from 125 s on; from 250 s on none would be done
    for limits in (Limits(prices=0), Limits()):
        assert clairvoyant_bound(workload, limits=limits).finished_work >= reached


def test_price_on_cards_knows_the_wall_clock_and_restarts():
    parts = _steps([(60, {"gpu": 2}), (60, {"gpu": 1})])
    wall = {"steps": parts, "clock": "wall"}
    assert clairvoyant_bound(_workload([wall], {"gpu": 2}, 600)).finished_work == pytest.approx(180)
    assert clairvoyant_bound(_workload([{**wall, "restart": {"cold_seconds": 30}}], {"gpu": 2}, 600)).finished_work == pytest.approx(120)
    assert clairvoyant_bound(_workload([wall, wall], {"gpu": 2}, 600)).finished_work == pytest.approx(120 + 120)
