"""The bundle that a job would rather have at a plan's shadow prices, with what every part of it costs.

The job is encoded alone: its levels and what they hold depend on no other job, so all of them are there, however large the state.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from libra_opt.domain import Plan, PlannedJob, PlannedStage, State
from libra_opt.domain.queue_tree import way_up
from libra_opt.explanation.values import Part, WantedBundle

if TYPE_CHECKING:
    from libra_opt.domain.ledger import Ledger
    from libra_opt.formulation.program import Program
    from libra_opt.formulation.shadow import Prices

__all__ = ["wanted_bundle"]

_Row = tuple[int, ...]


def wanted_bundle(state: State, plan: Plan, j: int) -> WantedBundle | None:
    """Return what job `j` of the state would rather have; None where nothing serves it better, or the plan has no prices.

    Parameters
    ----------
    state, plan
        A state and its plan.
    j
        Index of the job.
    """
    import numpy as np  # noqa: PLC0415 - heavy

    from libra_opt.forecast import forecast  # noqa: PLC0415
    from libra_opt.formulation.bundles import SERVICE_TOLERANCE  # noqa: PLC0415
    from libra_opt.formulation.encode import encode  # noqa: PLC0415
    from libra_opt.formulation.runs import first_least, spans  # noqa: PLC0415
    from libra_opt.formulation.wanted import cell_prices  # noqa: PLC0415
    from libra_opt.formulation.written import Written  # noqa: PLC0415

    planned = plan.jobs[j]
    if plan.certificate.priced_bound is None:
        return None
    alone = state.replace({"jobs": (state.jobs[j],)})
    ledger = alone.ledger.with_forecast(forecast(alone))
    program = encode(alone, ledger)
    bundles = program.bundles
    least = planned.service + SERVICE_TOLERANCE if planned.stages else -1.0
    levels = np.flatnonzero(bundles.service > least)
    if not len(levels):
        return None
    slots, first_slot = spans(bundles.first_slot[levels], bundles.first_slot[levels + 1])
    cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    price, charge = cell_prices(program, _prices(ledger, program, plan), cells)
    cheapest = first_least(price + charge, first_cell)
    gain = program.gain[levels] - np.add.reduceat((price + charge)[cheapest], first_slot)
    best = int(gain.argmax())
    cell = cells[cheapest[first_slot[best] : np.append(first_slot, len(slots))[best + 1]]]
    amounts = bundles.amount[cell]
    names = state.jobs[j].stage_names
    stages = tuple(
        PlannedStage(name=name, pool=ledger.pools[k], resources=held)
        for name, k, held in zip(names, program.cell_pool[cell].tolist(), Written(ledger.resources).rows(amounts), strict=True)
    )
    service, ms = float(bundles.service[levels[best]]), float(program.cell_ms[cell].sum()) - _charge_ms(ledger, planned)
    parts = tuple(_parts(ledger, plan, planned, stages, ms))
    worth = program.utility.at(np.zeros(2, dtype=np.intp), np.array([service, planned.service]))
    value = float(worth[0] - worth[1]) - float(program.per_ms[0]) * ms
    return WantedBundle(service=service, stages=stages, value=value, price=sum(part.price for part in parts), parts=parts)


def _prices(ledger: "Ledger", program: "Program", plan: Plan) -> "Prices":
    """Return the prices of a plan in the units of a program."""
    import numpy as np  # noqa: PLC0415

    from libra_opt.formulation.shadow import Prices  # noqa: PLC0415

    pool = np.zeros_like(program.shared.capacity)
    tables = {kind: np.zeros_like(program.shared.ceiling) for kind in ("queue_ceiling", "queue_guarantee", "reserve")}
    units = [float(resource.step) * int(scale) for resource, scale in zip(ledger.resources, program.scale[: ledger.n_resources], strict=True)]
    row = {resource.name: r for r, resource in enumerate(ledger.resources)}
    ms = 0.0
    for price in plan.prices:
        if price.kind == "preemption_budget":
            ms = price.price / 1000
        elif price.kind == "cost_ceiling":
            unit = float(ledger.cost.unit) if ledger.cost is not None else 1.0
            tables["queue_ceiling"][len(ledger.queues), -1] = price.price * unit * int(program.scale[-1])
        else:
            table, names = (pool, ledger.pools) if price.kind == "pool" else (tables[price.kind], ledger.queues)
            table[names.index(price.name), row[price.resource]] = price.price * units[row[price.resource]]
    return Prices(pool, tables["queue_ceiling"], tables["queue_guarantee"], tables["reserve"], ms, 0.0)


def _charge_ms(ledger: "Ledger", planned: PlannedJob) -> float:
    """Return R11's charges of what the plan does to the only job of a ledger, in milliseconds."""
    if not planned.stages:
        return float(ledger.evict_ms[0]) if ledger.running[0] else 0.0
    total = 0
    for s, stage in enumerate(planned.stages):
        now, held = ledger.current[s], _quanta(ledger, stage)
        if now is None:
            continue
        if ledger.pools[ledger.current_pool[s]] != stage.pool:
            total += ledger.migrate_ms[0]
        else:
            total += max((ms for ms, x, y in zip(ledger.resize_ms[0], now, held, strict=True) if x != y), default=0)
    return float(total)


def _parts(ledger: "Ledger", plan: Plan, planned: PlannedJob, stages: Sequence[PlannedStage], ms: float) -> Iterator[Part]:
    """Yield what every price of the plan makes of the difference between what the plan gives a job and what its stages would hold."""
    above = [ledger.queues[q] for q in way_up(ledger.parent, ledger.job_queue[0])]
    more: dict[tuple[str, int], int] = {}
    for sign, some in ((1, stages), (-1, planned.stages)):
        for stage in some:
            for r, quanta in enumerate(_quanta(ledger, stage)):
                more[stage.pool, r] = more.get((stage.pool, r), 0) + sign * quanta
    row = {resource.name: r for r, resource in enumerate(ledger.resources)}
    for price in plan.prices:
        if price.kind == "preemption_budget":
            amount, sign = ms / 1000, 1
        elif price.kind == "cost_ceiling":
            amount, sign = _cost_of(ledger, more), 1
        else:
            r = row[price.resource]
            if price.kind == "pool":
                quanta = more.get((price.name, r), 0)
            else:
                is_paid = price.name in (above if price.kind != "reserve" and not _is_booked(ledger, price.kind, r) else above[:1])
                quanta = sum(n for (_, resource), n in more.items() if resource == r) if is_paid else 0
            amount, sign = float(quanta * ledger.resources[r].step), -1 if price.kind == "queue_guarantee" else 1
        if amount:
            yield Part(kind=price.kind, name=price.name, resource=price.resource, amount=amount, price=sign * amount * price.price)


def _is_booked(ledger: "Ledger", kind: str, r: int) -> bool:
    """Return whether the prices of reserves hold already what the ceilings above a queue cost (see `Prices`)."""
    return kind == "queue_ceiling" and any(row[r] for row in ledger.reserved)


def _cost_of(ledger: "Ledger", more: dict[tuple[str, int], int]) -> float:
    """R16: return what quanta by pool and resource cost for one hour."""
    cost = ledger.cost
    return 0.0 if cost is None else float(sum(n * cost.price[ledger.pools.index(pool)][r] for (pool, r), n in more.items()) * cost.unit)


def _quanta(ledger: "Ledger", stage: PlannedStage) -> _Row:
    return tuple(resource.quanta(stage.resources.get(resource.name, 0), round_up=False) for resource in ledger.resources)
