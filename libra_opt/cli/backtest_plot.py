"""A backtest as a picture: losses beside the baselines, calibration, and one series per set with what was predicted for it.

The only door to matplotlib, which is an extra; no window is opened and no global state of it is touched.
"""

import io
import math
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from libra_opt.backtest import BASELINES, LEVELS, Backtest, Example, SetResult, judged
from libra_opt.backtest.summary import of_set, ratio

__all__ = ["draw"]

_MOST_EXAMPLES: Final = 8
_DPI: Final = 130
_LARGEST_RATIO: Final = 2.5


def draw(found: Backtest, kind: str) -> bytes:
    """Return the picture of a backtest as a file of that kind (png, svg, pdf)."""
    scored = [each for each in found.sets if any(resource.labels for resource in each.resources)]
    examples = [named for each in scored if (named := _example(each)) is not None][:_MOST_EXAMPLES]
    n_rows = 1 + math.ceil(len(examples) / 2)
    figure = Figure(figsize=(13, 4 + 2.4 * (n_rows - 1)), layout="constrained", dpi=_DPI)
    grid = figure.add_gridspec(n_rows, 2, height_ratios=[1.7, *([1.0] * (n_rows - 1))])
    _losses(figure.add_subplot(grid[0, 0]), found, scored)
    _calibration(figure.add_subplot(grid[0, 1]), found, scored)
    for i, named in enumerate(examples):
        _series(figure.add_subplot(grid[1 + i // 2, i % 2]), *named)
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else None)
    return stream.getvalue()


def _losses(axes: Axes, found: Backtest, scored: list[SetResult]) -> None:
    """Draw one bar per method and set: its loss over that of the best baseline, cut where it is very large."""
    rivals = [method for method in found.methods if method in BASELINES]
    if not rivals:
        axes.set_title("no baseline was asked for")
        return
    width = 0.8 / len(found.methods)
    for m, method in enumerate(found.methods):
        against = [min(ratio(of_set(each, method).loss, min(of_set(each, rival).loss for rival in rivals)), _LARGEST_RATIO) for each in scored]
        places = [i + (m - (len(found.methods) - 1) / 2) * width for i in range(len(scored))]
        axes.bar(places, against, width, label=method, color="black" if method == judged(found.methods) else f"C{m}")
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xticks(
        range(len(scored)), [each.recording.name + (" (synthetic)" if each.recording.synthetic else "") for each in scored], rotation=15, fontsize=8
    )
    axes.set_ylabel(f"loss / best baseline (cut at {_LARGEST_RATIO:g})")
    axes.set_title("Pinball loss, lower is better")
    axes.set_ylim(0, 1.25 * _LARGEST_RATIO)
    axes.legend(fontsize=7, ncols=4, loc="upper left")


def _calibration(axes: Axes, found: Backtest, scored: list[SetResult]) -> None:
    """Draw, per set, how often what came was at or under each predicted quantile."""
    chosen = judged(found.methods)
    for each in scored:
        rows = [row for resource in each.resources for row in resource.methods[chosen].below]
        axes.plot(LEVELS, [sum(row[i] for row in rows) / len(rows) for i in range(len(LEVELS))], marker=".", linewidth=1, label=each.recording.name)
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    axes.set_xlabel("level of the predicted quantile")
    axes.set_ylabel("share of values at or under it")
    axes.set_title(f"Calibration of {chosen}, ties shared out")
    axes.legend(fontsize=7)


def _series(axes: Axes, name: str, example: Example) -> None:
    axes.fill_between(example.origin, example.low, example.high, color="C0", alpha=0.25, linewidth=0)
    axes.plot(example.origin, example.middle, color="C0", linewidth=1)
    axes.plot(example.origin, example.actual, color="black", marker=".", markersize=3, linewidth=0.5)
    axes.set_title(f"{name}, {example.label}: what came, median and 90 % interval", fontsize=8)
    axes.tick_params(labelsize=7)


def _example(one: SetResult) -> tuple[str, Example] | None:
    for resource in one.resources:
        if resource.example is not None:
            return f"{one.recording.name} {resource.resource} {resource.unit}".strip(), resource.example
    return None
