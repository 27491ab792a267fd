"""Plans of the instances with the options they state, each made once a process: what is asked of a plan is asked of the same one."""

from functools import cache
from pathlib import Path

from libra_opt.adapters.files import read_bytes
from libra_opt.allocation import allocate
from libra_opt.domain import Plan, State, read_state

__all__ = ["INSTANCES", "planned"]

INSTANCES = Path(__file__).parents[2] / "instances"


@cache
def planned(name: str) -> tuple[State, Plan]:
    """Return the state of a file, named from `instances/` on, and its plan; both are frozen."""
    state = read_state(read_bytes(str(INSTANCES / name)), name)
    return state, allocate(state)
