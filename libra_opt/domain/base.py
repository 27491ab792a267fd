"""`Value`, the frozen base of every value in the domain, and the strict scalars its fields are made of."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["Flag", "Name", "Natural", "NonNegative", "Positive", "Time", "Value", "Whole"]

Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=253)]
NonNegative = Annotated[float, Field(strict=True, ge=0, le=1e15, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, ge=1e-9, le=1e15, allow_inf_nan=False)]
Time = Annotated[float, Field(strict=True, ge=-1e15, le=1e15, allow_inf_nan=False)]


def _whole(number: object) -> object:
    """Let 2.0 stand for 2, as JSON has one number type, and nothing else that is not a whole number."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    if isinstance(number, str | bool):
        raise ValueError("write a whole number, without quotes")
    return number


Whole = Annotated[int, BeforeValidator(_whole), Field(gt=-(1 << 63), lt=1 << 63)]
Natural = Annotated[Whole, Field(ge=0)]


class Value(BaseModel):
    """A frozen value that refuses unknown fields, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants", hide_input_in_errors=True)

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """Return a validated copy with some fields changed (pydantic's `model_copy` would skip validation)."""
        return type(self).model_validate({**{name: getattr(self, name) for name in self.model_fields_set}, **changes})
