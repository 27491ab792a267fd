"""`libra_opt` decides, every rebalancing period, how much of each resource every agentic-RL job on a shared cluster gets."""

from libra_opt.allocate import allocate
from libra_opt.domain import Plan, State, read_plan, read_state, write
from libra_opt.errors import BrokenPlanError, EffortError, Fault, InputError, LibraError, MissingExtraError
from libra_opt.explanation import Explanation, explain
from libra_opt.feedback import Outcome, Setpoint, adapt, aged_weight, planning
from libra_opt.verification import verify

__all__ = [
    "BrokenPlanError",
    "EffortError",
    "Explanation",
    "Fault",
    "InputError",
    "LibraError",
    "MissingExtraError",
    "Outcome",
    "Plan",
    "Setpoint",
    "State",
    "adapt",
    "aged_weight",
    "allocate",
    "explain",
    "planning",
    "read_plan",
    "read_state",
    "verify",
    "write",
]
