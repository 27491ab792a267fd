"""Every plan of a tiny state, tried one by one, and the best of them for an objective written as plain arithmetic over services and charges.

The plans come from the enumerator of the oracle tests, which knows no bundles and no solver; what a policy makes of them is written again here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from libra_opt.domain import State
from tests.oracle.enumerate import TooLargeError, _Shared, _ways

__all__ = ["Outcome", "TooLargeError", "best", "outcomes"]


@dataclass(frozen=True)
class Outcome:
    """One plan: over the budget in ms, shortfall in shares, and per job whether it runs, its service and its charge in ms."""

    over: float
    short: float
    runs: tuple[bool, ...]
    service: tuple[float, ...]
    ms: tuple[int, ...]


def outcomes(state: State, most: int = 20_000) -> Iterator[Outcome]:
    """Yield every plan that holds the rules; raises `TooLargeError` where there are more than `most` to try."""
    ledger = state.ledger
    ways = [_ways(ledger, j, 4_000) for j in range(len(ledger.jobs))]
    if prod(len(choices) for choices in ways) > most:
        raise TooLargeError
    shared = _Shared(state, ledger)
    for picked in shared.fitting(ways):
        plan = [choices[i] for choices, i in zip(ways, picked, strict=True)]
        yield Outcome(
            shared.over_budget(sum(way.ms for way in plan)),
            shared.shortfall(plan) / shared.shortfall_scale,
            tuple(way.runs for way in plan),
            tuple(float(way.service) for way in plan),
            tuple(way.ms for way in plan),
        )


def best(state: State, worth: Sequence[float], objective: Callable[[Outcome], Any]) -> tuple[Outcome, tuple[Any, ...]]:
    """Return a plan that is best in the strict order, and its tiers: lost worth, ms over, shortfall, and the objective (the more the better)."""
    protected = state.ledger.protected

    def tiers(plan: Outcome) -> tuple[Any, ...]:
        lost = sum(a for a, is_protected, runs in zip(worth, protected, plan.runs, strict=True) if is_protected and not runs)
        return round(lost, 9), plan.over, round(plan.short, 9), _negative(objective(plan))

    found = min(outcomes(state), key=tiers)
    return found, (*tiers(found)[:3], objective(found))


def _negative(value: Any) -> Any:
    return tuple(-part for part in value) if isinstance(value, tuple) else -value
