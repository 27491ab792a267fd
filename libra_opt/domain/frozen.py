"""`FrozenMapping`: a mapping that cannot be changed, for the inside of frozen values."""

from collections.abc import Mapping
from typing import Any, Generic, NoReturn, Self, TypeVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["MOST_ENTRIES", "FrozenMapping", "frozen_schema"]

MOST_ENTRIES = 10_000
"""A mapping in a document has at most this many entries."""

_Key = TypeVar("_Key")
_Entry = TypeVar("_Entry")


class FrozenMapping(dict[_Key, _Entry], Generic[_Key, _Entry]):
    """A dict that refuses every change, is hashable and, as a dict, costs nothing to read or to write as JSON.

    Examples
    --------
    >>> speeds = FrozenMapping({"a100": 1.0})
    >>> speeds["a100"] = 2.0
    Traceback (most recent call last):
    TypeError: a FrozenMapping cannot be changed; make a new one
    """

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be changed; make a new one")

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"

    def __reduce__(self) -> tuple[type[Self], tuple[dict[_Key, _Entry]]]:
        return type(self), (dict(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate as a JSON object and freeze it."""
        keys, values = get_args(source) or (Any, Any)
        return frozen_schema(cls, handler.generate_schema(keys), handler.generate_schema(values))


def frozen_schema(kind: type[Mapping[Any, Any]], keys: CoreSchema, values: CoreSchema) -> CoreSchema:
    """Return the schema of a JSON object that becomes a frozen mapping of that kind."""
    return core_schema.no_info_after_validator_function(kind, core_schema.dict_schema(keys, values, max_length=MOST_ENTRIES))
