"""`libra-opt validate`: check documents without planning."""

import argparse
import io
from collections.abc import Iterator

from pydantic_core import from_json

from libra_opt.adapters.files import STANDARD_STREAM, read_bytes
from libra_opt.cli.documents import each, title
from libra_opt.cli.terminal import Exit, message, printable, result
from libra_opt.domain import read_plan, read_state
from libra_opt.domain.plan import PLAN_FORMAT
from libra_opt.recorder import Pair, is_recording, pairs_in, read_pairs

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Validate every document; one line for each, or every fault of every one."""
    for line in each(_describe, arguments.files):
        result(printable(line))
    return Exit.DONE


def _describe(name: str) -> str:
    content = read_bytes(name)
    if is_recording(content):
        return f"{name}: a valid recording of {sum(_checked(pair) for pair in _pairs(name, content))} pairs"
    if _is_plan(content):
        plan = read_plan(content, title(name))
        return f"{name}: a valid plan of {len(plan.jobs)} jobs"
    state = read_state(content, title(name))
    return f"{name}: a valid state of {len(state.jobs)} jobs, {len(state.pools)} pools, {len(state.queues)} queues"


def _pairs(name: str, content: bytes) -> Iterator[Pair]:
    return pairs_in(io.BytesIO(content), title(name), message) if name == STANDARD_STREAM else read_pairs(name, message)


def _checked(pair: Pair) -> int:
    """Read the state and the plan of a pair, which raises their faults; each pair counts as one."""
    pair.state()
    pair.plan()
    return 1


def _is_plan(content: bytes) -> bool:
    try:
        document = from_json(content)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("format") == PLAN_FORMAT
