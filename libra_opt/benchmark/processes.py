"""Whole processes and the machine they run on: what the command costs before and after its work."""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import numpy as np

from libra_opt.adapters.synthetic import generate
from libra_opt.benchmark.isolate import ONE_THREAD
from libra_opt.benchmark.report import Machine, ProcessTimes
from libra_opt.domain import write
from libra_opt.domain.frozen import FrozenMapping

__all__ = ["machine", "process_times"]

_COMMAND: Final = (sys.executable, "-c", "import sys; from libra_opt.cli import main; sys.exit(main())")
_LIBRARIES: Final = ("libra-opt", "numpy", "scipy", "ortools", "cvxpy", "pydantic")


def process_times(n_runs: int) -> ProcessTimes:
    """Return how long the command takes from start to end, median of `n_runs`."""
    with TemporaryDirectory() as place:
        state = Path(place, "state.json")
        state.write_text(write(generate("plain", 2, np.random.default_rng(0))), encoding="utf-8")
        return ProcessTimes(
            n_runs=n_runs,
            help_seconds=median(_seconds("--help") for _ in range(n_runs)),
            solve_tiny_seconds=median(_seconds("solve", str(state)) for _ in range(n_runs)),
        )


def machine(load: tuple[float, ...]) -> Machine:
    """Return what this machine and its libraries are called; `load` is the load average seen before and after."""
    return Machine(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        n_cores=os.cpu_count() or 1,
        versions=FrozenMapping({name: version(name) for name in _LIBRARIES}),
        load=load,
    )


def _seconds(*arguments: str) -> float:
    start = perf_counter()
    subprocess.run([*_COMMAND, *arguments], env={**os.environ, **ONE_THREAD}, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 - our own command
    return perf_counter() - start
