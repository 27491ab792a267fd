"""The feedback law: from the setpoint of one period and what came of it to the setpoint of the next; pure, without clock or dice.

Here is only the controller. What is measured comes in as an `Outcome`, and what is decided goes out as `Options` (`planning`) and weights
(`planned_weight`); the program itself stays the same. The law is written down, with its stability argument, in `models/feedback.md`.
"""

from libra_opt.feedback.adapt import adapt
from libra_opt.feedback.ageing import aged_weight, waiting_credit
from libra_opt.feedback.begun import begun_weight
from libra_opt.feedback.law import LAW, Band, Law
from libra_opt.feedback.outcome import Outcome
from libra_opt.feedback.planning import planned_weight, planning
from libra_opt.feedback.seen import SeenJob, outcome_of
from libra_opt.feedback.setpoint import Remembered, Setpoint

__all__ = [
    "LAW",
    "Band",
    "Law",
    "Outcome",
    "Remembered",
    "SeenJob",
    "Setpoint",
    "adapt",
    "aged_weight",
    "begun_weight",
    "outcome_of",
    "planned_weight",
    "planning",
    "waiting_credit",
]
