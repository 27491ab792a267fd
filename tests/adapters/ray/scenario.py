"""What happens beside a real Ray, told as one JSON document: ``python -m tests.adapters.ray.scenario FILE``.

One cluster for all of it, as starting one takes several seconds; `test_real` says what must be so.
"""

import json
import os
import re
import shlex
import sys
import tempfile
import time
from pathlib import Path

import pytest

from libra_opt.adapters.ray import ElasticGroup, RayScheduler
from libra_opt.adapters.ray.looking import look
from libra_opt.controller import Controller, read_settings
from libra_opt.controller.keeping import MemoryHere
from libra_opt.errors import InputError
from libra_opt.scheduler import Command
from tests.adapters.ray.real import RealRay, until
from tests.test_loop_page import ROOT, commands_of, type_in

ray = pytest.importorskip("ray")  # doctests are looked for in this module too

NEEDS = {"GPU": 1, "CPU": 1, "gpu_memory_gib": 40}
CONFIGURATION = """
[scheduler]
kind = "ray"
address = "{address}"
pool_label = "accelerator"
timeout_seconds = {timeout_seconds}
[options]
preemption_budget_seconds = 1000.0
"""
PAGE = (ROOT / "docs" / "ray.md").read_text()
INSTALLS, MEASURES = "pip", "measure"


class Worker:
    """A member: says where it is."""

    def __init__(self, fault="", file=""):
        self.file = file
        if fault:
            raise ValueError(fault)

    def work(self, seconds):
        time.sleep(seconds)

    def finish(self):
        Path(self.file).write_text("finished")

    def where(self):
        return ray.get_runtime_context().get_node_id(), os.environ.get("CUDA_VISIBLE_DEVICES", "")


def told(turn):
    """Return what a period did, as JSON."""
    return {
        "unavailable": turn.unavailable,
        "done": [[outcome.command.text, outcome.status, outcome.message] for each in turn.rounds for outcome in each.applied.outcomes],
        "capacity": [sum(pool.capacity["gpu"] for pool in each.state.pools) for each in turn.rounds],
        "reasons": [{job.id: job.reason.code for job in each.plan.jobs} for each in turn.rounds],
        "notes": [note for each in turn.rounds for note in each.notes],
    }


