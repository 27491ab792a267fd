"""`Amounts`: an unchangeable mapping from resource names to amounts as written.

What the amounts are in whole quanta depends on the resources of a state, so that is the ledger's business; here only what needs no
context is refused: a wrong type, NaN, a negative number.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from libra_opt.domain.quantity import WrittenAmount

__all__ = ["Amounts"]

_Number = Annotated[int, Field(strict=True, ge=0)] | Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
_Written = Annotated[_Number | Annotated[str, Field(strict=True, max_length=64)], Field(union_mode="smart")]


class Amounts(Mapping[str, WrittenAmount]):
    """A frozen mapping of resource name to amount, as written (``8``, ``1.5``, ``"80Gi"``, ``"500m"``)."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, WrittenAmount] | None = None) -> None:
        self._items: dict[str, WrittenAmount] = dict(items or {})

    def __getitem__(self, resource: str) -> WrittenAmount:
        return self._items[resource]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"Amounts({self._items!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate as a JSON object of amounts and keep it frozen."""
        plain = handler.generate_schema(dict[str, _Written])
        wrap = core_schema.no_info_after_validator_function(cls, plain)
        return core_schema.json_or_python_schema(
            json_schema=wrap,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), wrap], mode="left_to_right"),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda amounts: amounts._items, return_schema=core_schema.dict_schema()),
        )
