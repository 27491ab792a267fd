"""From Slurm's answers to a state, and from a plan to Slurm's commands."""

import pytest

from libra_opt import allocate
from libra_opt.adapters.slurm import Settings, SlurmScheduler
from libra_opt.adapters.slurm.client import Answer, Client
from libra_opt.domain import Plan
from libra_opt.scheduler import Command, UnavailableError
from tests.adapters.slurm.made import NEW, OLD, running, sinfo, squeue

ACCOUNTS = "ClusterName=libra Account=team-a UserName= Partition= GrpTRES=cpu=N(0),gres/gpu={limit}(0)\n"
ARRAY = {"job_id": 17, "array_job_id": 17, "name": "elastic-a", "array_task_string": "2-9%2", "array_max_tasks": 2, "state_reason": "JobArrayTaskLimit"}
TASKS = [running(18 + task, "gpu1", array=17, task=task, name="elastic-a", array_max_tasks=2) for task in range(2)]


class Recorded(Client):
    """Answers as a Slurm of that dialect would, of jobs and nodes that a test says."""

    def __init__(self, jobs, nodes=({},), limit="N", dialect=OLD, answer=None):
        super().__init__(1)
        self.told = {"squeue": squeue(dialect, *jobs), "sinfo": sinfo(dialect, *nodes), "scontrol": ACCOUNTS.format(limit=limit)}
        self.answer, self.asked = answer, []

    def run(self, arguments):
        self.asked.append(tuple(arguments))
        if self.answer is not None and arguments[1] in ("update", "requeue", "release"):
            return self.answer
        return Answer(is_done=True, is_gone=False, text=self.told.get(arguments[0], ""), message="")


def scheduler(jobs, *, settings=None, **more):
    told = {"users": ["anna"], "jobs": ["elastic-*", "whole-*"], **(settings or {})}
    return SlurmScheduler(Settings.model_validate(told), Recorded(jobs, **more), clock=lambda: 2000.0)


def planned(one, cards):
    """Return the commands for a plan that gives jobs so many cards, and four cores and 8 GiB for every two."""
    observed = one.observe()
    plan = allocate(observed.state)
    jobs = [
        job.replace({"stages": [{"name": "main", "pool": "h100", "resources": _resources(cards[job.id])}] if cards[job.id] else [], "action": "keep"})
        for job in plan.jobs
    ]
    return one.commands(observed, Plan.model_validate({**dict(plan), "jobs": jobs}))


def _resources(cards):
    return {"gpu": cards, "cpu": 2 * cards, "mem": f"{4 * cards}Gi"}


def texts(commands):
    return [command.text for command in commands]


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_array_is_an_elastic_job_of_whole_replicas(dialect):
    state = scheduler([ARRAY, *TASKS], dialect=dialect).observe().state
    [job] = state.jobs
    assert (job.id, job.queue, job.unit["gpu"], dict(job.min_quota)) == ("elastic-a", "team-a", 2, {"gpu": 2, "cpu": 4, "mem": "8192Mi"})
    assert job.max_quota["gpu"] == job.demand["gpu"] == 20
    assert dict(job.allocation.resources) == {"gpu": 4, "cpu": 8, "mem": "16384Mi"}
    assert job.running_seconds == 2000 - 1018
    assert dict(state.pools[0].capacity) == {"gpu": 8, "cpu": 64, "mem": "512000Mi"}


def test_comment_says_how_many_replicas_are_wanted():
    [job] = scheduler([{**ARRAY, "comment": "see wiki; libra demand=3"}, *TASKS]).observe().state.jobs
    assert job.demand["gpu"] == 6


def test_growing_raises_the_throttle():
    [command] = planned(scheduler([ARRAY, *TASKS]), {"elastic-a": 8})
    assert command.text == "scontrol update JobId=17 ArrayTaskThrottle=4"
    assert command.arguments == ("scontrol", "update", "JobId=17", "ArrayTaskThrottle=4")
    assert command.effect == "takes"


def test_shrinking_lowers_the_throttle_and_requeues_what_ran_shortest():
    commands = planned(scheduler([ARRAY, *TASKS]), {"elastic-a": 2})
    assert texts(commands) == ["scontrol update JobId=17 ArrayTaskThrottle=1", "scontrol requeue 17_1"]
    assert {command.effect for command in commands} == {"frees"}


