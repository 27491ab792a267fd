"""Measurements: an outcome made free of cluster size and period length, and the filter that remembers them.

Moves and kills count per running job, times per length of the period, so the law is the same law on a cluster ten times as large.
"""

import math
from dataclasses import dataclass

from libra_opt.feedback.law import Band, Law
from libra_opt.feedback.outcome import Outcome
from libra_opt.feedback.setpoint import Remembered

__all__ = ["Measured", "measure", "remember", "within"]

_MOST_SHARE = 100.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one period showed; None is unknown.

    Attributes
    ----------
    lost_share
        Seconds lost to moves per second of running job.
    moved_share
        Preemptions, resizes and migrations per running job.
    kill_share
        Memory kills per running job, at most 1.
    waste_share
        Share of the memory held that was not used.
    allocating_share
        Time spent on the plan per second of the period.
    stale_share
        Share of service lost to stale plans.
    forecast_error
        Share of the demand.
    delay_seconds, oldest_seconds
        Mean and longest queue delay; 0 where nobody waits and nothing else is said.
    """

    lost_share: float | None
    moved_share: float | None
    kill_share: float | None
    waste_share: float | None
    allocating_share: float | None
    stale_share: float | None
    forecast_error: float | None
    delay_seconds: float | None
    oldest_seconds: float | None


def measure(outcome: Outcome) -> Measured:
    """Return the shares and times that one outcome shows.

    Kinds of moves that are not known count as none where another kind is known.
    """
    known = [count for count in (outcome.n_preemptions, outcome.n_resizes, outcome.n_migrations) if count is not None]
    running = None if outcome.n_running is None else max(outcome.n_running, 1)
    no_delay = 0.0 if outcome.n_waiting == 0 else None
    mean_delay, max_delay = outcome.mean_delay_seconds, outcome.max_delay_seconds
    return Measured(
        lost_share=_share(outcome.lost_seconds, None if running is None else running * outcome.period_seconds),
        moved_share=_share(sum(known) if known else None, running),
        kill_share=within(_share(outcome.n_memory_kills, running), 1),
        waste_share=outcome.memory_waste_share,
        allocating_share=_share(outcome.allocating_seconds, outcome.period_seconds),
        stale_share=outcome.stale_share,
        forecast_error=within(outcome.forecast_error, _MOST_SHARE),
        delay_seconds=no_delay if mean_delay is None else mean_delay,
        oldest_seconds=no_delay if max_delay is None else max_delay,
    )


def within(value: float | None, most: float) -> float | None:
    """Return a value cut to `most`, None where it is not known."""
    return None if value is None else min(value, most)


def remember(remembered: Remembered, seen: Measured, law: Law) -> Remembered:
    """Return the memory with every measurement that is known filtered in, and the alarms that follow."""
    scales = {
        "lost_share": law.lost.low,
        "moved_share": law.moved.low,
        "kill_share": law.kills.low,
        "waste_share": law.waste.low,
        "allocating_share": law.period_floor or law.lost.low,
        "stale_share": law.stale.low,
        "forecast_error": law.stale.low,
        "delay_seconds": law.delay.low,
        "oldest_seconds": law.oldest.low,
    }
    new = {name: _filtered(getattr(remembered, name), getattr(seen, name), law.least_drift * scale, law.filter_rate) for name, scale in scales.items()}
    alarms = {
        "churning": _either(law.lost, new["lost_share"], law.moved, new["moved_share"], on=remembered.churning),
        "waiting": _either(law.delay, new["delay_seconds"], law.stale, new["stale_share"], on=remembered.waiting),
        "starving": law.oldest.alarm(new["oldest_seconds"], on=remembered.starving),
        "wasting": law.waste.alarm(new["waste_share"], on=remembered.wasting),
    }
    return remembered.replace({**new, **alarms})


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or whole is None else min(part / whole, _MOST_SHARE)


def _filtered(old: float, seen: float | None, drift: float, rate: float) -> float:
    """Return the filtered value: closer to what is seen by `rate` of the distance, by at least `drift`, never past it."""
    if seen is None:
        return old
    distance = abs(seen - old)
    if distance <= drift:
        return seen
    return old + math.copysign(max(rate * distance, drift), seen - old)


def _either(first: Band, a: float, second: Band, b: float, *, on: bool) -> bool:
    return first.alarm(a, on=on) or second.alarm(b, on=on)
