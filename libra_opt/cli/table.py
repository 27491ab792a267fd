"""A plan as people read it: each job before and after, how full the pools are, and what is proven."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from libra_opt.cli.terminal import printable
from libra_opt.domain import Certificate, Ledger, Plan, PlannedJob, Resource, State

__all__ = ["certificate_lines", "show_plan"]

_WIDTH_OFF_TERMINAL: Final = 160
_STYLES: Final = {"admit": "green", "grow": "green", "shrink": "yellow", "reshape": "yellow", "migrate": "cyan", "evict": "red", "queue": "red", "keep": "dim"}
_TIERS: Final = {
    "protected_lost": "Protected jobs that could not be kept: worth {:.6g} per period (least possible: {:.6g}).",
    "over_budget_seconds": "Moves beyond the preemption budget: {:.6g} s (least possible: {:.6g} s).",
    "guarantee_shortfall": "Guarantees not met: {:.6g} of nominal quota, summed over queues and resources (least possible: {:.6g}).",
}


def show_plan(name: str, state: State, plan: Plan, limit: int | None) -> None:
    """Show a plan on standard output.

    Parameters
    ----------
    name
        How the state is called.
    state, plan
        A state and its verified plan.
    limit
        Most jobs to show; None shows all.
    """
    on_terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if on_terminal else _WIDTH_OFF_TERMINAL, highlight=False, soft_wrap=False)
    title = state.about.title if state.about is not None and state.about.title else ""
    console.print(Text(f"{printable(name)}: period {plan.period.index} of {plan.period.seconds:g} s", style="bold"))
    if title:
        console.print(Text(printable(title)))
    console.print(_jobs(state, plan, limit))
    hidden = 0 if limit is None else len(plan.jobs) - limit
    if hidden > 0:
        console.print(Text(f"... and {hidden:,} more jobs; --all shows them"))
    console.print()
    console.print(_utilisation(state, plan))
    console.print()
    if plan.ahead:
        console.print(_ahead(plan, plan.jobs if limit is None else plan.jobs[:limit]))
        console.print()
    for line in certificate_lines(plan.certificate):
        console.print(Text(line))
    for warning in plan.warnings:
        console.print(Text(f"Warning: {printable(warning)}", style="yellow"))
    console.print()


def certificate_lines(certificate: Certificate) -> list[str]:
    """Say in words how good a plan is, what is proven about it, and which tiers before the value gave way."""
    objective, bound, share = f"{certificate.objective:.6f}", f"{certificate.bound:.6f}", f"{100 * certificate.gap:.4f} %"
    proven = {
        "optimal": f"Proven optimal: value {objective}, and no plan is better (bound {bound}, gap {share}).",
        "within_gap": f"Proven within the gap asked for: value {objective}, none is above {bound} (gap {share}).",
        "feasible": f"Feasible: value {objective}, none is above {bound} (gap {share}); more effort may prove or find more.",
        "fallback": f"Fallback: value {objective} by a rule of thumb, none is above {bound} (gap {share}).",
    }[certificate.status]
    limit = f" Limit hit: {certificate.limit}." if certificate.limit else ""
    lines = [f"{proven} Back-end: {certificate.backend}.{limit}"]
    horizon = certificate.horizon
    if horizon is not None:
        lines.append(
            f"Looking ahead {horizon.periods} periods, {horizon.status.replace('_', ' ')}: worth {horizon.objective:.6f} together, and no plan of them is "
            f"above {horizon.bound:.6f} (gap {100 * horizon.gap:.4f} %); the line above speaks of the first period alone."
        )
    lines += [_TIERS[tier.name].format(tier.objective, tier.bound) for tier in certificate.tiers if tier.name in _TIERS and tier.objective > 0]
    return lines


def _jobs(state: State, plan: Plan, limit: int | None) -> Table:
    ledger = state.ledger
    rows_of = dict(zip(ledger.jobs, ledger.stage_of, strict=True))
    stages_of = {job.id: tuple(stage.name for stage in job.all_stages) for job in state.jobs}
    shown = plan.jobs if limit is None else plan.jobs[:limit]
    changes = [change for job in shown for change in _changes(ledger, job, rows_of[job.id], stages_of[job.id])]
    used = [r for r in range(ledger.n_resources) if any(before[r] or after[r] for *_, before, after in changes)]
    by_stage = any(len(stages_of[job.id]) > 1 for job in shown)
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for heading in ("job", *(("stage",) if by_stage else ()), "action", "pool"):
        table.add_column(heading, overflow="fold")
    for r in used:
        table.add_column(_heading(ledger.resources[r]), justify="right", no_wrap=True)
    table.add_column("service", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for job, first, stage, pool, before, after in changes:
        style = _STYLES[job.action]
        amounts = [_change(ledger.resources[r], before[r], after[r]) for r in used]
        head = [Text(printable(job.id) if first else ""), *([Text(printable(stage))] if by_stage else [])]
        tail = [Text(f"{100 * job.service:.1f} %" if first else ""), Text(printable(job.reason.message) if first else "")]
        table.add_row(*head, Text(job.action if first else "", style=style), Text(pool), *amounts, *tail)
    return table


_Change = tuple[PlannedJob, bool, str, str, tuple[int, ...], tuple[int, ...]]


def _changes(ledger: Ledger, job: PlannedJob, rows: range, names: Sequence[str]) -> Iterator[_Change]:
    """Yield a job's stages: the job, whether it is the first, stage, pools before and after, quanta before and after."""
    nothing = (0,) * ledger.n_resources
    planned = {stage.name: stage for stage in job.stages}
    for i, (s, name) in enumerate(zip(rows, names, strict=True)):
        here = "" if ledger.current_pool[s] < 0 else ledger.pools[ledger.current_pool[s]]
        stage = planned.get(name)
        after = nothing if stage is None else _quanta(ledger.resources, stage.resources)
        pools = [pool for pool in dict.fromkeys((here, "" if stage is None else stage.pool)) if pool]
        yield job, i == 0, name, " → ".join(printable(pool) for pool in pools), ledger.current[s] or nothing, after


