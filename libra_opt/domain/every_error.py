"""Every error of a broken document, although its long lists are told to stop at their first bad element.

They are told so (`fail_fast`) because a few megabytes of noise can hold millions of errors, which pydantic would keep all at once. Here
the elements of such lists are looked at one by one, so that whoever asks can stop.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from libra_opt.domain.base import Value
from libra_opt.domain.faults import Location

__all__ = ["every_error"]

_MOST_OF_ONE: Final = 10_000
"""A value with more errors than this, lists apart, is not what it is taken for."""


def every_error(kind: type[Value], content: object, found: ValidationError, loc: Location = ()) -> Iterator[ErrorDetails]:
    """Yield the errors of a value of that kind: those that pydantic found, and those of the list elements it did not come to."""
    if found.error_count() > _MOST_OF_ONE:
        message = f"has {found.error_count()} faults, too many to name; is it a {kind.__name__.lower()}?"
        yield ErrorDetails(type="too_many", loc=loc, msg=message, input=None)
        return
    broken_lists = dict.fromkeys(_element_kinds(kind), False)
    for details in found.errors(include_url=False):
        name = str(details["loc"][0]) if len(details["loc"]) > 1 else ""
        if name in broken_lists:
            broken_lists[name] = True
        else:
            yield _placed(details, loc)
    for name, element_kind in _element_kinds(kind).items():
        if broken_lists[name] and isinstance(content, dict):
            for i, element in enumerate(content[name]):
                yield from _errors_of(element_kind, element, (*loc, name, i))


def _errors_of(kind: type[Value], content: object, loc: Location) -> Iterator[ErrorDetails]:
    try:
        kind.model_validate(content)
    except ValidationError as found:
        yield from every_error(kind, content, found, loc)


@cache
def _element_kinds(kind: type[Value]) -> Mapping[str, type[Value]]:
    """Return the fields that are lists of values, and of what kind their elements are."""
    fields = {name: get_args(part)[0] for name, field in kind.model_fields.items() for part in _parts(field.annotation) if get_origin(part) is tuple}
    return {name: element for name, element in fields.items() if isinstance(element, type) and issubclass(element, Value)}


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)


def _placed(details: ErrorDetails, loc: Location) -> ErrorDetails:
    placed = details.copy()
    placed["loc"] = (*loc, *details["loc"])
    return placed
