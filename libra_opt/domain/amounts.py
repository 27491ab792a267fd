"""`Amounts`: an unchangeable mapping from resource names to amounts as written.

What the amounts are in whole quanta depends on the resources of a state, so that is the ledger's business; here only what needs no
context is refused: a wrong type, NaN, a negative number, a text that is too long.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from libra_opt.domain.base import Name
from libra_opt.domain.frozen import FrozenMapping, frozen_schema
from libra_opt.domain.quantity import LONGEST, PATTERN, WrittenAmount

__all__ = ["Amount", "Amounts"]


@dataclass(frozen=True, slots=True)
class _AmountSchema:
    """How one written amount is validated: three JSON types, one error."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        arms: list[CoreSchema | tuple[CoreSchema, str]] = [
            core_schema.str_schema(strict=True, min_length=1, max_length=LONGEST),
            core_schema.int_schema(strict=True, ge=0),
            core_schema.float_schema(strict=True, ge=0, allow_inf_nan=False),
        ]
        return core_schema.union_schema(
            arms,
            mode="left_to_right",
            custom_error_type="amount",
            custom_error_message="is not an amount; write a number of 0 or more, or a Kubernetes quantity such as '80Gi' or '500m'",
            serialization=core_schema.simple_ser_schema("any"),
        )

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "title": "Amount",
            "description": "A number counts units of the resource; a string is a Kubernetes quantity and absolute, as in 80Gi (bytes) or 500m.",
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "maxLength": LONGEST, "pattern": f"^{PATTERN}$"}],
        }


Amount = Annotated[WrittenAmount, _AmountSchema()]


class Amounts(FrozenMapping[str, WrittenAmount]):
    """A frozen mapping of resource name to amount, as written (``8``, ``1.5``, ``"80Gi"``, ``"500m"``)."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate as a JSON object of amounts and freeze it."""
        return frozen_schema(cls, handler.generate_schema(Name), handler.generate_schema(Amount))
