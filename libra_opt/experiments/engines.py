"""Who runs the cells: joblib on one machine, Ray on one or many. The engines are theirs; here is only how cells are handed over and results come back.

Results come back in the order in which they are done. A cell that fails says so in its result; so does one whose process died.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from libra_opt.errors import MissingExtraError
from libra_opt.experiments.cell import Result
from libra_opt.experiments.run import Task, failed, run_task

__all__ = ["ENGINES", "local", "ray", "require"]

_DIED: Final = "the process that ran it died, most likely for want of memory; run fewer at a time with --jobs"


def require(engine: str) -> None:
    """Raise `MissingExtraError` where the engine's package is not installed."""
    if engine == "ray" and find_spec("ray") is None:
        raise MissingExtraError("--engine ray needs Ray; install it with: pip install 'libra-opt[ray]'")


def local(tasks: Sequence[Task], n_processes: int) -> Iterator[Result]:
    """Run tasks with joblib, in this process where one is enough."""
    if n_processes == 1:
        yield from map(run_task, tasks)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415 - heavy, and one process needs none of it
    from joblib.externals.loky.process_executor import TerminatedWorkerError  # noqa: PLC0415

    left = dict(enumerate(tasks))
    try:
        for i, result in Parallel(n_jobs=n_processes, return_as="generator_unordered")(delayed(_numbered)(i, task) for i, task in enumerate(tasks)):
            del left[i]
            yield result
    except TerminatedWorkerError:
        for task in left.values():  # one at a time, each in a process of its own, to learn which of them it was
            try:
                yield from Parallel(n_jobs=2)([delayed(run_task)(task)])
            except TerminatedWorkerError:
                yield failed(task.cell, _DIED)


def ray(tasks: Sequence[Task], n_processes: int) -> Iterator[Result]:
    """Run tasks on the Ray cluster that RAY_ADDRESS names, or on one that is started here with so many processes, and ended afterwards.

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    """
    require("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it reports to its makers over the network otherwise
    import ray as theirs  # noqa: PLC0415 - heavy, and an extra

    if os.environ.get("RAY_ADDRESS"):
        theirs.init(log_to_driver=False, logging_level=logging.ERROR)
    else:
        theirs.init(address="local", num_cpus=n_processes, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        run = theirs.remote(num_cpus=1, max_retries=0)(run_task)
        pending = {run.remote(task): task for task in tasks}
        while pending:
            ready, _ = theirs.wait(list(pending), num_returns=1)
            for reference in ready:
                task = pending.pop(reference)
                try:
                    yield theirs.get(reference)
                except theirs.exceptions.RayError as error:
                    yield failed(task.cell, f"{type(error).__name__}: {error}")
    finally:
        theirs.shutdown()


def _numbered(i: int, task: Task) -> tuple[int, Result]:
    return i, run_task(task)


Engine = Callable[[Sequence[Task], int], Iterator[Result]]

ENGINES: Final[Mapping[str, Engine]] = MappingProxyType({"local": local, "ray": ray})
"""Every engine by its name: tasks and a number of processes in, results out."""
