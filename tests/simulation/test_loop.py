"""The loop: what is decided is what happens, the same seed is the same run, and work is what was really used."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.domain import Options
from libra_opt.feedback import Setpoint
from libra_opt.simulation.loop import simulate
from libra_opt.simulation.measures import measure
from libra_opt.simulation.ours import Ours, outcome_of
from libra_opt.simulation.policies.equal_split import EqualSplit
from libra_opt.simulation.policies.greedy import greedy
from libra_opt.simulation.registry import AT_REST, OURS, make_policy
from libra_opt.simulation.workloads import make
from tests.simulation.drawn import workloads
from tests.simulation.made import Scripted, held, job, part, step, workload


def told(run):
    """Return what a run comes to, the time its decisions took aside."""
    return [replace(record, deciding_seconds=0.0) for record in run.periods], run.finished_steps, run.finished_work, run.done_at


def alternating(name, first, second, **fields):
    """Return a job of two phases of five minutes each, six times over."""
    parts = (part(300, gpu=first, memory=8, phase="rollout"), part(300, gpu=second, memory=8, phase="train"))
    stage = {"min_quota": {"gpu": 1}, "max_quota": {"gpu": 8, "gpu_mem": 16}, "request": {"gpu": 8, "gpu_mem": 10}, "reports_queue": True}
    return job(*[step(*parts)] * 6, name=name, stages=[stage], preemption_cost={"resize_seconds": 15, "evict_seconds": 45}, **fields)


COMPLEMENTARY = workload(alternating("a", 8, 1), alternating("b", 1, 8), cards=9, memory=40, horizon_seconds=3300)


@pytest.mark.parametrize("policy", ["libra", "libra_true", "greedy_fifo"])
def test_the_same_seed_is_the_same_run(policy):
    noisy = COMPLEMENTARY.replace({"noise": {"spread": 0.1, "late": 0.1, "missing": 0.1}, "horizon_seconds": 600})
    first, second = (simulate(noisy, make_policy(policy, noisy, 60, 3), 3, keep_plans=True) for _ in range(2))
    assert told(first) == told(second)


@given(workloads(has_changes=True), st.sampled_from([EqualSplit, greedy]))
@settings(max_examples=40, deadline=None)
def test_served_work_is_the_integral_of_the_cards_in_use(made, policy):
    run = simulate(made, policy())
    speeds = [{stage.name: stage.pools or {} for stage in job.stages} for job in made.jobs]
    served = [0.0] * len(made.jobs)
    for record in run.periods:
        for each in record.jobs:
            stages = made.jobs[each.index].stages
            used = 0.0
            for stage, grant, usage in zip(stages, each.holding or (), each.usage, strict=False):
                if grant is not None:
                    used += usage[0] * speeds[each.index][stage.name].get(grant.pool, 1.0)
                assert usage[0] <= (0 if grant is None else grant.amounts[0]) + 1e-6
            has_cards = any(use.get("gpu", 0) for one in made.jobs[each.index].steps for p in one.parts for use in p.use.values())
            if has_cards:
                assert each.work == pytest.approx(used * each.ran, abs=1e-6)
            served[each.index] += each.work - each.lost
            assert each.ran + each.paused + each.gated <= record.seconds + 1e-6
    for j, finished in enumerate(run.finished_work):
        assert finished <= served[j] + 1e-6
        if run.done_at[j] is not None:
            assert finished == pytest.approx(served[j], rel=1e-6, abs=1e-6)


@given(workloads(has_changes=True))
@settings(max_examples=10, deadline=None)
def test_what_ours_plans_is_admitted_whatever_comes(made):
    run = simulate(made, Ours("ours", AT_REST.replace({"backend": "greedy"})))
    assert len(run.periods) == -(-made.horizon_seconds // 60)


def test_the_last_period_ends_with_the_horizon():
    policy = Scripted({0: held(gpu=1)})
    run = simulate(workload(job(step(part(600, gpu=1))), horizon_seconds=150), policy)
    assert [(record.begins, record.seconds) for record in run.periods] == [(0, 60), (60, 60), (120, 30)]
    assert [moment.seconds for moment in policy.moments] == [60, 60, 30]
    assert run.periods[-1].jobs[0].progress == 30
    assert run.end == 150


def test_without_a_horizon_it_ends_when_all_jobs_are_done():
    run = simulate(workload(job(step(part(100, gpu=1))), job(step(part(30, gpu=1)), name="b", submitted=200)), Scripted({0: held(gpu=1), 1: held(gpu=1)}))
    assert run.done_at == (100, 270)
    assert len(run.periods) == 5


def test_nobody_is_asked_while_no_job_is_there():
    policy = Scripted({0: held(gpu=1)})
    run = simulate(workload(job(step(part(30, gpu=1)), submitted=130)), policy)
    assert [moment.period for moment in policy.moments] == [3]
    assert [len(record.jobs) for record in run.periods] == [0, 0, 0, 1]


def test_another_period_than_the_workloads_is_kept_to():
    run = simulate(workload(job(step(part(100, gpu=1)))), Scripted({0: held(gpu=1)}), period_seconds=25)
    assert [record.begins for record in run.periods] == [0, 25, 50, 75]


def test_a_moment_says_what_is_held_and_how_long_was_waited():
    policy = Scripted({0: held(gpu=8)}, {0: held(gpu=8)}, {1: held(gpu=8)}, {})
    simulate(workload(job(step(part(600, gpu=8))), job(step(part(600, gpu=8)), name="b"), horizon_seconds=240), policy)
    assert [dict(moment.held) for moment in policy.moments] == [{}, {0: held(gpu=8)}, {0: held(gpu=8)}, {1: held(gpu=8)}]
    assert [dict(moment.waited) for moment in policy.moments] == [{0: 0, 1: 0}, {1: 60}, {1: 120}, {0: 60}]


def test_plans_are_kept_where_asked_for_and_are_those_that_were_acted_out():
    made = COMPLEMENTARY.replace({"horizon_seconds": 300})
    kept, plain = (simulate(made, make_policy("libra", made, 60, 0), keep_plans=keep) for keep in (True, False))
    assert [record.plan for record in plain.periods] == [None] * 5
    for record in kept.periods:
        assert {planned.id for planned in record.plan.jobs} == {"a", "b"}
        for each in record.jobs:
            planned = next(one for one in record.plan.jobs if one.id == made.jobs[each.index].id)
            assert float(planned.stages[0].resources["gpu"]) == each.holding[0].amounts[0]


def test_feedback_asks_for_more_memory_after_kills_and_keeps_it():
    policy = Ours("ours", OURS, setpoint=Setpoint(period_seconds=60))
    low = {"request": {"gpu": 2, "gpu_mem": 10}, "max_quota": {"gpu": 2, "gpu_mem": 40}}
    run = simulate(workload(job(step(part(300, gpu=2, memory=30)), stages=[low]), horizon_seconds=360), policy)
    kills = [record.jobs[0].kills for record in run.periods if record.jobs]
    assert sum(kills) > 1
    assert policy.setpoint.margin > Setpoint().margin


def test_feedback_is_at_rest_when_all_is_well():
    policy = Ours("ours", OURS, setpoint=Setpoint(period_seconds=60))
    stage = {"request": {"gpu": 4, "gpu_mem": 30}, "max_quota": {"gpu": 4, "gpu_mem": 30}}
    simulate(workload(job(step(part(6000, gpu=4, memory=25)), stages=[stage]), horizon_seconds=900), policy)
    assert policy.setpoint.replace({"remembered": Setpoint().remembered}) == Setpoint(period_seconds=60)


def test_the_outcome_counts_moves_kills_delays_and_memory_that_is_held_for_nothing():
    stages = [{"max_quota": {"gpu": 8, "gpu_mem": 40}}]
    cost = {"resize_seconds": 15}
    jobs = [job(step(part(6000, gpu=8, memory=20)), name=name, stages=stages, preemption_cost=cost) for name in "abc"]
    script = [{0: held(gpu=2, memory=40), 1: held(gpu=2, memory=20)}, {0: held(gpu=4, memory=40), 2: held(gpu=2, memory=10)}]
    policy = Scripted(*script)
    run = simulate(workload(*jobs, horizon_seconds=120), policy)
    first, second = (outcome_of(moment, record) for moment, record in zip(policy.moments, run.periods, strict=True))
    assert (first.n_running, first.n_waiting, first.n_preemptions, first.n_resizes, first.lost_seconds) == (2, 1, 0, 0, 0)
    assert first.memory_waste_share == pytest.approx(1 - 40 / 60)
    assert (second.n_running, second.n_waiting, second.n_preemptions, second.n_resizes, second.lost_seconds) == (3, 1, 1, 1, 15)
    assert (second.n_memory_kills, second.mean_delay_seconds) == (1, 60)
    assert second.memory_waste_share == pytest.approx(0.5)  # the job that was killed before it began says nothing


def test_ageing_lets_in_who_has_waited():
    """Two jobs that need the whole cluster each, and the first is worth four times as much: without ageing the second waits for ever."""
    stage = {"min_quota": {"gpu": 8}, "max_quota": {"gpu": 8}, "request": {"gpu": 8}}
    made = workload(*(job(step(part(60_000, gpu=8)), name=name, weight=weight, stages=[stage]) for name, weight in (("a", 4), ("b", 1))), horizon_seconds=9000)
    aged, plain = (
        simulate(made, Ours("ours", OURS.replace({"backend": "greedy"}), setpoint=setpoint), period_seconds=300)
        for setpoint in (Setpoint(period_seconds=300), None)
    )
    assert [sum(each.ran for record in run.periods for each in record.jobs if each.index == 1) > 0 for run in (aged, plain)] == [True, False]


class Weighing(Ours):
    """Ours, and the weights it planned with are kept."""

    def decide(self, moment):
        decision = super().decide(moment)
        self.weights = [*getattr(self, "weights", ()), {job.id: job.weight for job in decision.state.jobs}]
        return decision


TEN_MINUTES = (step(part(600, gpu=8)),)


def weights(n_periods, *, is_true, cards=8, steps=TEN_MINUTES):
    """Return the weights of two jobs that use eight cards each, for ten minutes in one step unless said otherwise, as they were planned with."""
    stage = {"min_quota": {"gpu": 8}, "max_quota": {"gpu": 8}, "request": {"gpu": 8}}
    jobs = (job(*steps, name=name, stages=[stage]) for name in "ab")
    policy = Weighing("ours", OURS.replace({"backend": "greedy"}), is_true=is_true, setpoint=Setpoint())
    simulate(workload(*jobs, cards=cards, horizon_seconds=60 * n_periods), policy)
    return policy.weights


@pytest.mark.parametrize("is_true", [True, False])
def test_who_has_begun_a_step_counts_for_more_and_who_waits_for_its_first_start_ages(is_true):
    told = weights(6, is_true=is_true)
    assert told[0] == {"a": 1, "b": 1}  # nobody has waited yet
    assert [each["b"] for each in told] == pytest.approx([2 ** (4 * 60 * t / 3600) for t in range(6)])
    done = [t / 10 if is_true else 1 - 0.5 ** (t / 10) for t in range(6)]  # who only has a history does not know how long its first step is
    assert [each["a"] for each in told[1:]] == pytest.approx([1 + 2 * share for share in done[1:]])


def test_share_is_of_the_step_under_way():
    told = weights(6, is_true=True, steps=(step(part(300, gpu=8)), step(part(300, gpu=8))))
    assert [each["a"] for each in told[1:]] == pytest.approx([1.4, 1.8, 2.2, 2.6, 1])


@pytest.mark.parametrize("is_true", [True, False])
def test_where_nobody_waits_nobody_counts_for_more(is_true):
    assert all(set(each.values()) == {1} for each in weights(6, is_true=is_true, cards=16))


def test_job_that_has_only_come_has_not_waited():
    stage = {"min_quota": {"gpu": 8}, "max_quota": {"gpu": 8}, "request": {"gpu": 8}}
    first, second = (job(step(part(600, gpu=8)), name=name, stages=[stage], submitted=submitted) for name, submitted in (("a", 0), ("b", 180)))
    policy = Weighing("ours", OURS.replace({"backend": "greedy"}), is_true=True, setpoint=Setpoint())
    simulate(workload(first, second, horizon_seconds=300), policy)
    assert [each["a"] for each in policy.weights] == pytest.approx([1, 1, 1, 1, 1.8])


class Acting(Ours):
    """Ours, which learns from what a script grants."""

    def decide(self, moment):
        return self.script.decide(moment)


def credit_of(made, *grants, credit=(0.0, False)):
    """Return for how long the only job counts as having waited after it was granted this."""
    policy = Acting("ours", OURS, setpoint=Setpoint(), credit={0: credit})
    policy.script = Scripted(*grants)
    simulate(made.replace({"horizon_seconds": 60 * len(grants)}), policy)
    return policy.credit[0][0]


def test_first_wait_counts_four_times_later_ones_once_and_running_pays():
    made, grant = workload(job(step(part(6000, gpu=2)))), {0: held(gpu=2)}
    assert credit_of(made, {}, {}) == 4 * 120
    assert credit_of(made, {}, {}, grant) == 4 * 120 - 30
    assert credit_of(made, {}, {}, grant, {}, {}) == 4 * 120 - 30 + 120


def test_job_that_stands_for_want_of_memory_is_as_far_in_its_step_as_it_was():
    """What it asks for there is no forecast, and its state has no history; it must not count as one that has not begun."""
    steps = step(part(120, gpu=2, memory=10, phase="rollout"), part(600, gpu=2, memory=60, phase="train", waits_for_memory=True))
    shares = []

    def note(j, weight, done):
        shares.extend([done] if j == 0 else [])
        return weight

    def grant(moment):
        moment.state(OURS, weigh=note)
        return {0: held(gpu=2, memory=20)}

    simulate(workload(job(steps), horizon_seconds=360), Scripted(grant))
    assert shares[:2] == pytest.approx([0, 1 - 0.5**0.5])
    assert all(share >= 0.5 for share in shares[2:])


def test_job_that_stands_for_want_of_memory_waits():
    steps = step(part(120, gpu=2, memory=10, phase="rollout"), part(600, gpu=2, memory=60, phase="train", waits_for_memory=True))
    assert credit_of(workload(job(steps)), *[{0: held(gpu=2, memory=20)}] * 5, credit=(100.0, True)) == 100 - 2 * 30 + 3 * 60


# the four-job example: demand follows the wall clock, moves cost nothing


def periods(policy):
    run = simulate(make("four_jobs"), policy)
    assert None not in run.done_at
    return len(run.periods)


def test_equal_shares_finish_the_four_jobs_in_fourteen_periods():
    assert periods(EqualSplit()) == 14


@pytest.mark.parametrize("name", ["libra", "libra_true"])
def test_ours_finishes_the_four_jobs_in_ten_periods_by_forecast_and_by_true_demand(name):
    assert periods(make_policy(name, make("four_jobs"), 60, 0)) <= 10


def test_looking_ahead_with_true_demand_finishes_the_four_jobs_as_soon_as_anybody_can():
    from libra_opt.simulation.bound import clairvoyant_bound  # noqa: PLC0415 - beside what it is compared with

    assert periods(make_policy("libra_true_ahead", make("four_jobs"), 60, 0)) == clairvoyant_bound(make("four_jobs")).periods == 9


class Holding(Ours):
    """Plans the mean of the true demand of four periods, and holds what that grants for four: what is not called looking ahead."""

    def decide(self, moment):
        if moment.period % 4 == 0 or set(self.granted) - set(moment.arrived):
            state = moment.state(self.options.replace({"lookahead": 4}), is_true=True)
            jobs = []
            for one in state.jobs:
                (stage,) = one.all_stages
                ahead = [stage.demand.get("gpu", 0), *(each.get("gpu", 0) for each in stage.demand_ahead)]
                jobs.append({"id": one.id, "stages": [{"name": "main", "demand": {"gpu": sum(map(float, ahead)) / 4}, "allocation": stage.allocation}]})
            mean = state.replace({"jobs": jobs, "options": Options()})
            from libra_opt.allocation import allocate  # noqa: PLC0415
            from libra_opt.simulation.ours import grants_of  # noqa: PLC0415

            self.granted = grants_of(allocate(mean), moment.workload)
        from libra_opt.simulation.grant import Decision  # noqa: PLC0415

        return Decision({j: grant for j, grant in self.granted.items() if j in moment.arrived})


def test_holding_a_plan_over_the_mean_is_not_looking_ahead():
    policy = Holding("held", OURS)
    policy.granted = {}
    assert periods(policy) > 9


def test_true_demand_does_not_lose_to_the_last_value_where_moves_cost():
    done = {name: simulate(COMPLEMENTARY, make_policy(name, COMPLEMENTARY, 60, 0)) for name in ("libra_true", "libra_last_value", "equal_split")}
    work = {name: measure(run).card_hours_per_hour for name, run in done.items()}
    assert work["libra_true"] >= work["libra_last_value"]
    assert work["libra_true"] > 1.1 * work["equal_split"]
    assert measure(done["libra_true"]).n_resizes > 0
