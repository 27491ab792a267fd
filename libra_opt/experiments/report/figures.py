"""The plots, as plotly figures in their JSON form; the only door to plotly, which is an extra.

Figures of one run share its grid of times: traces without `x` get it in the browser, so that it is there once.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from libra_opt.experiments.report.labels import labels
from libra_opt.experiments.summary import MEANINGS, Curve, Group
from libra_opt.experiments.timeline import JobTimeline, Timeline
from libra_opt.simulation.comparison import Interval

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["allocation", "comparison", "grid", "jobs", "period_curve", "plain", "queue", "utilisation"]

_COLOURS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#994455", "#997700", "#6699cc", "#004488", "#eecc66")
_MOST_JOBS: Final = 40
_MOST_ROWS: Final = 80
_HOUR: Final = 3600.0
_WAITS: Final = -1.0
_EVENTS: Final = (
    ("kills", "x", "#cc3311", "killed for want of memory"),
    ("evict", "triangle-down", "#ee7733", "preempted"),
    ("migrate", "diamond", "#0077bb", "migrated"),
)
_SERVICE_SCALE: Final = ((0.0, "#f2d8a0"), (0.4999, "#f2d8a0"), (0.5, "#eef4fb"), (1.0, "#084594"))

Figure = dict[str, Any]


def comparison(group: Group) -> Figure | None:
    """Return every policy's throughput over that of the baseline, with its interval; without a baseline nothing."""
    rows = [(row.policy, row.against) for row in reversed(group.rows) if row.against is not None]
    if not rows:
        return None
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    found = [against for _, against in rows]
    figure = go.Figure(
        go.Scatter(
            x=[each.value for each in found],
            y=labels([policy for policy, _ in rows]),
            mode="markers",
            marker={"size": 10, "color": _COLOURS[0]},
            error_x={"type": "data", "symmetric": False, "array": [_above(each) for each in found], "arrayminus": [_below(each) for each in found]},
            hovertemplate="%{y}: %{x:.3f}<extra></extra>",
        )
    )
    figure.add_vline(x=1, line={"color": "#555", "dash": "dot", "width": 1})
    unit = MEANINGS[group.meaning].unit
    figure.update_layout(xaxis_title=f"{unit}, over that of {labels([group.baseline or ''])[0]}", yaxis_type="category", height=120 + 34 * len(rows))
    return plain(figure)


def period_curve(curves: Sequence[Curve], meaning: str) -> Figure:
    """Return throughput over the period, one line a policy, with intervals; the best period of each is marked."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    figure = go.Figure()
    for i, (curve, name) in enumerate(zip(curves, labels([curve.policy for curve in curves]), strict=True)):
        figure.add_trace(
            go.Scatter(
                x=list(curve.periods),
                y=[value.value for value in curve.values],
                error_y={"type": "data", "symmetric": False, "array": [_above(v) for v in curve.values], "arrayminus": [_below(v) for v in curve.values]},
                mode="lines+markers",
                marker={"size": [13 if p == curve.best else 7 for p in range(len(curve.periods))]},
                line={"color": _COLOURS[i % len(_COLOURS)]},
                name=name,
            )
        )
    ticks = sorted({period for curve in curves for period in curve.periods})
    figure.update_layout(
        xaxis={
            "title": {"text": "rebalancing period, s (logarithmic; the largest marker is the best)"},
            "type": "log",
            "tickvals": ticks,
            "ticktext": [f"{t:g}" for t in ticks],
        },
        yaxis={"title": {"text": MEANINGS[meaning].unit}, "rangemode": "tozero"},
        showlegend=True,
        height=420,
    )
    return plain(figure)


def grid(timeline: Timeline) -> list[float]:
    """Return the beginnings of all periods and the end of the last, in hours."""
    ends = [timeline.begins[-1] + timeline.seconds[-1]] if timeline.begins else []
    return [round(at / _HOUR, 5) for at in (*timeline.begins, *ends)]


def allocation(timeline: Timeline, r: int) -> Figure:
    """Return what every job was granted of one resource, stacked, under the capacity; and what all of them used."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    n = len(timeline.begins)
    ranked = sorted(timeline.jobs, key=lambda job: -sum(row[r] for row in job.granted))
    shown = [job for job in timeline.jobs if job in ranked[:_MOST_JOBS]]
    figure = go.Figure()
    for i, (job, name) in enumerate(zip(shown, labels([job.id for job in shown]), strict=True)):
        figure.add_trace(_layer(_held(job, r, n), name, _COLOURS[i % len(_COLOURS)]))
    if len(ranked) > _MOST_JOBS:
        rest = [sum(column) for column in zip(*(_held(job, r, n) for job in ranked[_MOST_JOBS:]), strict=True)]
        figure.add_trace(_layer(rest, f"{len(ranked) - _MOST_JOBS} more", "#dddddd"))
    used = [sum(job.used[t - job.first][r] for job in timeline.jobs if job.first <= t < job.first + len(job.used)) for t in range(n)]
    figure.add_trace(go.Scatter(y=_stepped(used), name="used by all", line={"color": "#000", "width": 1.5, "dash": "dot", "shape": "hv"}, mode="lines"))
    capacity = [row[r] for row in timeline.capacity]
    figure.add_trace(go.Scatter(y=_stepped(capacity), name="capacity", line={"color": "#000", "width": 1.5, "shape": "hv"}, mode="lines"))
    figure.update_layout(
        yaxis={"title": {"text": f"{timeline.resources[r]}, {timeline.units[r]}"}, "rangemode": "tozero"}, showlegend=True, height=460, hovermode="x"
    )
    return _timed(figure)


