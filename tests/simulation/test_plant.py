"""What jobs do with what they hold: every number is worked out by hand."""

import pytest

from libra_opt.domain import Workload
from libra_opt.simulation.plant import Plant
from tests.simulation.made import held, job, part, step, workload

MINUTE = 60.0


def plant(*jobs, **fields):
    return Plant(workload(*jobs, **fields))


def passed(made, *grants, seconds=MINUTE):
    """Let one period pass per grant to the first job (None: it waits), and return what it did in each."""
    return [made.advance({} if grant is None else {0: grant}, seconds)[0] for grant in grants]


def test_progress_is_the_share_of_the_scarcest_dimension():
    made = plant(job(step(part(60, gpu=4, cpu=8))))
    (done,) = passed(made, held(gpu=3, cpu=2))
    assert (done.progress, done.work, made.states[0].position) == (15, 60, 15)
    assert done.usage[0] == [1, 0, 2]
    assert done.level == [0.25]


def test_more_than_it_can_use_does_not_make_it_faster():
    made = plant(job(step(part(90, gpu=2))))
    (done,) = passed(made, held(gpu=8))
    assert (done.progress, done.usage[0][0]) == (60, 2)


def test_incompressible_memory_beyond_the_need_changes_nothing_and_less_is_never_half_of_it():
    made = plant(job(step(part(90, gpu=2, memory=10))))
    ample, exact = passed(made, held(gpu=1, memory=80), held(gpu=1, memory=10))
    assert ample.progress == exact.progress == 30
    assert ample.watermark[0][1] == ample.usage[0][1] == 10


def test_the_slowest_stage_sets_the_pace_of_the_job():
    use = {"rollout": {"gpu": 4}, "reward": {"gpu": 2}}
    made = plant(job({"parts": [{"seconds": 90, "use": use}]}, stages=[{"name": "rollout"}, {"name": "reward"}, {"name": "replay"}]))
    (done,) = passed(made, (*held(gpu=4), *held(gpu=0.5), None))
    assert (done.progress, done.work) == (15, 90)
    assert [row[0] for row in done.usage] == [1, 0.5, 0]


def test_a_part_without_demand_takes_its_time_whatever_is_held():
    made = plant(job(step(part(30), part(60, gpu=1))))
    (done,) = passed(made, held(gpu=0.5))
    assert (done.progress, made.states[0].position) == (45, 45)
    assert done.work == 15


def test_a_job_starved_in_its_training_phase_stays_in_it():
    made = plant(job(step(part(60, gpu=1, phase="rollout"), part(60, gpu=8, phase="train"), part(60, gpu=1, phase="rollout"))))
    passed(made, held(gpu=1), held(gpu=0.5), held(gpu=0.5), held(gpu=0.5))
    assert made.states[0].position == pytest.approx(60 + 3 * 60 / 16)
    (done,) = passed(made, None)
    assert (done.progress, made.states[0].position) == (0, pytest.approx(71.25))


def test_demand_on_the_wall_clock_goes_by_while_the_job_starves():
    made = plant(job(step(part(60, gpu=1), part(60, gpu=8), part(60, gpu=2)), clock="wall"))
    first, second, third = passed(made, held(gpu=1), held(gpu=0.5), held(gpu=1))
    assert [first.work, second.work, third.work] == [60, 30, 60]
    assert made.states[0].done_at == 180


def test_demand_on_the_wall_clock_goes_by_while_the_job_waits_or_starts():
    made = plant(job(step(part(60, gpu=1), part(60, gpu=8)), clock="wall", repeats=True, work=1000, restart={"cold_seconds": 45}))
    waited, started = passed(made, None, held(gpu=8))
    assert (waited.work, started.work) == (0, 15 * 8)


def test_a_job_on_the_wall_clock_is_done_when_its_time_is_over():
    made = plant(job(step(part(100, gpu=2)), clock="wall"))
    passed(made, held(gpu=0.25), held(gpu=0.25))
    assert made.states[0].done_at == 100
    late = plant(job(step(part(100, gpu=2)), clock="wall"))
    _, _, done = passed(late, None, None, held(gpu=2))
    assert done.is_done
    assert (late.states[0].done_at, late.finished_work(0)) == (120, 0)


