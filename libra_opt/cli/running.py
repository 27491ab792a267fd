"""Cells run behind a progress bar."""

from collections.abc import Callable, Sequence

from libra_opt.cli.progress import progress_bar
from libra_opt.cli.terminal import message, solvers_on_stderr
from libra_opt.experiments.cell import Result
from libra_opt.experiments.engines import ENGINES
from libra_opt.experiments.run import Task

__all__ = ["run_tasks"]


def run_tasks(tasks: Sequence[Task], engine: str, n_processes: int, keep: Callable[[Result], None]) -> int:
    """Run tasks, hand over every result when it is there, say which failed, and return how many did."""
    failures: list[str] = []
    with solvers_on_stderr(), progress_bar(len(tasks)) as (tell, advance):
        for result in ENGINES[engine](tasks, n_processes):
            keep(result)
            cell = result.cell
            name = f"{cell.setting}, period {cell.period_seconds:g} s, {cell.policy}, seed {cell.seed}"
            tell(f"{name}: {'failed' if result.error is not None else 'done'}")
            advance()
            if result.error is not None:
                failures.append(f"failed: {name}: {result.error}")
    for failure in failures:
        message(failure)
    return len(failures)
