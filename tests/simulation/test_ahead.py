"""The true future as a state would say it: what the plant then does, at any share of it."""

from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from libra_opt.domain import State
from libra_opt.simulation.ahead import _curve, _progress, _served, coming, stretches
from libra_opt.simulation.plant import Plant
from tests.simulation.made import held, job, part, step, workload

PERIOD = 60.0
cards, cores = st.sampled_from([0, 1, 3, 8]), st.sampled_from([0, 2])
parts = st.builds(lambda seconds, gpu, cpu: part(seconds, gpu=gpu, cpu=cpu), st.sampled_from([7, 20, 45, 90]), cards, cores)
steps = st.lists(st.lists(parts, min_size=1, max_size=4).map(lambda each: step(*each)), min_size=1, max_size=3)
shares = st.floats(0.03, 1)

GRID = 0.02
"""Between the points of a curve its chord lies below the arc, by no more than this."""


def begun(asked: dict[str, Any], seconds: float) -> Plant:
    """Return a plant in which the only job was served in full for so long."""
    plant = Plant(workload(asked))
    if seconds:
        plant.advance({0: held(gpu=8, cpu=8)}, seconds)
    return plant


def at(curve: Any, share: float) -> float:
    """Return what a curve comes to; a job without one is served in proportion."""
    for (low, below), (high, above) in pairwise(curve):
        if share <= high:
            return float(below + (above - below) * (share - low) / (high - low))
    return float(curve[-1][1]) if curve else share


def granted(future: Any, share: float) -> Any:
    gpu, memory, cpu = future.demand[0][0]
    return held(gpu=share * gpu, memory=memory, cpu=share * cpu)


@given(steps, st.sampled_from([0, 10, 33, 100]), shares)
@settings(max_examples=60, deadline=None)
def test_the_curve_is_the_progress_of_the_plant_at_any_share(drawn, seconds, share):
    plant = begun(job(*drawn, repeats=True, work=1e9) if any(each["use"]["main"]["gpu"] for one in drawn for each in one["parts"]) else job(*drawn), seconds)
    assume(plant.states[0].done_at is None)
    future, truth = coming(plant, 0, PERIOD), plant.truths[0]
    peak = future.demand[0][0]
    assume(any(peak))
    way = [
        (length, max(amount / most for amount, most in zip(truth.demand[p][0], peak, strict=True) if most))
        for length, p in stretches(truth, plant.states[0].position, PERIOD, repeats=plant.workload.jobs[0].repeats)
    ]
    whole = sum(length for length, _ in way)
    (done,) = plant.advance({0: granted(future, share)}, PERIOD)
    assert done.progress == pytest.approx(whole * _progress(PERIOD, way, share), abs=1e-6)
    assert at(future.curve[0], share) >= done.progress / whole - GRID  # the hull of it, as R6 wants concave curves
    assert at(future.curve[0], 1.0) == pytest.approx(1, abs=1e-6)


@given(st.lists(st.tuples(st.floats(0.1, 60), st.floats(0.001, 1)), min_size=1, max_size=5), st.sampled_from([_progress, _served]))
@settings(max_examples=200, deadline=None)
def test_a_curve_of_any_walk_is_one_that_a_state_takes(way, served):
    lasting = sum(length for length, _ in way)
    curve = _curve(way, lasting, partial(served, lasting))
    if curve:
        stage = {"name": "a", "demand": {"gpu": 1}, "curve": curve}
        assert State.model_validate({"jobs": [{"id": "a", "stages": [stage]}]}).jobs[0].all_stages[0].curve == curve


def test_where_work_grows_less_and_less_the_curve_is_exact():
    plant = begun(job(step(part(30, gpu=1), part(90, gpu=8))), 0)
    future = coming(plant, 0, PERIOD)
    for share in (0.05, 0.1, 0.25, 0.5, 0.75):
        again = begun(job(step(part(30, gpu=1), part(90, gpu=8))), 0)
        (done,) = again.advance({0: granted(future, share)}, PERIOD)
        assert PERIOD * at(future.curve[0], share) == pytest.approx(done.progress, abs=0.01)


@given(steps, st.sampled_from([0, 10, 33, 100]), shares)
@settings(max_examples=40, deadline=None)
def test_on_the_wall_clock_the_curve_is_the_work_of_the_plant_at_any_share(drawn, seconds, share):
    assume(any(each["use"]["main"]["gpu"] for one in drawn for each in one["parts"]))
    plain = [step(*({**each, "use": {"main": {"gpu": each["use"]["main"]["gpu"]}}} for each in one["parts"])) for one in drawn]
    plant = begun(job(*plain, repeats=True, work=1e9, clock="wall"), seconds)
    future = coming(plant, 0, PERIOD)
    peak = future.demand[0][0][0]
    assume(peak > 0)
    truth = plant.truths[0]
    way = [(length, truth.demand[p][0][0] / peak) for length, p in stretches(truth, plant.now, PERIOD, repeats=True)]
    (done,) = plant.advance({0: granted(future, share)}, PERIOD)
    assert done.work / (peak * PERIOD) == pytest.approx(_served(PERIOD, way, share), abs=1e-6)
    assert at(future.curve[0], share) == pytest.approx(done.work / (peak * PERIOD), abs=GRID)


def test_demand_is_the_peak_of_the_coming_period_and_the_mean_of_later_ones():
    plant = begun(job(step(part(90, gpu=2, memory=5), part(90, gpu=8, memory=40))), 0)
    future = coming(plant, 0, PERIOD, 4)
    assert [each[0][0] for each in future.demand] == [2, 5, 8, 0]
    assert [each[0][1] for each in future.need] == [5, 40, 40, 0]
    assert future.curve == ((),)


def test_a_start_takes_its_part_of_the_coming_period():
    plant = begun(job(step(part(20, gpu=2), part(90, gpu=8)), restart={"cold_seconds": 45}), 0)
    assert coming(plant, 0, PERIOD, 2).demand[0][0][0] == 2
    assert coming(plant, 0, PERIOD, 2).demand[1][0][0] == pytest.approx((5 * 2 + 55 * 8) / 60)


@given(steps, st.sampled_from([0, 10, 33, 100]), st.sampled_from([None, 0.3, 0.9, 2.4]), st.booleans(), st.sampled_from([0, 25]))
@settings(max_examples=60, deadline=None)
def test_what_is_left_is_what_full_service_takes_until_the_job_is_done(drawn, seconds, share, repeats, cold):
    total = sum(each["seconds"] * each["use"]["main"]["gpu"] for one in drawn for each in one["parts"])
    assume(share is None or total > 0)
    work = None if share is None else share * total
    plant = begun(job(*drawn, work=work, repeats=repeats and work is not None, restart={"cold_seconds": cold}), seconds)
    assume(plant.states[0].done_at is None)
    future, now = coming(plant, 0, PERIOD), plant.now
    plant.advance({0: held(gpu=8, cpu=8)}, 1e5)
    assert plant.states[0].done_at - now == pytest.approx(future.until_done, abs=1e-5)
    assert future.left(PERIOD) == {"remaining": max(PERIOD, future.until_done)}


def test_what_is_left_on_the_wall_clock_is_work_in_cards_x_periods():
    plant = begun(job(step(part(60, gpu=2), part(60, gpu=4)), clock="wall", repeats=True, work=720), PERIOD)
    assert coming(plant, 0, PERIOD).left(PERIOD) == {"remaining_work": 10}
    endless = begun(job(step(part(600, gpu=2)), clock="wall"), 0)
    assert coming(endless, 0, PERIOD).left(PERIOD) == {}
