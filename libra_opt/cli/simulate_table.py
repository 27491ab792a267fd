"""What simulated runs came to, on a terminal."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from libra_opt.cli.terminal import printable
from libra_opt.experiments.summary import Curve, Group
from libra_opt.experiments.tables import TextTable, done_table, failures, heading, period_table, price_table

__all__ = ["show_groups", "show_periods"]

_MOST_OF_ERROR: Final = 300


def show_groups(groups: Sequence[Group], console: Console) -> None:
    """Show every group: what was done, and at what price."""
    for i, group in enumerate(groups):
        if i:
            console.print()
        console.print(Text(printable(heading(group)), style="bold"))
        for table in (done_table(group), price_table(group)):
            if table.rows:
                console.print()
                console.print(_shown(table))
        for failure in failures(group):
            console.print(Text(printable(failure[:_MOST_OF_ERROR]), style="red"))


def show_periods(curves: Sequence[Curve], meaning: str, console: Console) -> None:
    """Show throughput over the period, setting by setting."""
    for setting in dict.fromkeys(curve.setting for curve in curves):
        console.print()
        console.print(Text(printable(setting), style="bold"))
        console.print(_shown(period_table([curve for curve in curves if curve.setting == setting], meaning)))


def _shown(table: TextTable) -> Table:
    shown = Table(title=Text(table.caption), title_justify="left", title_style="", box=None, pad_edge=False, header_style="bold", show_edge=False)
    shown.add_column(table.headings[0], no_wrap=True)
    for name in table.headings[1:]:
        shown.add_column(Text(printable(name)), justify="right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown
