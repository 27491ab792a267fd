"""Loops beside a file, killed with SIGKILL at each of their points: ``python -m tests.controller.killed DIRECTORY``.

A point is a moment before or after one thing the loop does with the world: observing, keeping its memory, each single command. For every point a loop is
started, ends there as if the machine had, is started again, ends once more a few points later, and is then let run to its end. What each left behind is
printed as one JSON list. Every loop is a process of its own, forked from this one, which has imported everything and begun nothing.
"""

import json
import os
import signal
import sys
from pathlib import Path

from libra_opt.adapters.file_scheduler import FileScheduler
from libra_opt.controller.keeping import InRecording
from libra_opt.recorder import Recorder
from tests.controller.made import Clock, change, controller, put

BEGIN = 1_000_000.0
PERIOD = 60.0
DEMANDS = ({"a": 6, "b": 2, "c": 5}, {"a": 1, "b": 6, "c": 5}, {"a": 3, "b": 1, "c": 8}, {"a": 2, "b": 2, "c": 2})
"""What the jobs can use, period by period."""

CLUSTER = {
    "pools": [{"name": "h100", "capacity": {"gpu": 8}}],
    "jobs": [
        {"id": "a", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "demand": {"gpu": 6}, "preemption_cost": {"resize_seconds": 1, "evict_seconds": 1}},
        {"id": "b", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "demand": {"gpu": 2}, "preemption_cost": {"resize_seconds": 1, "evict_seconds": 1}},
        {"id": "c", "min_quota": {"gpu": 4}, "max_quota": {"gpu": 8}, "demand": {"gpu": 5}, "preemption_cost": {"resize_seconds": 1, "evict_seconds": 1}},
        {"id": "never", "min_quota": {"gpu": 9}, "demand": {"gpu": 9}},
    ],
}
"""Three jobs that come and go on eight cards, and one that is too large for them and waits."""


class Points:
    def __init__(self, end_at):
        self.n_passed, self.end_at = 0, end_at

    def __call__(self):
        if self.n_passed == self.end_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.n_passed += 1


class KilledScheduler(FileScheduler):
    def __init__(self, cluster, point):
        super().__init__(cluster)
        self.point = point

    def observe(self):
        self.point()
        observed = super().observe()
        self.point()
        return observed

    def perform(self, command):
        self.point()
        outcome = super().perform(command)
        self.point()
        return outcome


class KilledKeeper(InRecording):
    def __init__(self, recorder, point):
        super().__init__(recorder)
        self.point = point

    def keep(self, memory, state, plan):
        self.point()
        super().keep(memory, state, plan)
        self.point()


def run(directory, end_at):
    """Run the periods that are left, and one more; write how many points there were."""
    cluster, point = directory / "cluster.json", Points(end_at)
    with Recorder(directory / "run.jsonl", sync=False) as recorder:
        keeper, clock = KilledKeeper(recorder, point), Clock()
        before = keeper.load()
        first = 0 if before is None else before.period + 1
        loop = controller(cluster, '[options]\nbackend = "greedy"', scheduler=KilledScheduler(cluster, point), keeper=keeper, clock=clock)
        for period in range(first, max(len(DEMANDS), first) + 1):
            clock.now = BEGIN + PERIOD * period
            for job, cards in DEMANDS[min(period, len(DEMANDS) - 1)].items():
                change(cluster, job, demand={"gpu": cards})
            loop.turn()
    (directory / "points").write_text(str(point.n_passed))


def forked(directory, end_at):
    """Run in a process of its own and return how it ended: 0, or minus the signal."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run(directory, end_at)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def left_behind(directory, ends):
    pairs = [json.loads(line) for line in (directory / "run.jsonl").read_text().splitlines()]
    cluster = json.loads((directory / "cluster.json").read_text())
    return {
        "ends": ends,
        "periods": [pair["state"]["period"]["index"] for pair in pairs],
        "waited": [next(job for job in pair["note"]["loop"]["jobs"] if job["id"] == "never").get("waited_seconds", 0) for pair in pairs],
        "jobs": [[job["id"] for job in pair["note"]["loop"]["jobs"]] for pair in pairs],
        "journal": [json.loads(line) for line in (directory / "cluster.json.journal").read_text().splitlines()],
        "holds": {job["id"]: job.get("allocation") for job in cluster["jobs"]},
    }


def sweep(place):
    found, n_points, i = [], 1, 0
    while i < n_points:
        directory = place / str(i)
        directory.mkdir()
        put(directory, CLUSTER)
        ends = [forked(directory, i - 1 if i else None)]
        if i == 0:
            n_points += int((directory / "points").read_text())
        else:
            ends += [forked(directory, i % 8), forked(directory, None)]
        found.append(left_behind(directory, ends))
        i += 1
    return found


def warm(directory):
    """Import what planning imports when it is first done."""
    directory.mkdir()
    put(directory, CLUSTER)
    controller(directory / "cluster.json", '[options]\nbackend = "greedy"').turn()


if __name__ == "__main__":
    warm(Path(sys.argv[1]) / "warm")
    sys.stdout.write(json.dumps(sweep(Path(sys.argv[1]))))
