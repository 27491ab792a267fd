"""`libra-opt solve`: states in, verified plans out."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from libra_opt.adapters.files import STANDARD_STREAM, write_whole
from libra_opt.allocation import allocate
from libra_opt.cli.documents import changed_options, each, open_state, plan_targets
from libra_opt.cli.table import show_plan
from libra_opt.cli.terminal import Exit, printable, result, solvers_on_stderr
from libra_opt.domain import Plan, State, write

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Solve every state, then write every plan, then show or print them."""
    changes = changed_options(arguments)
    output = None if arguments.output == STANDARD_STREAM else arguments.output
    states = each(partial(open_state, changes=changes, pair=arguments.pair), arguments.files)
    targets = plan_targets(arguments.files, output)
    plans = list(_solve(arguments.files, states))
    write_whole({target: f"{write(plan)}\n" for target, plan in zip(targets, plans, strict=False)})
    if arguments.json or arguments.output == STANDARD_STREAM:
        for plan in plans:
            result(write(plan))
    else:
        for name, state, plan in zip(arguments.files, states, plans, strict=True):
            show_plan(name, state, plan, limit=None if arguments.all else 50)
    return Exit.DONE


def _solve(files: Sequence[str], states: Sequence[State]) -> Iterator[Plan]:
    """Yield one plan after another; a terminal's standard error shows which state is at work."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("", total=len(states))
        for name, state in zip(files, states, strict=True):
            progress.update(task, description=f"{printable(name)}, {len(state.jobs)} jobs")
            with solvers_on_stderr():
                plan = allocate(state)
            yield plan
            progress.advance(task)
