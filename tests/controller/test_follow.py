"""What the loop remembers of how long each job waits."""

import pytest

from libra_opt import State
from libra_opt.controller.follow import follow
from libra_opt.controller.memory import Followed, Memory

NOW = 1_000_000.0


def state(*, runs, history=None, **fields):
    """Return a state of one job."""
    held = {"allocation": {"pool": "p", "resources": {"gpu": 2}}} if runs else {}
    told = {"history": history} if history else {"demand": {"gpu": 2}}
    return State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 4}}], "jobs": [{"id": "a", **told, **held, **fields}]})


def credit_after(*seen, memory=None):
    """Return what the job counts as having waited after each of (seconds since the last period, whether it runs now)."""
    memory, now, found = memory or Memory(), NOW, []
    for seconds, runs in seen:
        now += seconds
        [followed] = follow(memory, state(runs=runs), now)
        memory = Memory(at=now, jobs=(followed,))
        found.append(followed.waited_seconds)
    return found


def test_who_never_ran_counts_four_times_as_long_and_who_ran_once():
    assert credit_after((0, False), (600, False), (1800, False)) == [0, 2400, 7200 + 600]
    assert credit_after((0, True), (600, False), (600, False)) == [0, 0, 600]  # in the first of these it ran until nobody knows when


def test_running_pays_what_was_waited():
    assert credit_after((0, False), (600, False), (60, True), (600, True), (10_000, True)) == [0, 2400, 2400, 2100, 0]


def test_job_that_is_seen_first_has_waited_since_it_was_submitted():
    [waits] = follow(Memory(), state(runs=False, submitted=NOW - 600), NOW)
    [runs] = follow(Memory(), state(runs=True, submitted=NOW - 600), NOW)
    [ran] = follow(Memory(), state(runs=False, submitted=NOW - 600, history=[{"usage": {"gpu": 2}, "step": 0}]), NOW)
    assert [(job.waited_seconds, job.has_run) for job in (waits, runs, ran)] == [(2400, False), (0, True), (600, True)]


@pytest.mark.parametrize("runs", [True, False])
def test_what_an_older_loop_remembered_is_understood(runs):
    before = Followed(id="a", waited_seconds=100, running_since=NOW - 50 if runs else None, waiting_since=None if runs else NOW - 50)
    [followed] = follow(Memory(at=NOW, jobs=(before,)), state(runs=False), NOW + 100)
    assert followed.has_run is runs
