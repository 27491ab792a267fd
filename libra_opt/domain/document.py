"""The JSON door: a document becomes a state or a plan, or every fault in it is named with its path."""

from hashlib import sha256
from typing import TypeVar

from pydantic import ValidationError

from libra_opt.domain.base import Value
from libra_opt.domain.plan import Plan
from libra_opt.domain.state import State
from libra_opt.errors import Fault, InputError

__all__ = ["digest", "read_plan", "read_state", "write"]

_Document = TypeVar("_Document", bound=Value)


def read_state(text: str | bytes, source: str = "state") -> State:
    """Read one state document.

    Raises
    ------
    InputError
        The document is not a valid state; `faults` names every reason with its path. `source` is how messages call the document.
    """
    return _read(State, text, source)


def read_plan(text: str | bytes, source: str = "plan") -> Plan:
    """Read one plan document; raises `InputError` as `read_state` does."""
    return _read(Plan, text, source)


def write(document: Value) -> str:
    """Return a state or a plan as JSON, fields in a fixed order, what was left out left out."""
    return document.model_dump_json(exclude_unset=True)


def digest(state: State) -> str:
    """Return ``sha256:`` and the digest of the state as `write` gives it."""
    return f"sha256:{sha256(write(state).encode()).hexdigest()}"


def _read(kind: type[_Document], text: str | bytes, source: str) -> _Document:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        faults = tuple(Fault(_path(details["loc"]), details["msg"]) for details in error.errors(include_url=False, include_context=False, include_input=False))
    raise InputError(source, faults)


def _path(loc: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" if i else part for i, part in enumerate(loc))