def test_the_first_start_is_cold_and_a_return_within_minutes_is_warm():
    made = plant(job(step(part(600, gpu=1)), restart={"cold_seconds": 50, "warm_seconds": 20, "warm_within_seconds": 60}))
    first, away, back = passed(made, held(gpu=1), None, held(gpu=1))
    assert [(each.action, each.paused, each.progress) for each in (first, away, back)] == [("admit", 50, 10), ("evict", 0, 0), ("admit", 20, 40)]
    _, _, late = passed(made, None, None, held(gpu=1))
    assert (late.action, late.paused, late.progress) == ("admit", 50, 10)


def test_a_start_goes_on_in_the_next_period_and_is_not_begun_again():
    made = plant(job(step(part(600, gpu=1)), restart={"cold_seconds": 90}))
    first, second, third = passed(made, held(gpu=1), held(gpu=1), held(gpu=1))
    assert [each.progress for each in (first, second, third)] == [0, 30, 60]


def test_evicted_work_is_kept():
    made = plant(job(step(part(600, gpu=1))))
    passed(made, held(gpu=1), None)
    assert (made.states[0].position, made.served_work(0)) == (60, 60)


def test_a_resize_of_what_is_costly_costs_seconds_and_what_follows_freely_costs_none():
    made = plant(job(step(part(600, gpu=8, cpu=8)), preemption_cost={"resize_seconds": 15, "migrate_seconds": 45}))
    _, grown, more_cores, kept = passed(made, held(gpu=2, cpu=2), held(gpu=4, cpu=4), held(gpu=4, cpu=8), held(gpu=4, cpu=8))
    assert [(each.action, each.paused) for each in (grown, more_cores, kept)] == [("resize", 15), ("keep", 0), ("keep", 0)]
    assert grown.progress == 45 * 0.5


@pytest.mark.parametrize(("pool", "expected"), [({"card_mem": 10}, [("keep", 0), ("resize", 15)]), ({}, [("resize", 15), ("resize", 15)])])
def test_another_figure_for_memory_that_comes_with_the_cards_is_no_resize(pool, expected):
    made = workload(job(step(part(600, gpu=8, memory=10)), preemption_cost={"resize_seconds": 15, "migrate_seconds": 45}))
    made = made.replace({"pools": [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 80, "cpu": 32}, **pool}]})
    there = Plant(made)
    there.advance({0: held(gpu=2, memory=12)}, 60)
    told = [there.advance({0: held(gpu=cards, memory=memory)}, 60)[0] for cards, memory in ((2, 15), (3, 15))]
    assert [(each.action, each.paused) for each in told] == expected


def test_charges_by_resource_are_paid_by_the_dearest_that_changes():
    made = plant(job(step(part(600, gpu=8, cpu=8)), preemption_cost={"resize_seconds": {"gpu": 30, "cpu": 5}}))
    _, cores, both = passed(made, held(gpu=2, cpu=2), held(gpu=2, cpu=4), held(gpu=4, cpu=8))
    assert [(each.action, each.paused) for each in (cores, both)] == [("resize", 5), ("resize", 30)]


def two_pools():
    stages = [{"pools": {"p": 1, "q": 0.5}}]
    cost = {"resize_seconds": 15, "migrate_seconds": 45}
    return plant(job(step(part(600, gpu=4)), stages=stages, preemption_cost=cost), names="pq")


def test_a_migration_costs_its_seconds_once_and_no_resize_beside():
    made = two_pools()
    _, moved = passed(made, held(gpu=4), held(gpu=8, pool="q"))
    assert (moved.action, moved.paused, moved.progress) == ("migrate", 45, 15)


def test_a_slower_pool_does_less_with_the_same_cards_and_uses_them_all():
    made = two_pools()
    (done,) = passed(made, held(gpu=4, pool="q"))
    assert (done.progress, done.usage[0][0]) == (30, 4)


def test_a_stage_moves_while_another_is_resized_at_the_cost_of_the_longer():
    use = {"rollout": {"gpu": 2}, "reward": {"gpu": 2}}
    cost = {"resize_seconds": 40, "migrate_seconds": 25}
    asked = job({"parts": [{"seconds": 600, "use": use}]}, stages=[{"name": "rollout"}, {"name": "reward"}], preemption_cost=cost)
    made = plant(asked, names="pq")
    _, both = passed(made, (*held(gpu=2), *held(gpu=1)), (*held(gpu=2, pool="q"), *held(gpu=2)))
    assert (both.action, both.paused) == ("migrate", 40)


