"""The same state gives the same bytes: twice in one process, in other processes, with the other core busy; and the order of jobs does not matter."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from libra_opt.adapters.files import read_bytes
from libra_opt.allocation import allocate
from libra_opt.domain import read_state, write

INSTANCES = Path(__file__).parents[2] / "instances"
NAMES = ("tiny/r12-preemption-budget.json", "recorded/fgd2023-tight-budget.json", "recorded/fgd2023-two-hours.json", "scale/plain-200.json.gz")
SOLVE = "import sys; from libra_opt.cli import main; sys.exit(main(['solve', sys.argv[1], '--json']))"
SPIN = "import time\nend = time.monotonic() + 120\nwhile time.monotonic() < end: pass"


def solved(path: Path, seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run([sys.executable, "-c", SOLVE, str(path)], env=environment, capture_output=True, check=True, timeout=300).stdout  # noqa: S603


@pytest.mark.parametrize("name", NAMES)
def test_same_bytes_in_every_process_even_with_the_other_core_busy(name):
    path = INSTANCES / name
    state = read_state(read_bytes(str(path)), name)
    here = write(allocate(state))
    assert write(allocate(state)) == here
    calm = solved(path, "0")
    spinner = subprocess.Popen([sys.executable, "-c", SPIN])  # noqa: S603
    try:
        busy = solved(path, "4242")
    finally:
        spinner.kill()
        spinner.wait()
    assert calm == busy
    assert calm.decode().strip() == here


@pytest.mark.parametrize("name", NAMES)
def test_order_of_the_jobs_does_not_matter(name):
    state = read_state(read_bytes(str(INSTANCES / name)), name)
    jobs = list(state.jobs)
    Random(7).shuffle(jobs)
    plan, other = allocate(state), allocate(state.replace({"jobs": tuple(jobs)}))
    assert other.certificate == plan.certificate
    assert {job.id: job for job in other.jobs} == {job.id: job for job in plan.jobs}
