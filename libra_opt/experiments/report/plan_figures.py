"""The plots of one plan, as plotly figures in their JSON form."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from libra_opt.domain import Plan, PlannedJob
from libra_opt.experiments.report.figures import plain
from libra_opt.experiments.report.labels import labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["decisions", "utilisation", "wishes"]

_COLOURS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#994455", "#997700", "#6699cc", "#004488", "#eecc66")
_MOST_POOLS: Final = 40
_MOST_POINTS: Final = 2_000

Figure = dict[str, Any]


def utilisation(shares: Mapping[str, Mapping[str, float]]) -> Figure | None:
    """Return a group of bars per pool, one bar per resource; without pools nothing."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    pools = list(shares)[:_MOST_POOLS]
    resources = list(dict.fromkeys(resource for pool in pools for resource in shares[pool]))
    if not resources:
        return None
    figure, names = go.Figure(), labels(pools)
    for i, (resource, label) in enumerate(zip(resources, labels(resources), strict=True)):
        values = [shares[pool].get(resource) for pool in pools]
        figure.add_trace(go.Bar(y=names, x=values, name=label, orientation="h", marker={"color": _COLOURS[i % len(_COLOURS)]}))
    figure.update_layout(
        barmode="group",
        xaxis={"title": {"text": "share of capacity"}, "tickformat": ".0%", "range": [0, 1]},
        showlegend=True,
        height=140 + len(pools) * (20 + 14 * len(resources)),
    )
    return _by_name(figure)


def decisions(plan: Plan) -> Figure | None:
    """Return how many jobs each action has, stacked by the code of their reason; without jobs nothing."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    counts: dict[str, dict[str, int]] = {}
    for job in plan.jobs:
        by_action = counts.setdefault(job.reason.code, {})
        by_action[job.action] = by_action.get(job.action, 0) + 1
    if not counts:
        return None
    actions = sorted({job.action for job in plan.jobs})
    figure = go.Figure()
    for i, (code, label) in enumerate(zip(sorted(counts), labels(sorted(counts)), strict=True)):
        values = [counts[code].get(action, 0) for action in actions]
        figure.add_trace(go.Bar(y=actions, x=values, name=label, orientation="h", marker={"color": _COLOURS[i % len(_COLOURS)]}))
    figure.update_layout(barmode="stack", xaxis={"title": {"text": "jobs"}}, showlegend=True, height=160 + 34 * len(actions))
    return _by_name(figure)


def wishes(jobs: Sequence[PlannedJob]) -> Figure | None:
    """Return value over price of what jobs would rather have, with the line on which they are equal; nothing where no job wants more."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    found = [(job.id, job.reason.wanted_price, job.reason.wanted_value) for job in jobs if job.reason.wanted_price is not None][:_MOST_POINTS]
    points = [(name, price, value) for name, price, value in found if price is not None and value is not None]
    if not points:
        return None
    ends = [min(min(price, value) for _, price, value in points), max(max(price, value) for _, price, value in points)]
    figure = go.Figure(go.Scatter(x=ends, y=ends, mode="lines", name="value = price", line={"color": "#555", "dash": "dot", "width": 1}))
    figure.add_trace(
        go.Scatter(
            x=[price for _, price, _ in points],
            y=[value for *_, value in points],
            text=labels([name for name, *_ in points]),
            mode="markers",
            name="jobs",
            marker={"size": 8, "color": _COLOURS[0]},
            hovertemplate="%{text}: value %{y:.4g}, price %{x:.4g}<extra></extra>",
        )
    )
    figure.update_layout(xaxis={"title": {"text": "price of what it would rather have"}}, yaxis={"title": {"text": "value"}}, showlegend=True, height=420)
    return plain(figure)


def _by_name(figure: "go.Figure") -> Figure:
    figure.update_layout(yaxis={"type": "category", "autorange": "reversed"})
    return plain(figure)
