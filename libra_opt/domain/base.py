"""`Value`, the frozen base of every value in the domain, and the strict scalars its fields are made of.

Every scalar is bounded, so that no document can lead to an overflow, an infinity or endless rational arithmetic later, and every scalar
reports one error of its own, whose message follows the value: "-1 is not a whole number from 0 to 9".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

__all__ = [
    "LEFT_OUT",
    "MAPPING",
    "PLAIN",
    "Either",
    "Finite",
    "Flag",
    "Name",
    "Natural",
    "NonNegative",
    "Numerous",
    "Positive",
    "Real",
    "Seconds",
    "Share",
    "Text",
    "Time",
    "Value",
    "Whole",
    "WholeNumber",
    "fields_given",
]

MAPPING, PLAIN = "<mapping>", "<plain>"
"""What pydantic puts into the location of an error behind the place of an `Either`; no part of the path."""


def _is_none(value: object) -> bool:
    return value is None


LEFT_OUT: Any = Field(default=None, exclude_if=_is_none)
"""Default of a field that is not written where it has no value: a document says nothing rather than null."""

_WHOLE_LIMIT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Real:
    """Annotates a float: a JSON number from `least` to `most`; where `tiny` is given, 0 or at least that."""

    least: float
    most: float
    tiny: float = 0

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        number: CoreSchema = core_schema.float_schema(strict=True, ge=self.tiny or self.least, le=self.most, allow_inf_nan=False)
        gap = ""
        if self.tiny:
            number = core_schema.union_schema([number, core_schema.float_schema(strict=True, ge=0, le=0)], mode="left_to_right")
            gap = f" (and not between 0 and {self.tiny:g})"
        return core_schema.custom_error_schema(
            number,
            "number",
            custom_error_message=f"is not a number from {self.least:g} to {self.most:g}{gap}",
            serialization=core_schema.simple_ser_schema("float"),
        )

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "number", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """Annotates an int: a JSON number from `least` to `most` without a fraction (2.0 is 2, as JSON has one number type)."""

    least: int
    most: int

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        whole = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        integral = core_schema.chain_schema([core_schema.float_schema(strict=True, allow_inf_nan=False), core_schema.int_schema(ge=self.least, le=self.most)])
        return core_schema.union_schema(
            [whole, integral],
            mode="left_to_right",
            custom_error_type="whole",
            custom_error_message=f"is not a whole number from {self.least} to {self.most}",
            serialization=core_schema.simple_ser_schema("int"),
        )

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Either:
    """Annotates a union of something plain and a mapping: the JSON type decides which is meant, so only its faults are reported.

    `message` says what is expected in place of the plain one's own error.
    """

    message: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain, mapping = (handler.generate_schema(kind) for kind in get_args(source))
        if self.message:
            plain = core_schema.custom_error_schema(plain, "either", custom_error_message=self.message)
        return core_schema.tagged_union_schema(
            {PLAIN: plain, MAPPING: mapping},
            lambda value: MAPPING if isinstance(value, Mapping) else PLAIN,
            serialization=core_schema.simple_ser_schema("any"),
        )


Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=253)]
Text = Annotated[str, Field(strict=True, max_length=65_536)]
Finite = Annotated[float, Real(-1e300, 1e300)]
NonNegative = Annotated[float, Real(0, 1e15, tiny=1e-30)]
Positive = Annotated[float, Real(1e-9, 1e15)]
Seconds = Annotated[float, Real(0, 1e9)]
Share = Annotated[float, Real(0, 1e6, tiny=1e-9)]
Time = Annotated[float, Real(-1e15, 1e15)]
Whole = Annotated[int, WholeNumber(-_WHOLE_LIMIT, _WHOLE_LIMIT)]
Natural = Annotated[int, WholeNumber(0, _WHOLE_LIMIT)]


class Value(BaseModel):
    """A frozen value that refuses unknown fields, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """Return a validated copy with some fields changed (pydantic's `model_copy` would skip validation).

        Raises
        ------
        pydantic.ValidationError
            The changed value would not be valid.
        """
        return type(self).model_validate({**{name: getattr(self, name) for name in self.model_fields_set}, **changes})


class Numerous(Value):
    """A value that documents hold by the hundred thousand.

    With every value pydantic keeps the set of the fields that were given, among many jobs a quarter of all memory. There are few different ones
    and frozen values only read them, so here equal ones are one.
    """

    @model_validator(mode="after")
    def _share_given(self) -> Self:
        object.__setattr__(self, "__pydantic_fields_set__", fields_given(tuple(self.__pydantic_fields_set__)))
        return self


@lru_cache(maxsize=4096)
def fields_given(names: tuple[str, ...]) -> set[str]:
    """Return the set of those names that all values share."""
    return set(names)
