"""Every measure against a run that was written by hand: two cards, five jobs, four periods of 60 s."""

import pytest

from libra_opt.domain import Amounts, Part, Pool, Resource, Step, Workload, WorkloadJob
from libra_opt.simulation.grant import Grant
from libra_opt.simulation.job_state import JobPeriod
from libra_opt.simulation.loop import PeriodRecord, Run
from libra_opt.simulation.measures import jain_index, measure

CARD = (Grant("cards", (1.0, 40.0)),)


def job(name, **fields):
    steps = (Step(parts=(Part(seconds=60, use={"main": {"gpu": 1}}),), trajectories=10, tokens=1000), Step(parts=(Part(seconds=60),), trajectories=4))
    return WorkloadJob(id=name, steps=steps, **fields)


def workload(horizon=240):
    return Workload(
        horizon_seconds=horizon,
        resources=(
            Resource(name="gpu", unit="cards", quantum=1, compressible=True, costly=True),
            Resource(name="gpu_mem", unit="GiB", quantum=1, compressible=False),
        ),
        pools=(Pool(name="cards", capacity=Amounts({"gpu": 2, "gpu_mem": 160})),),
        jobs=(
            job("quick", deadline=100.0),
            job("moved", deadline=150.0, weight=3),
            job("late", submitted=30.0, deadline=400.0),
            job("starved", submitted=60.0, deadline=200.0),
            job("after the end", submitted=500.0),
        ),
    )


def period(j, action, *, used=(0.0, 0.0), **fields):
    holding = None if action in ("wait", "evict") else CARD
    return JobPeriod(j, action, holding, usage=[list(used)], **fields)


def record(t, *jobs, deciding=0.5):
    return PeriodRecord(t, 60.0 * t, 60.0, {"cards": (2.0, 160.0)}, jobs, deciding, None)


def hand_made():
    run = Run("by hand", workload(), 0)
    run.periods = [
        record(0, period(0, "admit", ran=40, paused=20, progress=40, used=(1.0, 20.0)), period(1, "wait"), deciding=2.0),
        record(
            1,
            period(0, "keep", ran=30, progress=30, steps=2, is_done=True, used=(1.0, 20.0)),
            period(1, "admit", ran=60, progress=50, used=(0.5, 10.0)),
            period(2, "wait"),
            period(3, "wait"),
        ),
        record(2, period(1, "evict"), period(2, "admit", ran=20, paused=30, gated=10, kills=2, lost=72.0, progress=12), period(3, "wait")),
        record(3, period(1, "admit", ran=60, progress=40, steps=1), period(2, "resize", ran=60, paused=5, progress=6), period(3, "wait")),
    ]
    run.finished_steps, run.finished_work = (2, 1, 0, 0, 0), (60.0, 60.0, 0.0, 0.0, 0.0)
    run.done_at = (90.0, None, None, None, None)
    return run


@pytest.fixture(scope="module")
def measures():
    return measure(hand_made(), starved_after_seconds=150)


def test_rates_are_over_the_horizon_and_count_finished_steps(measures):
    assert (measures.span_seconds, measures.steps_per_hour, measures.trajectories_per_hour, measures.tokens_per_hour) == (240, 45, 360, 30_000)
    assert measures.jobs_per_hour == 15
    assert measures.card_hours_per_hour == pytest.approx(120 / 240)
    assert measures.weighted_card_hours_per_hour == pytest.approx((60 + 3 * 60) / 240)


def test_job_that_comes_after_the_end_counts_nowhere(measures):
    assert (measures.n_jobs, measures.n_done, measures.n_periods) == (4, 1, 4)


def test_completion_is_of_jobs_that_are_done_and_the_stay_is_of_all(measures):
    assert (measures.completion_seconds_mean, measures.completion_seconds_p95) == (90, 90)
    assert measures.stay_seconds_mean == pytest.approx((90 + 240 + 210 + 180) / 4)
    assert measures.makespan_seconds is None


def test_on_time_leaves_out_who_still_has_time(measures):
    assert measures.on_time == pytest.approx(1 / 3)  # quick in time, moved and starved not, late has until 400


def test_utilisation_granted_is_to_the_end_of_the_period_and_used_is_what_ran(measures):
    gpu, memory = measures.utilisation
    assert gpu.granted == pytest.approx(60 * 6 / (2 * 240))
    assert gpu.used == pytest.approx((40 + 30 + 0.5 * 60) / (2 * 240))
    assert memory.granted == pytest.approx(40 * 60 * 6 / (160 * 240))
    assert memory.used == pytest.approx((20 * 70 + 10 * 60) / (160 * 240))


def test_queue_delay_is_until_the_first_start_and_until_the_end_for_who_never_started(measures):
    delays = [0, 60, 90, 180]
    assert measures.queue_seconds_mean == pytest.approx(sum(delays) / 4)
    assert measures.queue_seconds_max == 180
    assert measures.queue_seconds_p95 == pytest.approx(90 + 0.85 * 90)


def test_waiting_counts_evictions_too(measures):
    assert measures.waiting_seconds_mean == pytest.approx((0 + 120 + 90 + 180) / 4)
    assert measures.longest_wait_seconds == 180


def test_moves_kills_and_what_they_cost(measures):
    assert (measures.n_preemptions, measures.n_resizes, measures.n_migrations, measures.n_kills) == (1, 1, 0, 2)
    assert measures.lost_card_hours == pytest.approx(72 / 3600)
    assert (measures.moving_seconds, measures.gated_seconds) == (55, 10)


def test_jain_index_is_over_progress_per_second_in_the_system(measures):
    service = [70 / 90, 90 / 240, 18 / 210, 0]
    assert measures.jain == pytest.approx(sum(service) ** 2 / (4 * sum(x * x for x in service)))


@pytest.mark.parametrize(("bound", "n"), [(150, 1), (179, 1), (180, 0)])
def test_starved_is_who_never_ran_and_was_there_for_longer_than_the_bound(bound, n):
    assert measure(hand_made(), starved_after_seconds=bound).n_starved == n


def test_deciding_time_is_told_in_all_and_at_most(measures):
    assert (measures.deciding_seconds, measures.deciding_seconds_max) == (3.5, 2.0)


def test_without_a_horizon_rates_are_over_the_makespan():
    run = Run("by hand", workload(None).model_copy(update={"jobs": (job("only"),), "horizon_seconds": None}), 0)
    run.periods = [record(0, period(0, "admit", ran=45, progress=45, steps=2, is_done=True, used=(1.0, 0.0)))]
    run.finished_steps, run.finished_work, run.done_at = (2,), (45.0,), (45.0,)
    measures = measure(run)
    assert (measures.span_seconds, measures.makespan_seconds, measures.completion_seconds_mean) == (45, 45, 45)
    assert measures.card_hours_per_hour == pytest.approx(1.0)
    assert measures.utilisation[0].granted == pytest.approx(0.5)  # one of two cards, until the end of what is counted


def test_steps_that_repeat_are_worth_what_they_are_each_time():
    run = hand_made()
    run.finished_steps = (5, 0, 0, 0, 0)
    assert measure(run).trajectories_per_hour == pytest.approx(15 * (3 * 10 + 2 * 4))


@pytest.mark.parametrize(("values", "index"), [([3.0, 3.0, 3.0], 1.0), ([5.0, 0.0], 0.5), ([0.0, 0.0], 1.0)])
def test_jain_index_of_the_even_and_of_the_uneven(values, index):
    assert jain_index(values) == pytest.approx(index)
