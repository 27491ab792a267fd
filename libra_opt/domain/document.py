"""The JSON door: a document becomes a state or a plan, or every fault in it is named with its path."""

from itertools import islice
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from libra_opt.domain.base import Value
from libra_opt.domain.collector import collector_paused
from libra_opt.domain.every_error import every_error
from libra_opt.domain.faults import fault_of, location_of, path_of, shown
from libra_opt.domain.plan import PLAN_FORMAT, Plan
from libra_opt.domain.repeated import may_repeat_keys, repeated_keys
from libra_opt.domain.salvage import errors_beside
from libra_opt.domain.state import STATE_FORMAT, State
from libra_opt.domain.workload import WORKLOAD_FORMAT, Workload
from libra_opt.errors import Fault, InputError

__all__ = ["MOST_CHARACTERS", "MOST_FAULTS", "digest", "read_plan", "read_state", "read_workload", "write"]

MOST_CHARACTERS: Final = 1 << 30
"""A longer document is refused unread."""

MOST_FAULTS: Final = 1000
"""So many faults of one document are listed; of the others it is said how many they are."""

_MOST_ERRORS: Final = 20 * MOST_FAULTS
_BYTE_ORDER_MARK: Final = "\ufeff"

_FORMATS: Final = {STATE_FORMAT: "state", PLAN_FORMAT: "plan", WORKLOAD_FORMAT: "workload"}

_NOTHING_AHEAD: Final[Any] = {"ahead": True, "certificate": {"horizon": True}, "forecast": {"__all__": {"ahead": True}}}
"""Fields of a plan that does not look ahead."""

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


def read_workload(text: str | bytes, source: str = "workload") -> Workload:
    """Read one workload document; raises `InputError` as `read_state` does."""
    return _read(Workload, text, source)


def write(document: Value) -> str:
    """Return a state or a plan as JSON, fields in a fixed order; what a state left out is left out again (but never its `format`), a plan is written whole.

    What only looking ahead writes into a plan is left out of one that does not.
    """
    if "format" in type(document).model_fields and "format" not in document.model_fields_set:
        document = document.model_copy(update={"format": type(document).model_fields["format"].default})
    return _write_given(document)


def _write_given(document: Value) -> str:
    if not isinstance(document, Plan):
        return document.model_dump_json(exclude_unset=True)
    return document.model_dump_json(exclude=None if document.ahead else _NOTHING_AHEAD)


def digest(state: State) -> str:
    """Return ``sha256:`` and the digest of what is to be planned: the state as `write` gives it, without the options that only say how hard to search."""
    return state.digest


def _read(kind: type[_Document], text: str | bytes, source: str) -> _Document:
    with collector_paused():
        return _read_whole(kind, _decode(text, source), source)


def _read_whole(kind: type[_Document], decoded: str, source: str) -> _Document:
    try:
        document = kind.model_validate_json(decoded)
    except ValidationError as error:
        faults = _faults(kind, decoded, error)
    else:
        written = _write_given(document)
        if not (may_repeat_keys(decoded, written) and repeated_keys(decoded)):
            if isinstance(document, State):
                document.enter_digest(written)
            return document
        faults = _all_faults(kind, decoded, [])
    if len(faults) > MOST_FAULTS:
        faults = [*faults[:MOST_FAULTS], Fault("", f"and {len(faults) - MOST_FAULTS} faults more; put these right first")]
    raise InputError(source, tuple(faults))


def _decode(text: str | bytes, source: str) -> str:
    """Return the text of a document, or raise what keeps it from being read at all."""
    if len(text) > MOST_CHARACTERS:
        raise _unreadable(source, f"is {len(text)} long, above {MOST_CHARACTERS}, the most that is read; split it")
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8 text (byte {error.object[error.start]:#04x} at offset {error.start}, line {line}); save it as UTF-8"
        raise _unreadable(source, message) from None
    if decoded.startswith(_BYTE_ORDER_MARK):
        raise _unreadable(source, "starts with a byte order mark at line 1; save it as UTF-8 without one")
    if not decoded or decoded.isspace():
        raise _unreadable(source, "is empty; write a JSON object, the smallest is {}")
    return decoded


def _unreadable(source: str, message: str) -> InputError:
    return InputError(source, (Fault("", message),))


def _faults(kind: type[_Document], text: str, found: ValidationError) -> list[Fault]:
    """Return every fault of a document that pydantic found to be broken."""
    few = found.errors(include_url=False) if found.error_count() <= _MOST_ERRORS else []
    if few and few[0]["type"] == "json_invalid":
        return [Fault("", _not_json(str(few[0]["ctx"]["error"])))]
    if few and few[0]["type"] != "fault" and not few[0]["loc"]:
        return [fault_of(few[0], kind)]
    content = from_json(text)
    errors = few if few and few[0]["type"] == "fault" else list(islice(every_error(kind, content, found), _MOST_ERRORS))
    for details in errors:
        if details["loc"] == ("format",):
            return [Fault("format", _other_format(kind, details["input"]))]
    return _all_faults(kind, text, errors)


def _all_faults(kind: type[_Document], text: str, errors: list[ErrorDetails]) -> list[Fault]:
    """Return the faults that those errors are, repeated keys, and the contradictions in what is left."""
    structural = [details for details in errors if details["type"] != "fault"]
    repeated = repeated_keys(text)
    if not (structural or repeated):
        return [fault_of(details, kind) for details in errors]
    faults = [fault_of(details, kind) for details in structural]
    faults += [Fault(path_of(loc), "is written twice in one object, and readers differ in which they take; delete one") for loc in repeated]
    broken = [*(location_of(details) for details in structural), *repeated]
    if kind is State and () not in broken:
        faults += [fault_of(details, kind) for details in errors_beside(from_json(text), broken)]
    return faults


def _not_json(reason: str) -> str:
    if reason.startswith("EOF"):
        return f"ends early, it was cut off: {reason}; write it again, whole"
    if reason.startswith("recursion"):
        return f"is nested too deeply: {reason}; no document of this format needs more than 10 levels"
    if reason.startswith("number out of range"):
        return f"has a number of too many digits: {reason}; write a shorter one"
    return f"is not JSON: {reason}; correct it there"


def _other_format(kind: type[_Document], given: object) -> str:
    wanted = str(kind.model_fields["format"].default)
    if isinstance(given, str) and given in _FORMATS:
        return f"{shown(given)} is a {_FORMATS[given]}, and a {kind.__name__.lower()} ({wanted!r}) is asked for; give one"
    return f"{shown(given)} is not a format of this version, which reads {wanted!r}; convert the document or use the version it was written for"
