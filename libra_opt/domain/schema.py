"""The JSON schema of the documents, made from the models; its descriptions are those of their docstrings."""

import re
from inspect import cleandoc
from typing import Any, Final, Literal, TypeAlias, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from libra_opt.domain.base import Value
from libra_opt.domain.plan import Plan
from libra_opt.domain.state import State
from libra_opt.domain.workload import Workload

__all__ = ["DocumentKind", "json_schema"]

DocumentKind: TypeAlias = Literal["state", "plan", "workload"]

_MODELS: Final[dict[DocumentKind, type[Value]]] = {"state": State, "plan": Plan, "workload": Workload}
_SECTION: Final = re.compile(r"^(?P<title>\w+)\n-+\n", re.MULTILINE)
_ATTRIBUTE: Final = re.compile(r"^(?P<names>\w+(?:, \w+)*)\n(?P<meaning>(?: {4}.*(?:\n|$))+)", re.MULTILINE)


def json_schema(kind: DocumentKind) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a state or of a plan.

    It says what stands where; that a minimum is not above its maximum, or that a name is known, only reading finds out.

    Examples
    --------
    >>> json_schema("state")["properties"]["jobs"]["items"]
    {'$ref': '#/$defs/Job'}
    """
    model = _MODELS[kind]
    schema = model.model_json_schema(schema_generator=_Described)
    return {"$schema": GenerateJsonSchema.schema_dialect, "$id": f"urn:libra-opt:{kind}:1", **schema}


class _Described(GenerateJsonSchema):
    """Takes the description of a model, and of each of its properties, from the docstrings of the model and its bases."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of one model."""
        described = super().model_schema(schema)
        model = cast("type[Value]", schema["cls"])
        described["description"] = _SECTION.split(cleandoc(model.__doc__ or ""))[0].strip()
        for name, meaning in _meanings(model).items():
            if name in described["properties"]:
                described["properties"][name] = {**described["properties"][name], "description": meaning}
        return described


def _meanings(model: type[Value]) -> dict[str, str]:
    meanings: dict[str, str] = {}
    for base in reversed(model.__mro__):
        for match in _ATTRIBUTE.finditer(cleandoc(base.__doc__ or "") if issubclass(base, Value) else ""):
            meaning = " ".join(match["meaning"].split())
            meanings.update(dict.fromkeys(match["names"].split(", "), meaning))
    return meanings
