"""`libra-opt sweep`: a grid of policies, parameters, periods and seeds, on one machine or many, into one file that can be gone on with."""

import argparse
import sys
from pathlib import Path
from typing import Final

from rich.console import Console

from libra_opt.cli.grid import grid_of, process_faults, tasks_of
from libra_opt.cli.running import run_tasks
from libra_opt.cli.simulate_table import show_groups, show_periods
from libra_opt.cli.terminal import Exit, message
from libra_opt.experiments.engines import require
from libra_opt.experiments.journal import open_journal
from libra_opt.experiments.summary import groups, period_curves

__all__ = ["run"]

_WIDTH_OFF_TERMINAL: Final = 200


def run(arguments: argparse.Namespace) -> int:
    """Run what of the grid is not done yet, and show everything that the file holds of it."""
    grid = grid_of(arguments, is_sweep=True, faults=process_faults(arguments))
    tasks = tasks_of(grid, timelines=arguments.timelines)
    require(arguments.engine)
    try:
        with open_journal(Path(arguments.output)) as journal:
            done = journal.done()
            left = [task for task in tasks if task.cell.key not in done]
            if len(left) < len(tasks):
                message(f"{len(tasks) - len(left)} of {len(tasks)} cells are in {arguments.output} already")
            n_failed = run_tasks(left, arguments.engine, arguments.jobs, journal.add)
    except KeyboardInterrupt:
        message(f"interrupted; what was done is in {arguments.output}, and the same call goes on with the rest")
        return Exit.INTERRUPTED
    order = {task.cell.key: i for i, task in enumerate(tasks)}
    asked = sorted((each for each in journal.results if each.cell.key in order), key=lambda each: order[each.cell.key])
    shown = groups(asked, arguments.throughput, arguments.against)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH_OFF_TERMINAL, highlight=False)
    show_groups(shown, console)
    show_periods(period_curves(asked, arguments.throughput), arguments.throughput, console)
    message(f"results written to {arguments.output}")
    return Exit.OUR_FAULT if n_failed else Exit.DONE