def test_memory_below_the_need_kills_and_the_work_since_the_last_step_is_lost():
    steps = (step(part(60, gpu=2, memory=10)), step(part(30, gpu=2, memory=10), part(60, gpu=2, memory=20)))
    made = plant(job(*steps, restart={"cold_seconds": 0, "warm_seconds": 20}))
    first, second = passed(made, held(gpu=2, memory=10), held(gpu=2, memory=10))
    assert (first.kills, first.steps) == (0, 1)
    # 30 s of work, killed, 20 s to restart, 10 s of the same work again
    assert (second.kills, second.lost, second.work, second.progress, second.paused) == (1, 60, 80, 10, 20)
    assert (made.states[0].position, made.served_work(0), made.finished_work(0)) == (70, 140, 120)
    assert second.short == [[False, True, False]]


def test_a_kill_takes_no_more_than_the_last_checkpoint_left():
    made = plant(job(step(part(50, gpu=2, memory=10), part(60, gpu=2, memory=20)), checkpoint_seconds=20, restart={"cold_seconds": 0, "warm_seconds": 60}))
    (done,) = passed(made, held(gpu=2, memory=10))
    assert (done.lost, made.states[0].position, made.states[0].saved) == (20, 40, (0, 40))


def test_checkpoints_count_from_the_last_one():
    made = plant(job(step(part(45, gpu=1, memory=1)), step(part(30, gpu=1, memory=1), part(60, gpu=1, memory=2)), checkpoint_seconds=20))
    passed(made, held(gpu=1, memory=1))
    assert made.states[0].saved == (0, 45)  # at 20 and 40, and at the end of the step


def test_a_crash_loop_is_held_until_the_next_grant():
    made = plant(job(step(part(600, gpu=2, memory=20)), restart={"cold_seconds": 0, "warm_seconds": 5}))
    first, second, third = passed(made, held(gpu=2, memory=10), held(gpu=2, memory=10), held(gpu=2, memory=20))
    assert [each.kills for each in (first, second, third)] == [1, 1, 0]
    assert [each.progress for each in (first, second)] == [0, 0]
    assert (third.paused, third.progress) == (0, 60)


def test_the_watermark_of_what_was_short_is_what_was_held_and_of_the_rest_what_was_used():
    resources = [
        {"name": "gpu", "quantum": 1, "compressible": True, "costly": True},
        {"name": "gpu_mem", "unit": "GiB", "quantum": 1, "compressible": False},
        {"name": "mem", "unit": "GiB", "quantum": 1, "compressible": False},
    ]
    use = [{"gpu": 1, "gpu_mem": 10, "mem": 5}, {"gpu": 1, "gpu_mem": 30, "mem": 5}]
    asked = job({"parts": [{"seconds": 30, "use": {"main": each}} for each in use]}, restart={"cold_seconds": 0, "warm_seconds": 60})
    pool = {"name": "p", "capacity": {"gpu": 8, "gpu_mem": 80, "mem": 80}}
    made = Plant(Workload.model_validate({"resources": resources, "pools": [pool], "jobs": [asked]}))
    (done,) = passed(made, held(gpu=1, memory=20, cpu=50))
    assert done.watermark[0] == [0, 20, 5]
    assert done.short[0] == [False, True, False]


def test_a_phase_that_waits_for_memory_waits_and_is_not_killed():
    steps = step(part(30, gpu=1, memory=10), part(60, gpu=4, memory=40, phase="train", waits_for_memory=True))
    made = plant(job(steps))
    first, second, third = passed(made, held(gpu=4, memory=10), held(gpu=4, memory=39), held(gpu=4, memory=40))
    assert [(each.gated, each.kills, each.lost) for each in (first, second, third)] == [(30, 0, 0), (60, 0, 0), (0, 0, 0)]
    assert third.progress == 60
    assert (second.short_phase, third.short_phase) == ("train", None)


def test_a_phase_that_has_begun_no_longer_waits():
    made = plant(job(step(part(90, gpu=1, memory=40, phase="train", waits_for_memory=True))))
    _, killed = passed(made, held(gpu=1, memory=40), held(gpu=1, memory=39))
    assert (killed.kills, killed.lost) == (1, 60)
    assert killed.gated == 60  # back at its beginning it waits, and is in no crash loop
    assert not made.states[0].is_down


