"""What a scheduler is told: declared, observed with noise, late or never, and nothing of the future."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.domain import Options, Workload
from libra_opt.forecast import forecast
from libra_opt.simulation.grant import Grant, Moment
from libra_opt.simulation.loop import simulate
from libra_opt.simulation.ours import Ours
from libra_opt.simulation.registry import AT_REST
from tests.simulation.made import CPU, GPU, MEMORY, Scripted, held, job, part, step, workload

STEPS = [step(part(90, gpu=4, memory=10, phase="rollout"), part(60, gpu=8, memory=40, phase="train")) for _ in range(3)]
REQUEST = {"gpu": 8, "gpu_mem": 50, "cpu": 4}


def asking(*steps: Any, name: str = "a", **fields: Any) -> dict[str, Any]:
    return job(*steps, name=name, stages=[{"request": REQUEST, "max_quota": {"gpu": 8}}], **fields)


def states(made: Workload, policy: Scripted, seed: int = 0) -> list[Any]:
    """Run, and return the state of every moment as it was then."""
    found = []

    def ask(grants: Any) -> Any:
        def grant(moment: Moment) -> Any:
            found.append(moment.state(Options()))
            return grants(moment) if callable(grants) else grants

        return grant

    simulate(made, Scripted(*map(ask, policy._grants)), seed)
    return found


def history(state: Any, j: int = 0) -> list[Any]:
    return list(state.jobs[j].all_stages[0].history or ())


def test_a_new_job_asks_for_what_it_declared():
    (state, *_) = states(workload(asking(*STEPS)), Scripted({0: held(gpu=8, memory=50)}))
    (stage,) = state.jobs[0].all_stages
    assert (stage.demand, stage.need, stage.history) == ({"gpu": 8, "cpu": 4}, {"gpu_mem": 50}, None)


def test_what_happened_is_told_in_the_next_period_with_the_place_of_the_job():
    _, second, third, *_ = states(workload(asking(*STEPS)), Scripted({0: held(gpu=8, memory=50)}))
    (entry,) = history(second)
    assert entry.usage == {"gpu": 4, "gpu_mem": 10, "cpu": 0}
    assert (entry.watermark, entry.allocation["gpu"], entry.phase, entry.period) == ({"gpu_mem": 10}, 8, "rollout", 0)
    assert entry.progress == pytest.approx(60 / 90, abs=1e-3)
    assert history(third)[1].usage["gpu"] == 6  # half a period at 4, half at 8
    assert (history(third)[1].phase, history(third)[1].progress, history(third)[1].watermark) == ("train", 0.5, {"gpu_mem": 40})
    assert second.jobs[0].all_stages[0].need == {"gpu_mem": 50}  # no step is finished: memory is what was declared
    assert [state.jobs[0].running_seconds for state in (second, third)] == [60, 120]


def test_need_is_left_to_the_forecast_once_a_step_is_finished():
    found = states(workload(asking(*STEPS)), Scripted({0: held(gpu=8, memory=50)}))
    assert [state.jobs[0].all_stages[0].need for state in found[2:5]] == [{"gpu_mem": 50}, None, None]


SLOW = step(part(1000, gpu=4, memory=10, phase="rollout"), part(600, gpu=8, memory=40, phase="train"))


def test_a_job_in_its_first_step_keeps_the_memory_of_its_phase_until_the_next_may_begin():
    found = states(workload(asking(SLOW)), Scripted({0: held(gpu=4, memory=50)}))
    needs = [state.jobs[0].all_stages[0].need for state in found[:20]]
    declared = {"gpu_mem": 50}
    # measured three times; 0.06 of the phase a period, and twice as fast with more: from 0.88 on the next may begin in the period to come
    assert needs[:3] == [declared] * 3
    assert needs[3:15] == [None] * 12
    assert needs[15:19] == [declared] * 4


def test_late_news_of_a_job_in_its_first_step_counts_the_periods_since():
    found = states(workload(asking(SLOW), noise={"late": 1}), Scripted({0: held(gpu=4, memory=50)}))
    needs = [state.jobs[0].all_stages[0].need for state in found[:17]]
    # 0.06 of the phase a period, told a period late: from 0.76 on the next may begin within the two periods since
    assert needs[12:17] == [None, None, *[{"gpu_mem": 50}] * 3]


def test_periods_in_which_a_job_only_started_say_nothing_of_its_memory():
    slow_start = {**asking(SLOW), "restart": {"cold_seconds": 240}}
    needs = [state.jobs[0].all_stages[0].need for state in states(workload(slow_start), Scripted({0: held(gpu=4, memory=50)}))[:9]]
    assert needs == [{"gpu_mem": 50}] * 7 + [None] * 2  # four periods of starting, three measured


def test_a_job_stopped_in_its_first_step_asks_for_the_memory_of_the_phase_it_is_to_go_on_with():
    running = {0: held(gpu=4, memory=50)}
    found = states(workload(asking(SLOW), horizon_seconds=600), Scripted(*[running] * 4, {}))
    stopped = found[8].jobs[0].all_stages[0]
    assert (stopped.need, stopped.history[-1].phase) == (None, "rollout")


def test_phases_that_wait_for_memory_are_declared():
    gated = [step(part(90, gpu=4, memory=10, phase="rollout"), part(60, gpu=8, memory=40, phase="train", waits_for_memory=True)) for _ in range(3)]
    first, second, *_ = states(workload(asking(*gated)), Scripted({0: held(gpu=8, memory=50)}))
    assert [state.jobs[0].all_stages[0].waits_in for state in (first, second)] == [(), ("train",)]


def two_stages(seconds: float, phase: str, engine: float, trainer: float, **fields: Any) -> dict[str, Any]:
    return {"seconds": seconds, "phase": phase, "use": {"engine": {"gpu": 2, "gpu_mem": engine}, "trainer": {"gpu": trainer / 5, "gpu_mem": trainer}}, **fields}


@pytest.mark.parametrize(("asked_in", "waiting"), [({"collect": {"gpu_mem": 0}}, [(), ("update",)]), ({}, [("update",)] * 2)])
def test_beside_a_stage_that_asks_for_less_in_other_phases_one_that_does_not_waits_for_nothing(asked_in, waiting):
    steps = [step(two_stages(90, "collect", 10, 0), two_stages(60, "update", 10, 20, waits_for_memory=True)) for _ in range(3)]
    stages = [
        {"name": "engine", "request": {"gpu": 2, "gpu_mem": 10}},
        {"name": "trainer", "request": {"gpu": 4, "gpu_mem": 20}, "request_in": asked_in},
    ]
    made = workload(job(*steps, stages=stages))
    both = (Grant("p", (2.0, 10.0, 0.0)), Grant("p", (4.0, 20.0, 0.0)))
    _, second, *_ = states(made, Scripted({0: both}))
    assert [stage.waits_in for stage in second.jobs[0].all_stages] == waiting


def test_a_job_at_the_door_of_its_first_update_is_taken_to_use_all_it_may_have():
    gated = [step(part(60, gpu=1, memory=10, phase="rollout"), part(60, gpu=8, memory=40, phase="train", waits_for_memory=True)) for _ in range(3)]
    _, second, *_ = states(workload(asking(*gated), horizon_seconds=120), Scripted({0: held(gpu=2, memory=10)}))
    ((_, found),) = forecast(second).stages
    assert (second.jobs[0].all_stages[0].history[-1].phase, found.demand[0]) == ("train", 8 / 0.25)


def test_need_of_host_memory_is_left_to_the_forecast_once_three_steps_are_finished():
    stage = {"request": {**REQUEST, "mem": 100}, "max_quota": {"gpu": 8}}
    host = {**MEMORY, "name": "mem", "costly": False}
    made = workload(job(*STEPS, *STEPS, name="a", stages=[stage]), resources=[GPU, MEMORY, CPU, host])
    found = states(made, Scripted({0: (Grant("p", (8.0, 50.0, 0.0, 0.0)),)}))
    needs = [dict(state.jobs[0].all_stages[0].need or {}) for state in found[2:10]]
    assert [sorted(need) for need in needs] == [["gpu_mem", "mem"], *[["mem"]] * 5, [], []]


def test_noise_is_the_same_for_every_policy_with_one_seed_and_other_with_another():
    steady = step(part(6000, gpu=4, memory=10))
    made = workload(asking(*STEPS), asking(steady, name="b"), noise={"spread": 0.1}, horizon_seconds=240)
    one = states(made, Scripted({0: held(gpu=4, memory=40), 1: held(gpu=4, memory=40)}))
    other = states(made, Scripted({}, {1: held(gpu=2, memory=40)}, {0: held(gpu=2, memory=40), 1: held(gpu=6, memory=40)}))
    anew = states(made, Scripted({0: held(gpu=4, memory=40), 1: held(gpu=4, memory=40)}), seed=1)
    first, second, third = ({entry.period: entry.usage["gpu_mem"] for entry in history(found[-1], 1)} for found in (one, other, anew))
    assert second == {t: first[t] for t in (1, 2)}
    assert len(set(first.values())) == 3
    assert first[1] != third[1]


def test_usage_is_never_seen_above_what_was_held():
    made = workload(asking(step(part(6000, gpu=4, memory=10))), noise={"spread": 0.5}, horizon_seconds=600)
    last = states(made, Scripted({0: held(gpu=2, memory=10)}))[-1]
    for resource, amount in (("gpu", 2), ("gpu_mem", 10)):
        assert max(entry.usage[resource] for entry in history(last)) == amount
        assert min(entry.usage[resource] for entry in history(last)) < amount
    assert max(entry.watermark["gpu_mem"] for entry in history(last)) == 10


def test_a_late_entry_arrives_one_period_later():
    found = states(workload(asking(*STEPS), noise={"late": 1}, horizon_seconds=240), Scripted({0: held(gpu=8, memory=50)}))
    assert [[entry.period for entry in history(state)] for state in found] == [[], [], [0], [0, 1]]


def test_a_missing_entry_never_arrives():
    found = states(workload(asking(*STEPS), noise={"missing": 1}, horizon_seconds=240), Scripted({0: held(gpu=8, memory=50)}))
    assert not any(map(history, found))
    assert found[-1].jobs[0].all_stages[0].demand == {"gpu": 8, "cpu": 4}


def test_shares_of_late_and_missing_entries_are_as_stated():
    made = workload(asking(step(part(60_000, gpu=4))), noise={"late": 0.2, "missing": 0.3}, horizon_seconds=60 * 65)
    found = states(made, Scripted({0: held(gpu=8)}))
    on_time = sum(any(entry.period == t for entry in history(found[t + 1])) for t in range(64))
    at_last = sum(any(entry.period == t for entry in history(found[-1])) for t in range(63))
    assert 22 <= on_time <= 42  # half of 64, four standard deviations
    assert 33 <= at_last <= 55  # seven tenths of 63


def test_after_a_kill_a_fifth_more_than_was_held_is_told():
    made = workload(asking(*STEPS), horizon_seconds=240)
    found = states(made, Scripted({0: held(gpu=8, memory=30)}))
    killed = history(found[2])[-1]
    assert killed.watermark == {"gpu_mem": pytest.approx(36)}
    assert killed.usage["gpu_mem"] == 10
    assert found[2].jobs[0].all_stages[0].need == {"gpu_mem": 50}  # what it declared is more than that


def test_a_job_that_declared_too_little_is_not_killed_for_ever():
    low = {**asking(*STEPS), "stages": [{"request": {**REQUEST, "gpu_mem": 20}, "max_quota": {"gpu": 8}}]}
    run = simulate(workload(low, horizon_seconds=1800), Ours("ours", AT_REST))
    kills = [each.kills for record in run.periods for each in record.jobs]
    assert run.done_at[0] is not None
    assert 1 <= sum(kills) <= 4  # 20, 24, 28.8, 34.6, and 41.5 is enough


def test_a_job_that_declared_too_little_passes_the_gate_of_a_phase():
    steps = [step(part(90, gpu=4, memory=10, phase="rollout"), part(60, gpu=8, memory=40, phase="train", waits_for_memory=True)) for _ in range(3)]
    low = {**asking(*steps), "stages": [{"request": {**REQUEST, "gpu_mem": 20}, "max_quota": {"gpu": 8}}]}
    run = simulate(workload(low, horizon_seconds=1800), Ours("ours", AT_REST))
    done = [each for record in run.periods for each in record.jobs]
    assert run.done_at[0] is not None
    assert sum(each.kills for each in done) == 0
    assert sum(each.gated for each in done) > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_phase_whose_memory_was_measured_too_low_is_not_waited_for_for_ever(seed):
    steps = [step(part(60, gpu=4, memory=10, phase="rollout"), part(60, gpu=8, memory=40, phase="train", waits_for_memory=True)) for _ in range(4)]
    run = simulate(workload(asking(*steps), noise={"spread": 0.2}, horizon_seconds=2400), Ours("ours", AT_REST), seed)
    assert run.done_at[0] is not None


def test_a_waiting_job_knows_its_place():
    made = workload(asking(*STEPS), horizon_seconds=360)
    found = states(made, Scripted({0: held(gpu=8, memory=50)}, {0: held(gpu=8, memory=50)}, {}, {}, {0: held(gpu=8, memory=50)}))
    waiting = history(found[4])
    assert [entry.period for entry in waiting] == [0, 1, 3]  # of two periods of waiting the last is kept
    assert (waiting[-1].usage, waiting[-1].phase, waiting[-1].progress) == ({}, "train", 0.5)
    assert found[4].jobs[0].all_stages[0].allocation is None
    assert [entry.period for entry in history(found[5])] == [0, 1, 3, 4]


def test_a_job_that_never_ran_tells_nothing_while_it_waits():
    found = states(workload(asking(*STEPS), horizon_seconds=240), Scripted({}))
    assert not any(map(history, found))


def test_a_run_before_is_told_up_to_the_period_in_which_the_job_comes():
    made = workload(asking(*STEPS, observed_before=5, submitted=90, clock="wall", repeats=True, work=1e5), asking(*STEPS, name="b"), horizon_seconds=240)
    found = states(made, Scripted({0: held(gpu=8, memory=50)}))
    comes = found[2]
    assert comes.period.index == 5 + 2
    assert [entry.period for entry in history(comes, 1)] == [2, 3, 4, 5, 6]
    # 30 s into its first rollout; the period before is half of a train, half of a rollout; before that: 30 s of rollout, 30 s of train
    last, before = history(comes, 1)[-1], history(comes, 1)[-2]
    assert (last.phase, last.progress, last.usage["gpu"], last.watermark) == ("rollout", pytest.approx(1 / 3, abs=1e-3), 6, {"gpu_mem": 40})
    assert (before.phase, before.progress, before.usage["gpu"]) == ("train", 0.5, 6)


def test_a_run_before_goes_on_where_the_run_begins():
    made = workload(asking(*STEPS, observed_before=4), horizon_seconds=240)
    found = states(made, Scripted({0: held(gpu=8, memory=50)}))
    entries = history(found[1])
    assert [entry.period for entry in entries] == [0, 1, 2, 3, 4]
    assert [entry.usage["gpu"] for entry in entries] == [6, 6, 4, 8, 4]
    assert entries[4].step == entries[3].step  # the end of the step before is the beginning of this one


def test_an_engine_tells_how_many_requests_wait():
    made = job(*STEPS, stages=[{"request": REQUEST, "reports_queue": True}])
    found = states(workload(made, horizon_seconds=240), Scripted({0: held(gpu=1, memory=50)}))
    (entry,) = history(found[1])
    assert (entry.requests_running, entry.requests_waiting) == (100, 300)  # a quarter of what it could use


def test_jobs_on_their_own_progress_are_told_with_the_cards_they_use_in_the_mean():
    steady = step(part(6000, gpu=4))
    jobs = [job(steady, stages=[{"request": {"gpu": 4}}]), job(steady, name="b", clock="wall", repeats=True, work=1e6, stages=[{"request": {"gpu": 4}}])]
    found = states(workload(*jobs, horizon_seconds=1800), Scripted({0: held(gpu=4), 1: held(gpu=4)}))
    told, untold = found[-1].jobs
    assert untold.rates.cards is None
    assert told.rates.cards == pytest.approx(4, rel=0.1)


@st.composite
def steps_and_others(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the first steps of a job, and two ways in which it goes on."""
    one = st.builds(
        lambda seconds, gpu, memory, phase: part(seconds, gpu=gpu, memory=memory, phase=phase),
        st.sampled_from([25, 60, 90]),
        st.sampled_from([0, 1, 4, 8]),
        st.sampled_from([0, 10, 40]),
        st.sampled_from(["rollout", "train"]),
    )
    some = st.lists(st.lists(one, min_size=1, max_size=3).map(lambda parts: step(*parts)), min_size=1, max_size=3)
    return draw(some), draw(some), draw(some)


