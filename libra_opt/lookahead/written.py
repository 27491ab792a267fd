"""A plan of several periods as the answer writes it: what is to be held later, what all periods are worth, and why a job is left short for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import DISCOUNT, AheadJob, AheadPeriod, Horizon, PlannedJob, PlannedStage, Reason
from libra_opt.domain.state import State
from libra_opt.formulation.written import Written
from libra_opt.lookahead.look import Outlook
from libra_opt.lookahead.routes import FINISHED, Journey, Route

__all__ = ["Ahead", "write_ahead"]

_CLOSED: Final = 1e-9
"""A relative difference between bound and objective that is only rounding."""

_EXPLAINED: Final = frozenset(("no_gain", "move_not_worth_it", "preemption_budget"))
"""Codes of reasons that look at one period alone and find nothing in the way."""


@dataclass(frozen=True)
class Ahead:
    """What looking ahead adds to a plan.

    Attributes
    ----------
    periods
        The later periods.
    horizon
        What all periods are worth together.
    jobs
        The jobs of the first period, with reasons that know of the later ones.
    """

    periods: tuple[AheadPeriod, ...]
    horizon: Horizon
    jobs: tuple[PlannedJob, ...]


def write_ahead(state: State, ledger: Ledger, outlook: Outlook, jobs: Sequence[PlannedJob]) -> Ahead:
    """Return what is planned for the later periods, given what the first came to: its spare may serve a job better than its bundle does.

    Parameters
    ----------
    jobs
        The first period as decoded, in the order of the state.
    """
    order = outlook.spans[0].program.job_order.tolist()
    written = Written(ledger.resources)
    objective = 0.0
    later: list[list[tuple[int, AheadJob]]] = [[] for _ in outlook.spans[1:]]
    for journey, route, j in zip(outlook.journeys, outlook.routes, order, strict=True):
        value, gone = _followed(outlook, journey, route, jobs[j].service)
        objective += value
        for t, row in enumerate(route[1:gone], 1):
            if row:
                later[t - 1].append((j, _job(state, ledger, written, journey, j, t, row)))
    periods = tuple(
        AheadPeriod(index=state.period.index + t, jobs=tuple(job for _, job in sorted(some, key=lambda pair: pair[0]))) for t, some in enumerate(later, 1)
    )
    return Ahead(periods, _horizon(state, len(outlook.spans), objective, outlook.bound), tuple(_explained(job, len(outlook.spans)) for job in jobs))


def _followed(outlook: Outlook, journey: Journey, route: Route, first_service: float) -> tuple[float, int]:
    """Return the discounted value of a route with the service that the first period has, and the period in which the job is gone."""
    total, made, before = 0.0, 0.0, 0
    for t, row in enumerate(route):
        if made >= journey.left * (1 - FINISHED):
            return total, t
        span = outlook.spans[t]
        service = float(journey.service[t][row]) if t else first_service
        step = float(span.progress[journey.job]) * service
        share = min(1.0, (journey.left - made) / step) if step > 0 else 1.0
        total += span.weight * float(span.program.worth[journey.job]) * service * share - float(journey.charge[t][before, row])
        made, before = made + step, row
    return total, len(route)


def _job(state: State, ledger: Ledger, written: Written, journey: Journey, j: int, t: int, row: int) -> AheadJob:
    holdings, job = journey.holdings[t], state.jobs[j]
    rows = zip(job.stage_names, holdings.pool[row - 1].tolist(), written.rows(holdings.amount[row - 1]), strict=True)
    stages = tuple(PlannedStage(name=name, pool=ledger.pools[k], resources=resources) for name, k, resources in rows)
    return AheadJob(id=job.id, service=float(journey.service[t][row]), stages=stages)


def _horizon(state: State, n: int, objective: float, bound: float) -> Horizon:
    scale = max(abs(objective), abs(bound), 1e-9)
    bound = objective if bound - objective <= _CLOSED * scale else bound
    gap = (bound - objective) / scale
    status = "optimal" if gap == 0 else "within_gap" if gap <= state.options.gap else "feasible"
    return Horizon.model_validate({"periods": n, "discount": DISCOUNT, "status": status, "objective": objective, "bound": bound, "gap": gap})


def _explained(job: PlannedJob, n: int) -> PlannedJob:
    if job.reason.code not in _EXPLAINED:
        return job
    did = job.reason.message.split(";")[0].split(":")[0]
    message = f"{did}: over the {n} periods planned together it gains more later, or what it would take or cost to move is worth more to others"
    return job.replace({"reason": Reason(code="later", message=message)})
