"""The loop beside a real Slurm of four nodes with eight fake cards each."""

import time

import pytest

from libra_opt.adapters.slurm import SlurmScheduler
from libra_opt.adapters.slurm.client import Client
from libra_opt.adapters.slurm.settings import Settings
from libra_opt.controller import Controller, read_settings
from libra_opt.controller.keeping import MemoryHere

TEXT = """
[scheduler]
kind = "slurm"
users = ["root"]
jobs = ["elastic-*", "whole-*"]
[jobs.elastic-a.preemption_cost]
resize_seconds = 1
[jobs.elastic-b.preemption_cost]
resize_seconds = 1
"""


@pytest.fixture
def loop(slurm, monkeypatch):
    """Return a maker of loops beside the cluster; what was submitted ends with the test."""
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])

    def make(text=TEXT):
        settings = read_settings(text.encode(), "loop.toml")
        return Controller(SlurmScheduler(settings.scheduler, Client(settings.scheduler.timeout_seconds)), settings, MemoryHere(), 60.0)

    yield make
    slurm.cancel(*set(slurm.run("squeue", "-h", "-a", "-o", "%F", check=False).stdout.split()))


def texts(turn):
    return [(outcome.command.text, outcome.status) for each in turn.rounds for outcome in each.applied.outcomes]