class Scenario:
    """One cluster, one loop."""

    def __init__(self, real):
        self.real = real
        self.scheduler, self.loop = self.controller(30)

    def settings(self, more="", timeout_seconds=30):
        text = CONFIGURATION.format(address=self.real.cluster.address, timeout_seconds=timeout_seconds)
        return read_settings(f"{text}{more}".encode(), "loop.toml")

    def controller(self, timeout_seconds):
        settings = self.settings(timeout_seconds=timeout_seconds)
        scheduler = RayScheduler(settings.scheduler)
        return scheduler, Controller(scheduler, settings, MemoryHere(), 60.0)

    def page(self):
        """Every command of the page but the installation, with its program saved as it says."""
        directory = Path(tempfile.mkdtemp())
        [program] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
        (directory / "rollout.py").write_text(program)
        found = []
        for line in commands_of(PAGE):
            if shlex.split(line)[0] == INSTALLS or MEASURES in line:
                continue
            ended = type_in(re.sub(r"^python\b", lambda _: sys.executable, line), directory, {"RAY_ADDRESS": self.real.cluster.address})
            found.append([line, ended.returncode, ended.stdout, ended.stderr[-2000:]])
            if "run.jsonl" in line:
                until(lambda: len(found_again().members()), 2)
        found_again().close()
        return {"commands": found}

    def swap(self):
        """Two groups whose load swaps, and the period after it."""
        self.a, self.b = (ElasticGroup(name, Worker, NEEDS, 1, 6) for name in ("a", "b"))
        self.load(4, 2)
        self.loop.turn()
        until(self.sizes, [4, 2])
        self.load(1, 5)
        period = told(self.loop.turn())
        until(self.sizes, [1, 5])
        where = ray.get([handle.where.remote() for group in (self.a, self.b) for handle in group.members().values()], timeout=30)
        return {"period": period, "where": where, "rest": told(self.loop.turn())}

    def lost_node(self):
        """The node of the only member of a group dies, with one of the other; the group has its turn once it counts for more."""
        [member] = self.a.members().values()
        place, _ = ray.get(member.where.remote(), timeout=30)
        [lost] = [node for node in self.real.nodes if node.node_id == place]
        self.real.cluster.remove_node(lost, allow_graceful=False)
        until(self.sizes, [0, 4])
        found = {"period": told(self.loop.turn()), "sizes": self.sizes()}
        found["weighed"] = told(Controller(self.scheduler, self.settings("[jobs.a]\nweight = 2.0\n"), MemoryHere(), 60.0).turn())
        until(self.sizes, [1, 3])
        found["rest"] = told(self.loop.turn())
        return found

    def others(self):
        """Somebody's own actor takes a card once there is room; a group of its name, a group that is gone, one whose actors cannot be made."""
        self.load(1, 2)
        self.loop.turn()
        theirs = ray.remote(Worker).options(num_gpus=1, num_cpus=0).remote()
        ray.get(theirs.where.remote(), timeout=60)
        found = {"sizes": self.sizes()}
        until(free_cards, 0)
        found["beside"] = told(self.loop.turn())
        ray.kill(theirs)
        try:
            ElasticGroup("a", Worker, NEEDS, 1, 9)
        except InputError as error:
            found["clash"] = str(error)
        again = ElasticGroup("a", Worker, NEEDS, 1, 6)
        found["again"] = [again.target, len(again.members())]
        gone = self.scheduler.perform(Command(key="ray/group/gone", job="gone", text="gone", arguments=("target", "gone", "1", "h100")))
        found["gone"] = [gone.status, gone.message]
        command = Command(key="ray/autoscaler", text="room", arguments=("bundles", json.dumps([[{"GPU": 1}, 3]])))
        found["asked"] = [self.scheduler.perform(command).status, look().bundles]
        failing = ElasticGroup("failing", Worker, NEEDS, 1, 1, args=("no weights",))
        failing.report(demand=1)
        until(free_cards, 1)
        found["starts"] = told(self.loop.turn())
        until(free_cards, 1)
        time.sleep(1.0)
        found["failing"] = told(self.loop.turn())
        failing.close()
        found["finished"] = self.finished()
        return found

    def finished(self):
        """A member that has a method for it finishes what it is at before it is stopped."""
        file = Path(tempfile.mkdtemp()) / "finished"
        polite = ElasticGroup("polite", Worker, NEEDS, 1, 1, kwargs={"file": str(file)}, stop="finish")
        arguments = [("target", "polite", str(n), "h100") for n in (1, 0)]
        grow, shrink = (Command(key="ray/group/polite", text="polite", arguments=each) for each in arguments)
        self.scheduler.perform(grow)
        until(lambda: len(polite.members()), 1)
        [member] = polite.members().values()
        work = member.work.remote(1.0)
        status = self.scheduler.perform(shrink).status
        ray.get(work, timeout=10)
        polite.close()
        return [status, file.read_text()]

    def gang(self):
        """A group of gangs grows by whole gangs, and one that loses an actor is swept away and started anew."""
        self.b.close()
        gang = ElasticGroup("gang", Worker, {"GPU": 0.5, "CPU": 1}, 2, 4, unit=2)
        gang.report(demand=3)
        self.load(1, None)
        until(free_cards, 3)
        first = told(self.loop.turn())
        until(lambda: len(gang.members()), 4)
        before = sorted(map(list, gang.members()))
        ray.kill(gang.members()[1, 1])
        until(lambda: len(gang.members()), 2)
        swept = told(self.loop.turn())
        until(lambda: len(gang.members()), 4)
        for handle in gang.members().values():
            ray.kill(handle)
        until(lambda: len(gang.members()), 0)
        dead = told(self.loop.turn())
        until(lambda: len(gang.members()), 4)
        return {"dead": dead, "first": first, "before": before, "swept": swept, "after": sorted(map(list, gang.members())), "rest": told(self.loop.turn())}

    def down(self):
        """The cluster goes away under the loop."""
        scheduler, loop = self.controller(3)
        scheduler.observe()
        self.real.stop()
        return told(loop.turn())

    def load(self, a, b):
        for group, demand in ((self.a, a), (self.b, b)):
            if demand is not None:
                group.report(demand=demand)

    def sizes(self):
        return [len(self.a.members()), len(self.b.members())]


def free_cards():
    """Return how many cards nobody holds, as Ray says it."""
    return ray.available_resources().get("GPU", 0)


def found_again():
    """Return the page's group, as its program registers it."""
    return ElasticGroup("rollout", Worker, {"GPU": 1, "CPU": 1}, 1, 4)


def main(file):
    scenario, found = Scenario(RealRay().start()), {}
    for part in (scenario.page, scenario.swap, scenario.lost_node, scenario.others, scenario.gang, scenario.down):
        began = time.monotonic()
        found[part.__name__] = part()
        found[part.__name__]["seconds"] = round(time.monotonic() - began, 1)
        Path(file).write_text(json.dumps(found))
    scenario.scheduler.close()


if __name__ == "__main__":
    main(sys.argv[1])
