"""A loop that is killed at any moment continues: nothing is done twice, no job is lost, no period is learned from twice."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from libra_opt.feedback import LAW
from tests.controller.killed import CLUSTER, DEMANDS, PERIOD

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Return what was left behind: first by a loop that nobody killed, then for every point at which one was."""
    place = tmp_path_factory.mktemp("killed")
    line = (sys.executable, "-m", "tests.controller.killed", str(place))
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, check=False, timeout=240)  # noqa: S603 - our own program
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout)


def test_every_point_was_swept_and_every_loop_but_the_last_was_killed(left):
    assert left[0]["ends"] == [0]
    assert len(left) > 30
    for each in left[1:]:
        assert each["ends"][0] == -signal.SIGKILL
        assert each["ends"][-1] == 0
        assert each["ends"][1] in (0, -signal.SIGKILL)


def test_nothing_is_done_twice(left):
    for each in left:
        last = {}
        for entry in each["journal"]:
            assert entry["holds"] != last.get(entry["job"], {})
            last[entry["job"]] = entry["holds"]


def test_what_was_done_is_what_is_there(left):
    for each in left:
        last = {entry["job"]: entry["holds"] for entry in each["journal"]}
        for job, holds in last.items():
            assert (each["holds"][job] or {}) == holds.get("main", {})


def test_no_job_is_lost(left):
    names = [job["id"] for job in CLUSTER["jobs"]]
    for each in left:
        assert set(each["holds"]) == set(names)
        assert all(jobs == names for jobs in each["jobs"])
        assert all(each["holds"][job] for job in "ab")


def test_cluster_ends_as_it_does_when_nobody_is_killed(left):
    for each in left[1:]:
        assert each["holds"] == left[0]["holds"]


def test_every_period_is_planned_and_learned_from_at_most_once(left):
    for each in left:
        assert each["periods"] == sorted(set(each["periods"]))
        assert each["periods"][-1] >= len(DEMANDS)


def test_waiting_goes_on_counting_over_restarts(left):
    for each in left:
        assert each["waited"] == [LAW.first_wait * PERIOD * period for period in each["periods"]]  # "never" has not begun yet
