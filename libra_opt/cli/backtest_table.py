"""A backtest as people read it: what each set assumes, losses by set and method, intervals and needs, and what holds."""

import math
from collections.abc import Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from libra_opt.backtest import BASELINES, Backtest, ResourceResult, SetResult, judged, pooled
from libra_opt.backtest.summary import Scores, against_best, better_on, checks, need, of_set, ratio
from libra_opt.cli.terminal import printable

__all__ = ["show_backtest"]

_WIDTH_OFF_TERMINAL: Final = 200
_CLOSE: Final = 1.05


def show_backtest(found: Backtest, stream: TextIO) -> None:
    """Show a backtest on `stream`."""
    console = Console(file=stream, width=None if stream.isatty() else _WIDTH_OFF_TERMINAL, highlight=False, soft_wrap=False)
    for one in found.sets:
        _sources(console, one)
    console.print(Text(_how(found), style="dim"))
    console.print()
    console.print(_losses(found))
    console.print()
    console.print(_intervals(found))
    console.print()
    chosen = judged(found.methods)
    for rival in (method for method in found.methods if method in BASELINES and method != chosen):
        better, same, n_series = better_on(found, rival)
        console.print(Text(f"{chosen} has a lower loss than {rival} on {better} of {n_series} series, the same on {same}"))
    for check in checks(found):
        value = "infinite" if math.isinf(check.value) else f"{check.value:.4f}"
        console.print(Text(f"{'holds' if check.holds else 'FAILS'}  {check.name}: {value}", style="green" if check.holds else "red"))


def _sources(console: Console, one: SetResult) -> None:
    recording = one.recording
    kind = " (SYNTHETIC)" if recording.synthetic else ""
    seconds = f", periods of {recording.period_seconds:g} s" if recording.period_seconds else ""
    console.print(Text(printable(f"{recording.name}{kind}: {recording.title}{seconds}"), style="bold"))
    for name in ("recorded", "derived", "assumed"):
        for line in getattr(recording, name):
            console.print(Text(printable(f"  {name}: {line}"), style="dim"))
    left_out = [f"{each.resource}: {each.constant} constant, {each.short} too short" for each in one.resources if each.constant or each.short]
    if left_out:
        console.print(Text(printable(f"  series left out: {'; '.join(left_out)}"), style="dim"))
    console.print()


def _how(found: Backtest) -> str:
    return (
        f"Loss: mean pinball loss over the levels {found.levels[0]:g} to {found.levels[-1]:g}, {found.horizon} period(s) ahead, divided by the mean of the"
        " series over its whole record;"
        f" mean over the series. At most {found.most_origins} origins a series, evenly spaced over its second half, {found.window} periods of history at most."
        f" Interval: {found.interval[0]:g} to {found.interval[1]:g}. Series of one single value are left out."
    )


def _losses(found: Backtest) -> Table:
    chosen = judged(found.methods)
    rivals = [method for method in found.methods if method in BASELINES and method != chosen]
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, title="Loss, per set and resource", title_justify="left")
    for heading in ("set", "resource", "series", "values", *found.methods, f"{chosen} / best baseline", ""):
        table.add_column(Text(heading), justify="left" if heading in {"set", "resource", ""} else "right")
    for one in found.sets:
        parts: list[SetResult | ResourceResult] = [each for each in one.resources if each.labels]
        for part in parts if len(parts) > 1 else []:
            if isinstance(part, ResourceResult):
                table.add_row(Text(""), Text(printable(part.resource)), *_loss_cells(found, part, chosen, rivals))
        if parts:
            table.add_row(
                Text(printable(one.recording.name)),
                Text("all" if len(parts) > 1 else printable(one.resources[0].resource)),
                *_loss_cells(found, one, chosen, rivals),
                style="bold",
            )
    pool = pooled(found)
    for way, means in (("by series", pool.by_series), ("by set", pool.by_set)):
        cells = [Text(f"{means[method].loss:.4f}") for method in found.methods]
        against = ratio(means[chosen].loss, min(means[rival].loss for rival in rivals)) if rivals else math.nan
        table.add_row(Text(f"pooled {way}"), Text("all"), Text(""), Text(""), *cells, *_verdict(against), style="bold")
    return table


def _loss_cells(found: Backtest, part: SetResult | ResourceResult, chosen: str, rivals: list[str]) -> list[Text]:
    resources = part.resources if isinstance(part, SetResult) else (part,)
    n_series, n_values = sum(len(each.labels) for each in resources), sum(each.n_predictions for each in resources)
    losses = [Text(f"{of_set(part, method).loss:.4f}") for method in found.methods]
    return [Text(f"{n_series:,}"), Text(f"{n_values:,}"), *losses, *_verdict(against_best(part, chosen, rivals) if rivals else math.nan)]


def _verdict(against: float) -> list[Text]:
    if math.isnan(against):
        return [Text(""), Text("")]
    word, style = ("win", "green") if against < 1 else ("tie", "") if against == 1 else ("loss within 5 %", "yellow") if against <= _CLOSE else ("LOSS", "red")
    return [Text("infinite" if math.isinf(against) else f"{against:.3f}"), Text(word, style=style)]


def _intervals(found: Backtest) -> Table:
    chosen = judged(found.methods)
    table = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        show_edge=False,
        title=f"90 % interval of {chosen}, and the need at {found.coverage:g}",
        title_justify="left",
    )
    for heading in ("set", "resource", "covered", "ties shared out", "width", "need exceeded", "periods", "need over use"):
        table.add_column(Text(heading), justify="left" if heading in {"set", "resource"} else "right")
    for one in found.sets:
        parts = [each for each in one.resources if each.labels]
        for part in parts if len(parts) > 1 else []:
            table.add_row(Text(""), Text(printable(part.resource)), *_interval_cells(of_set(part, chosen)), *_need_cells([part]))
        if parts:
            what = "all" if len(parts) > 1 else printable(parts[0].resource)
            table.add_row(Text(printable(one.recording.name)), Text(what), *_interval_cells(of_set(one, chosen)), *_need_cells(parts), style="bold")
    pool = pooled(found)
    everything = [each for one in found.sets for each in one.resources]
    table.add_row(Text("pooled by series"), Text("all"), *_interval_cells(pool.by_series[chosen]), *_need_cells(everything), style="bold")
    table.add_row(Text("pooled by set"), Text("all"), *_interval_cells(pool.by_set[chosen]), *[Text("")] * 3, style="bold")
    return table


def _interval_cells(scores: Scores) -> list[Text]:
    return [Text(f"{100 * scores.covered:.1f} %"), Text(f"{100 * scores.calibrated:.1f} %"), Text(f"{scores.width:.3f}")]


def _need_cells(resources: Sequence[ResourceResult]) -> list[Text]:
    exceeded, periods, excess = need(resources)
    return [Text(f"{100 * exceeded / periods:.2f} %"), Text(f"{periods:,}"), Text(f"{100 * excess:+.1f} %")] if periods else [Text("")] * 3
