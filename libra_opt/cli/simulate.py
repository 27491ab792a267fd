"""`libra-opt simulate`: policies side by side on one workload."""

import argparse
import sys
from pathlib import Path
from typing import Final

from rich.console import Console

from libra_opt.adapters.files import STANDARD_STREAM, check_writable
from libra_opt.cli.grid import grid_of, process_faults, tasks_of
from libra_opt.cli.recorded import RECORDED_WORKLOAD, Recorded
from libra_opt.cli.running import run_tasks
from libra_opt.cli.simulate_table import show_groups
from libra_opt.cli.terminal import Exit, message, result
from libra_opt.domain.base import Value
from libra_opt.experiments.cell import Result
from libra_opt.experiments.storage import as_lines, check_results_file, write_results
from libra_opt.experiments.summary import MEANINGS, groups
from libra_opt.simulation.registry import BOUND, POLICIES
from libra_opt.simulation.workloads import WORKLOADS

__all__ = ["run"]

_WIDTH_OFF_TERMINAL: Final = 200


def run(arguments: argparse.Namespace) -> int:
    """Run every policy on every seed, show them side by side, and write what is asked for."""
    if arguments.list:
        result(_listing())
        return Exit.DONE
    grid = grid_of(arguments, is_sweep=False, faults=process_faults(arguments))
    if arguments.json not in (None, STANDARD_STREAM):
        check_writable(Path(arguments.json))
    if arguments.record is not None:
        check_results_file(Path(arguments.record))
    tasks = tasks_of(grid, timelines="first" if arguments.record is not None else "none")
    found: list[Result] = []
    n_failed = run_tasks(tasks, "local", arguments.jobs, found.append)
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
    return Exit.OUR_FAULT if n_failed else Exit.DONE


def _listing() -> str:
    lines = ["workloads, with what --set can set (and its default):"]
    kinds: dict[str, type[Value]] = {name: kind.parameters for name, kind in WORKLOADS.items()}
    kinds[f"{RECORDED_WORKLOAD} (with --traces DIR)"] = Recorded
    for name, parameters in kinds.items():
        lines.append(f"  {name}")
        for field, about in parameters.model_fields.items():
            default = about.get_default(call_default_factory=True)
            shown = f"{len(default)} of them, as JSON" if isinstance(default, tuple) else default
            lines.append(f"      {field}={shown}")
    lines += ["policies:", *(f"  {kind.name:<22}{kind.about}" for kind in POLICIES.values())]
    lines.append(f"  {BOUND:<22}the clairvoyant bound: what no allocator can pass")
    lines += ["meanings of throughput:", *(f"  {name:<22}{meaning.unit}" for name, meaning in MEANINGS.items())]
    return "\n".join(lines)