@given(steps_and_others(), st.sampled_from([0, 1, 4, 8]), st.sampled_from(["progress", "wall"]))
@settings(max_examples=25, deadline=None)
def test_states_say_nothing_of_what_is_yet_to_come(drawn, cards, clock):
    begun, one, other = drawn
    lasts = sum(each["seconds"] for part_of in begun for each in part_of["parts"])
    noise = {"spread": 0.1, "late": 0.1, "missing": 0.1}
    fields: dict[str, Any] = {"clock": clock, "horizon_seconds": 300}

    def run(rest: list[Any], late: list[Any]) -> list[Any]:
        jobs = [asking(*begun, *rest, name="a", clock=clock), asking(*late, name="b", submitted=290)]
        return states(workload(*jobs, noise=noise, horizon_seconds=fields["horizon_seconds"]), Scripted({0: held(gpu=cards, memory=40)}))

    before = [(first, second) for first, second in zip(run(one, one), run(other, other), strict=False) if first.period.index * 60 < lasts]
    assert before
    for first, second in before:
        assert first == second


def test_steps_done_before_a_job_came_are_its_history():
    made = workload(asking(*STEPS, earlier=[dict(each) for each in STEPS]), asking(*STEPS, name="b"), horizon_seconds=240)
    found = states(made, Scripted({0: held(gpu=8, memory=50)}))
    first, later = history(found[0]), history(found[1])
    assert first
    assert [entry.period for entry in first] == list(range(len(first)))
    assert first[-1].progress == 1
    assert {later[-1].step - entry.step for entry in first} == set(range(1, len(STEPS) + 1))
    assert len(later) == len(first) + 1
    assert found[0].jobs[0].all_stages[0].need is None or not found[0].jobs[0].all_stages[0].need


def test_earlier_steps_do_not_go_with_an_earlier_run():
    with pytest.raises(ValueError, match="observed_before"):
        workload(asking(*STEPS, earlier=[dict(each) for each in STEPS], observed_before=3))


def test_an_untried_job_needs_what_it_declared_for_phases_that_may_come_and_the_rest_where_it_waits_for_it():
    steps = [step(part(90, gpu=4, memory=10, phase="rollout"), part(60, gpu=8, memory=40, phase="train", waits_for_memory=True)) for _ in range(3)]
    stage = {"request": REQUEST, "request_in": {"rollout": {"gpu_mem": 12}}, "max_quota": {"gpu": 8}}
    small, large = held(gpu=4, memory=12), held(gpu=8, memory=50)
    found = states(workload(job(*steps, name="a", stages=[stage])), Scripted({0: small}, {0: small}, {0: small}, {0: large}))
    assert [state.jobs[0].all_stages[0].need for state in found[:4]] == [{"gpu_mem": 12}, {"gpu_mem": 12}, {"gpu_mem": 50}, {"gpu_mem": 50}]
