"""The law: one period's outcome turns one setpoint into the next."""

from libra_opt.feedback.ageing import adapt_ageing
from libra_opt.feedback.law import LAW, Law
from libra_opt.feedback.measured import measure, remember
from libra_opt.feedback.memory import adapt_memory
from libra_opt.feedback.move_price import adapt_move_price
from libra_opt.feedback.outcome import Outcome
from libra_opt.feedback.period import adapt_period
from libra_opt.feedback.setpoint import Setpoint

__all__ = ["adapt"]


def adapt(setpoint: Setpoint, outcome: Outcome, law: Law = LAW) -> Setpoint:
    """Return the setpoint of the next period.

    Pure: the same setpoint and outcome give the same answer. What the outcome does not know is left as it is. Where every measurement is inside its band
    and the filters have arrived, the setpoint is returned equal to what it was.

    Parameters
    ----------
    setpoint
        What was in force in the period.
    outcome
        What came of it.
    law
        The constants.

    Examples
    --------
    >>> from libra_opt.feedback import Outcome, Setpoint
    >>> calm = Outcome(period_seconds=60, n_running=8, n_waiting=0, n_preemptions=0, n_resizes=0, n_migrations=0, n_memory_kills=0)
    >>> adapt(Setpoint(), calm) == Setpoint()
    True
    """
    seen = measure(outcome)
    new = remember(setpoint.remembered, seen, law)
    memory = adapt_memory(setpoint, seen, new, law)
    period_seconds, dwell_periods = adapt_period(setpoint, outcome, seen, new, law)
    return Setpoint(
        format=setpoint.format,
        move_price=adapt_move_price(setpoint, seen, new, law),
        coverage=memory.coverage,
        margin=memory.margin,
        ageing_seconds=adapt_ageing(setpoint, seen, new, law),
        period_seconds=period_seconds,
        remembered=new.replace({"killed_margin": memory.killed_margin, "kill_hold_periods": memory.kill_hold_periods, "dwell_periods": dwell_periods}),
    )
