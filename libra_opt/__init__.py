"""`libra_opt` decides, every rebalancing period, how much of each resource every agentic-RL job on a shared cluster gets."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from libra_opt.allocation import allocate
    from libra_opt.domain import Plan, State, read_plan, read_state, write
    from libra_opt.errors import BrokenPlanError, EffortError, Fault, InputError, LibraError, MissingExtraError
    from libra_opt.explanation import Explanation, explain
    from libra_opt.feedback import Outcome, Setpoint, adapt, aged_weight, begun_weight, planned_weight, planning, waiting_credit
    from libra_opt.forecast.step_done import step_done
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
    "begun_weight",
    "explain",
    "planned_weight",
    "planning",
    "read_plan",
    "read_state",
    "step_done",
    "verify",
    "waiting_credit",
    "write",
]

_HOMES: Final = {
    "allocation": ("allocate",),
    "domain": ("Plan", "State", "read_plan", "read_state", "write"),
    "errors": ("BrokenPlanError", "EffortError", "Fault", "InputError", "LibraError", "MissingExtraError"),
    "explanation": ("Explanation", "explain"),
    "feedback": ("Outcome", "Setpoint", "adapt", "aged_weight", "begun_weight", "planned_weight", "planning", "waiting_credit"),
    "forecast.step_done": ("step_done",),
    "verification": ("verify",),
}
_HOME: Final = {name: f"libra_opt.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: the command line's help must not pay for the values (PEP 562)."""
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
