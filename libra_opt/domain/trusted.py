"""`trusted` and `maker`: values made of parts that are known to be valid, for code that makes them by the hundred thousand.

Validation is for what comes from outside. A plan is written by the package itself from a state that was validated, amount by amount, and
looking at every one of them again takes longer than deciding them. A test holds that values made here are those that validation makes.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from libra_opt.domain.base import Value, fields_given

__all__ = ["maker", "trusted"]

_Trusted = TypeVar("_Trusted", bound=Value)

_SLOTS: Final = vars(BaseModel)
_set_fields, _set_given = _SLOTS["__dict__"].__set__, _SLOTS["__pydantic_fields_set__"].__set__
_set_extra, _set_private = _SLOTS["__pydantic_extra__"].__set__, _SLOTS["__pydantic_private__"].__set__
"""What every pydantic value holds, set without looking its name up again each time."""


def trusted(kind: type[_Trusted], fields: dict[str, Any]) -> _Trusted:
    """Return the value of that kind with these fields, unvalidated.

    Parameters
    ----------
    fields
        Every field of the kind in its order, each as validation would leave it; the value keeps this mapping, so nobody else may.
    """
    return maker(kind)(fields)


def maker(kind: type[_Trusted]) -> Callable[[dict[str, Any]], _Trusted]:
    """Return `trusted` of one kind, for loops."""
    given, new = fields_given(tuple(kind.model_fields)), object.__new__

    def make(fields: dict[str, Any]) -> _Trusted:
        value = new(kind)
        _set_fields(value, fields)
        _set_given(value, given)
        _set_extra(value, None)
        _set_private(value, None)
        return value

    return make
