"""`libra-opt export`: the program of a state, for another solver."""

import argparse
from importlib import import_module

from libra_opt.cli.documents import deliver, open_state
from libra_opt.cli.terminal import Exit
from libra_opt.domain.policy_needs import DIVIDES
from libra_opt.errors import Fault, InputError

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Write the data for ``models/allocation.mod``, or the bundled program as LP or MPS."""
    state = open_state(arguments.state)
    objective = state.options.objective
    if objective in DIVIDES or (objective != "weighted_throughput" and arguments.format == "mathprog-data"):
        remedy = "export it with weighted_throughput" if objective in DIVIDES else "take the format lp or mps, or export it with weighted_throughput"
        raise InputError(arguments.state, (Fault("options.objective", f"is {objective}, which {arguments.format} does not state; {remedy}"),))
    if arguments.format == "mathprog-data":
        text = str(import_module("libra_opt.adapters.mathprog").write_data(state, import_module("libra_opt.forecast").forecast(state)))
    else:
        text = str(import_module("libra_opt.solvers.export").export_model(state, arguments.format))
    deliver(text.removesuffix("\n"), arguments.output)
    return Exit.DONE
