"""`libra-opt export`: the program of a state, for another solver."""

import argparse
from importlib import import_module

from libra_opt.cli.documents import deliver, open_state
from libra_opt.cli.terminal import Exit

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Write the data for ``models/allocation.mod``, or the bundled program as LP or MPS."""
    state = open_state(arguments.state)
    if arguments.format == "mathprog-data":
        text = str(import_module("libra_opt.adapters.mathprog").write_data(state, import_module("libra_opt.forecast").forecast(state)))
    else:
        text = str(import_module("libra_opt.solvers.export").export_model(state, arguments.format))
    deliver(text.removesuffix("\n"), arguments.output)
    return Exit.DONE
