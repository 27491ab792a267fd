"""One period on record: a state and its plan as one line of JSON, and what made the plan.

    {"format":"libra-opt/recording/1","pair":1,"versions":{..},"state":{..},"plan":{..},"note":{..}}

State and plan stand in it exactly as `write` gives them, and are read out of it as they stand, so that they can be compared byte for byte.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from libra_opt.domain import Plan, State, read_plan, read_state, write
from libra_opt.domain.members import members
from libra_opt.errors import Fault, InputError

__all__ = ["RECORDING_FORMAT", "Pair", "as_line", "of_line", "versions"]

RECORDING_FORMAT: Final = "libra-opt/recording/1"

_PACKAGES: Final = ("libra-opt", "ortools", "highspy", "cvxpy", "numpy", "scipy")
"""What can make another plan of equal worth."""

_BESIDE: Final = {"format": "null", "pair": "0", "versions": "{}", "note": "{}"}
"""What stands beside state and plan, and what counts where it is missing."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One period on record.

    Attributes
    ----------
    number
        Which of the whole recording it is, from 1; it stays what it is when older parts are deleted.
    source
        Where it stands, for messages.
    state_text, plan_text
        The documents as they stand.
    versions
        Of `libra_opt` and of the libraries that had a hand in the plan, by name.
    note
        What else whoever recorded it wants to find again; empty for nothing.
    """

    number: int
    source: str
    state_text: str
    plan_text: str
    versions: Mapping[str, str]
    note: Mapping[str, Any]

    def state(self) -> State:
        """Return the state; raises `InputError` with every fault."""
        return read_state(self.state_text, f"{self.source}, the state")

    def plan(self) -> Plan:
        """Return the plan; raises `InputError` with every fault."""
        return read_plan(self.plan_text, f"{self.source}, the plan")


@cache
def versions() -> Mapping[str, str]:
    """Return the version of `libra_opt` and of every library that has a hand in plans, as they are installed."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def as_line(number: int, state: State, plan: Plan, note: Mapping[str, Any]) -> bytes:
    """Return a period as a line, its end included; raises `ValueError` for a note that is not JSON."""
    head = json.dumps({"format": RECORDING_FORMAT, "pair": number, "versions": versions()}, separators=(",", ":"))
    tail = f',"note":{json.dumps(note, allow_nan=False, separators=(",", ":"))}' if note else ""
    return f'{head[:-1]},"state":{write(state)},"plan":{write(plan)}{tail}}}\n'.encode()


def of_line(line: bytes, source: str) -> Pair:
    """Read one line.

    Raises
    ------
    InputError
        It is no period of a recording; what its state or plan says is read later.
    """
    try:
        found = members(line.decode())
        kept = {name: json.loads(found.get(name, default)) for name, default in _BESIDE.items()}
    except ValueError as error:
        raise _refusal(source, str(error)) from error
    missing = [name for name in ("state", "plan") if name not in found]
    if kept["format"] != RECORDING_FORMAT:
        raise _refusal(source, f"its format is {found.get('format', 'missing')}, and {RECORDING_FORMAT!r} is read here")
    if missing:
        raise _refusal(source, f"it has no {' and no '.join(missing)}")
    if not (isinstance(kept["pair"], int) and isinstance(kept["versions"], dict) and isinstance(kept["note"], dict)):
        raise _refusal(source, "its pair is no whole number, or its versions or its note no object")
    return Pair(kept["pair"], source, found["state"], found["plan"], kept["versions"], kept["note"])


def _refusal(source: str, message: str) -> InputError:
    return InputError(source, (Fault("", f"is no period of a recording: {message}; delete the line or take the file from a backup"),))