def test_stopping_holds_first_and_then_requeues_all():
    assert texts(planned(scheduler([ARRAY, *TASKS]), {"elastic-a": 0})) == [
        "scontrol update JobId=17 Priority=0 AdminComment=libra:held",
        "scontrol requeue 17_1",
        "scontrol requeue 17_0",
    ]


def test_plan_that_is_in_force_needs_no_command():
    assert planned(scheduler([ARRAY, *TASKS]), {"elastic-a": 4}) == ()


def test_requeued_task_is_told_to_start_now_when_there_is_room():
    waits = {**ARRAY, "job_id": 19, "array_task_id": 1, "array_task_string": "", "eligible_time": 2100, "state_reason": "BeginTime"}
    assert texts(planned(scheduler([ARRAY, TASKS[0], waits]), {"elastic-a": 4})) == ["scontrol update JobId=17_1 StartTime=now+5"]


def test_what_the_loop_held_is_released_and_what_others_held_is_not():
    held = {**ARRAY, "state_reason": "JobHeldAdmin"}
    assert texts(planned(scheduler([{**held, "admin_comment": "libra:held"}]), {"elastic-a": 4})) == [
        "scontrol release 17",
        "scontrol update JobId=17 AdminComment=libra:released",
    ]
    one = scheduler([held])
    assert one.observe().state.jobs == ()
    assert any("not planned" in note for note in one.observe().notes)


def test_what_runs_and_was_held_by_a_loop_that_was_killed_is_released_too():
    held = [{**task, "state_reason": "JobHeldAdmin", "admin_comment": "libra:held"} for task in TASKS]
    assert texts(planned(scheduler(held), {"elastic-a": 4})) == ["scontrol release 17", "scontrol update JobId=17 AdminComment=libra:released"]


def test_requeued_whole_job_is_told_to_start_now_before_it_is_released():
    held = {"name": "whole-w", "state_reason": "JobHeldAdmin", "admin_comment": "libra:held", "eligible_time": 2100}
    assert texts(planned(scheduler([held]), {"whole-w": 2}))[:2] == ["scontrol update JobId=17 StartTime=now+5", "scontrol release 17"]


def test_mark_that_was_left_by_a_loop_that_was_killed_is_taken_off():
    left = [{**ARRAY, "admin_comment": "libra:held"}, *TASKS]
    assert texts(planned(scheduler(left), {"elastic-a": 4})) == ["scontrol update JobId=17 AdminComment=libra:released"]


def test_waiting_whole_job_is_reshaped_before_it_is_released():
    held = {"name": "whole-w", "state_reason": "JobHeldAdmin", "admin_comment": "libra:held", "tres_per_node": "gres:gpu:h100:4", "cpus": 8}
    assert texts(planned(scheduler([{**held, "tres_req_str": "cpu=8,mem=16G"}]), {"whole-w": 2})) == [
        "scontrol update JobId=17 Gres=gpu:h100:2",
        "scontrol update JobId=17 MinMemoryNode=8192",
        "scontrol update JobId=17 NumCPUs=4",
        "scontrol release 17",
        "scontrol update JobId=17 AdminComment=libra:released",
    ]
    untyped = {**held, "tres_per_node": "gres:gpu:4", "tres_req_str": "cpu=4,mem=8G", "cpus": 4}
    assert texts(planned(scheduler([untyped]), {"whole-w": 2}))[0] == "scontrol update JobId=17 Gres=gpu:2"


def test_waiting_job_of_several_nodes_gets_fewer_nodes():
    wide = {"name": "whole-w", "node_count": 4, "tres_per_node": "gres:gpu:h100:8", "cpus": 64, "tres_req_str": "cpu=64,mem=128G,node=4"}
    assert texts(planned(scheduler([wide]), {"whole-w": 16})) == ["scontrol update JobId=17 NumNodes=2"]


def test_waiting_job_is_held_unless_slurm_is_to_start_it():
    waits = {"name": "whole-w"}
    assert texts(planned(scheduler([waits]), {"whole-w": 0})) == ["scontrol update JobId=17 Priority=0 AdminComment=libra:held"]
    assert planned(scheduler([waits], settings={"hold_waiting": False}), {"whole-w": 0}) == ()


@pytest.mark.parametrize("other", [{"user_name": "bob", "name": "elastic-a"}, {"user_name": "anna", "name": "notebook"}])
def test_jobs_of_other_users_and_names_are_never_planned_and_what_they_hold_is_taken_off(other):
    one = scheduler([running(30, "gpu1", cards=3, **other), ARRAY])
    observed = one.observe()
    assert [job.id for job in observed.state.jobs] == ["elastic-a"]
    assert dict(observed.state.pools[0].capacity) == {"gpu": 5, "cpu": 60, "mem": "503808Mi"}
    assert all("30" not in command.text for command in planned(one, {"elastic-a": 0}))


