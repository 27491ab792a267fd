"""`libra-opt bench --objectives`: what policies cost beside weighted throughput, and how near their bounds they come."""

import argparse
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from libra_opt.adapters.files import STANDARD_STREAM, check_writable
from libra_opt.benchmark.cases import all_cases
from libra_opt.benchmark.objectives import ObjectiveRun, compare_objectives, median_ratio
from libra_opt.benchmark.results import Case, Settings
from libra_opt.cli.documents import deliver
from libra_opt.cli.progress import progress_bar
from libra_opt.cli.terminal import Exit

__all__ = ["run_objectives"]

_WIDTH: Final = 160
_TOLD: Final = ("unserved", "level", "value")


def run_objectives(arguments: argparse.Namespace, settings: Settings) -> int:
    """Measure every case of the settings under each objective by turns, show the table, and write JSON Lines where asked for."""
    if arguments.json not in (None, STANDARD_STREAM):
        check_writable(Path(arguments.json))
    cases = all_cases(settings)
    runs: tuple[ObjectiveRun, ...] = ()
    with progress_bar(len(cases)) as (tell, advance):
        for case in cases:
            runs += compare_objectives((case,), tuple(arguments.objectives), tell)
            advance()
    stream = sys.stderr if arguments.json == STANDARD_STREAM else sys.stdout
    Console(file=stream, width=None if stream.isatty() else _WIDTH, highlight=False).print(_table(runs, cases))
    if arguments.json is not None:
        deliver("\n".join(run.model_dump_json() for run in runs), arguments.json)
    return Exit.DONE


def _table(runs: tuple[ObjectiveRun, ...], cases: tuple[Case, ...]) -> Table:
    table = Table(title="Whole calls beside weighted throughput, time on the processor (ratio: median over the seeds)", box=None, title_justify="left")
    for heading in ("family", "jobs", "objective", "ratio", "least", "most", "tiers of the first seed: reached / bound"):
        table.add_column(heading)
    for family, n_jobs in dict.fromkeys((case.label, case.n_jobs) for case in cases):
        here = [run for run in runs if (run.family, run.n_jobs) == (family, n_jobs)]
        for objective in dict.fromkeys(run.objective for run in here):
            of_it = [run for run in here if run.objective == objective]
            tiers = "; ".join(f"{name} {reached:.6g} / {bound:.6g}" for name, reached, bound in of_it[0].tiers if name in _TOLD)
            ratios = (median_ratio(runs, family, n_jobs, objective), min(run.ratio for run in of_it), max(run.ratio for run in of_it))
            table.add_row(family, str(n_jobs), objective, *(f"{ratio:.2f}" for ratio in ratios), tiers)
    return table
