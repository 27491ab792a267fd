"""Results as tables of text, the same for terminals and for pages: means over seeds, ratios in pairs with their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from libra_opt.experiments.summary import MEANINGS, Curve, Group, Row, throughput
from libra_opt.simulation.comparison import Interval
from libra_opt.simulation.measures import Measures

__all__ = ["TextTable", "done_table", "duration", "failures", "heading", "period_table", "price_table", "utilisation_table"]

_NONE: Final = "-"
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table: what it shows, its columns, and its rows; the first column names the row."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def heading(group: Group) -> str:
    """Return what a group is, in a line."""
    kind = {True: "synthetic", False: "recorded", None: "source not stated"}[group.synthetic]
    return f"{group.setting} ({kind}), period {group.period_seconds:g} s, {_count(group.n_seeds, 'seed')}"


def done_table(group: Group) -> TextTable:
    """Return what every policy got done."""
    against = f"x {group.baseline}" if group.baseline is not None else "ratio"
    return TextTable(
        f"Done. Throughput: {MEANINGS[group.meaning].unit}. Means over seeds; intervals: bootstrap over paired seeds, 95 %.",
        ("policy", "throughput", against, "95 % interval", "seeds", "jobs done", "completion", "p95", "in system", "makespan", "on time"),
        tuple(_done(row, group) for row in group.rows),
    )


def price_table(group: Group) -> TextTable:
    """Return at what price: use of the first resource, queue delay, moves, kills, fairness, time to decide."""
    measured = [row for row in group.rows if row.measured]
    resource = next((row.measured[0].utilisation[0].resource for row in measured), "resource")
    counts = ("preempted", "resized", "migrated", "kills", "lost card-h")
    return TextTable(
        "Price. Per run: counts, card-hours lost to kills, seconds of all jobs without progress for moves; process time per decision.",
        ("policy", f"{resource} granted", f"{resource} used", "queue", "p95", "most", *counts, "moving", "Jain", "starved", "deciding"),
        tuple(_price(row) for row in measured),
    )


def utilisation_table(group: Group) -> TextTable:
    """Return granted and used share of every resource."""
    measured = [row for row in group.rows if row.measured]
    names = [each.resource for each in measured[0].measured[0].utilisation] if measured else []
    return TextTable(
        "Utilisation: granted / used share of capacity x time.",
        ("policy", *names),
        tuple(
            (
                row.policy,
                *(
                    f"{_percent(_mean([m.utilisation[r].granted for m in row.measured]))} / {_percent(_mean([m.utilisation[r].used for m in row.measured]))}"
                    for r in range(len(names))
                ),
            )
            for row in measured
        ),
    )


def period_table(curves: Sequence[Curve], meaning: str) -> TextTable:
    """Return throughput over the period, policy by policy, and what each period falls short of the best one."""
    rows = [
        (curve.policy, f"{period:g} s", *_interval(value), *_interval(against), "best" if p == curve.best else "")
        for curve in curves
        for p, (period, value, against) in enumerate(zip(curve.periods, curve.values, curve.against_best, strict=True))
    ]
    headings = ("policy", "period", "throughput", "95 % interval", "x best period", "95 % interval", "")
    return TextTable(f"By period. Throughput: {MEANINGS[meaning].unit}.", headings, tuple(rows))


def failures(group: Group) -> list[str]:
    """Return a line for every cell that failed."""
    return [f"failed: {row.policy}, seed {seed}: {error}" for row in group.rows for seed, error in row.errors]


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


def _done(row: Row, group: Group) -> tuple[str, ...]:
    values = [value for result in row.results if (value := throughput(result, group.meaning)) is not None]
    begin = (row.policy, _number(_mean(values), 3), *_interval(row.against), str(len(row.results)))
    m = row.measured
    if not m:
        ends = [result.bound.makespan_seconds for result in row.results if result.bound is not None and result.bound.makespan_seconds is not None]
        return (*begin, _NONE, _NONE, _NONE, _NONE, duration(_mean(ends)), _NONE)
    return (
        *begin,
        f"{_mean([x.n_done for x in m]):.1f} of {_mean([x.n_jobs for x in m]):.1f}",
        duration(_mean_of(m, lambda x: x.completion_seconds_mean)),
        duration(_mean_of(m, lambda x: x.completion_seconds_p95)),
        duration(_mean_of(m, lambda x: x.stay_seconds_mean)),
        duration(_mean_of(m, lambda x: x.makespan_seconds)) if all(x.makespan_seconds is not None for x in m) else _NONE,
        _percent(_mean_of(m, lambda x: x.on_time)),
    )


def _price(row: Row) -> tuple[str, ...]:
    m = row.measured
    counts = ("n_preemptions", "n_resizes", "n_migrations", "n_kills", "lost_card_hours")
    return (
        row.policy,
        _percent(_mean([x.utilisation[0].granted for x in m])),
        _percent(_mean([x.utilisation[0].used for x in m])),
        duration(_mean([x.queue_seconds_mean for x in m])),
        duration(_mean([x.queue_seconds_p95 for x in m])),
        duration(_mean([x.queue_seconds_max for x in m])),
        *(_number(_mean([getattr(x, name) for x in m]), 1) for name in counts),
        duration(_mean([x.moving_seconds for x in m])),
        _number(_mean([x.jain for x in m]), 3),
        _number(_mean([x.n_starved for x in m]), 1),
        f"{1000 * (_mean([x.deciding_seconds / max(1, x.n_periods) for x in m]) or 0):.1f} ms",
    )


def _interval(found: Interval | None) -> tuple[str, str]:
    if found is None:
        return _NONE, _NONE
    return f"{found.value:.3f}", _NONE if found.low is None or found.high is None else f"{found.low:.3f} .. {found.high:.3f}"


def _mean_of(measured: Sequence[Measures], what: Callable[[Measures], float | None]) -> float | None:
    return _mean([value for each in measured if (value := what(each)) is not None])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _number(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f} %"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
