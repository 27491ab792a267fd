"""Two elastic groups whose load swaps, on a real Ray: the loop beside static halves.

``python -m tests.adapters.ray.measure REPEATS`` starts a cluster and prints what each way finished. Group a has far more work than it can do in the first
half of the time and b little, and the other way round in the second; what a half has left at its end is dropped. What counts is the finished units of
work, each one second on one member; a unit whose member is stopped begins again elsewhere. The numbers are of sleeping actors on fake cards, for this load
alone.
"""

import json
import sys
import threading
import time

import pytest

from libra_opt.adapters.ray import ElasticGroup, RayScheduler
from libra_opt.adapters.ray.members import set_target
from libra_opt.controller import Controller, read_settings
from libra_opt.controller.keeping import MemoryHere
from tests.adapters.ray.real import N_CARDS, N_NODES, RealRay, run, until

ray = pytest.importorskip("ray")  # doctests are looked for in this module too

HALF_SECONDS, UNIT_SECONDS, PERIOD_SECONDS = 30.0, 1.0, 3.0
BUSY, CALM = 1000, 15
N_ALL = N_NODES * N_CARDS
CONFIGURATION = """
[scheduler]
kind = "ray"
address = "{address}"
pool_label = "accelerator"
[jobs.a.preemption_cost]
resize_seconds = 0.5
[jobs.b.preemption_cost]
resize_seconds = 0.5
"""


class Worker:
    """Works for as long as it is told."""

    def work(self, seconds):
        time.sleep(seconds)


class Half:
    """The units of one group in one half, given to its members until the half ends."""

    def __init__(self, group, n_units):
        self.group, self.n_left, self.n_finished = group, n_units, 0

    def go(self, ends):
        running = {}
        while time.monotonic() < ends:
            for place, handle in self.group.members().items():
                if place not in running and self.n_left:
                    running[place] = handle.work.remote(UNIT_SECONDS)
                    self.n_left -= 1
            self.group.report(demand=min(N_ALL, self.n_left + len(running)))
            ray.wait(list(running.values()), timeout=0.2) if running else time.sleep(0.2)
            for place, reference in list(running.items()):
                self.collect(running, place, reference)

    def collect(self, running, place, reference):
        if not ray.wait([reference], timeout=0)[0]:
            return
        del running[place]
        try:
            ray.get(reference)
            self.n_finished += 1
        except ray.exceptions.RayActorError:
            self.n_left += 1


def half(groups, n_units, controller):
    """Run one half and return how many units of each group were finished."""
    ends = time.monotonic() + HALF_SECONDS
    halves = [Half(group, n) for group, n in zip(groups, n_units, strict=True)]
    threads = [threading.Thread(target=each.go, args=(ends,)) for each in halves]
    for thread in threads:
        thread.start()
    while (began := time.monotonic()) < ends:
        if controller is not None:
            controller.turn()
        time.sleep(max(0.0, min(ends, began + PERIOD_SECONDS) - time.monotonic()))
    for thread in threads:
        thread.join()
    return [each.n_finished for each in halves]


def way(address, *, is_static):
    """Run both halves, beginning with what static halves would hold, and return what was finished."""
    settings = read_settings(CONFIGURATION.format(address=address).encode(), "loop.toml")
    groups = [ElasticGroup(name, Worker, {"GPU": 1, "CPU": 1}, 1, N_ALL) for name in ("a", "b")]
    for group in groups:
        set_target(group.name, N_ALL // 2, "h100", settings.scheduler)
    until(lambda: [len(group.members()) for group in groups], [N_ALL // 2] * 2, 120)
    scheduler = RayScheduler(settings.scheduler)
    scheduler.observe()
    controller = None if is_static else Controller(scheduler, settings, MemoryHere(), PERIOD_SECONDS)
    found = [half(groups, n_units, controller) for n_units in ((BUSY, CALM), (CALM, BUSY))]
    scheduler.close()
    for group in groups:
        group.close()
    return found


def main(n_repeats):
    real = RealRay().start()
    try:
        for repeat in range(n_repeats):
            found = {name: way(real.cluster.address, is_static=is_static) for name, is_static in (("static halves", True), ("loop", False))}
            totals = {name: sum(map(sum, halves)) for name, halves in found.items()}
            sys.stdout.write(f"{json.dumps({'repeat': repeat, 'finished': totals, 'by_half': found})}\n")
            sys.stdout.flush()
    finally:
        real.stop()


if __name__ == "__main__":
    if sys.argv[-1] == "here":
        main(int(sys.argv[1]))
    else:
        sys.stdout.write(run("measure", sys.argv[1], "here", seconds=3600))
