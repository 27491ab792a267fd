"""Paths into a state, by name, and changes of what is there: ``pools.a100.gpu=+8``, ``jobs.a.priority=2``, ``queues.q.nominal_quota.gpu=16``.

A path walks the fields of a state; pools, queues, jobs and stages are entered by their name or id (which may hold dots: the longest name that fits is taken).
Behind a pool's name a resource means its capacity. ``=`` sets, ``=+`` and ``=-`` change by an amount, and ``==`` sets what begins with a sign.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from libra_opt.domain import Pool, Resource, State
from libra_opt.domain.faults import fault_of
from libra_opt.domain.quantity import exact, parse
from libra_opt.errors import Fault, InputError

__all__ = ["apply"]

_KEYS: Final = {"pools": "name", "queues": "name", "jobs": "id", "stages": "name", "resources": "name"}
_SHORT: Final = ("capacity", Pool)
_UNLIMITED: Final = frozenset(("max_quota", "borrowing_limit"))
"""Where a resource that is missing means no limit."""
_NUMBERS: Final = frozenset(("resize_seconds", "price_per_hour"))
"""Mappings by resource that hold plain numbers, and no amounts of the resource."""
_NOT_PLANNED: Final = frozenset(("format", "about"))
_MOST_LISTED: Final = 40


class _UnknownError(ValueError):
    """A part of a path is not there, or a value does not fit it; the message says what there is."""


@dataclass(frozen=True)
class _Change:
    """How one value changes: set (``=``), or by an amount (``+``, ``-``)."""

    sign: str
    text: str


def apply(state: State, settings: Iterable[str]) -> State:
    """Return the state with the settings made, one after the other.

    Parameters
    ----------
    settings
        ``PATH=VALUE``, ``PATH=+AMOUNT`` or ``PATH=-AMOUNT``.

    Raises
    ------
    InputError
        A path leads nowhere, a value does not fit it, or the state that comes out contradicts itself; every fault is named with its setting.

    Examples
    --------
    >>> from libra_opt import State
    >>> state = State.model_validate({"pools": [{"name": "a100", "capacity": {"gpu": 8}}]})
    >>> apply(state, ["pools.a100.gpu=+8"]).pools[0].capacity["gpu"]
    16
    """
    faults: list[Fault] = []
    for setting in settings:
        try:
            state = _set(state, setting)
        except _UnknownError as error:
            faults.append(Fault(setting, str(error)))
        except ValidationError as error:
            faults += [Fault(setting, str(fault_of(details, State))) for details in error.errors(include_url=False)]
    if faults:
        raise InputError("--set", tuple(faults))
    return state


def _set(state: State, setting: str) -> State:
    changed: State = _walk(state, setting, state.resources)
    return changed


def _walk(value: Any, rest: str, resources: Sequence[Resource]) -> Any:
    """Return `value` with the change at the end of the path made."""
    if isinstance(value, Pool):
        name, _ = _first(rest, [resource.name for resource in resources])
        if name is not None:
            rest = f"{_SHORT[0]}.{rest}"
    if isinstance(value, BaseModel):
        fields = [name for name in type(value).model_fields if name not in _NOT_PLANNED]
        name, after = _taken(rest, fields, f"a {type(value).__name__.lower()} has")
        return value.replace({name: _inside(value, name, after, resources)})  # type: ignore[attr-defined]
    raise _UnknownError(f"the path ends before {rest!r}")


def _inside(owner: BaseModel, name: str, rest: str, resources: Sequence[Resource]) -> Any:
    """Return the new value of the field `name` of `owner`."""
    value = getattr(owner, name)
    if name in _KEYS and isinstance(value, tuple) and rest.startswith("."):
        names = [getattr(item, _KEYS[name]) for item in value]
        found, after = _taken(rest[1:], names, f"{name} are")
        if not after.startswith("."):
            raise _UnknownError(f"{found!r} is nothing that one value sets; name what in it")
        i = names.index(found)
        return (*value[:i], _walk(value[i], after[1:], resources), *value[i + 1 :])
    if rest.startswith("=") and name not in _KEYS:
        return _changed(value, _change(rest), None)
    if isinstance(value, BaseModel) and rest.startswith("."):
        return _walk(value, rest[1:], resources)
    if rest.startswith(".") and (isinstance(value, Mapping) or value is None):
        return _entries(name, value, rest[1:], resources)
    raise _UnknownError(f"{name!r} is nothing that one value sets; name what in it")


def _entries(name: str, value: Mapping[str, Any] | None, rest: str, resources: Sequence[Resource]) -> dict[str, Any]:
    """Return a mapping, of amounts by resource mostly, with one entry changed."""
    is_by_pool = name == "pools"
    known = list(value or ()) if is_by_pool else [resource.name for resource in resources]
    found, after = _taken(rest, known, f"{name} is of")
    given, change = dict(value or {}), _change(after)
    if found not in given and name in _UNLIMITED and change.sign != "=":
        raise _UnknownError(f"{name} of {found} is not limited, so there is nothing to change; = sets a limit")
    is_amount = not is_by_pool and name not in _NUMBERS
    given[found] = _changed(given.get(found, 0), change, resources[known.index(found)] if is_amount else None)
    return given


def _change(rest: str) -> _Change:
    text = rest[1:]
    if text.startswith("="):
        return _Change("=", text[1:])
    return _Change(text[0], text[1:]) if text[:1] in ("+", "-") else _Change("=", text)


def _changed(before: Any, change: _Change, resource: Resource | None) -> Any:
    """Return a value after a change; of a resource, amounts are exact and written as people write them."""
    if not change.text:
        raise _UnknownError("has no value behind =; write one")
    given = _value(change.text)
    if change.sign == "=":
        return given
    if resource is not None:
        return _written(resource, _exact(before, resource), _exact(given, resource), change)
    if before is None or isinstance(before, bool | str | BaseModel | Mapping | tuple) or isinstance(given, bool | str) or given is None:
        raise _UnknownError(f"{change.sign}{change.text} changes a number, and there is {_told(before)}; = sets it")
    total = exact(before) + exact(given) * (1 if change.sign == "+" else -1)
    return int(total) if total.denominator == 1 and not isinstance(before, float) else float(total)


def _value(text: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def _exact(written: Any, resource: Resource) -> Fraction:
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        raise _UnknownError(f"{written!r} is not an amount; write a number of 0 or more, or a Kubernetes quantity such as '80Gi' or '500m'")
    try:
        return parse(written, resource.unit)
    except ValueError as error:
        raise _UnknownError(str(error)) from None


def _written(resource: Resource, before: Fraction, by: Fraction, change: _Change) -> Any:
    total = before + by if change.sign == "+" else before - by
    if total < 0:
        raise _UnknownError(f"would fall below 0: there is {float(before):g} {resource.unit} and {float(by):g} is taken away; take less")
    quanta = total / resource.step
    return resource.write(quanta.numerator) if quanta.denominator == 1 else float(total)


def _taken(rest: str, known: Sequence[str], there: str) -> tuple[str, str]:
    """Return the name that a path goes on with, and what follows it."""
    found, after = _first(rest, known)
    if found is None:
        asked = rest.split("=", 1)[0] or rest
        shown = ", ".join(map(repr, known[:_MOST_LISTED])) + (f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else "")
        raise _UnknownError(f"nothing is called {asked!r}; {there} {shown or 'none'}")
    if not after:
        raise _UnknownError("sets nothing; write = and a value behind the path")
    return found, after


def _first(rest: str, known: Sequence[str]) -> tuple[str | None, str]:
    fits = [name for name in known if rest.startswith(name) and rest[len(name) : len(name) + 1] in ("", ".", "=")]
    best = max(fits, key=len, default=None)
    return best, rest[len(best) :] if best is not None else rest


def _told(value: Any) -> str:
    return "none" if value is None else repr(value) if isinstance(value, bool | str) else "none that could be changed"
