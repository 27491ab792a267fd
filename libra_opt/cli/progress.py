"""A bar on standard error while something long is at work; where that is no terminal, a line for each thing that is begun or done."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from libra_opt.cli.terminal import message, printable

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(n: int) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """Yield how to say what is at work, and that one of `n` things is done."""
    if not sys.stderr.isatty():
        yield message, lambda: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=n)
        yield lambda text: progress.update(task, description=printable(text)), lambda: progress.advance(task)
