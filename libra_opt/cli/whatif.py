"""`libra-opt whatif`: what a change of the state would do, job by job."""

import argparse
import json

from libra_opt.allocation import allocate
from libra_opt.cli.diff import show_difference
from libra_opt.cli.documents import changed_options, open_state
from libra_opt.cli.terminal import Exit, printable, result, solvers_on_stderr
from libra_opt.errors import Fault, InputError
from libra_opt.explanation import apply, difference

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Plan a state as it is and as it would be, and tell the difference."""
    if not arguments.set:
        raise InputError("the command line", (Fault("--set", "is missing; give at least one change, such as --set pools.a100.gpu=+8"),))
    before = open_state(arguments.state, changed_options(arguments))
    after = apply(before, arguments.set)
    with solvers_on_stderr():
        plans = allocate(before), allocate(after)
    found = difference(*plans)
    if arguments.json:
        result(json.dumps({"settings": arguments.set, "difference": found.model_dump(mode="json")}, ensure_ascii=False))
    else:
        for setting in arguments.set:
            result(printable(f"what if {setting}"))
        show_difference(found, limit=None if arguments.all else 50)
    return Exit.DONE
