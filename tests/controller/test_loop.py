"""The loop beside a scheduler in a file."""

import pytest

from libra_opt import read_state, verify
from libra_opt.adapters.file_scheduler import FileScheduler
from libra_opt.controller.keeping import MemoryHere
from libra_opt.controller.loop import wait_seconds
from libra_opt.errors import InputError
from libra_opt.scheduler import Outcome, UnavailableError
from tests.controller.made import CLUSTER, Clock, cards, change, controller, journal, put


class Stubborn(FileScheduler):
    """Refuses what some jobs are to hold, as a scheduler that knows a reason of its own."""

    def __init__(self, cluster, refused, answer="refused"):
        super().__init__(cluster)
        self.refused, self.answer, self.asked = set(refused), answer, []

    def perform(self, command):
        self.asked.append(command)
        if command.job in self.refused:
            return Outcome(command=command, status=self.answer, message="not on my watch")
        return super().perform(command)


class Absent(FileScheduler):
    is_down = False

    def observe(self):
        if self.is_down:
            raise UnavailableError("timed out after 10 s")
        return super().observe()


def test_cards_follow_demand_within_one_period(tmp_path):
    path, clock = put(tmp_path), Clock()
    loop = controller(path, clock=clock)
    loop.turn()
    assert cards(path) == {"a": 6, "b": 2}
    change(path, "a", demand={"gpu": 2})
    change(path, "b", demand={"gpu": 6})
    clock.now += 60
    loop.turn()
    assert cards(path) == {"a": 2, "b": 6}


def test_what_frees_is_done_before_what_takes(tmp_path):
    path, clock = put(tmp_path), Clock()
    loop = controller(path, clock=clock)
    loop.turn()
    change(path, "a", demand={"gpu": 2})
    change(path, "b", demand={"gpu": 6})
    clock.now += 60
    [one] = loop.turn().rounds
    assert [command.effect for command in one.commands] == ["frees", "takes"]
    assert [outcome.status for outcome in one.applied.outcomes] == ["done", "done"]


def test_every_plan_that_is_applied_verifies(tmp_path):
    path = put(tmp_path)
    for each in controller(path).turn().rounds:
        assert verify(each.state, each.plan).holds


def test_loop_at_rest_does_nothing(tmp_path):
    path, clock = put(tmp_path), Clock()
    loop = controller(path, clock=clock)
    loop.turn()
    n_done = len(journal(path))
    for _ in range(3):
        clock.now += 60
        [one] = loop.turn().rounds
        assert one.commands == ()
    assert len(journal(path)) == n_done


def test_dry_run_changes_no_file(tmp_path):
    path = put(tmp_path)
    before = path.read_bytes()
    [one] = controller(path, is_dry=True).turn().rounds
    assert [command.job for command in one.commands] == ["a", "b"]
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["cluster.json"]


def test_scheduler_that_is_down_is_waited_for_and_ages_go_on(tmp_path):
    path, clock = put(tmp_path, {**CLUSTER, "pools": [{"name": "h100", "capacity": {"gpu": 0}}]}), Clock()
    scheduler = Absent(path)
    loop = controller(path, scheduler=scheduler, clock=clock)
    loop.turn()
    scheduler.is_down = True
    clock.now += 60
    turn = loop.turn()
    assert turn.rounds == ()
    assert "timed out" in turn.unavailable
    scheduler.is_down = False
    clock.now += 60
    turn = loop.turn()
    assert turn.index == 2
    assert turn.outcome.max_delay_seconds == 0  # waited for at the last decision, which was the first moment
    clock.now += 60
    assert loop.turn().outcome.max_delay_seconds == 120


def weight_of_a(turn):
    return {job.id: job.weight for job in turn.rounds[0].state.jobs}["a"]


def test_waiting_raises_weight_and_the_wait_counts_while_nothing_answered(tmp_path):
    path, clock = put(tmp_path, {**CLUSTER, "pools": [{"name": "h100", "capacity": {"gpu": 0}}]}), Clock()
    loop = controller(path, clock=clock)
    loop.turn()
    clock.now += 3600
    turn = loop.turn()
    assert weight_of_a(turn) == pytest.approx(2 ** ((3600 + 3 * 1800) / turn.setpoint.ageing_seconds))


