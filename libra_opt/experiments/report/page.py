"""The page of results: policies compared, periods chosen, and runs period by period."""

from collections.abc import Sequence
from typing import Any, Final

from libra_opt.experiments.cell import Result
from libra_opt.experiments.report import figures
from libra_opt.experiments.report.elements import as_text, document, place, table
from libra_opt.experiments.report.labels import plain_text
from libra_opt.experiments.summary import MEANINGS, Curve, Group, groups, latest, period_curves
from libra_opt.experiments.tables import done_table, failures, heading, period_table, price_table, utilisation_table
from libra_opt.experiments.timeline import Timeline

__all__ = ["page"]

_OPEN_GROUPS: Final = 3
_NO_TIMELINES: Final = "<p>No run in the file has a timeline; <code>simulate --record</code> and <code>sweep</code> keep those of the first seed.</p>"
_REASONS: Final = (
    '<div class="wide"><table id="reasons"><caption>Decisions of the chosen period. Policies that make no plan give no reason.</caption><thead><tr>'
    + "".join(f'<th scope="col">{name}</th>' for name in ("job", "decision", "granted", "used", "service", "reason"))
    + "</tr></thead><tbody></tbody></table></div>"
)


def page(results: Sequence[Result], title: str, *, meaning: str = "work", baseline: str = "static_best") -> str:
    """Return the page of some results.

    Parameters
    ----------
    results
        Of cells; those with a timeline are drawn period by period.
    title
        What the page is called.
    meaning, baseline
        Which throughput is compared, and with which policy.
    """
    told = latest(results)
    shown, curves = groups(told, meaning, baseline), period_curves(told, meaning)
    runs = [result for result in told if result.timeline is not None]
    plots: dict[str, Any] = {}
    body = [
        f"<h1>{as_text(title)}</h1>",
        _introduction(told, shown, meaning, baseline),
        _comparison(shown, plots),
        _periods(curves, meaning, plots),
        _runs(runs, plots),
        _sources(runs),
    ]
    return document(title, "\n".join(part for part in body if part), plots, [_told(result) for result in runs])


def _introduction(results: Sequence[Result], shown: Sequence[Group], meaning: str, baseline: str) -> str:
    if not results:
        return "<p>There are no results in the file, so there is nothing to show.</p>"
    n_failed = sum(result.error is not None for result in results)
    kinds = {group.synthetic for group in shown}
    source = "All workloads are synthetic: generated from a seed, not measured. " if kinds == {True} else ""
    failed = f" <strong>{n_failed} of the cells failed</strong>; see below." if n_failed else ""
    return (
        f"<p>{len(results)} {'cell' if len(results) == 1 else 'cells'}: one policy on one workload with one seed and one period each.{failed} {source}"
        f"Throughput means <strong>{as_text(MEANINGS[meaning].unit)}</strong>; ratios are to <strong>{as_text(baseline)}</strong> on the same seeds.</p>"
    )


def _comparison(shown: Sequence[Group], plots: dict[str, Any]) -> str:
    if not shown:
        return ""
    parts = ["<h2>Comparison</h2>"]
    for i, group in enumerate(shown):
        is_open = " open" if i < _OPEN_GROUPS else ""
        parts.append(f"<details{is_open}><summary><h3>{as_text(heading(group))}</h3></summary>")
        figure = figures.comparison(group)
        if figure is not None:
            plots[f"comparison-{i}"] = figure
            parts.append(
                place(f"comparison-{i}", f"Throughput of each policy over that of {group.baseline}, with intervals; the figures are in the table below.")
            )
        parts += [table(each) for each in (done_table(group), price_table(group), utilisation_table(group)) if each.rows]
        parts += [f'<p class="failed">{as_text(line)}</p>' for line in failures(group)]
        parts.append("</details>")
    return "\n".join(parts)


