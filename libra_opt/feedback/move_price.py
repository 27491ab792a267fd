"""The price of moving: an integrator on the logarithm of churn, with a dead band (integral control; `models/feedback.md`, "Price of moving")."""

import math

from libra_opt.feedback.law import Law
from libra_opt.feedback.measured import Measured
from libra_opt.feedback.setpoint import Remembered, Setpoint

__all__ = ["adapt_move_price", "stepped"]


def adapt_move_price(setpoint: Setpoint, seen: Measured, new: Remembered, law: Law) -> float:
    """Return the price of moving for the next period.

    Churn above its band raises it, until churn is back in the middle of the band. Otherwise queue delay or stale plans above their bands lower it while they
    grow, at most until churn has reached the low end of its band: more moving than that would not be worth it. Of filtered and newest churn the one
    that asks for less counts, so the filter keeps noise out but cannot make the price run on after the plant has answered.

    Parameters
    ----------
    setpoint
        What was in force in the period.
    seen
        What the period showed.
    new
        The memory with `seen` in it.
    law
        Its constants.
    """
    lost, moved = seen.lost_share or 0.0, seen.moved_share or 0.0
    if seen.lost_share is None and seen.moved_share is None:
        return setpoint.move_price
    newest, filtered = max(lost / law.lost.low, moved / law.moved.low), max(new.lost_share / law.lost.low, new.moved_share / law.moved.low)
    if new.churning and (lost > law.lost.middle or moved > law.moved.middle):
        step = law.price_gain * math.log(min(newest, filtered))
    elif new.waiting and not new.churning and max(newest, filtered) < 1:
        room = -math.log(max(newest, filtered)) if filtered > 0 else math.inf
        step = -law.price_gain * min(_pressure(setpoint.remembered, seen, new, law), room)
    else:
        return setpoint.move_price
    step = max(-law.price_step, min(law.price_step, step))
    return stepped(setpoint.move_price, step, law.price_least, law.price_most)


def stepped(value: float, step: float, least: float, most: float) -> float:
    """Return ``value * exp(step)`` within bounds; a value outside them only moves towards them, and what lies beyond a bound is forgotten (no wind-up)."""
    if step > 0:
        return max(value, min(value * math.exp(step), most))
    return min(value, max(value * math.exp(step), least)) if step < 0 else value


def _pressure(old: Remembered, seen: Measured, new: Remembered, law: Law) -> float:
    """Return by how much, in log, those of delay and staleness that do not fall are above the low ends of their bands; at least 0."""
    candidates = [0.0]
    if seen.delay_seconds is not None and seen.delay_seconds >= old.delay_seconds and new.delay_seconds > law.delay.low:
        candidates.append(math.log(new.delay_seconds / law.delay.low))
    if seen.stale_share is not None and seen.stale_share >= old.stale_share and new.stale_share > law.stale.low:
        candidates.append(math.log(new.stale_share / law.stale.low))
    return max(candidates)
