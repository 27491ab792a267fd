"""Finishing what is begun: a job counts for more the further it is in its step (`models/feedback.md`, "Finishing what is begun")."""

from libra_opt.errors import Fault, InputError
from libra_opt.feedback.ageing import MOST_WEIGHT
from libra_opt.feedback.law import LAW, Law

__all__ = ["begun_weight"]


def begun_weight(weight: float, done: float, law: Law = LAW) -> float:
    """Return the weight a job is planned with that has done a share of its step: ``weight * (1 + begun_worth * done)``, at most 1e15.

    A step counts when it is finished (its update needs all of its trajectories), so of two jobs that use the cards equally well the one is worth more that
    will finish sooner, and whoever has to give way had better not have begun. Use it while some job has waited since the last plan: where nobody has to
    wait, nothing is won by it, and jobs that change places would move for nothing.

    Parameters
    ----------
    weight
        The job's weight, 0..1e15, aged or not.
    done
        Share of its present step that it has done, 0..1 (`libra_opt.forecast.step_done`).
    law
        Says what the whole of a step adds.

    Raises
    ------
    InputError
        The weight or the share is out of its range.

    Examples
    --------
    >>> begun_weight(2.0, 0.5)
    4.0
    """
    faults = []
    if not 0 <= weight <= MOST_WEIGHT:
        faults.append(Fault("weight", f"{weight!r} is not a number from 0 to {MOST_WEIGHT:g}; give the weight the job states, aged or not"))
    if not 0 <= done <= 1:
        faults.append(Fault("done", f"{done!r} is not a share from 0 to 1; give what the job has done of its present step"))
    if faults:
        raise InputError("a job's share of a step", tuple(faults))
    return float(min(weight * (1 + law.begun_worth * done), MOST_WEIGHT))