def jobs(timeline: Timeline) -> Figure:
    """Return the service of every job as a map over time, sand-coloured where it waits, with kills, preemptions and migrations marked."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    shown, n = timeline.jobs[:_MOST_ROWS], len(timeline.begins)
    names = labels([job.id for job in shown])
    figure = go.Figure(
        go.Heatmap(
            z=[_service(job, n) for job in shown],
            y=names,
            zmin=-1,
            zmax=1,
            colorscale=[list(stop) for stop in _SERVICE_SCALE],
            colorbar={"tickvals": [-0.75, 0, 0.5, 1], "ticktext": ["waits", "0", "0.5", "1"], "title": {"text": "service"}},
            hovertemplate="%{y}, at %{x:.2f} h: %{z:.2f}<extra></extra>",
            ygap=1,
        )
    )
    for kind, symbol, colour, name in _EVENTS:
        places = [
            (label, _middle(timeline, job.first + t))
            for job, label in zip(shown, names, strict=True)
            for t in range(len(job.actions))
            if _happened(job, t, kind)
        ]
        marker = {"symbol": symbol, "color": colour, "size": 9, "line": {"width": 1, "color": "#fff"}}
        figure.add_trace(
            go.Scatter(x=[at for _, at in places], y=[label for label, _ in places], mode="markers", name=f"{name} ({len(places)})", marker=marker)
        )
    more = f" (the first {_MOST_ROWS} of {len(timeline.jobs)})" if len(timeline.jobs) > _MOST_ROWS else ""
    figure.update_layout(
        yaxis={"type": "category", "autorange": "reversed", "title": {"text": f"job{more}"}, "categoryorder": "array", "categoryarray": names},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        showlegend=True,
        height=160 + 18 * len(shown),
    )
    return _timed(figure)


def queue(timeline: Timeline) -> Figure:
    """Return how many jobs run and wait."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    n = len(timeline.begins)
    waiting, running = [0.0] * n, [0.0] * n
    for job in timeline.jobs:
        for t, action in enumerate(job.actions):
            (waiting if action in ("wait", "evict") else running)[job.first + t] += 1
    figure = go.Figure()
    for values, name, colour in ((running, "running", _COLOURS[0]), (waiting, "waiting", _COLOURS[1])):
        figure.add_trace(go.Scatter(y=_stepped(values), name=name, mode="lines", line={"shape": "hv", "color": colour}))
    figure.update_layout(yaxis={"title": {"text": "jobs"}, "rangemode": "tozero"}, showlegend=True, height=280)
    return _timed(figure)


def utilisation(timeline: Timeline) -> Figure:
    """Return the granted (dotted) and the used share of every resource."""
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    n = len(timeline.begins)
    figure = go.Figure()
    for r, name in enumerate(labels(timeline.resources)):
        for what, dash, width in (("granted", "dot", 1), ("used", "solid", 2)):
            shares = [0.0] * n
            for job in timeline.jobs:
                for t, row in enumerate(job.granted if what == "granted" else job.used):
                    capacity = timeline.capacity[job.first + t][r]
                    shares[job.first + t] += row[r] / capacity if capacity else 0.0
            line = {"shape": "hv", "dash": dash, "width": width, "color": _COLOURS[r % len(_COLOURS)]}
            visible = True if r == 0 else "legendonly"
            figure.add_trace(go.Scatter(y=_stepped([round(s, 4) for s in shares]), name=f"{name} {what}", mode="lines", line=line, visible=visible))
    figure.update_layout(yaxis={"title": {"text": "share of capacity"}, "tickformat": ".0%", "rangemode": "tozero"}, showlegend=True, height=320)
    return _timed(figure)


def _layer(held: Sequence[float], name: str, colour: str) -> "go.Scatter":
    import plotly.graph_objects as go  # noqa: PLC0415 - heavy, and an extra

    line = {"shape": "hv", "width": 0.5, "color": colour}
    return go.Scatter(y=_stepped(held), name=name, stackgroup="granted", mode="lines", line=line, fillcolor=colour, hoverinfo="name+y")


def _held(job: JobTimeline, r: int, n: int) -> list[float]:
    before, after = [0.0] * job.first, [0.0] * (n - job.first - len(job.granted))
    return [*before, *(row[r] for row in job.granted), *after]


def _service(job: JobTimeline, n: int) -> list[float | None]:
    row: list[float | None] = [None] * n
    for t, (action, service) in enumerate(zip(job.actions, job.service, strict=True)):
        row[job.first + t] = _WAITS if action in ("wait", "evict") else round(min(1.0, max(0.0, service)), 3)
    return row


def _happened(job: JobTimeline, t: int, kind: str) -> bool:
    return job.kills[t] > 0 if kind == "kills" else job.actions[t] == kind


def _middle(timeline: Timeline, t: int) -> float:
    return round((timeline.begins[t] + timeline.seconds[t] / 2) / _HOUR, 5)


def _stepped(values: Sequence[float]) -> list[float]:
    """Return values per period as the corners of a line of steps: the last one holds to the end."""
    return [round(value, 4) for value in (*values, *values[-1:])]


def _above(found: Interval) -> float:
    return 0.0 if found.high is None else found.high - found.value


def _below(found: Interval) -> float:
    return 0.0 if found.low is None else found.value - found.low


def _timed(figure: "go.Figure") -> Figure:
    figure.update_layout(xaxis={"title": {"text": "simulated time, h"}})
    return plain(figure)


def plain(figure: "go.Figure") -> Figure:
    """Return a figure as JSON takes it, in the style of all pages."""
    figure.update_layout(
        template="none",
        margin={"l": 70, "r": 20, "t": 24, "b": 50},
        font={"family": "system-ui, sans-serif", "size": 13},
        paper_bgcolor="#fff",
        plot_bgcolor="#fff",
        yaxis={"automargin": True},
    )
    return dict(figure.to_plotly_json())
