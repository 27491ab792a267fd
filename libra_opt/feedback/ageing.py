"""Ageing: the weight of a job that waits doubles again and again, so that nobody starves (`models/feedback.md`, "Ageing")."""

import math
from typing import Final

from libra_opt.errors import Fault, InputError
from libra_opt.feedback.law import LAW, Law
from libra_opt.feedback.measured import Measured
from libra_opt.feedback.move_price import stepped
from libra_opt.feedback.setpoint import Remembered, Setpoint

__all__ = ["MOST_WEIGHT", "adapt_ageing", "aged_weight", "waiting_credit"]

MOST_WEIGHT: Final = 1e15
"""The largest weight a job may state, and so the largest it can grow to."""

_ENOUGH_DOUBLINGS: Final = 200
"""From the smallest weight above 0, 1e-30, to beyond the largest."""


def aged_weight(weight: float, waited_seconds: float, setpoint: Setpoint) -> float:
    """Return the weight a job is planned with after it has waited: ``weight * 2 ** (waited_seconds / ageing_seconds)``, at most 1e15.

    Give it the time the job has waited as `waiting_credit` counts it. A weight of 0 stays 0: such a job says of itself that it is worth nothing.

    Why nobody starves: a job's value grows without end while it waits, the values of those that run do not grow, and jobs that come `d` later
    carry a share of what they would that falls with ``2 ** (-d / ageing_seconds)``. So only finitely many jobs can ever outbid it, each until it is
    done. The assumptions, and what the largest weight means, are in `models/feedback.md`.

    Parameters
    ----------
    weight
        The job's own weight, 0..1e15.
    waited_seconds
        The time it has waited, as `waiting_credit` counts it; at least 0.
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


def waiting_credit(credit: float, seconds: float, *, runs: bool, has_run: bool, law: Law = LAW) -> float:
    """Return how long a job counts as having waited after some more seconds in which it ran, or waited.

    Waiting counts as it is; before the first start `first_wait` times, until the credit has come to `first_wait` times `first_wait_seconds`. Running takes
    `running_fade` seconds off for each, down to 0: not all at once, or the job that has just outbid the others would be the cheapest to stop in the
    next period; but a job that has had its turn stands no longer above those that come.

    Parameters
    ----------
    credit
        What it was before, seconds from 0; a job that has just come has 0.
    seconds
        How long it ran or waited since, at least 0.
    runs
        Whether it ran in these seconds.
    has_run
        Whether it was ever started before them.
    law
        Has the three constants.

    Raises
    ------
    InputError
        A number of seconds is negative, or not a number.

    Examples
    --------
    >>> waiting_credit(0.0, 600.0, runs=False, has_run=False)
    2400.0
    >>> waiting_credit(1800.0, 600.0, runs=True, has_run=True)
    1500.0
    """
    given = (("credit", credit), ("seconds", seconds))
    faults = [Fault(name, f"{value!r} is not a number of seconds from 0") for name, value in given if not 0 <= value < math.inf]
    if faults:
        raise InputError("a job's waiting", tuple(faults))
    if runs:
        return max(0.0, credit - law.running_fade * seconds)
    if has_run:
        return credit + seconds
    first = min(seconds, max(0.0, law.first_wait_seconds - credit / law.first_wait))
    return credit + law.first_wait * first + (seconds - first)


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
