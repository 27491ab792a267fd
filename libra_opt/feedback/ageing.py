"""Ageing: the weight of a job that waits doubles again and again, so that nobody starves (`models/feedback.md`, "Ageing")."""

import math
from typing import Final

from libra_opt.errors import Fault, InputError
from libra_opt.feedback.law import Law
from libra_opt.feedback.measured import Measured
from libra_opt.feedback.move_price import stepped
from libra_opt.feedback.setpoint import Remembered, Setpoint

__all__ = ["MOST_WEIGHT", "adapt_ageing", "aged_weight"]

MOST_WEIGHT: Final = 1e15
"""The largest weight a job may state, and so the largest it can grow to."""

_ENOUGH_DOUBLINGS: Final = 200
"""From the smallest weight above 0, 1e-30, to beyond the largest."""


def aged_weight(weight: float, waited_seconds: float, setpoint: Setpoint) -> float:
    """Return the weight a job is planned with after it has waited: ``weight * 2 ** (waited_seconds / ageing_seconds)``, at most 1e15.

    Give it all the time the job has waited since it was submitted. While the job runs that time stands still and is kept, or the job that has just
    outbid the others would be the cheapest to stop in the next period. A weight of 0 stays 0: such a job says of itself that it is worth nothing.

    Why nobody starves: a job's value grows without end while it waits, the values of those that run stand still, and jobs that come `d` later
    carry ``2 ** (-d / ageing_seconds)`` of what they would. So only finitely many jobs can ever outbid it, each until it is done. The
    assumptions, and what the largest weight means, are in `models/feedback.md`.

    Parameters
    ----------
    weight
        The job's own weight, 0..1e15.
    waited_seconds
        Total time waited, at least 0.
    setpoint
        Says in which time the weight doubles.

    Raises
    ------
    InputError
        A number is negative, not a number, or the weight above 1e15.

    Examples
    --------
    >>> aged_weight(3.0, 7200.0, Setpoint(ageing_seconds=3600.0))
    12.0
    """
    faults = []
    if not 0 <= weight <= MOST_WEIGHT:
        faults.append(Fault("weight", f"{weight!r} is not a number from 0 to {MOST_WEIGHT:g}; give the weight the job states"))
    if not 0 <= waited_seconds < math.inf:
        faults.append(Fault("waited_seconds", f"{waited_seconds!r} is not a number of seconds from 0; give the time the job has waited"))
    if faults:
        raise InputError("a job's ageing", tuple(faults))
    doublings = min(waited_seconds / setpoint.ageing_seconds, _ENOUGH_DOUBLINGS)
    return float(min(weight * 2.0**doublings, MOST_WEIGHT))


def adapt_ageing(setpoint: Setpoint, seen: Measured, new: Remembered, law: Law) -> float:
    """Return the ageing time for the next period.

    Shorter while the longest queue delay is beyond its band and does not fall; back towards its home, slowly, once it is below the band.
    """
    if seen.oldest_seconds is None:
        return setpoint.ageing_seconds
    if new.starving:
        if seen.oldest_seconds < setpoint.remembered.oldest_seconds:
            return setpoint.ageing_seconds
        step = min(law.ageing_step, law.ageing_gain * math.log(new.oldest_seconds / law.oldest.low))
        return stepped(setpoint.ageing_seconds, -step, law.ageing_least, math.inf)
    if new.oldest_seconds <= law.oldest.low:
        return stepped(setpoint.ageing_seconds, law.ageing_relax, 0, law.ageing_home)
    return setpoint.ageing_seconds
