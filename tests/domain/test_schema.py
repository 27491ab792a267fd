"""The JSON schema: others can use it to check a document, and it explains what stands in one."""

import json
from typing import Any

import pytest

from libra_opt.domain import read_state
from libra_opt.domain.schema import json_schema
from libra_opt.errors import InputError

jsonschema = pytest.importorskip("jsonschema", reason="the package jsonschema is not installed")

PLAN: dict[str, Any] = {
    "format": "libra-opt/plan/1",
    "state_digest": "sha256:0",
    "period": {"index": 0, "seconds": 60},
    "jobs": [{"id": "a", "action": "queue", "service": 0, "stages": [], "reason": {"code": "full", "message": "No room."}}],
    "certificate": {"status": "optimal", "objective": 0, "bound": 0, "gap": 0, "backend": "auto", "limit": None},
}
VALID: list[dict[str, Any]] = [
    {},
    {"jobs": [{"id": "a", "unit": 2.0, "pools": {"p": 1}, "max_quota": {"gpu": 2, "mem": "4Gi"}}], "pools": [{"name": "p"}]},
    {"jobs": [{"id": "a", "unit": {"gpu": 1}, "pools": ["p"], "curve": [[1, 1]], "history": [{"cpu": None}]}], "pools": [{"name": "p", "card_mem": "80Gi"}]},
    {"jobs": [{"id": "a", "preemption_cost": {"resize_seconds": {"gpu": 1}}, "stages": [{"name": "s"}, {}]}], "options": {"gap": 0}},
]
BROKEN: list[dict[str, Any]] = [
    {"format": "libra-opt/plan/1"},
    {"jobs": {}},
    {"jobs": [{}]},
    {"jobs": [{"id": ""}]},
    {"jobs": [{"id": "a", "zzz": 1}]},
    {"jobs": [{"id": "a", "priority": "1"}]},
    {"jobs": [{"id": "a", "priority": 1.5}]},
    {"jobs": [{"id": "a", "weight": -1}]},
    {"jobs": [{"id": "a", "demand": {"gpu": -1}}]},
    {"jobs": [{"id": "a", "demand": {"gpu": "1 Gi"}}]},
    {"jobs": [{"id": "a", "demand": {"gpu": None}}]},
    {"jobs": [{"id": "a", "unit": "2"}]},
    {"jobs": [{"id": "a", "pools": {"p": 0}}]},
    {"jobs": [{"id": "a", "curve": [[1]]}]},
    {"jobs": [{"id": "a", "stages": []}]},
    {"options": {"backend": "none"}},
]


def test_schemas_are_schemas() -> None:
    for kind in ("state", "plan"):
        schema = json_schema(kind)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator.check_schema(schema)
        assert json.loads(json.dumps(schema)) == json_schema(kind)


@pytest.mark.parametrize("document", VALID)
def test_valid_documents_validate(document: dict[str, Any]) -> None:
    read_state(json.dumps(document))
    jsonschema.Draft202012Validator(json_schema("state")).validate(document)


@pytest.mark.parametrize("document", BROKEN)
def test_broken_documents_do_not(document: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read_state(json.dumps(document))
    assert not jsonschema.Draft202012Validator(json_schema("state")).is_valid(document)


def test_plan_validates_and_a_broken_one_does_not() -> None:
    validator = jsonschema.Draft202012Validator(json_schema("plan"))
    validator.validate(PLAN)
    assert not validator.is_valid({**PLAN, "jobs": [{"id": "a"}]})
    assert not validator.is_valid({name: value for name, value in PLAN.items() if name != "certificate"})


@pytest.mark.parametrize("kind", ["state", "plan"])
def test_every_property_is_described(kind: Any) -> None:
    schema = json_schema(kind)
    for name, model in {kind: schema, **schema["$defs"]}.items():
        assert model["description"], name
        assert "Attributes" not in model["description"]
        for field, described in model["properties"].items():
            assert described.get("description"), f"{name}.{field}"
