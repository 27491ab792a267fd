"""One task in a process of its own, with a limit on wall clock; whatever happens to it is an answer."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from libra_opt.domain.base import Value

__all__ = ["ONE_THREAD", "Ended", "isolated"]

ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Put over the environment of every child, so that libraries do not race each other for the cores."""

_CHILD: Final = (sys.executable, "-m", "libra_opt.benchmark.child")


@dataclass(frozen=True)
class Ended:
    """How a task ended: with the text it answered, or with a message that says why there is none."""

    outcome: Literal["done", "failed", "over_limit"]
    answer: str = ""
    message: str = ""


def isolated(task: str, request: Value, limit_seconds: float) -> Ended:
    """Do a task of `child` in a fresh process.

    Parameters
    ----------
    task, request
        Which task, and what it is given.
    limit_seconds
        Wall clock after which the process is killed.
    """
    with TemporaryDirectory() as place:
        answer = Path(place, "answer.json")
        try:
            ended = subprocess.run(  # noqa: S603 - our own module
                [*_CHILD, task, str(answer)],
                input=request.model_dump_json(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="backslashreplace",
                env={**os.environ, **ONE_THREAD},
                timeout=limit_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ended("over_limit", message=f"over {limit_seconds:g} s")
        if ended.returncode == -signal.SIGALRM:
            return Ended("over_limit", message="over its budget")
        if ended.returncode:
            return Ended("failed", message=_reason(ended.returncode, ended.stderr))
        return Ended("done", answer.read_text(encoding="utf-8"))


def _reason(code: int, stderr: str) -> str:
    """Return the last line a failed process wrote, or what ended it."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    lines = [line for line in stderr.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"ended with exit code {code}"
