"""From a setpoint to the options and the weights of the next plan; the program stays the same."""

from typing import Final

from libra_opt.domain.options import Options
from libra_opt.feedback.ageing import aged_weight
from libra_opt.feedback.begun import begun_weight
from libra_opt.feedback.law import LAW, Law
from libra_opt.feedback.setpoint import Setpoint

__all__ = ["planned_weight", "planning"]

_LEAST_HOLD: Final = 1e-3
_MOST_HOLD: Final = 1e6


def planning(options: Options, setpoint: Setpoint) -> Options:
    """Return the options with the setpoint in them.

    A move of `ms` is charged ``a * ms / (1000 * P * H)`` (tier 4 of the objective), so scaling the charge by the price of moving is dividing
    `hold_periods` by it. Coverage and margin of the need are the setpoint's, whatever the options said; all else stays. Start from the same options
    every period, never from those of the last.

    Examples
    --------
    >>> planning(Options(hold_periods=2.0), Setpoint(move_price=0.5)).hold_periods
    4.0
    """
    return options.replace(
        {
            "hold_periods": max(_LEAST_HOLD, min(_MOST_HOLD, options.hold_periods / setpoint.move_price)),
            "forecast": options.forecast.replace({"coverage": setpoint.coverage, "margin": setpoint.margin}),
        }
    )


def planned_weight(weight: float, *, waited_seconds: float, done: float, some_wait: bool, setpoint: Setpoint, law: Law = LAW) -> float:
    """Return the weight a job is planned with: aged, and greater for a step that is begun as long as some job has to wait.

    Parameters
    ----------
    weight
        The job's own weight, 0..1e15.
    waited_seconds
        The time it has waited, as `waiting_credit` counts it; at least 0.
    done
        Share of its present step that it has done, 0..1 (`libra_opt.forecast.step_done`).
    some_wait
        Whether any job has waited since the last plan.
    setpoint, law
        Say in which time the weight doubles, and what the whole of a step adds.

    Raises
    ------
    InputError
        A number is out of its range.

    Examples
    --------
    >>> [planned_weight(1.0, waited_seconds=3600, done=0.5, some_wait=some_wait, setpoint=Setpoint()) for some_wait in (False, True)]
    [2.0, 4.0]
    """
    aged = aged_weight(weight, waited_seconds, setpoint)
    return begun_weight(aged, done, law) if some_wait else aged
