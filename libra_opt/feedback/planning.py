"""From a setpoint to the options of the next plan; the program stays the same."""

from typing import Final

from libra_opt.domain.options import Options
from libra_opt.feedback.setpoint import Setpoint

__all__ = ["planning"]

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
