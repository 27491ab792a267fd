"""`libra-opt simulate`: policies side by side on one workload."""

import argparse
import sys
from pathlib import Path
from typing import Final

from rich.console import Console

from libra_opt.adapters.files import STANDARD_STREAM, check_writable
from libra_opt.cli.grid import grid_of, tasks_of
from libra_opt.cli.progress import progress_bar
from libra_opt.cli.simulate_table import show_groups
from libra_opt.cli.terminal import Exit, message, result, solvers_on_stderr
from libra_opt.errors import Fault, InputError
from libra_opt.experiments.cell import Result
from libra_opt.experiments.engines import ENGINES
from libra_opt.experiments.run import Task
from libra_opt.experiments.storage import as_lines, check_results_file, write_results
from libra_opt.experiments.summary import MEANINGS, groups, latest
from libra_opt.simulation.registry import BOUND, POLICIES
from libra_opt.simulation.workloads import WORKLOADS

__all__ = ["run", "run_tasks"]

_WIDTH_OFF_TERMINAL: Final = 200


def run(arguments: argparse.Namespace) -> int:
    """Run every policy on every seed, show them side by side, and write what is asked for."""
    if arguments.list:
        result(_listing())
        return Exit.DONE
    grid = grid_of(_checked(arguments), is_sweep=False)
    if arguments.json not in (None, STANDARD_STREAM):
        check_writable(Path(arguments.json))
    if arguments.record is not None:
        check_results_file(Path(arguments.record))
    tasks = tasks_of(grid, timelines="first" if arguments.record is not None else "none")
    found = run_tasks(tasks, "local", arguments.jobs)
    order = {task.cell.key: i for i, task in enumerate(tasks)}
    found.sort(key=lambda each: order[each.cell.key])
    shown = groups(found, arguments.throughput, arguments.against)
    stream = sys.stderr if arguments.json == STANDARD_STREAM else sys.stdout
    show_groups(shown, Console(file=stream, width=None if stream.isatty() else _WIDTH_OFF_TERMINAL, highlight=False))
    if arguments.record is not None:
        write_results(Path(arguments.record), found)
        message(f"results with timelines written to {arguments.record}; `libra-opt report {arguments.record} -o report.html` draws them")
    if arguments.json is not None:
        without = [each.model_copy(update={"timeline": None}) for each in found]
        if arguments.json == STANDARD_STREAM:
            result(as_lines(without).rstrip("\n"))
        else:
            write_results(Path(arguments.json), without)
    return Exit.OUR_FAULT if any(each.error is not None for each in latest(found)) else Exit.DONE


def run_tasks(tasks: list[Task], engine: str, n_processes: int) -> list[Result]:
    """Run tasks behind a progress bar and return their results as they were done."""
    found: list[Result] = []
    with solvers_on_stderr(), progress_bar(len(tasks)) as (tell, advance):
        for each in ENGINES[engine](tasks, n_processes):
            found.append(each)
            cell = each.cell
            tell(f"{cell.setting}, {cell.policy}, seed {cell.seed}: {'failed' if each.error is not None else 'done'}")
            advance()
    return found


def _checked(arguments: argparse.Namespace) -> argparse.Namespace:
    faults = []
    if arguments.workload is None:
        faults.append(Fault("WORKLOAD", f"is missing; choose one of {', '.join(WORKLOADS)}, name a file, or see --list"))
    if arguments.jobs < 1:
        faults.append(Fault("--jobs", f"{arguments.jobs} processes run nothing; give 1 or more"))
    if arguments.against not in POLICIES:
        faults.append(Fault("--against", f"{arguments.against!r} is no policy; known are {', '.join(POLICIES)}"))
    if faults:
        raise InputError("the command line", tuple(faults))
    return arguments


def _listing() -> str:
    lines = ["workloads, with what --set can set (and its default):"]
    for name, kind in WORKLOADS.items():
        lines.append(f"  {name}")
        for field, about in kind.parameters.model_fields.items():
            default = about.get_default(call_default_factory=True)
            shown = f"{len(default)} of them, as JSON" if isinstance(default, tuple) else default
            lines.append(f"      {field}={shown}")
    lines += ["policies:", *(f"  {kind.name:<22}{kind.about}" for kind in POLICIES.values())]
    lines.append(f"  {BOUND:<22}the clairvoyant bound: what no allocator can pass")
    lines += ["meanings of throughput:", *(f"  {name:<22}{meaning.unit}" for name, meaning in MEANINGS.items())]
    return "\n".join(lines)
