"""The live page: one self-contained HTML file, written anew every period, that shows the plan in force, its reasons and what became of it."""

import time
from collections.abc import Iterable, Sequence
from html import escape

from libra_opt.controller.loop import Round, Turn
from libra_opt.controller.report import summary
from libra_opt.domain import PlannedJob

__all__ = ["page_of"]

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}
.bad{color:#a00000;font-weight:600}.dim{color:#555}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,td{border-color:#444}.bad{color:#ff8080}.dim{color:#aaa}}
"""


def page_of(turns: Sequence[Turn], seconds: float, *, is_dry: bool) -> str:
    """Return the page after the last of some turns, oldest first; it asks for itself again every period."""
    newest = turns[-1]
    planned = next((turn for turn in reversed(turns) if turn.rounds), None)
    parts = [
        f"<h1>libra-opt, period {newest.index}{', dry run' if is_dry else ''}</h1>",
        f"<p class=dim>{time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(newest.at))}, one period every {seconds:g} s</p>",
    ]
    if newest.unavailable:
        parts.append(f"<p class=bad role=status>No answer: {escape(newest.unavailable)}. Nothing more is done until there is one.</p>")
    if planned is not None:
        last = planned.rounds[-1]
        parts += [f"<h2>Plan of period {planned.index}</h2><p>{escape(summary(last.plan))}</p>", _jobs(last.plan.jobs), _done(planned.rounds, is_dry=is_dry)]
        parts.append(_list("Notes", last.notes))
        parts.append(_list("Warnings of the plan", last.plan.warnings))
    parts += [_setpoint(newest), _earlier(turns)]
    head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="{max(1, round(seconds))}"><meta name="viewport" content="width=device-width">'
    title = f"<title>libra-opt, period {newest.index}</title>"
    return f'<!doctype html>\n<html lang="en"><head>{head}{title}<style>{_STYLE}</style></head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _jobs(jobs: Iterable[PlannedJob]) -> str:
    rows = [[job.id, job.action, f"{100 * job.service:.0f} %", _holds(job), job.reason.message] for job in jobs]
    return _table(("job", "action", "served", "holds", "why"), rows)


def _holds(job: PlannedJob) -> str:
    held = ((stage, ", ".join(f"{name} {amount}" for name, amount in stage.resources.items() if amount)) for stage in job.stages)
    return "; ".join(f"{stage.name} in {stage.pool}: {amounts}" for stage, amounts in held)


def _done(rounds: Sequence[Round], *, is_dry: bool) -> str:
    rows = [["would be done", command.text, ""] for command in rounds[-1].commands] if is_dry else []
    for each in rounds:
        rows += [[outcome.status, outcome.command.text, outcome.message] for outcome in each.applied.outcomes]
        rows += [["held back", command.text, reason] for command, reason in each.applied.held_back]
    return "<h2>Commands</h2>" + (_table(("status", "command", "message"), rows) if rows else "<p>None: the cluster is as it should be.</p>")


def _setpoint(turn: Turn) -> str:
    setpoint = turn.setpoint
    rows = [
        ["price of moving", f"{setpoint.move_price:.3f}"],
        ["coverage of memory needs", f"{setpoint.coverage:.4f}"],
        ["margin on memory needs", f"{setpoint.margin:.3f}"],
        ["a waiting job's weight doubles in", f"{setpoint.ageing_seconds:.0f} s"],
        ["period that feedback proposes", f"{setpoint.period_seconds:g} s"],
    ]
    return "<h2>Setpoint</h2>" + _table(("what feedback tunes", "now"), rows)


def _earlier(turns: Sequence[Turn]) -> str:
    rows = []
    for turn in reversed(turns):
        outcome = turn.outcome.model_dump(exclude_none=True, exclude={"period_seconds"}) if turn.outcome is not None else {}
        told = ", ".join(f"{name} {value:g}" for name, value in outcome.items())
        rows.append([str(turn.index), turn.unavailable or (summary(turn.rounds[-1].plan) if turn.rounds else ""), told])
    return "<h2>Last periods</h2>" + _table(("period", "plan", "what came of the one before"), rows)


def _list(title: str, texts: Sequence[str]) -> str:
    return f"<h2>{escape(title)}</h2><ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f"<th scope=col>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
