"""`libra-opt workload`: a generated or composed workload as a document."""

import argparse

from libra_opt.cli.documents import deliver
from libra_opt.cli.grid import parameters_of
from libra_opt.cli.recorded import RECORDED_WORKLOAD, read_traces
from libra_opt.cli.terminal import Exit
from libra_opt.domain import write
from libra_opt.errors import Fault, InputError
from libra_opt.simulation.workloads import WORKLOADS, make

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Make one workload and print or write it."""
    faults: list[Fault] = []
    traces = None
    if arguments.name == RECORDED_WORKLOAD and arguments.traces is not None:
        traces = read_traces(arguments.traces)
    elif arguments.name == RECORDED_WORKLOAD:
        faults.append(Fault("--traces", f"is missing; {RECORDED_WORKLOAD!r} is made from traces, name the directory that holds a directory per source"))
    elif arguments.name not in WORKLOADS:
        faults.append(Fault("NAME", f"{arguments.name!r} is no workload; choose one of {', '.join((*WORKLOADS, RECORDED_WORKLOAD))}"))
    if arguments.seed < 0:
        faults.append(Fault("--seed", f"{arguments.seed} is negative; give 0 or more"))
    parameters = parameters_of(arguments.name, arguments.set or (), faults)
    if faults:
        raise InputError("the command line", tuple(faults))
    made = make(arguments.name, arguments.seed, **parameters) if traces is None else traces.workload(arguments.seed, parameters)
    deliver(write(made), arguments.output)
    return Exit.DONE
