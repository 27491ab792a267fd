"""The cards that jobs use at full service, in the mean over their steps: half of the worth of a job in a loop (`rates.cards`)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from libra_opt.domain import Observation
from libra_opt.domain.ledger import CARDS
from libra_opt.domain.observation import Sample, period_numbers
from libra_opt.domain.quantity import WrittenAmount, parse
from libra_opt.forecast.demand import ROOM

__all__ = ["ToldCards", "mean_cards"]

_PRIOR_SECONDS: Final = 300.0
_PRIOR_SHARE: Final = 0.5
"""Until its own work is known for this long, a job counts as one that uses half of the cards it asks for, or what the others use of theirs."""

_MOST: Final = 1e15
"""The most a state may say."""

_SLOWEST: Final = 0.05
"""A period counts as at least this much of one at full service, however little was used."""


@dataclass(frozen=True, slots=True)
class ToldCards:
    """What is told of the cards of one job.

    Attributes
    ----------
    histories
        Of its stages, as a state has them.
    asked
        Cards that it asks for; 0 where nothing says so.
    """

    histories: Sequence[Sequence[Sample]]
    asked: float = 0.0


def mean_cards(jobs: Sequence[ToldCards], unit: str, period_seconds: float) -> list[float | None]:
    """Return for each job the cards that it uses at full service, in the mean over its steps.

    What was used is added up over the periods that were measured, and divided by the periods of full service that they come to. A job that used nearly all
    that it held may have been held back: it is taken to have been as fast as what it used is of what it used in that phase when it had room, or of the
    most it used there where it never had. Of a job that is little known, what all of them use of the cards they ask for says as much as five minutes of
    its own.

    Parameters
    ----------
    jobs
        All that are there.
    unit
        Of cards.
    period_seconds
        Length of a period, above 0.

    Returns
    -------
    list of float or None
        None for jobs whose entries tell no step, and where nothing says how many cards they ask for. A job of which nothing was measured is taken to go by
        steps where all others do; else None, so that it counts as they do.
    """
    seen = [_seen(job, unit) for job in jobs]
    known = [one for one in seen if one.goes_by_steps and one.asked > 0]
    others_do = bool(known) and not any(one.goes_by_steps is False for one in seen)
    prior = _PRIOR_SECONDS / period_seconds
    usual = (sum(one.work / one.asked for one in known) + prior * _PRIOR_SHARE) / (sum(one.served for one in known) + prior)
    does = [one.asked > 0 and (others_do if one.goes_by_steps is None else one.goes_by_steps) for one in seen]
    means = [min(_MOST, (one.work + prior * usual * one.asked) / (one.served + prior)) for one in seen]
    return [mean if is_told else None for mean, is_told in zip(means, does, strict=True)]


@dataclass(frozen=True, slots=True)
class _Seen:
    """Cards x periods, periods of full service, the cards it asks for or used at most, and whether it goes by steps (None: nothing was measured)."""

    work: float
    served: float
    asked: float
    goes_by_steps: bool | None


def _seen(job: ToldCards, unit: str) -> _Seen:
    used: dict[int, float] = defaultdict(float)
    held_back: set[int] = set()
    phase: dict[int, str | None] = {}
    is_measured = False
    for history in job.histories:
        for period, entry in zip(period_numbers(history), history, strict=True):
            is_measured = is_measured or bool(entry.usage if isinstance(entry, Observation) else entry)
            told = entry.usage.get(CARDS) if isinstance(entry, Observation) and entry.step is not None else None
            if isinstance(entry, Observation) and told is not None:
                cards = _number(told, unit)
                used[period] += cards
                phase[period] = entry.phase
                if entry.allocation is not None and cards > 0 and cards >= ROOM * _number(entry.allocation.get(CARDS, 0), unit):
                    held_back.add(period)
    full = _full(used, phase, held_back)
    served = sum(max(_SLOWEST, min(1.0, cards / full[phase[period]])) if period in held_back else 1.0 for period, cards in used.items())
    return _Seen(sum(used.values()), served, max(job.asked, *used.values(), 0.0), bool(used) if is_measured else None)


def _full(used: dict[int, float], phase: dict[int, str | None], held_back: Iterable[int]) -> dict[str | None, float]:
    """Return what was used at full service in every phase: the mean where there was room, else the most."""
    free: dict[str | None, list[float]] = defaultdict(list)
    most: dict[str | None, float] = defaultdict(float)
    for period, cards in used.items():
        most[phase[period]] = max(most[phase[period]], cards)
        if period not in held_back:
            free[phase[period]].append(cards)
    return {each: sum(free[each]) / len(free[each]) if any(free[each]) else most[each] for each in most}


def _number(amount: WrittenAmount, unit: str) -> float:
    return float(parse(amount, unit)) if isinstance(amount, str) else float(amount)
