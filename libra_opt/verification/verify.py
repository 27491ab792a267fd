"""`verify`: read a plan, check every rule, recompute the objective, compare with what the certificate says."""

from itertools import chain

from libra_opt.domain import Plan, State
from libra_opt.verification import moves, rules
from libra_opt.verification.ahead import looked_ahead
from libra_opt.verification.certificate import certified
from libra_opt.verification.fairness import divide
from libra_opt.verification.least import asked_amounts, released
from libra_opt.verification.objective import count
from libra_opt.verification.policies import valued
from libra_opt.verification.reading import read
from libra_opt.verification.report import Report
from libra_opt.verification.service import measure
from libra_opt.verification.usage import usage

__all__ = ["verify"]


def verify(state: State, plan: Plan) -> Report:
    """Say whether `plan` obeys every rule of the program for `state`.

    Parameters
    ----------
    state
        What was asked.
    plan
        What was answered, from whichever source; nothing in it is believed.

    Returns
    -------
    Report
        Every broken rule with its margin, and the recomputed tiers. `Report.holds` is True for a plan that may be carried out.
    """
    reading = read(state, plan)
    measured = measure(reading)
    asked = asked_amounts(reading, measured)
    used = usage(reading, range(len(reading.ledger.jobs)))
    charges = moves.charges(reading)
    policy = valued(reading)
    worth = policy.worth
    counted = count(reading, measured, asked, charges, policy)
    broken = chain(
        reading.broken,
        moves.actions(reading),
        rules.capacity(reading, used),
        rules.minimum(reading),
        rules.maximum(reading),
        rules.placement(reading),
        rules.need(reading),
        rules.service(reading, measured),
        rules.units(reading),
        rules.card_memory(reading),
        rules.ceilings(reading, used),
        rules.cost(reading, used),
        moves.budget(reading, used, charges),
        moves.protection(reading, worth),
        released(reading, asked),
        certified(reading, counted, divide(reading, measured)),
        looked_ahead(reading, measured, charges, worth),
    )
    return Report(tuple(broken), counted.tiers)
