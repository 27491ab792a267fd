"""The benchmark's report as people read it."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from libra_opt.benchmark.report import PeerSummary, Report, Spread, Summary
from libra_opt.benchmark.results import PHASES
from libra_opt.cli.terminal import printable

__all__ = ["show_report"]

_NONE: Final = "-"
_WIDTH_OF_OUTCOME: Final = 60


def show_report(report: Report, console: Console) -> None:
    """Show a report: whole calls, phases, growth, peers, processes."""
    load = " and ".join(f"{value:.2f}" for value in report.machine.load)
    console.print(Text(f"{report.machine.n_cores} cores, Python {report.machine.python}; load average before and after: {load}"))
    console.print()
    console.print(_whole(report.summary))
    console.print()
    console.print(_phases(report.summary))
    if report.growth:
        console.print()
        console.print(_growth(report))
    if report.peer_summary:
        console.print()
        console.print(_peers(report.peer_summary))
    if report.processes is not None:
        console.print()
        times = report.processes
        console.print(
            Text(f"libra-opt --help: {times.help_seconds:.3f} s; libra-opt solve on two jobs: {times.solve_tiny_seconds:.3f} s (medians of {times.n_runs})")
        )


def _table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold", show_edge=False)
    for heading in left:
        table.add_column(heading, no_wrap=True, overflow="ellipsis", min_width=len(heading))
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _whole(summaries: Sequence[Summary]) -> Table:
    table = _table(
        "Whole calls (median, least and most over the seeds)",
        ("family",),
        ("jobs", "runs", "seconds", "least", "most", "cpu", "gap %", "worst %", "peak MiB", "status"),
    )
    for one in summaries:
        failed = f" ({one.n_failed} failed)" if one.n_failed else ""
        status = _shortened("; ".join(one.statuses))
        seconds, gap = one.whole_seconds, one.gap
        cells = [f"{seconds.median:.3f}", f"{seconds.least:.3f}", f"{seconds.most:.3f}"] if seconds is not None else [_NONE] * 3
        cells.append(_median(one.cpu_seconds, 3))
        cells += [f"{100 * gap.median:.4f}", f"{100 * gap.most:.4f}"] if gap is not None else [_NONE] * 2
        cells += [_median(one.peak_mib, 0), status]
        table.add_row(Text(printable(one.label)), f"{one.n_jobs:,}", f"{one.n_runs}{failed}", *(Text(cell) for cell in cells))
    return table


def _phases(summaries: Sequence[Summary]) -> Table:
    table = _table("Seconds by phase (medians)", ("family",), ("jobs", *PHASES))
    for one in summaries:
        if one.phases:
            table.add_row(Text(printable(one.label)), f"{one.n_jobs:,}", *(_median(one.phases[phase], 4) for phase in PHASES))
    return table


def _growth(report: Report) -> Table:
    table = _table("Growth of whole calls", ("family",), ("from", "to", "times", "exponent"))
    for one in report.growth:
        table.add_row(one.label, f"{one.n_jobs:,}", f"{one.next_n_jobs:,}", f"{one.factor:.2f}", f"{one.exponent:.2f}")
    return table


def _peers(summaries: Sequence[PeerSummary]) -> Table:
    table = _table(
        "Peers on the same states; seconds for model and solver, and for the solver alone; value and bound to our value; both times to our whole call",
        ("family", "peer"),
        ("jobs", "seconds", "solver", "gap %", "value", "bound", "x ours", "x solver", "outcome"),
    )
    for one in summaries:
        cells = [_number(one.seconds, 3), _number(one.solver_seconds, 3), _number(None if one.gap is None else 100 * one.gap, 4)]
        cells += [_number(one.objective_ratio, 5), _number(one.bound_ratio, 5)]
        cells += [_at_least(ratio, is_cut=one.n_cut > 0) for ratio in (one.times_ours, one.solver_times_ours)]
        table.add_row(Text(printable(one.label)), one.peer, f"{one.n_jobs:,}", *cells, Text(_shortened(one.outcome)))
    return table


def _shortened(text: str) -> str:
    return printable(text if len(text) <= _WIDTH_OF_OUTCOME else f"{text[:_WIDTH_OF_OUTCOME]}...")


def _median(spread: Spread | None, digits: int) -> str:
    return _number(None if spread is None else spread.median, digits)


def _at_least(ratio: float | None, *, is_cut: bool) -> str:
    return f">{_number(ratio, 1)}" if is_cut and ratio is not None else _number(ratio, 1)


def _number(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:,.{digits}f}"
