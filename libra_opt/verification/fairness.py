"""What a policy that divides fairly reaches, from the prose of `models/policies.md`: how many have nothing, and how low the others are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from libra_opt.domain.options import Objective
from libra_opt.verification.reading import Reading
from libra_opt.verification.service import Measured
from libra_opt.verification.work import importances

__all__ = ["Division", "divide"]

_FULL: Final = 1 - 1e-9
_SHORTEST: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Division:
    """How many items (jobs, or queues) have nothing, and the least level of those that have something and could use more."""

    unserved: int
    level: float


def divide(reading: Reading, measured: Measured) -> Division | None:
    """Recompute the division of a plan; None where the policy does not divide."""
    level_of = _LEVELS.get(reading.state.options.objective)
    if level_of is None:
        return None
    ledger = reading.ledger
    level = level_of(reading)
    services = [p / q for p, q in measured.service]
    levels: dict[int, float] = {}
    tops: dict[int, float] = {}
    could_use_more: set[int] = set()
    for j, service in enumerate(services):
        if not all(ledger.fits_alone(s) for s in ledger.stage_of[j]):
            continue
        told = level(j, service)
        if told is None:
            continue
        item, reached, top = told
        levels[item] = levels.get(item, 0.0) + reached
        tops[item] = tops.get(item, 0.0) + top
        if service < _FULL:
            could_use_more.add(item)
    least = min((reached for item, reached in levels.items() if reached > 0 and item in could_use_more), default=max(tops.values(), default=0.0))
    return Division(sum(reached <= 0 for reached in levels.values()), least)


_Level = Callable[[int, float], tuple[int, float, float] | None]
"""From a job and its service to its item, what it adds to the level of that, and what it would add at full service; None for a job that does not count."""


def _max_min(reading: Reading) -> _Level:
    weight = importances(reading)
    return lambda j, service: (j, service / weight[j], 1 / weight[j]) if weight[j] > 0 else None


def _makespan(reading: Reading) -> _Level:
    left = _left(reading)
    return lambda j, service: (j, service / left[j], 1 / left[j])


def _finish_time_fairness(reading: Reading) -> _Level:
    state, weight, left, share = reading.state, importances(reading), _left(reading), _dominant_shares(reading)
    n = max(1, len(state.jobs))

    def one_over_rho(j: int, service: float) -> float:
        if service <= 0:
            return 0.0
        job = state.jobs[j]
        on_its_share = (job.running_seconds + left[j]) / min(1.0, 1 / (n * share[j])) if share[j] else job.running_seconds + left[j]
        in_all = max(0.0, state.period.begins - (job.submitted or 0.0)) + left[j] / service
        return on_its_share / in_all / weight[j]

    return lambda j, service: (j, one_over_rho(j, service), one_over_rho(j, 1.0)) if weight[j] > 0 else None


def _drf(reading: Reading) -> _Level:
    queue, share = reading.ledger.job_queue, _dominant_shares(reading)
    weight = {-1: 1.0} | {q: float(one.weight) for q, one in enumerate(reading.state.queues)}
    return lambda j, service: (queue[j], service * share[j] / weight[queue[j]], share[j] / weight[queue[j]]) if share[j] else None


def _left(reading: Reading) -> list[float]:
    shortest = _SHORTEST * reading.state.period.seconds
    return [max(job.remaining or 0.0, shortest) for job in reading.state.jobs]


def _dominant_shares(reading: Reading) -> list[float]:
    """Return the largest share of the cluster that each job demands of any resource."""
    ledger = reading.ledger
    totals = [sum(row[r] for row in ledger.capacity) for r in range(ledger.n_resources)]
    return [max((sum(ledger.wish(s)[r] for s in stages) / total for r, total in enumerate(totals) if total), default=0.0) for stages in ledger.stage_of]


_LEVELS: Final[Mapping[Objective, Callable[[Reading], _Level]]] = {
    "max_min": _max_min,
    "makespan": _makespan,
    "finish_time_fairness": _finish_time_fairness,
    "drf": _drf,
}
