"""What simulated runs came to, as people read it: means over seeds, ratios in pairs with their intervals."""

from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from libra_opt.cli.terminal import printable
from libra_opt.experiments.summary import MEANINGS, Curve, Group, Row, throughput
from libra_opt.simulation.comparison import Interval
from libra_opt.simulation.measures import Measures

__all__ = ["duration", "interval_text", "show_groups", "show_periods"]

_NONE: Final = "-"
_HOUR: Final = 3600.0
_MOST_ERROR: Final = 300


def show_groups(groups: Sequence[Group], console: Console) -> None:
    """Show every group: what was done, and at what price."""
    for i, group in enumerate(groups):
        if i:
            console.print()
        label = "synthetic" if group.synthetic else "recorded"
        seeds = sorted({result.cell.seed for row in group.rows for result in row.results})
        console.print(
            Text(printable(f"{group.setting} ({label}), period {group.period_seconds:g} s, {len(seeds)} seed{'s' if len(seeds) != 1 else ''}"), style="bold")
        )
        console.print(Text(f"throughput: {MEANINGS[group.meaning].unit}; means over seeds, intervals: paired bootstrap over seeds, 95 %"))
        console.print(_done(group))
        console.print()
        console.print(_price(group))
        for row in group.rows:
            for seed, error in row.errors:
                console.print(Text(printable(f"failed: {row.policy}, seed {seed}: {error[:_MOST_ERROR]}"), style="red"))


def show_periods(curves: Sequence[Curve], meaning: str, console: Console) -> None:
    """Show throughput over the period, policy by policy, and how much each period falls short of the best one."""
    for setting in dict.fromkeys(curve.setting for curve in curves):
        console.print()
        console.print(Text(printable(f"{setting}: {MEANINGS[meaning].unit}, by period"), style="bold"))
        table = _table("", ("period", "throughput", "95 % interval", "x best period", "95 % interval", ""))
        for curve in curves:
            if curve.setting == setting:
                for p, (period, value, against) in enumerate(zip(curve.periods, curve.values, curve.against_best, strict=True)):
                    table.add_row(curve.policy, f"{period:g} s", *interval_text(value), *interval_text(against), "best" if p == curve.best else "")
        console.print(table)


def _done(group: Group) -> Table:
    against = f"x {group.baseline}" if group.baseline is not None else "x -"
    table = _table("Done", ("throughput", against, "95 % interval", "seeds", "jobs done", "completion", "p95", "in system", "makespan", "on time"))
    for row in group.rows:
        values = [value for result in row.results if (value := throughput(result, group.meaning)) is not None]
        cells = [_number(_mean(values), 3), *interval_text(row.against), str(len(row.results))]
        if row.measured:
            m = row.measured
            cells += [
                f"{_mean([x.n_done for x in m]):.1f} of {_mean([x.n_jobs for x in m]):.1f}",
                duration(_mean_of(m, lambda x: x.completion_seconds_mean)),
                duration(_mean_of(m, lambda x: x.completion_seconds_p95)),
                duration(_mean_of(m, lambda x: x.stay_seconds_mean)),
                duration(_mean_of(m, lambda x: x.makespan_seconds)),
                _percent(_mean_of(m, lambda x: x.on_time)),
            ]
        else:
            ends = [result.bound.makespan_seconds for result in row.results if result.bound is not None and result.bound.makespan_seconds is not None]
            cells += [_NONE] * 4 + [duration(_mean(ends)), _NONE]
        table.add_row(row.policy, *cells)
    return table


def _price(group: Group) -> Table:
    resource = _first_resource(group.rows)
    headings = (
        f"{resource} granted",
        f"{resource} used",
        "queue",
        "p95",
        "most",
        "preempted",
        "resized",
        "migrated",
        "kills",
        "lost work",
        "moving",
        "Jain",
        "starved",
        "decide",
    )
    table = _table("Price (per run: counts, lost card-hours, seconds of all jobs without progress for moves; process time per decision)", headings)
    for row in group.rows:
        m = row.measured
        if not m:
            continue
        table.add_row(
            row.policy,
            _percent(_mean([x.utilisation[0].granted for x in m])),
            _percent(_mean([x.utilisation[0].used for x in m])),
            duration(_mean([x.queue_seconds_mean for x in m])),
            duration(_mean([x.queue_seconds_p95 for x in m])),
            duration(_mean([x.queue_seconds_max for x in m])),
            *(_number(_mean([getattr(x, name) for x in m]), 1) for name in ("n_preemptions", "n_resizes", "n_migrations", "n_kills", "lost_card_hours")),
            duration(_mean([x.moving_seconds for x in m])),
            _number(_mean([x.jain for x in m]), 3),
            _number(_mean([x.n_starved for x in m]), 1),
            f"{1000 * (_mean([x.deciding_seconds / max(1, x.n_periods) for x in m]) or 0):.1f} ms",
        )
    return table


def interval_text(found: Interval | None) -> tuple[str, str]:
    """Return an estimate and its interval as text."""
    if found is None:
        return _NONE, _NONE
    return f"{found.value:.3f}", _NONE if found.low is None or found.high is None else f"{found.low:.3f} .. {found.high:.3f}"


def duration(seconds: float | None) -> str:
    """Return seconds as people read them.

    Examples
    --------
    >>> duration(75.0), duration(7200.0), duration(None)
    ('75 s', '2.00 h', '-')
    """
    if seconds is None:
        return _NONE
    return f"{seconds / _HOUR:.2f} h" if seconds >= _HOUR else f"{seconds:.0f} s"


def _table(title: str, right: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("policy", no_wrap=True)
    for heading in right:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def _first_resource(rows: Sequence[Row]) -> str:
    return next((m.utilisation[0].resource for row in rows for m in row.measured), "resource")


def _mean_of(measured: Sequence[Measures], what: Callable[[Measures], float | None]) -> float | None:
    return _mean([value for each in measured if (value := what(each)) is not None])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _number(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f} %"