def _quanta(resources: Sequence[Resource], amounts: Mapping[str, int | float | str]) -> tuple[int, ...]:
    return tuple(resource.quanta(amounts.get(resource.name, 0), round_up=False) for resource in resources)


def _heading(resource: Resource) -> Text:
    return Text(printable(f"{resource.name}\n{resource.unit}" if resource.unit else resource.name, keep_lines=True))


def _change(resource: Resource, before: int, after: int) -> Text:
    new = f"{float(after * resource.step):g}"
    if before == after:
        return Text(new, style="dim")
    return Text(f"{float(before * resource.step):g} → {new}")


def _ahead(plan: Plan, shown_jobs: Sequence[PlannedJob]) -> Table:
    """Show the service of every job in the periods planned together, and where it holds nothing."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("looking ahead", overflow="fold")
    for index in (plan.period.index, *(period.index for period in plan.ahead)):
        table.add_column(f"period {index}", justify="right", no_wrap=True)
    later = [{job.id: job.service for job in period.jobs} for period in plan.ahead]
    for job in shown_jobs:
        services = (job.service if job.stages else None, *(period.get(job.id) for period in later))
        table.add_row(Text(printable(job.id)), *(Text("-" if service is None else f"{100 * service:.1f} %") for service in services))
    return table


def _utilisation(state: State, plan: Plan) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for heading in ("pool", "resource", "", "used", "capacity"):
        table.add_column(heading, justify="right" if heading in {"used", "capacity"} else "left")
    for pool, capacity in zip(state.pools, state.ledger.capacity, strict=True):
        for r, resource in enumerate(state.resources):
            if capacity[r]:
                share = plan.utilisation[pool.name][resource.name] if pool.name in plan.utilisation else 0.0
                bar = ProgressBar(total=1.0, completed=share, width=24, complete_style="cyan", finished_style="cyan")
                amount = f"{float(capacity[r] * resource.step):g} {resource.unit}".strip()
                table.add_row(Text(printable(pool.name)), Text(printable(resource.name)), bar, f"{100 * share:.1f} %", Text(printable(amount)))
    return table
