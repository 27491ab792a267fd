"""The process in which one thing is measured: ``python -m libra_opt.benchmark.child TASK ANSWER``, its request as JSON on standard input.

The answer goes to a file, so that nothing a solver prints can get into it.
"""

import os
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from libra_opt.benchmark.requests import MakeRequest, MeasureRequest, PeerRequest
from libra_opt.domain import write

__all__ = ["main"]

_SHARE_OF_MEMORY: Final = 0.5
"""A peer may take this much of the machine's memory and no more, so that none takes the machine down."""


def main() -> None:
    """Do the task that the command line names."""
    task, answer = sys.argv[1:]
    Path(answer).write_text(_TASKS[task](sys.stdin.read()), encoding="utf-8")


def _make(text: str) -> str:
    from libra_opt.benchmark.cases import make_state  # noqa: PLC0415 - each task imports what it needs

    request = MakeRequest.model_validate_json(text)
    return write(make_state(request.case, request.effort, request.gap))


def _measure(text: str) -> str:
    from libra_opt.benchmark.measure import measure  # noqa: PLC0415

    return measure(Path(MeasureRequest.model_validate_json(text).document).read_bytes()).model_dump_json()


def _peer(text: str) -> str:
    from libra_opt.benchmark.peers import run_peer  # noqa: PLC0415

    physical = resource.getpagesize() * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (int(_SHARE_OF_MEMORY * physical), resource.RLIM_INFINITY))
    return run_peer(PeerRequest.model_validate_json(text)).model_dump_json()


_TASKS: Final[Mapping[str, Callable[[str], str]]] = {"make": _make, "measure": _measure, "peer": _peer}


if __name__ == "__main__":
    main()
