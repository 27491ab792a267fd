"""The exported schemas are current, and every document in the house obeys them."""

import json
from pathlib import Path

import jsonschema
import pytest

from libra_opt.adapters.files import read_bytes
from libra_opt.allocation import allocate
from libra_opt.cli import main
from libra_opt.domain import read_state, write

INSTANCES = Path(__file__).parents[2] / "instances"
STATES = sorted([*INSTANCES.glob("tiny/*.json"), *INSTANCES.glob("recorded/*.json"), *INSTANCES.glob("scale/*.json.gz")])


@pytest.mark.parametrize("kind", ["state", "plan"])
def test_schema_file_is_what_the_command_prints(kind, tmp_path):
    printed = tmp_path / "schema.json"
    assert main(["schema", kind, "-o", str(printed)]) == 0
    assert (INSTANCES / "schema" / f"{kind}.schema.json").read_bytes() == printed.read_bytes()


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.name)
def test_instance_obeys_the_schema(path):
    schema = json.loads((INSTANCES / "schema" / "state.schema.json").read_bytes())
    jsonschema.Draft202012Validator(schema).validate(json.loads(read_bytes(str(path))))


def test_plan_obeys_the_schema():
    schema = json.loads((INSTANCES / "schema" / "plan.schema.json").read_bytes())
    plan = allocate(read_state((INSTANCES / "tiny" / "smallest.json").read_bytes()))
    jsonschema.Draft202012Validator(schema).validate(json.loads(write(plan)))


def test_schema_refuses_an_unknown_field():
    schema = json.loads((INSTANCES / "schema" / "state.schema.json").read_bytes())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({"format": "libra-opt/state/1", "podz": []})
