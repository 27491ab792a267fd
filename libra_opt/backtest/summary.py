"""A backtest in a few numbers: means over series, over sets, and whether they are what they should be.

Two ways to pool, as they can disagree: *by series*, where a set with many series weighs more, and *by set*, where each set weighs the same
(the mean over sets of the mean over the set's series). Ratios are ratios of such means.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.backtest.result import Backtest, Intervals, ResourceResult, SetResult, judged
from libra_opt.backtest.run import BASELINES

__all__ = ["Check", "Pool", "Scores", "against_best", "better_on", "checks", "need", "of_set", "pooled", "ratio"]

_MOST_WORSE: Final = 1.05
_COVERAGE: Final = (0.87, 0.93)
_LEAST_COVERAGE: Final = 0.80
_MOST_EXCEEDED: Final = 0.02
_SAME: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Scores:
    """Means of the scores of one method; as in `Intervals`, NaN where there is nothing to take the mean of."""

    loss: float
    covered: float
    calibrated: float
    width: float


@dataclass(frozen=True, slots=True)
class Pool:
    """Means over all sets, by method name in the order of the backtest.

    Attributes
    ----------
    by_series, by_set
        The two ways to pool.
    """

    by_series: dict[str, Scores]
    by_set: dict[str, Scores]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that should hold.

    Attributes
    ----------
    name
        What should hold, with the limit.
    value
        What was found.
    holds
        Whether it does.
    """

    name: str
    value: float
    holds: bool


def of_set(one: SetResult | ResourceResult, method: str) -> Scores:
    """Return the mean over the series of a set, or of one resource of it."""
    return _mean([each.methods[method] for each in (one.resources if isinstance(one, SetResult) else (one,))])


def pooled(found: Backtest) -> Pool:
    """Return the means over everything, both ways."""
    scored = [each for each in found.sets if any(resource.labels for resource in each.resources)]
    by_set = {method: [of_set(each, method) for each in scored] for method in found.methods}
    return Pool(
        {method: _mean([resource.methods[method] for each in scored for resource in each.resources]) for method in found.methods},
        {
            method: Scores(*(_plain_mean([getattr(each, name) for each in scores]) for name in ("loss", "covered", "calibrated", "width")))
            for method, scores in by_set.items()
        },
    )


def need(resources: Sequence[ResourceResult]) -> tuple[int, int, float]:
    """Return in how many periods the need was exceeded, of how many, and the mean over series of what it asked for above the use."""
    needs = [each.need for each in resources if each.need is not None]
    excess = [float(value) for each in needs for value in each.excess]
    return sum(int(each.exceeded.sum()) for each in needs), sum(int(each.periods.sum()) for each in needs), _plain_mean(excess)


def checks(found: Backtest) -> tuple[Check, ...]:
    """Return what should hold of the method that is judged; empty where nothing was scored or no baseline is there."""
    chosen = judged(found.methods)
    rivals = [method for method in found.methods if method in BASELINES and method != chosen]
    pool = pooled(found)
    scored = [each for each in found.sets if any(resource.labels for resource in each.resources)]
    if not scored:
        return ()
    made = [
        _at_most(f"pinball loss of {chosen} over that of {rival}, pooled {way}, below", ratio(means[chosen].loss, means[rival].loss), 1.0)
        for way, means in (("by series", pool.by_series), ("by set", pool.by_set))
        for rival in rivals
    ]
    if rivals:
        worst = max(scored, key=lambda each: against_best(each, chosen, rivals))
        made.append(
            _at_most(f"pinball loss over the best baseline's, worst set ({worst.recording.name}), at most", against_best(worst, chosen, rivals), _MOST_WORSE)
        )
    for way, means in (("by series", pool.by_series), ("by set", pool.by_set)):
        for what, value in (("", means[chosen].covered), (", ties shared out", means[chosen].calibrated)):
            name = f"90 % interval covers, pooled {way}{what}, {_COVERAGE[0]:.0%} to {_COVERAGE[1]:.0%}"
            made.append(Check(name, value, _COVERAGE[0] <= value <= _COVERAGE[1]))
    least = min(scored, key=lambda each: of_set(each, chosen).covered)
    value = of_set(least, chosen).covered
    made.append(Check(f"90 % interval covers on every set (least: {least.recording.name}) at least {_LEAST_COVERAGE:.0%}", value, value >= _LEAST_COVERAGE))
    exceeded, periods, _ = need([resource for each in scored for resource in each.resources])
    if periods:
        made.append(_at_most(f"share of periods in which the need at {found.coverage:g} was exceeded, at most", exceeded / periods, _MOST_EXCEEDED))
    return tuple(made)


def better_on(found: Backtest, rival: str) -> tuple[int, int, int]:
    """Return on how many series the method that is judged has a lower loss than `rival`, on how many the same, and of how many."""
    chosen = judged(found.methods)
    pairs = [(each.methods[chosen].loss, each.methods[rival].loss) for one in found.sets for each in one.resources]
    better = sum(int((own < other - _SAME * (own + other)).sum()) for own, other in pairs)
    same = sum(int((np.abs(own - other) <= _SAME * (own + other)).sum()) for own, other in pairs)
    return better, same, sum(len(own) for own, _ in pairs)


def against_best(one: SetResult | ResourceResult, chosen: str, rivals: Sequence[str]) -> float:
    """Return the loss of `chosen` over that of the best of `rivals` on this set; NaN without series."""
    return ratio(of_set(one, chosen).loss, min(of_set(one, rival).loss for rival in rivals))


def ratio(value: float, other: float) -> float:
    """Return ``value / other``; equal losses, zero included, are 1, and a loss above zero against none is infinite."""
    if value == other:
        return 1.0
    return value / other if other > 0 else math.inf


def _mean(parts: Sequence[Intervals]) -> Scores:
    def over(pick: Callable[[Intervals], NDArray[np.float64]]) -> float:
        return _plain_mean([float(value) for part in parts for value in pick(part)])

    return Scores(over(lambda part: part.loss), over(lambda part: part.covered), over(lambda part: part.calibrated), over(lambda part: part.width))


def _plain_mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _at_most(name: str, value: float, limit: float) -> Check:
    return Check(f"{name} {limit:g}", value, value < limit if name.endswith("below") else value <= limit)
