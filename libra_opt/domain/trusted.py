"""`trusted`: a value made of parts that are known to be valid, for code that makes them by the hundred thousand.

Validation is for what comes from outside. A plan is written by the package itself from a state that was validated, amount by amount, and
looking at every one of them again takes longer than deciding them. A test holds that values made here are those that validation makes.
"""

from functools import cache
from typing import Any, TypeVar

from libra_opt.domain.base import Value, fields_given

__all__ = ["trusted"]

_Trusted = TypeVar("_Trusted", bound=Value)


def trusted(kind: type[_Trusted], fields: dict[str, Any]) -> _Trusted:
    """Return the value of that kind with these fields, unvalidated.

    Parameters
    ----------
    fields
        Every field of the kind in its order, each as validation would leave it; the value keeps this mapping, so nobody else may.
    """
    value = object.__new__(kind)
    object.__setattr__(value, "__dict__", fields)
    object.__setattr__(value, "__pydantic_fields_set__", _every_field(kind))
    object.__setattr__(value, "__pydantic_extra__", None)
    object.__setattr__(value, "__pydantic_private__", None)
    return value


@cache
def _every_field(kind: type[Value]) -> set[str]:
    return fields_given(tuple(kind.model_fields))
