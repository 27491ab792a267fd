"""`libra_opt` decides, every rebalancing period, how much of each resource every agentic-RL job on a shared cluster gets."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libra_opt.allocate import allocate
    from libra_opt.domain import Plan, State, read_plan, read_state, write
    from libra_opt.errors import BrokenPlanError, EffortError, Fault, InputError, LibraError, MissingExtraError
    from libra_opt.verification import verify

__all__ = [
    "BrokenPlanError",
    "EffortError",
    "Fault",
    "InputError",
    "LibraError",
    "MissingExtraError",
    "Plan",
    "State",
    "allocate",
    "read_plan",
    "read_state",
    "verify",
    "write",
]

_HOMES = {
    **dict.fromkeys(("BrokenPlanError", "EffortError", "Fault", "InputError", "LibraError", "MissingExtraError"), "libra_opt.errors"),
    **dict.fromkeys(("Plan", "State", "read_plan", "read_state", "write"), "libra_opt.domain"),
    "allocate": "libra_opt.allocate",
    "verify": "libra_opt.verification",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for, so that the command line's help pays for none of them (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
