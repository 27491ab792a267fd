"""The page of one plan: how full the cluster is, why each job got what it got, and what one more unit of each limit would bring."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from libra_opt.domain import Plan, PlannedJob, State
from libra_opt.experiments.report import plan_figures
from libra_opt.experiments.report.elements import as_text, document, place, table
from libra_opt.experiments.tables import TextTable

__all__ = ["plan_page"]

_NONE: Final = "-"
_MOST_JOBS: Final = 5_000
_TIERS: Final = {
    "protected_lost": "Protected jobs that could not be kept are worth {:.6g} per period.",
    "over_budget_seconds": "Moves cost {:.6g} s more than the preemption budget.",
    "guarantee_shortfall": "Guarantees are short by {:.6g} of nominal quota, summed over queues and resources.",
}


def plan_page(plan: Plan, title: str, state: State | None = None) -> str:
    """Return the page of one plan.

    Parameters
    ----------
    plan
        The plan.
    title
        What the page is called.
    state
        The state it answers; with it amounts have their units, and jobs what they held before.
    """
    plots: dict[str, Any] = {}
    body = [f"<h1>{as_text(title)}</h1>", *_summary(plan, state)]
    for key, heading, says, figure in (
        ("utilisation", "Utilisation", "Share of the capacity that is handed out, by pool and resource; the figures are in the table below.", _utilisation),
        ("decisions", "Decisions", "How many jobs there are of each action, by the code of their reason.", plan_figures.decisions),
        ("wishes", "Value wanted and its price", "Of every job that would rather have more, what that is worth over what it takes from others.", _wishes),
    ):
        drawn = figure(plan)
        if drawn is not None:
            plots[key] = drawn
            body += [f"<h2>{as_text(heading)}</h2>", f"<p>{as_text(_ABOUT.get(key, says))}</p>", place(key, says)]
            body += [table(_utilisation_table(plan, state))] if key == "utilisation" else []
    body += ["<h2>Shadow prices</h2>", *_prices(plan, state), "<h2>Jobs</h2>", *_jobs(plan, state)]
    body += ["<h2>Warnings</h2>", *(f'<p class="failed">{as_text(warning)}</p>' for warning in plan.warnings)] if plan.warnings else []
    return document(title, "\n".join(body), plots)


_ABOUT: Final = {
    "utilisation": "What is handed out of every pool.",
    "decisions": "What the plan does to the jobs, and why.",
    "wishes": "A job on the line or below it is not given what it wants, as others bring more with the same; above it only whole amounts stand in the way.",
}


def _utilisation(plan: Plan) -> Any:
    return plan_figures.utilisation(plan.utilisation)


def _wishes(plan: Plan) -> Any:
    return plan_figures.wishes(plan.jobs)


def _summary(plan: Plan, state: State | None) -> Iterator[str]:
    certificate = plan.certificate
    proof = {
        "optimal": "proven optimal",
        "within_gap": "proven within the gap asked for",
        "feasible": "feasible; more effort may prove or find more",
        "fallback": "by a rule of thumb",
    }[certificate.status]
    running = sum(bool(job.stages) for job in plan.jobs)
    yield (
        f"<p>Period {plan.period.index} of {plan.period.seconds:g} s: {running} of {len(plan.jobs)} jobs run. Value {certificate.objective:.6f}, {proof}: "
        f"no plan is above {certificate.bound:.6f} (gap {100 * certificate.gap:.4f} %). Back-end: {as_text(certificate.backend)}.</p>"
    )
    if state is not None and state.about is not None and state.about.title:
        yield f"<p>{as_text(state.about.title)}{' Synthetic.' if state.about.synthetic else ''}</p>"
    for tier in certificate.tiers:
        if tier.name in _TIERS and tier.objective > 0:
            yield f'<p class="failed">{as_text(_TIERS[tier.name].format(tier.objective))}</p>'


def _utilisation_table(plan: Plan, state: State | None) -> TextTable:
    capacity = {} if state is None else {(pool.name, resource): amount for pool in state.pools for resource, amount in pool.capacity.items()}
    rows = [
        (pool, resource, f"{100 * share:.1f} %", *((str(capacity.get((pool, resource), 0)),) if state is not None else ()))
        for pool, shares in plan.utilisation.items()
        for resource, share in shares.items()
    ]
    return TextTable("Shares of the capacity that are handed out.", ("pool", "resource", "used", *(("capacity",) if state is not None else ())), tuple(rows))


def _prices(plan: Plan, state: State | None) -> Iterator[str]:
    certificate = plan.certificate
    if certificate.priced_bound is None:
        yield "<p>This back-end gives no prices.</p>"
        return
    yield (
        f"<p>What one more unit of a limit adds at most to {certificate.priced_bound:.6f}, the bound that the prices prove. A limit that is not listed is not "
        "scarce.</p>"
    )
    units = _units(state)
    rows = tuple(
        (price.kind.replace("_", " "), price.name or _NONE, price.resource, f"{price.price:.6g} per {units.get(price.resource) or 'unit'}")
        for price in plan.prices
    )
    if rows:
        yield table(TextTable("Prices in the unit of the value.", ("limit", "of", "resource", "price"), rows))


def _jobs(plan: Plan, state: State | None) -> Iterator[str]:
    before = {} if state is None else {job.id: {stage.name: stage.allocation for stage in job.all_stages} for job in state.jobs}
    shown = plan.jobs[:_MOST_JOBS]
    rows = tuple(_row(job, before.get(job.id, {}), has_before=state is not None) for job in shown)
    counted = ", ".join(f"{n} {action}" for action, n in sorted(Counter(job.action for job in plan.jobs).items()))
    more = f" The first {_MOST_JOBS} are shown." if len(plan.jobs) > _MOST_JOBS else ""
    headings = (
        "job",
        "action",
        *(("held",) if state is not None else ()),
        "holds",
        "service",
        "code",
        "Kueue",
        "bound by",
        "value wanted",
        "its price",
        "reason",
    )
    yield table(TextTable(f"{len(plan.jobs)} jobs: {counted or 'none'}.{more}", headings, rows), "reasons")


def _row(job: PlannedJob, before: Mapping[str, Any], *, has_before: bool) -> tuple[str, ...]:
    reason = job.reason
    held = "; ".join(_amounts(name, allocation.pool, allocation.resources, len(before)) for name, allocation in before.items() if allocation is not None)
    holds = "; ".join(_amounts(stage.name, stage.pool, stage.resources, len(job.stages)) for stage in job.stages)
    wanted = tuple(_NONE if value is None else f"{value:.6g}" for value in (reason.wanted_value, reason.wanted_price))
    told = (reason.code, reason.kueue_reason or _NONE, reason.binding.in_words if reason.binding else _NONE, *wanted, reason.message)
    return (job.id, job.action, *((held or _NONE,) if has_before else ()), holds or _NONE, f"{100 * job.service:.1f} %", *told)


def _amounts(stage: str, pool: str, resources: Mapping[str, Any], n_stages: int) -> str:
    amounts = ", ".join(f"{name} {amount}" for name, amount in resources.items() if amount)
    return f"{f'{stage}: ' if n_stages > 1 else ''}{amounts or 'nothing'} in {pool}"


def _units(state: State | None) -> dict[str, str]:
    return {} if state is None else {resource.name: resource.unit for resource in state.resources}
