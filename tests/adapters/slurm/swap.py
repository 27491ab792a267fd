"""Two elastic jobs whose load swaps, on a real Slurm: the loop beside static halves.

``python -m tests.adapters.slurm.swap DIRECTORY`` starts a cluster there and prints what each way finished. Job a has three times as many tasks as b in
the first half of the time, and b as many times as many in the second; the tasks of a half that are not done at its end are taken back. What counts is the
finished tasks: each takes two cards for some seconds. The numbers are of sleeping tasks on fake cards and hold for this load alone.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from libra_opt.adapters.slurm import SlurmScheduler
from libra_opt.adapters.slurm.client import Client
from libra_opt.controller import Controller, read_settings
from libra_opt.controller.keeping import MemoryHere
from tests.adapters.slurm.real import RealSlurm, missing

HALF_SECONDS, TASK_SECONDS, PERIOD_SECONDS = 60.0, 6.0, 5.0
BUSY, CALM = 150, 20
CONFIGURATION = """
[scheduler]
kind = "slurm"
users = ["root"]
jobs = ["elastic-*"]
[jobs.elastic-a.preemption_cost]
resize_seconds = 0.5
[jobs.elastic-b.preemption_cost]
resize_seconds = 0.5
"""


def finished(file, deadline):
    """Return how many tasks wrote by a time of the epoch that they were done."""
    return sum(float(line) <= deadline for line in file.read_text().split()) if file.exists() else 0


def half(slurm, n_tasks, controller):
    """Run one half with so many tasks of each job, and return how many of each were finished."""
    throttle, place = 1 if controller is not None else 8, Path(tempfile.mkdtemp(dir=slurm.directory))
    ids = [
        slurm.submit_elastic(f"elastic-{name}", n, account="team-b", throttle=throttle, does=f"sleep {TASK_SECONDS} && date +%s.%N >> {place}/{name}")
        for name, n in n_tasks.items()
    ]
    ends = time.time() + HALF_SECONDS
    while (began := time.time()) < ends:
        if controller is not None:
            controller.turn()
        time.sleep(max(0.0, min(ends, began + PERIOD_SECONDS) - time.time()))
    slurm.cancel(*ids)
    return {name: finished(place / name, ends) for name in n_tasks}


def way(slurm, *, is_static):
    settings = read_settings(CONFIGURATION.encode(), "swap")
    controller = None if is_static else Controller(SlurmScheduler(settings.scheduler, Client(10)), settings, MemoryHere(), PERIOD_SECONDS)
    return [half(slurm, {"a": BUSY, "b": CALM}, controller), half(slurm, {"a": CALM, "b": BUSY}, controller)]


def main(directory, n_repeats):
    if reason := missing():
        sys.exit(reason)
    slurm = RealSlurm(directory)
    os.environ.update({name: slurm.environment[name] for name in ("SLURM_CONF", "PATH")})
    try:
        slurm.start()
        slurm.account("team-b")
        for repeat in range(n_repeats):
            found = {name: way(slurm, is_static=is_static) for name, is_static in (("static halves", True), ("loop", False))}
            totals = {name: sum(sum(each.values()) for each in halves) for name, halves in found.items()}
            sys.stdout.write(f"{json.dumps({'repeat': repeat, 'finished': totals, 'by_half': found})}\n")
            sys.stdout.flush()
    finally:
        slurm.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