@pytest.mark.parametrize(("capacity", "weight"), [(1, 2.5), (8, 1)])
def test_job_in_the_middle_of_a_step_counts_for_more_while_another_waits(tmp_path, capacity, weight):
    history = [{"usage": {"gpu": 2}, "step": t // 4} for t in range(11)]
    running = {"id": "a", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "history": history, "allocation": {"pool": "h100", "resources": {"gpu": 1}}}
    path, clock = put(tmp_path, {**CLUSTER, "pools": [{"name": "h100", "capacity": {"gpu": capacity}}], "jobs": [running, CLUSTER["jobs"][1]]}), Clock()
    loop = controller(path, clock=clock)
    assert weight_of_a(loop.turn()) == 1  # nobody has waited yet
    clock.now += 60
    assert weight_of_a(loop.turn()) == weight


def test_job_that_states_no_rate_is_told_what_it_uses_in_the_mean_over_its_steps(tmp_path):
    path = put(tmp_path)
    told = [{"usage": {"gpu": used}, "period": t, "step": t // 2, "phase": phase} for t, (phase, used) in enumerate([("tail", 1), ("train", 7)] * 40)]
    change(path, "a", history=told, demand=None)
    change(path, "b", rates={"tokens": 5})
    rates = {job.id: job.rates for job in controller(path).turn().rounds[0].state.jobs}
    assert rates["a"].cards == pytest.approx(4, rel=0.02)
    assert (rates["b"].cards, rates["b"].tokens) == (None, 5)
    steps = {job.id: job.rates for job in controller(path, '[options]\nthroughput = "steps"').turn().rounds[0].state.jobs}
    assert steps["b"].cards == pytest.approx(1.1, rel=0.1)  # it asks for two, of which others use a little more than half
    change(path, "a", rates={"cards": 7})
    assert {job.id: job.rates.cards for job in controller(path).turn().rounds[0].state.jobs} == {"a": 7, "b": None}
    change(path, "a", rates={})
    jobs = {job.id: job.rates for job in controller(path, '[options]\nthroughput = "jobs"').turn().rounds[0].state.jobs}
    assert jobs["a"].cards is jobs["b"].cards is None


def test_refused_job_is_left_as_it_is_and_its_room_goes_to_others_in_the_same_period(tmp_path):
    path, clock = put(tmp_path), Clock()
    scheduler = Stubborn(path, {"a"})
    loop = controller(path, scheduler=scheduler, clock=clock)
    change(path, "b", demand={"gpu": 8})
    turn = loop.turn()
    assert len(turn.rounds) == 2
    assert cards(path) == {"a": 0, "b": 8}
    assert any("not on my watch" in note and "'a'" in note for note in turn.rounds[1].notes)


def test_refused_command_is_asked_again_ever_more_rarely(tmp_path):
    path, clock = put(tmp_path), Clock()
    scheduler = Stubborn(path, {"a"})
    loop = controller(path, scheduler=scheduler, clock=clock)
    asked = []
    for period in range(20):
        n_before = len(scheduler.asked)
        loop.turn()
        asked += [period] * sum(command.job == "a" for command in scheduler.asked[n_before:])
        clock.now += 60
    assert asked == [0, 2, 5, 10, 19]


def test_nothing_takes_what_was_not_freed(tmp_path):
    path, clock = put(tmp_path), Clock()
    loop = controller(path, clock=clock)
    loop.turn()
    scheduler = Stubborn(path, {"a"})
    loop = controller(path, scheduler=scheduler, clock=clock)
    change(path, "a", demand={"gpu": 2})
    change(path, "b", demand={"gpu": 6})
    first, second = loop.turn().rounds
    assert [command.job for command, _ in first.applied.held_back] == ["b"]
    assert second.commands == ()
    assert cards(path) == {"a": 6, "b": 2}


def test_after_no_answer_nothing_more_is_done_until_the_next_period(tmp_path):
    path, clock = put(tmp_path), Clock()
    scheduler = Stubborn(path, {"a"}, answer="failed")
    loop = controller(path, scheduler=scheduler, clock=clock)
    [one] = loop.turn().rounds
    assert [command.job for command, _ in one.applied.held_back] == ["b"]
    scheduler.refused = set()
    clock.now += 60
    loop.turn()
    assert cards(path) == {"a": 6, "b": 2}


def test_half_applied_plan_is_continued_from_what_is_there(tmp_path):
    path = put(tmp_path)
    change(path, "a", allocation={"pool": "h100", "resources": {"gpu": 6}})
    [one] = controller(path).turn().rounds
    assert [command.job for command in one.commands] == ["b"]


def test_faulty_job_is_left_out_with_what_it_holds(tmp_path):
    path = put(tmp_path)
    change(path, "a", allocation={"pool": "h100", "resources": {"gpu": 5}})
    turn = controller(path, "[jobs.a]\nmin_quota = {gpu = 9}").turn()
    assert any("left out" in note and "min_quota" in note for note in turn.rounds[0].notes)
    assert cards(path) == {"a": 5, "b": 2}
    assert turn.rounds[0].state.pools[0].capacity["gpu"] == 3


def test_configuration_is_put_over_what_the_scheduler_says(tmp_path):
    path = put(tmp_path)
    controller(path, "[jobs.a]\nmax_quota = {gpu = 3}\n[jobs.gone]\nweight = 2").turn()
    assert cards(path) == {"a": 3, "b": 2}


def test_amounts_are_put_over_resource_by_resource(tmp_path):
    path = put(tmp_path)
    change(path, "a", demand={"gpu": 6, "cpu": 8}, min_quota={"gpu": 1, "cpu": 2})
    [one] = controller(path, "[jobs.a]\nmin_quota = {gpu = 2}\ndemand = {cpu = 4}").turn().rounds
    assert dict(one.state.jobs[0].min_quota) == {"gpu": 2, "cpu": 2}
    assert dict(one.state.jobs[0].demand) == {"gpu": 6, "cpu": 4}


def test_guarantee_of_the_configuration_lies_under_the_ceiling_of_the_scheduler(tmp_path):
    queues = [{"name": "team", "borrowing_limit": {"gpu": 6}}]
    path = put(tmp_path, {**CLUSTER, "queues": queues, "jobs": [{**job, "queue": "team"} for job in CLUSTER["jobs"]]})
    [one] = controller(path, "[queues.team]\nnominal_quota = {gpu = 4, cpu = 2}").turn().rounds
    assert (dict(one.state.queues[0].nominal_quota), dict(one.state.queues[0].borrowing_limit)) == ({"gpu": 4, "cpu": 2}, {"gpu": 2})
    assert sum(cards(path).values()) == 6


def test_guarantee_that_cannot_be_read_is_refused_by_its_path(tmp_path):
    path = put(tmp_path, {**CLUSTER, "queues": [{"name": "team", "borrowing_limit": {"gpu": 6}}]})
    with pytest.raises(InputError, match=r"queues\[0\]\.nominal_quota\.gpu"):
        controller(path, '[queues.team]\nnominal_quota = {gpu = "4x"}').turn()


def test_job_that_says_nothing_of_its_demand_is_not_taken_to_be_idle(tmp_path):
    path = put(tmp_path, {**CLUSTER, "jobs": [{"id": "a", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 4}}]})
    turn = controller(path).turn()
    assert cards(path) == {"a": 4}
    assert any("nothing says" in note for note in turn.rounds[0].notes)


def test_feedback_counts_what_was_seen_to_change(tmp_path):
    path, clock = put(tmp_path), Clock()
    loop = controller(path, clock=clock)
    loop.turn()
    change(path, "a", demand={"gpu": 2})
    change(path, "b", demand={"gpu": 6})
    clock.now += 60
    first = loop.turn().outcome
    clock.now += 60
    second = loop.turn().outcome
    assert (first.n_running, first.n_waiting, first.n_resizes) == (2, 0, 0)
    assert (second.n_running, second.n_resizes, second.lost_seconds) == (2, 2, 30)


def test_restart_continues_where_it_was_stopped(tmp_path):
    path, clock, keeper = put(tmp_path), Clock(), MemoryHere()
    one = controller(path, keeper=keeper, clock=clock)
    for _ in range(3):
        last = one.turn()
        clock.now += 60
    clock.now += 60
    turn = controller(path, keeper=keeper, clock=clock).turn()
    assert turn.index == last.index + 2
    assert turn.outcome.n_running == 2


def test_scheduler_that_says_what_no_state_can_be_is_told_of(tmp_path):
    path, clock = put(tmp_path), Clock()

    class Confused(FileScheduler):
        def observe(self):
            observed = super().observe()
            return observed if clock.now == 1_000_000 else observed.replace({"state": {"jobs": [{"id": ""}]}})

    loop = controller(path, scheduler=Confused(path), clock=clock)
    loop.turn()
    clock.now += 60
    assert "what the scheduler says" in loop.turn().unavailable


def test_fault_that_comes_later_is_told_and_the_loop_goes_on(tmp_path):
    path, clock = put(tmp_path), Clock()
    loop = controller(path, "[queues.team]\nnominal_quota = {cards = 1}", clock=clock)
    good = path.read_text()
    path.write_text(good.replace('"format": "libra-opt/state/1"', '"resources": [{"name": "gpu"}, {"name": "cards"}]'))
    loop.turn()
    path.write_text(good)
    clock.now += 60
    turn = loop.turn()
    assert "cards" in turn.unavailable
    assert turn.rounds == ()


def test_state_that_contradicts_itself_beyond_single_jobs_is_refused(tmp_path):
    path = put(tmp_path)
    with pytest.raises(InputError, match="borrowing_limit"):
        controller(path, "[queues.team]\nborrowing_limit = {cards = 1}").turn()


def test_waits_for_the_next_period_and_ever_longer_while_nothing_answers():
    assert wait_seconds(60, 0, 70, 0) == 0
    assert [wait_seconds(60, 0, 0, n) for n in range(7)] == [60, 60, 120, 240, 480, 600, 600]


def test_cluster_file_stays_a_state(tmp_path):
    path = put(tmp_path)
    controller(path).turn()
    assert {job.id for job in read_state(path.read_bytes()).jobs} == {"a", "b"}
