"""`libra-opt diff`: what is different in a second plan; the exit code says whether it decides the same."""

import argparse
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from libra_opt.cli.documents import each, open_plan
from libra_opt.cli.terminal import Exit, printable, result
from libra_opt.explanation import Difference, JobChange, difference

__all__ = ["run", "show_difference"]

_WIDTH_OFF_TERMINAL = 180
_NONE = "-"


def run(arguments: argparse.Namespace) -> int:
    """Compare two plans; 0 where every job gets the same, 1 where not."""
    before, after = each(open_plan, (arguments.before, arguments.after))
    found = difference(before, after)
    if arguments.json:
        result(found.model_dump_json())
    else:
        show_difference(found, limit=None if arguments.all else 50)
    return Exit.DONE if found.is_same_decision else Exit.BROKEN


def show_difference(found: Difference, limit: int | None) -> None:
    """Show on standard output what is different; at most `limit` jobs, None for all."""
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDTH_OFF_TERMINAL, highlight=False, soft_wrap=False)
    if found.jobs:
        console.print(_jobs(found.jobs if limit is None else found.jobs[:limit]))
        hidden = 0 if limit is None else len(found.jobs) - limit
        if hidden > 0:
            console.print(Text(f"... and {hidden:,} more jobs; --all shows them"))
        console.print()
    console.print(_plans(found))
    same = "one job is" if found.n_same == 1 else f"{found.n_same:,} jobs are"
    decides = "Both give every job the same." if found.is_same_decision else "They do not give every job the same."
    console.print(Text(f"{decides} {len(found.jobs):,} told of above, {same} alike.{'' if found.is_same_state else ' They answer different states.'}"))


def _jobs(jobs: tuple[JobChange, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for heading in ("job", "action", "service", "pool", "amounts", "reason"):
        table.add_column(heading, overflow="fold")
    for job in jobs:
        by_stage = len({change.stage for change in job.amounts}) > 1
        amounts = ", ".join(f"{change.stage + ' ' if by_stage else ''}{change.resource} {change.before} → {change.after}" for change in job.amounts)
        services = [_NONE if service is None else f"{100 * service:.1f} %" for service in job.services]
        cells = (job.id, _arrow(*job.actions), _arrow(*services), _arrow(*(pool or _NONE for pool in job.pools)), amounts, _arrow(*job.codes))
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _plans(found: Difference) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for heading in ("", "before", "after", "change"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, (before, after) in (("value", found.value), ("bound", found.bound)):
        table.add_row(name, f"{before:.6f}", f"{after:.6f}", f"{after - before:+.6f}")
    table.add_row("gap", *(f"{100 * gap:.4f} %" for gap in found.gap), "")
    table.add_row("status", *found.status, "")
    return table


def _arrow(before: str | None, after: str | None) -> str:
    one, two = before or _NONE, after or _NONE
    return one if one == two else f"{one} → {two}"