def tasks_of(turn):
    """Return how many tasks of two cards the last plan of a period gives each job."""
    return tuple(sum(int(stage.resources["gpu"]) for stage in job.stages) // 2 for job in turn.rounds[-1].plan.jobs)


def test_cards_follow_load_that_swaps_within_two_periods_and_the_quota_holds(slurm, loop):
    slurm.account("team-a", cards=20)
    slurm.account("team-b")
    a, b = (slurm.submit_elastic(f"elastic-{name}", 16, account=f"team-{name}") for name in "ab")
    controller = loop()
    slurm.want(a, 16)
    slurm.want(b, 3)
    controller.turn()
    slurm.until(lambda: (slurm.running(a), slurm.running(b)) == (10, 3), "ten tasks of a, which its account's 20 cards allow, and three of b")
    slurm.want(a, 2)
    slurm.want(b, 14)
    n_periods = 0
    while (slurm.running(a), slurm.running(b)) != (2, 14):
        assert n_periods < 2, (slurm.running(a), slurm.running(b))
        turn = controller.turn()
        n_periods += 1
        assert {status for _, status in texts(turn)} <= {"done", "already"}
        slurm.until(lambda: (slurm.running(a), slurm.running(b)) == (2, 14), "swap of a and b")
    turn = controller.turn()
    assert texts(turn) == []
    assert (turn.outcome.n_running, turn.outcome.n_preemptions) == (2, 0)


def test_lost_node_is_planned_around_and_used_again_when_it_is_back(slurm, loop):
    slurm.account("team-a")
    slurm.account("team-b")
    a, b = (slurm.submit_elastic(f"elastic-{name}", 16, account=f"team-{name}") for name in "ab")
    controller = loop()
    slurm.want(a, 8)
    slurm.want(b, 8)
    controller.turn()
    slurm.until(lambda: (slurm.running(a), slurm.running(b)) == (8, 8), "eight tasks of each on 32 cards")
    slurm.lose("gpu4")
    try:
        slurm.until(lambda: slurm.running(a) + slurm.running(b) == 12, "twelve tasks on the nodes that are left")
        turn = controller.turn()
        assert [each.state.pools[0].capacity["gpu"] for each in turn.rounds] == [24]
        assert any(note.startswith("node gpu4 is down") for note in turn.rounds[0].notes)
        slurm.want(a, 2)
        slurm.want(b, 14)
        planned = tasks_of(controller.turn())
        assert sum(planned) == 12
        assert planned[0] in (1, 2)
        slurm.until(lambda: (slurm.running(a), slurm.running(b)) == planned, f"{planned} tasks on the cards that are left")
    finally:
        slurm.find("gpu4")
    slurm.until(lambda: controller.turn() and (slurm.running(a), slurm.running(b)) == (2, 14), "fourteen tasks of b with the node that is back")


def test_what_slurm_refuses_is_told_and_planned_around_in_the_same_period(slurm, loop):
    slurm.account("team-b")
    whole = slurm.submit("whole-w", "-N1", "--gres=gpu:h100:8", "-c", "4", "--mem=8G", account="team-b")
    elastic = slurm.submit_elastic("elastic-b", 16, account="team-b")
    slurm.until(lambda: slurm.running(whole) == 1, "running whole job")
    text = f"{TEXT}\n[jobs.whole-w]\nweight = 10\nmax_quota = {{gpu = 16}}\ndemand = {{gpu = 16}}\npreemption_cost = {{resize_seconds = 0}}\n"
    controller = loop(text)
    turn = controller.turn()
    refused = [outcome for each in turn.rounds for outcome in each.applied.refused]
    assert [outcome.command.text for outcome in refused] == [f"scontrol update JobId={whole} NumNodes=2"]
    assert refused[0].message
    assert len(turn.rounds) == 2
    assert any(refused[0].message in note for note in turn.rounds[1].notes)
    slurm.until(lambda: slurm.running(elastic) == 12, "twelve tasks on the 24 cards that are left")
    assert slurm.running(whole) == 1
    assert not any("NumNodes" in text for text, _ in texts(controller.turn()))


def test_waiting_job_is_held_started_smaller_and_released(slurm, loop):
    slurm.account("team-b")
    elastic = slurm.submit_elastic("elastic-b", 16, account="team-b", throttle=14)
    slurm.until(lambda: slurm.running(elastic) == 14, "fourteen tasks")
    whole = slurm.submit("whole-w", "-N1", "--gres=gpu:h100:8", "-c", "4", "--mem=8G", account="team-b")
    controller = loop(f"{TEXT}\n[jobs.whole-w]\nweight = 0.1\n")
    assert (f"scontrol update JobId={whole} Priority=0 AdminComment=libra:held", "done") in texts(controller.turn())
    assert "JobHeldAdmin" in slurm.run("squeue", "-h", "-j", whole, "-o", "%r").stdout
    slurm.until(lambda: slurm.running(elastic) == 16, "sixteen tasks, as the job that waits asks for less than they are worth")
    slurm.want(elastic, 14)
    controller = loop(f"{TEXT}\n[jobs.elastic-b]\nweight = 10\n[jobs.whole-w]\nmin_quota = {{gpu = 2}}\n")
    controller.turn()
    slurm.until(lambda: slurm.running(whole) == 1, "released job")
    assert "gres:gpu:h100:4" in slurm.run("squeue", "-h", "-j", whole, "-o", "%b").stdout


def test_job_that_is_stopped_waits_held_and_runs_again_when_it_is_admitted(slurm, loop):
    slurm.account("team-b")
    elastic = slurm.submit_elastic("elastic-b", 4, account="team-b", throttle=4)
    whole = slurm.submit("whole-w", "-N1", "--gres=gpu:h100:8", "-c", "4", "--mem=8G", account="team-b")
    slurm.until(lambda: (slurm.running(elastic), slurm.running(whole)) == (4, 1), "everything to run")
    too_much = "".join(f"[jobs.{name}]\nmin_quota = {{gpu = 40}}\nmax_quota = {{gpu = 40}}\n" for name in ("elastic-b", "whole-w"))
    turn = loop(TEXT + too_much).turn()
    assert {job.action for job in turn.rounds[0].plan.jobs} == {"evict"}
    slurm.until(lambda: (slurm.running(elastic), slurm.running(whole)) == (0, 0), "end of both")
    assert set(slurm.run("squeue", "-h", "-a", "-r", "-t", "PD", "-o", "%r").stdout.split()) == {"JobHeldAdmin"}
    controller = loop()

    def runs_after_a_period():
        assert {status for _, status in texts(controller.turn())} <= {"done", "already"}
        time.sleep(1)
        return (slurm.running(elastic), slurm.running(whole)) == (4, 1)

    slurm.until(runs_after_a_period, "both to run again")


def test_job_of_others_is_never_touched_and_its_cards_are_taken_off(slurm, loop):
    slurm.account("team-b")
    other = slurm.submit("not-ours", "-N1", "--gres=gpu:h100:8", "-c", "4", "--mem=8G", account="team-b")
    slurm.until(lambda: slurm.running(other) == 1, "job that is not planned")
    elastic = slurm.submit_elastic("elastic-b", 16, account="team-b")
    turn = loop().turn()
    assert [command.job for each in turn.rounds for command in each.commands] == ["elastic-b"]
    assert turn.rounds[0].state.pools[0].capacity["gpu"] == 24
    slurm.until(lambda: slurm.running(elastic) == 12, "twelve tasks")
    assert slurm.running(other) == 1


def test_slurm_that_is_down_is_waited_for(slurm, loop):
    slurm.account("team-b")
    elastic = slurm.submit_elastic("elastic-b", 4, account="team-b")
    controller = loop(TEXT.replace("[jobs.elastic-a.", "timeout_seconds = 2\n[jobs.elastic-a.", 1))
    controller.turn()
    slurm.until(lambda: slurm.running(elastic) == 4, "four tasks")
    slurm.stop_controller()
    try:
        turn = controller.turn()
        assert turn.rounds == ()
        assert "squeue" in turn.unavailable
    finally:
        slurm.start_controller()
    slurm.until(lambda: slurm.running(elastic) == 4, "four tasks, as they were")
    turn = controller.turn()
    assert turn.unavailable == ""
    assert texts(turn) == []


def test_group_quota_is_written_from_the_plan(slurm, loop):
    slurm.account("team-b")
    elastic = slurm.submit_elastic("elastic-b", 3, account="team-b")
    loop(TEXT.replace("[jobs.elastic-a.", 'group_quotas = "write"\n[jobs.elastic-a.', 1)).turn()
    slurm.until(lambda: slurm.running(elastic) == 3, "three tasks")
    limits = slurm.run("sacctmgr", "-n", "-P", "show", "assoc", "where", "account=team-b", "format=user,grptres").stdout
    assert "|gres/gpu=6\n" in limits
    assert SlurmScheduler(Settings(users=("root",), jobs=("*",)), Client(10)).observe().state.queues[0].borrowing_limit["gpu"] == 6