def _periods(curves: Sequence[Curve], meaning: str, plots: dict[str, Any]) -> str:
    if not curves:
        return ""
    parts = ["<h2>Choosing the period</h2>"]
    for i, setting in enumerate(dict.fromkeys(curve.setting for curve in curves)):
        mine = [curve for curve in curves if curve.setting == setting]
        plots[f"period-{i}"] = figures.period_curve(mine, meaning)
        parts += [
            f"<h3>{as_text(setting)}</h3>",
            place(f"period-{i}", "Throughput over the rebalancing period, a line for each policy; the figures are in the table below."),
        ]
        parts.append(table(period_table(mine, meaning)))
    return "\n".join(parts)


def _runs(runs: Sequence[Result], plots: dict[str, Any]) -> str:
    if not runs:
        return f"<h2>Period by period</h2>\n{_NO_TIMELINES}"
    for i, result in enumerate(runs):
        timeline = result.timeline
        if timeline is not None:
            plots[f"run-{i}"] = {
                "grid": figures.grid(timeline),
                "allocation": [figures.allocation(timeline, r) for r in range(len(timeline.resources))],
                "queue": figures.queue(timeline),
                "utilisation": figures.utilisation(timeline),
                "jobs": figures.jobs(timeline),
            }
    options = "".join(f'<option value="{i}">{as_text(_name(result))}</option>' for i, result in enumerate(runs))
    return "\n".join(
        [
            "<h2>Period by period</h2>",
            f'<p><label>Run <select id="run">{options}</select></label> <label>Resource <select id="resource"></select></label></p>',
            "<h3>Allocation per job</h3>",
            place("allocation", "What every job was granted of the chosen resource over time, stacked, with the capacity and what was used."),
            "<h3>Jobs: service, waiting, kills, preemptions</h3>",
            place("jobs", "Service of every job over time, sand-coloured where it waits, with marks for kills, preemptions and migrations."),
            "<h3>Queue</h3>",
            place("queue", "How many jobs run and how many wait over time."),
            "<h3>Utilisation</h3>",
            "<p>A click on a name in the legend shows or hides it.</p>",
            place("utilisation", "Granted and used share of each resource over time."),
            "<h3>Why each job got what it got</h3>",
            '<p><label>Period <input type="range" id="period" min="0" value="0"></label> <output id="when" for="period"></output></p>',
            _REASONS,
            "<noscript><p>Plots and reasons need JavaScript; the tables above do not.</p></noscript>",
        ]
    )


def _sources(runs: Sequence[Result]) -> str:
    abouts = {about.model_dump_json(): about for result in runs if result.timeline is not None and (about := result.timeline.about) is not None}
    if not abouts:
        return ""
    parts = ["<h2>Where the workloads come from</h2>"]
    for about in abouts.values():
        parts.append(f"<h3>{as_text(about.title or 'untitled')}</h3>")
        if about.source:
            parts.append(f"<p>Source: {as_text(about.source)}</p>")
        for name, lines in (("Recorded", about.recorded), ("Assumed", about.assumed)):
            if lines:
                parts.append(f"<p>{name}:</p><ul>{''.join(f'<li>{as_text(line)}</li>' for line in lines)}</ul>")
    return "\n".join(parts)


def _told(result: Result) -> dict[str, Any]:
    """Return what the browser needs of a run for its table of reasons."""
    timeline: Timeline | None = result.timeline
    assert timeline is not None  # noqa: S101 - only runs that have one are told
    return {
        "resources": [plain_text(name) for name in timeline.resources],
        "units": [plain_text(unit) for unit in timeline.units],
        "begins": timeline.begins,
        "seconds": timeline.seconds,
        "plans": [None if note is None else [note.status, note.gap] for note in timeline.plans],
        "told": [plain_text(f"{told.message} ({told.code})") for told in timeline.told],
        "jobs": [
            {"id": plain_text(job.id), **job.model_dump(include={"first", "actions", "granted", "used", "service", "kills", "told"})} for job in timeline.jobs
        ],
    }


def _name(result: Result) -> str:
    cell = result.cell
    return f"{cell.policy}: {cell.setting}, period {cell.period_seconds:g} s, seed {cell.seed}"
