"""The work in one fully served period of every job, and its worth as the policy `weighted_throughput` has it, from the prose."""

from collections.abc import Sequence
from operator import attrgetter

from libra_opt.verification.reading import Reading

__all__ = ["importances", "works", "worths"]


def importances(reading: Reading) -> list[float]:
    """Return weight x priority_base^priority of every job."""
    jobs, base = reading.state.jobs, float(reading.state.options.priority_base)
    per_class = {priority: base**priority for priority in {job.priority for job in jobs}}
    return [job.weight * per_class[job.priority] for job in jobs]


def worths(reading: Reading) -> list[float]:
    """Return the worth `a` of one fully served period of every job, as the policy `weighted_throughput` has it."""
    cards = [_with_mean(job.rates.cards, demanded) for job, demanded in zip(reading.state.jobs, _demanded_cards(reading), strict=True)]
    return [weight * work for weight, work in zip(importances(reading), _counted(reading, cards), strict=True)]


def works(reading: Reading) -> list[float]:
    """Return the work in one fully served period of every job: its rate where it states one, else what its demand counts for."""
    return _counted(reading, _demanded_cards(reading))


def _counted(reading: Reading, cards: Sequence[float]) -> list[float]:
    """Return the rate of every job, where it states none its cards, where these are none its share of the cluster."""
    ledger = reading.ledger
    totals = [sum(row[r] for row in ledger.capacity) for r in range(ledger.n_resources)]
    both = zip(_stated_works(reading), cards, strict=True)
    return [rate if rate is not None else count or _share_in_cards(reading, j, totals) for j, (rate, count) in enumerate(both)]


def _with_mean(mean: float | None, demanded: float) -> float:
    """Return the cards that count: half of those of the mean over its steps where the job states them, half of its present demand."""
    return demanded if mean is None else (mean + demanded) / 2


def _stated_works(reading: Reading) -> list[float | None]:
    """Return the work that each job states a rate of."""
    throughput, seconds, jobs = reading.state.options.throughput, reading.state.period.seconds, reading.state.jobs
    if throughput == "jobs":
        return [seconds / job.remaining if job.remaining else None for job in jobs]
    rates: list[float | None] = list(map(attrgetter(f"rates.{throughput}"), jobs))
    return rates if rates.count(None) == len(rates) else [None if rate is None else seconds * rate for rate in rates]


def _demanded_cards(reading: Reading) -> list[float]:
    """Return the cards of each job's demand, or of what its profile's fastest entry lists (R15)."""
    ledger, cards = reading.ledger, reading.cards
    if cards < 0:
        return [0] * len(ledger.jobs)
    p, q = ledger.resources[cards].step.as_integer_ratio()
    by_stage = [demand[cards] for demand in ledger.demand]
    for s, profile in ledger.profiles.items():
        by_stage[s] = profile.wish[cards]
    if len(by_stage) == len(ledger.jobs):
        return [amount * p / q for amount in by_stage]
    return [sum(by_stage[rows.start : rows.stop]) * p / q for rows in ledger.stage_of]


def _share_in_cards(reading: Reading, j: int, totals: Sequence[int]) -> float:
    """Return the dominant share of the cluster in what a job without cards demands, in cards where the cluster has some."""
    ledger, cards = reading.ledger, reading.cards
    rows = ledger.stage_of[j]
    asked = [sum(column) for column in zip(*(ledger.wish(s) for s in rows), *(ledger.need[s] for s in rows), strict=True)]
    if not any(asked):
        asked = [sum(column) for column in zip(*(ledger.lo[s] for s in rows), strict=True)]
    share = max((amount / total for amount, total in zip(asked, totals, strict=True) if total), default=0.0)
    if cards < 0 or not totals[cards]:
        return share
    p, q = ledger.resources[cards].step.as_integer_ratio()
    return share * (totals[cards] * p / q)
