"""A small cluster in a file, and loops beside it."""

import json

from libra_opt.adapters.file_scheduler import FileScheduler
from libra_opt.controller import Controller, read_settings
from libra_opt.controller.keeping import MemoryHere
from libra_opt.domain import read_state

CLUSTER = {
    "format": "libra-opt/state/1",
    "pools": [{"name": "h100", "capacity": {"gpu": 8}}],
    "jobs": [
        {"id": "a", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "demand": {"gpu": 6}},
        {"id": "b", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "demand": {"gpu": 2}},
    ],
}


class Clock:
    """A clock that a test sets."""

    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


def put(directory, cluster=CLUSTER):
    """Write the cluster and return its path."""
    path = directory / "cluster.json"
    path.write_text(json.dumps(cluster))
    return path


def settings_of(path, text=""):
    return read_settings(f'[scheduler]\ncluster = "{path}"\n{text}'.encode(), "loop.toml", "file")


def controller(path, text="", *, scheduler=None, keeper=None, clock=None, **more):
    return Controller(scheduler or FileScheduler(path), settings_of(path, text), keeper or MemoryHere(), 60.0, clock=clock or Clock(), **more)


def change(path, job_id, **fields):
    """Change fields of a job in the file, as the job or its owner would."""
    document = json.loads(path.read_text())
    next(job for job in document["jobs"] if job["id"] == job_id).update(fields)
    path.write_text(json.dumps(document))


def cards(path):
    """Return the cards every job holds by the file."""
    state = read_state(path.read_bytes())
    return {job.id: job.allocation.resources.get("gpu", 0) if job.allocation is not None else 0 for job in state.jobs}


def journal(path):
    lines = path.with_name(f"{path.name}.journal").read_text().splitlines()
    return [json.loads(line) for line in lines]
