"""A scheduler in a file does exactly what it is told, and refuses what does not fit."""

import json

import pytest

from libra_opt import allocate, read_state
from libra_opt.adapters.file_scheduler import FileScheduler
from libra_opt.scheduler import UnavailableError

STAGES = [
    {"name": "rollout", "min_quota": {"gpu": 1}, "demand": {"gpu": 3}},
    {"name": "train", "min_quota": {"gpu": 1}, "demand": {"gpu": 2, "gpu_mem": 40}, "max_quota": {"gpu_mem": 40}},
]


def put(directory, *, gpu=8):
    path = directory / "cluster.json"
    pools = [{"name": "h100", "capacity": {"gpu": gpu, "gpu_mem": 640}}]
    path.write_text(json.dumps({"pools": pools, "jobs": [{"id": "a", "stages": STAGES}, {"id": "b", "min_quota": {"gpu": 2}, "demand": {"gpu": 3}}]}))
    return path


def commands(scheduler):
    observed = scheduler.observe()
    return scheduler.commands(observed, allocate(observed.state))


def test_stages_hold_what_the_plan_says_and_nothing_is_left_to_do(tmp_path):
    path = put(tmp_path)
    scheduler = FileScheduler(path)
    assert [scheduler.perform(command).status for command in commands(scheduler)] == ["done", "done"]
    held = {stage.name: dict(stage.allocation.resources) for stage in read_state(path.read_bytes()).jobs[0].all_stages}
    assert (held["rollout"]["gpu"], held["train"]["gpu"], held["train"]["gpu_mem"]) == (3, 2, "40Gi")
    assert commands(scheduler) == ()


def test_doing_a_command_twice_is_doing_it_once(tmp_path):
    scheduler = FileScheduler(put(tmp_path))
    [command, _] = commands(scheduler)
    assert [scheduler.perform(command).status for _ in range(2)] == ["done", "already"]
    assert len((tmp_path / "cluster.json.journal").read_text().splitlines()) == 1


def test_what_does_not_fit_any_more_is_refused_and_changes_nothing(tmp_path):
    scheduler = FileScheduler(put(tmp_path))
    told = commands(scheduler)
    path = put(tmp_path, gpu=4)
    outcomes = [scheduler.perform(command) for command in told]
    assert sorted(outcome.status for outcome in outcomes) == ["done", "refused"]
    [message] = [outcome.message for outcome in outcomes if outcome.message]
    assert message.startswith("pool 'h100' has no room for it")
    assert (
        sum(bool(job.get("allocation") or any("allocation" in stage for stage in job.get("stages", ()))) for job in json.loads(path.read_text())["jobs"]) == 1
    )


def test_job_that_is_gone_is_refused(tmp_path):
    scheduler = FileScheduler(put(tmp_path))
    told = commands(scheduler)
    document = json.loads((tmp_path / "cluster.json").read_text())
    (tmp_path / "cluster.json").write_text(json.dumps({**document, "jobs": document["jobs"][:1]}))
    assert {scheduler.perform(command).message for command in told if command.job == "b"} == {"there is no job 'b'"}


@pytest.mark.parametrize("content", [None, "", "{", '{"jobs": [{}]}'])
def test_file_that_is_not_there_or_not_whole_is_no_answer(tmp_path, content):
    path = tmp_path / "cluster.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UnavailableError):
        FileScheduler(path).observe()


def test_file_that_goes_away_between_two_commands_is_no_answer(tmp_path):
    scheduler = FileScheduler(put(tmp_path))
    [command, _] = commands(scheduler)
    (tmp_path / "cluster.json").unlink()
    assert scheduler.perform(command).status == "failed"
