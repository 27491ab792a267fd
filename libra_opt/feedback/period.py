"""The period: longer where moving and planning cost the more, shorter where stale plans do (`models/feedback.md`, "Period")."""

from libra_opt.feedback.law import Law
from libra_opt.feedback.measured import Measured
from libra_opt.feedback.outcome import Outcome
from libra_opt.feedback.setpoint import Remembered, Setpoint

__all__ = ["adapt_period"]


def adapt_period(setpoint: Setpoint, outcome: Outcome, seen: Measured, new: Remembered, law: Law) -> tuple[float, int]:
    """Return the period to propose, in seconds, and for how many periods the proposal stands.

    A step starts from the period that was in force, not from the last proposal, so a proposal nobody follows does not wind up.
    """
    dwell = max(setpoint.remembered.dwell_periods - 1, 0)
    blind = seen.lost_share is None or (seen.stale_share is None and seen.forecast_error is None)
    if blind or setpoint.remembered.dwell_periods > 0:
        return setpoint.period_seconds, dwell
    overhead = new.lost_share + new.allocating_share
    staleness = new.stale_share if seen.stale_share is not None else law.error_cost * new.forecast_error
    staleness += law.delay_cost * min(new.delay_seconds / law.delay.high, 1)
    if _dominates(overhead, staleness, law):
        proposed = max(outcome.period_seconds, min(outcome.period_seconds * law.period_factor, law.period_most))
    elif _dominates(staleness, overhead, law):
        proposed = min(outcome.period_seconds, max(outcome.period_seconds / law.period_factor, law.period_least))
    else:
        return setpoint.period_seconds, 0
    return proposed, law.period_dwell if proposed != setpoint.period_seconds else 0


def _dominates(cost: float, other: float, law: Law) -> bool:
    return cost > law.period_floor and cost > law.period_dominance * other