def test_drained_node_lends_nothing_and_keeps_what_runs_on_it():
    one = scheduler([ARRAY, *TASKS], nodes=[{"state_flags": ["DRAIN"]}, {"name": "gpu2"}])
    assert dict(one.observe().state.pools[0].capacity)["gpu"] == 8 + 4
    assert any("gpu1 is drain" in note for note in one.observe().notes)


def test_second_job_of_a_name_is_told_apart():
    other = {**ARRAY, "job_id": 40, "array_job_id": 40}
    observed = scheduler([ARRAY, other]).observe()
    assert [job.id for job in observed.state.jobs] == ["elastic-a", "elastic-a#40"]


def test_group_quota_is_the_ceiling_without_what_others_of_the_account_hold():
    jobs = [ARRAY, running(30, "gpu1", cards=3, name="notebook")]
    [queue] = scheduler(jobs, limit=6).observe().state.queues
    assert dict(queue.borrowing_limit) == {"gpu": 3}
    [free] = scheduler(jobs, limit=6, settings={"group_quotas": "ignore"}).observe().state.queues
    assert free.borrowing_limit is None


def test_group_quota_is_written_where_it_differs_from_the_plan():
    one = scheduler([ARRAY, *TASKS], limit=16, settings={"group_quotas": "write"})
    assert texts(planned(one, {"elastic-a": 4})) == ["sacctmgr -i modify account where name=team-a cluster=libra set GrpTRES=gres/gpu=4"]
    assert planned(scheduler([ARRAY, *TASKS], limit=4, settings={"group_quotas": "write"}), {"elastic-a": 4}) == ()


@pytest.mark.parametrize(
    ("answer", "effect", "status"),
    [
        (Answer(is_done=True, is_gone=False, text="", message=""), "frees", "done"),
        (Answer(is_done=False, is_gone=False, text="", message="slurm_update error: Job has allocated GRES"), "takes", "refused"),
        (Answer(is_done=False, is_gone=False, text="", message="17_2: Job is pending execution"), "frees", "already"),
        (Answer(is_done=False, is_gone=False, text="", message="Invalid job id specified for job 17"), "frees", "already"),
        (Answer(is_done=False, is_gone=False, text="", message="Invalid job id specified for job 17"), "takes", "refused"),
        (Answer(is_done=False, is_gone=True, text="", message="scontrol did not answer within 1 s"), "takes", "failed"),
    ],
)
def test_answers_of_commands_are_told_apart(answer, effect, status):
    command = Command(key="k", text="t", arguments=("scontrol", "update", "JobId=17"), effect=effect)
    outcome = scheduler([], answer=answer).perform(command)
    assert (outcome.status, outcome.message) == (status, answer.message)


def test_nodes_of_releases_whose_sinfo_sums_them_up_are_asked_for_by_scontrol():
    one = scheduler([ARRAY])
    nodes = one._client.told["sinfo"]
    one._client.told |= {"sinfo": '{"errors": [], "sinfo": []}', "scontrol": nodes}
    assert one.observe().state.pools[0].capacity["gpu"] == 8
    assert ("scontrol", "show", "nodes", "--json") in one._client.asked


def test_command_that_hangs_is_given_up(monkeypatch, tmp_path):
    slow = tmp_path / "squeue"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UnavailableError, match=r"did not answer within 0\.2 s"):
        Client(0.2).ask(("squeue", "--json"))


def test_missing_command_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="install Slurm's client commands"):
        Client(1).ask(("squeue", "--json"))


def test_nobody_there_is_no_refusal(monkeypatch, tmp_path):
    gone = tmp_path / "scontrol"
    gone.write_text("#!/bin/sh\necho 'slurm_update error: Unable to contact slurm controller (connect failure)' >&2; exit 1\n")
    gone.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert Client(5).run(("scontrol", "requeue", "1")).is_gone


def test_requeued_job_that_is_about_to_start_is_left_to_settle():
    waits = {**ARRAY, "job_id": 19, "array_task_id": 1, "array_task_string": "", "eligible_time": 2004, "state_reason": "BeginTime"}
    assert texts(planned(scheduler([ARRAY, TASKS[0], waits]), {"elastic-a": 4})) == []
