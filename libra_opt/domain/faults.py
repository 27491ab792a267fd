"""Faults as people read them: the path of a place in a document, and a sentence for each kind of error that pydantic reports there."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final, get_args

from pydantic_core import ErrorDetails

from libra_opt.domain.base import MAPPING, PLAIN, Value
from libra_opt.errors import Fault

__all__ = ["Location", "fault_of", "location_of", "path_of", "shown", "values_in"]

Location = tuple[str | int, ...]

_PLAIN_KEY: Final = re.compile(r"[^\W\d][\w-]*")
_TAGS: Final = frozenset((MAPPING, PLAIN))
_BAD_KEY: Final = "[key]"


def path_of(loc: Location) -> str:
    """Return the path of a place, as in ``jobs[3].demand.cpu``; a key that is no plain word stands in brackets, ``["nvidia.com/gpu"]``."""
    return "".join(_step(part) for part in loc).removeprefix(".")


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _PLAIN_KEY.fullmatch(part) and part.isprintable() and len(part) <= 64 else f"[{shown(part)}]"


def shown(value: object) -> str:
    """Return a value of a document as JSON writes it, on one line, shortened, printable everywhere."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= 64 else f"{value[:61]}...", ensure_ascii=not value.isprintable())
    text = json.dumps(value, default=str)
    return text if len(text) <= 64 else f"a number of {len(text)} digits"


def location_of(error: ErrorDetails) -> Location:
    """Return where in the document an error is."""
    end = len(error["loc"]) - (error["type"] in _ABOUT_FIELD)
    loc = tuple(part for i, part in enumerate(error["loc"]) if part not in _TAGS or i == end)
    return loc[:-1] if _is_about_key(error) else loc


def _is_about_key(error: ErrorDetails) -> bool:
    return error["type"].startswith("string_") and error["loc"][-1:] == (_BAD_KEY,)


def fault_of(error: ErrorDetails, document: type[Value]) -> Fault:
    """Turn one error of pydantic about a document of that type into a fault."""
    loc = location_of(error)
    kind = error["type"]
    if kind == "missing":
        message = f"is missing; add it, {_expected(document, loc)}"
    elif kind == "extra_forbidden":
        message = _unknown(str(loc[-1]), _fields(document, loc[:-1]))
    elif kind in _SENTENCES:
        message = _SENTENCES[kind](error["input"], error.get("ctx", {}))
    elif kind in _OWN:
        message = f"{shown(error['input'])} {error['msg']}{_remedy(error['input'])}"
    else:
        message = error["msg"]  # contradictions: the ledger has written the sentence
    if _is_about_key(error):
        message = f"as a key, {message}"
    return Fault(path_of(loc), _printable(message))


def _printable(message: str) -> str:
    if message.isprintable():
        return message
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in message)


def _remedy(value: object) -> str:
    if isinstance(value, str):
        return "; write it without quotes"
    return "; leave it out if it is not known" if value is None else ""


def _amount(value: object, _context: Mapping[str, Any]) -> str:
    remedy = "write a number of 0 or more, or a Kubernetes quantity such as '80Gi' or '500m'"
    if value is None:
        return f"null is not an amount; leave the resource out, or {remedy}"
    if isinstance(value, str):
        return f"{shown(value)} has {len(value)} characters, an amount has 1 to 64; {remedy}"
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return f"{shown(value)} is negative; write 0 or more"
    return f"{shown(value)} is not an amount; {remedy}"


def _choice(value: object, context: Mapping[str, Any]) -> str:
    expected = str(context["expected"])
    near = get_close_matches(value, re.findall(r"'([^']*)'", expected), 1) if isinstance(value, str) else []
    return f"{shown(value)} is not {expected}" + (f"; did you mean {near[0]!r}?" if near else "; write one that is")


_ABOUT_FIELD: Final = frozenset(("extra_forbidden", "missing", "fault"))
"""Errors whose location ends with a name of the document, whatever it looks like."""

_OWN: Final = frozenset(("number", "whole", "either"))
"""Errors of our own scalars: their message follows the value."""

_SENTENCES: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], str]]] = MappingProxyType(
    {
        "amount": _amount,
        "literal_error": _choice,
        "string_type": lambda value, _: f"{shown(value)} is not a text; write it in quotes",
        "string_unicode": lambda _value, _: "is not text that UTF-8 can hold (half of a surrogate pair, or bytes); save it as UTF-8",
        "string_too_short": lambda value, _: f"{shown(value)} is empty; give it at least one character",
        "string_too_long": lambda value, context: f"has {len(value)} characters; shorten it to {context['max_length']}",
        "bool_type": lambda value, _: f"{shown(value)} is not true or false; write one of them, without quotes",
        "tuple_type": lambda value, _: f"{shown(value)} is not a list; write [ ... ]",
        "dict_type": lambda value, _: f"{shown(value)} is not an object; write {{ ... }}",
        "model_type": lambda value, _: f"{shown(value)} is not an object; write {{ ... }}",
        "model_attributes_type": lambda value, _: f"{shown(value)} is not an object; write {{ ... }}",
        "too_long": lambda _value, context: f"has more than {context['max_length']} entries, the most that are read; leave some out",
    }
)


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:64], known, 1)
    return f"unknown field; did you mean {near[0]!r}?" if near else f"unknown field; known are {', '.join(known)}"


def _fields(document: type[Value], loc: Location) -> tuple[str, ...]:
    return tuple(sorted({name for kind in _values_at(document, loc) for name in kind.model_fields}))


def _expected(document: type[Value], loc: Location) -> str:
    annotations = [kind.model_fields[str(loc[-1])].annotation for kind in _values_at(document, loc[:-1]) if loc[-1] in kind.model_fields]
    kinds = {kind for annotation in annotations for kind in (annotation, *get_args(annotation)) if isinstance(kind, type)}
    for kind, noun in ((str, "a text"), (float, "a number"), (int, "a whole number"), (tuple, "a list")):
        if any(issubclass(found, kind) for found in kinds):
            return noun
    return "a list" if any(get_args(annotation) for annotation in annotations) else "an object"


def _values_at(document: type[Value], loc: Location) -> list[type[Value]]:
    """Return the types of value that may stand at a place (numbers in a location do not change the type)."""
    found = [document]
    for part in loc:
        if isinstance(part, str):
            found = [value for kind in found if part in kind.model_fields for value in values_in(kind.model_fields[part].annotation)]
    return found


def values_in(annotation: Any) -> list[type[Value]]:
    """Return the types of value that an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return [annotation]
    return [value for argument in get_args(annotation) for value in values_in(argument)]
