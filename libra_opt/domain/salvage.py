"""What can still be checked in a state that is broken in places: the broken places are cut out and the rest is entered into a ledger.

Cutting must not lead to follow-up faults. So a field goes rather than an entry of a list, what loses its name keeps a place-holder, and
the collections whose names are no longer all known are handed to the ledger as unsure, which then keeps quiet about what depends on them.
"""

from collections.abc import Iterable
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from libra_opt.domain.faults import Location, location_of
from libra_opt.domain.state import UNSURE, State

__all__ = ["errors_beside"]

_KEYS: Final = {"resources": "name", "pools": "name", "queues": "name", "jobs": "id"}
_NAMED: Final = frozenset(("resources", "pools", "queues"))
_ENTRYWISE: Final = frozenset(("capacity", "min_quota", "max_quota", "demand", "need", "borrowing_limit"))
"""Fields of which one entry can go without making another one wrong."""

_ROUNDS: Final = 12


def errors_beside(document: object, broken: Iterable[Location]) -> list[ErrorDetails]:
    """Return the errors of a state document outside of its broken places: contradictions, and what lists of numbers had kept for later.

    `document` is cut down on the way.
    """
    if not isinstance(document, dict):
        return []
    unsure: set[str] = set()
    if any(loc and loc[0] not in State.model_fields for loc in broken):
        unsure |= _NAMED - document.keys()
    errors: list[ErrorDetails] = []
    for _ in range(_ROUNDS):
        for loc in broken:
            _cut(document, loc, unsure)
        try:
            State.model_validate(document, context={UNSURE: frozenset(unsure)})
        except ValidationError as error:
            found = error.errors(include_url=False)
            errors += found
            broken = [location_of(details) for details in found]
        else:
            break
        if found[0]["type"] == "fault":
            break
    return errors


def _cut(document: dict[str, Any], loc: Location, unsure: set[str]) -> None:
    match loc:
        case (str() as collection, int() as i, *rest) if collection in _KEYS and isinstance(document.get(collection), list):
            if _cut_element(document[collection], i, rest, _KEYS[collection]) or collection == "resources":
                unsure.add(collection)
            if collection == "queues" and isinstance(element := document[collection][i], dict):
                element.pop("lending_limit", None)
        case (str() as name, *_):
            document.pop(name, None)
            unsure |= {name} & _NAMED


def _cut_element(elements: list[Any], i: int, rest: list[str | int], key: str) -> bool:
    """Cut a place out of one element of a collection and tell whether the element's name is lost."""
    if i >= len(elements):
        return False
    element = elements[i]
    match rest:
        case (field, *_) if not isinstance(element, dict) or field == key:
            name = {key: f"\0{i}"}
            elements[i] = {**element, **name} if isinstance(element, dict) else name
            return True
        case []:
            elements[i] = {key: f"\0{i}"}
            return True
        case ("stages", int() as s, *inner) if isinstance(element.get("stages"), list):
            _cut_element(element["stages"], s, inner, "name")
        case ("history", int() as t, *inner) if isinstance(element.get("history"), list):
            _cut_sample(element, t, inner)
        case ("profile", *_):
            element.pop("profile", None)
            element.pop("full_rate", None)
        case (str() as field, str() as entry, *_) if field in _ENTRYWISE and isinstance(element.get(field), dict) and entry in element[field]:
            del element[field][entry]
        case (str() as field, *_):
            element.pop(field, None)
    return False


def _cut_sample(element: dict[str, Any], t: int, inner: list[str | int]) -> None:
    """Cut a place out of one entry of a history. A broken period takes all of it along, as those of the entries after it may count from it."""
    sample = element["history"][t]
    is_observation = isinstance(sample, dict) and isinstance(sample.get("usage"), dict)
    match inner:
        case ("period", *_) if is_observation:
            element.pop("history")
        case (str() as field, str() as entry, *_) if is_observation and isinstance(sample.get(field), dict):
            sample[field].pop(entry, None)
        case (str() as field, *_) if isinstance(sample, dict) and field != "usage":
            sample.pop(field, None)
        case _:
            element["history"][t] = {}