def test_a_repeating_job_begins_again_until_its_work_is_done():
    made = plant(job(step(part(30, gpu=2)), step(part(15, gpu=4)), repeats=True, work=200))
    first, second = passed(made, held(gpu=4), held(gpu=4))
    assert (first.steps, first.work) == (2, 150)
    assert (second.is_done, made.states[0].done_at) == (True, 60 + 15 + 5)
    assert (made.finished_steps(0), made.finished_work(0)) == (3, 200)


def test_a_job_with_less_work_than_its_steps_is_done_in_the_middle_of_one():
    made = plant(job(step(part(60, gpu=2)), step(part(60, gpu=2)), work=150))
    passed(made, held(gpu=2), held(gpu=2))
    assert (made.states[0].done_at, made.finished_work(0)) == (75, 150)


def test_work_counts_when_its_step_is_finished_and_not_when_it_is_allocated_or_served():
    made = plant(job(step(part(90, gpu=2)), step(part(90, gpu=2))))
    passed(made, held(gpu=8))
    assert (made.served_work(0), made.finished_work(0), made.finished_steps(0)) == (120, 0, 0)
    passed(made, held(gpu=8))
    assert (made.served_work(0), made.finished_work(0), made.finished_steps(0)) == (240, 180, 1)


def test_what_is_held_and_not_used_is_no_work():
    made = plant(job(step(part(600, gpu=1))), job(step(part(600, gpu=1)), name="b"))
    made.advance({0: held(gpu=7), 1: held(gpu=1)}, MINUTE)
    assert made.served_work(0) == made.served_work(1) == 60


def test_a_job_on_the_wall_clock_has_finished_as_many_steps_as_its_work_is_worth():
    made = plant(job(step(part(60, gpu=2)), step(part(60, gpu=2)), clock="wall", repeats=True, work=600))
    passed(made, held(gpu=1), held(gpu=1), held(gpu=1))
    assert (made.served_work(0), made.finished_steps(0), made.finished_work(0)) == (180, 1, 180)


def test_a_job_without_cards_works_by_its_dominant_share_in_cards():
    made = plant(job(step(part(60, cpu=8))), cards=8, cores=32)
    passed(made, held(cpu=4))
    assert made.served_work(0) == 30 * 2  # 8 of 32 cores are as 2 of 8 cards, at half pace


def test_capacity_changes_count_from_the_next_period_on():
    changes = [{"at_seconds": 90, "pool": "p", "capacity": {"gpu": 2, "gpu_mem": 80, "cpu": 32}}]
    made = plant(job(step(part(600, gpu=4))), changes=changes)
    passed(made, held(gpu=4), held(gpu=4))
    assert made.capacity() == {"p": (2, 80, 32)}
    with pytest.raises(ValueError, match="pool p: 4 of 2 gpu"):
        passed(made, held(gpu=4))


def test_a_done_job_gives_its_cards_back_and_is_not_there_any_more():
    made = plant(job(step(part(30, gpu=1))), job(step(part(600, gpu=1)), name="b"))
    first = made.advance({0: held(gpu=1), 1: held(gpu=1)}, MINUTE)
    assert (first[0].is_done, first[0].ran, made.states[0].done_at) == (True, 30, 30)
    assert made.arrived() == [1]
    with pytest.raises(ValueError, match="a is not there, or done"):
        made.advance({0: held(gpu=1)}, MINUTE)


def test_jobs_are_there_from_the_first_period_after_they_came():
    made = plant(job(step(part(60, gpu=1)), submitted=61), job(step(part(60, gpu=1)), name="b", submitted=60))
    assert made.arrived() == []
    made.advance({}, MINUTE)
    assert made.arrived() == [1]
    made.advance({}, MINUTE)
    assert made.arrived() == [1, 0]


def test_a_grant_of_nothing_is_none():
    made = plant(job(step(part(60, gpu=1))))
    admitted, stopped, waiting = passed(made, held(gpu=0.25), held(), (None,))
    assert [each.action for each in (admitted, stopped, waiting)] == ["admit", "evict", "wait"]
