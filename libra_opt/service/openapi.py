"""The service described (OpenAPI 3.1): its bodies are the exported JSON schemas, its refusals the problems it has."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from libra_opt.domain.schema import DocumentKind, json_schema
from libra_opt.service.problems import MEDIA_TYPE, PROBLEM_SCHEMA, PROBLEMS

__all__ = ["KINDS", "body_of", "components", "json_of", "refusals"]

KINDS: Final[tuple[DocumentKind, ...]] = ("state", "plan", "workload")

_LOCAL: Final = "#/$defs/"
_SHARED: Final = "#/components/schemas/"

_VERIFY: Final = {
    "type": "object",
    "required": ["state", "plan"],
    "additionalProperties": False,
    "properties": {"state": {"$ref": f"{_SHARED}State"}, "plan": {"$ref": f"{_SHARED}Plan"}},
}
_REPORT: Final = {
    "type": "object",
    "required": ["holds", "broken"],
    "additionalProperties": False,
    "properties": {
        "holds": {"type": "boolean", "description": "Whether the plan keeps every rule."},
        "broken": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["rule", "where", "message", "margin"],
                "additionalProperties": False,
                "properties": {
                    "rule": {"type": "string", "description": "R1 to R14, or what else of a plan is wrong."},
                    "where": {"type": "string"},
                    "message": {"type": "string"},
                    "margin": {"type": "number", "description": "By how much it is broken."},
                },
            },
        },
    },
}
_KIND: Final = {
    "type": "object",
    "required": ["kind", "jobs"],
    "additionalProperties": False,
    "properties": {"kind": {"enum": list(KINDS)}, **{name: {"type": "integer", "minimum": 0} for name in ("jobs", "pools", "queues")}},
}
_HEALTH: Final = {
    "type": "object",
    "required": ["status", "version"],
    "additionalProperties": False,
    "properties": {"status": {"enum": ["ok", "stopping"]}, "version": {"type": "string"}},
}


def components() -> dict[str, Any]:
    """Return every schema that the description refers to: those exported, their definitions beside them, and the service's own."""
    found: dict[str, Any] = {"Problem": PROBLEM_SCHEMA, "StateAndPlan": _VERIFY, "Report": _REPORT, "Kind": _KIND, "Health": _HEALTH}
    for kind in KINDS:
        schema = {name: value for name, value in json_schema(kind).items() if name not in ("$schema", "$id")}
        found |= {name: _shared(definition) for name, definition in schema.pop("$defs").items()}
        found[kind.capitalize()] = _shared(schema)
    return found


def _shared(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {name: _SHARED + value.removeprefix(_LOCAL) if name == "$ref" else _shared(value) for name, value in schema.items()}
    return [_shared(value) for value in schema] if isinstance(schema, list) else schema


def body_of(*schemas: str) -> dict[str, Any]:
    """Return the part of an operation that says which of the shared schemas its body follows."""
    chosen = [{"$ref": _SHARED + name} for name in schemas]
    schema = chosen[0] if len(chosen) == 1 else {"anyOf": chosen}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def json_of(schema: str, meaning: str) -> dict[int | str, dict[str, Any]]:
    """Return the answer 200 of an operation."""
    return {200: {"description": meaning, "content": {"application/json": {"schema": {"$ref": _SHARED + schema}}}}}


def refusals(kinds: Iterable[str]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of an operation that are problems of these kinds."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{_SHARED}Problem"}}}
    by_status: dict[int | str, list[str]] = {}
    for status, title in (PROBLEMS[kind] for kind in kinds):
        by_status.setdefault(status, []).append(title)
    return {status: {"description": ", or: ".join(titles), "content": content} for status, titles in by_status.items()}
