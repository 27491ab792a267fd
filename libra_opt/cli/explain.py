"""`libra-opt explain`: why every job got what it got, or one job in full with the cheapest change that would have helped it."""

import argparse
import json
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from libra_opt.allocation import allocate
from libra_opt.cli.documents import changed_options, open_plan, open_state
from libra_opt.cli.explain_text import explanation_lines, number
from libra_opt.cli.table import certificate_lines
from libra_opt.cli.terminal import Exit, printable, result, solvers_on_stderr
from libra_opt.domain import Plan, State
from libra_opt.errors import Fault, InputError
from libra_opt.explanation import explain

__all__ = ["run"]

_WIDTH_OFF_TERMINAL = 180
_MOST_SHOWN = 50


def run(arguments: argparse.Namespace) -> int:
    """Explain all jobs in a table, or one in full."""
    if arguments.solves is not None and arguments.solves < 0:
        raise InputError("the command line", (Fault("--solves", f"{arguments.solves} is below 0; give how many states may be solved"),))
    state = open_state(arguments.state, changed_options(arguments))
    plan = open_plan(arguments.plan) if arguments.plan is not None else None
    if plan is not None and plan.state_digest != state.digest:
        raise InputError(arguments.plan, (Fault("state_digest", "is not that of this state; give the plan that was made for it, with the same options"),))
    with solvers_on_stderr():
        plan = plan or allocate(state)
        told = explain(state, arguments.job, plan, most_solves=arguments.solves) if arguments.job is not None else None
    if told is not None:
        result(told.model_dump_json() if arguments.json else "\n".join(map(printable, explanation_lines(told))))
    elif arguments.json:
        result(_as_json(plan))
    else:
        _show(state, plan, None if arguments.all else _MOST_SHOWN)
    return Exit.DONE


def _as_json(plan: Plan) -> str:
    jobs = [{"id": job.id, "action": job.action, "service": job.service, "reason": job.reason.model_dump(mode="json")} for job in plan.jobs]
    prices = [price.model_dump(mode="json") for price in plan.prices]
    return json.dumps({"jobs": jobs, "prices": prices, "certificate": plan.certificate.model_dump(mode="json")}, ensure_ascii=False)


def _show(state: State, plan: Plan, limit: int | None) -> None:
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDTH_OFF_TERMINAL, highlight=False, soft_wrap=False)
    console.print(_jobs(plan, limit))
    hidden = 0 if limit is None else len(plan.jobs) - limit
    if hidden > 0:
        console.print(Text(f"... and {hidden:,} more jobs; --all shows them"))
    console.print()
    console.print(_prices(state, plan))
    console.print()
    for line in certificate_lines(plan.certificate):
        console.print(Text(line))
    if plan.certificate.priced_bound is not None:
        console.print(Text(f"The prices alone prove that no plan is above {plan.certificate.priced_bound:.6f}; docs/reasons.md says what they promise."))


def _jobs(plan: Plan, limit: int | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for heading in ("job", "action", "service", "code", "Kueue", "bound by", "value wanted", "its price", "reason"):
        table.add_column(heading, justify="right" if heading in {"service", "value wanted", "its price"} else "left", overflow="fold")
    for job in plan.jobs if limit is None else plan.jobs[:limit]:
        reason = job.reason
        cells = (job.id, job.action, f"{100 * job.service:.1f} %", reason.code, reason.kueue_reason or "-", reason.binding.in_words if reason.binding else "-")
        worth = (number(reason.wanted_value), number(reason.wanted_price), reason.message)
        table.add_row(*(Text(printable(cell)) for cell in (*cells, *worth)))
    return table


def _prices(state: State, plan: Plan) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    units = {resource.name: resource.unit for resource in state.resources}
    for heading in ("one more unit of", "of", "resource", "adds at most"):
        table.add_column(heading, justify="right" if heading == "adds at most" else "left", overflow="fold")
    for price in plan.prices:
        per = f"{price.price:.6g} per {units.get(price.resource, '') or price.resource}"
        table.add_row(*(Text(printable(cell)) for cell in (price.kind.replace("_", " "), price.name, price.resource, per)))
    if not plan.prices:
        table.add_row(Text("nothing"), Text(""), Text(""), Text("0" if plan.certificate.priced_bound is not None else "not known: this back-end has no prices"))
    return table
