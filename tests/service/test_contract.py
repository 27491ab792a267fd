"""The description of the service (OpenAPI) is true: its schemas are the exported ones, and schemathesis finds nothing against it."""

import json
import os
import subprocess
import sys

import pytest

from libra_opt.domain.schema import json_schema
from libra_opt.service.problems import PROBLEMS

ONLY_NIGHTLY = pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "nightly", reason="eight thousand requests, minutes of work: nightly only")
CONFIGURATION = """
[checks.positive_data_acceptance]
# a schema cannot say that a minimum is not above its maximum, or that a pool is known: the description says that reading finds that out;
# 413: a body above the limit, which is low here, is refused whatever is in it
expected-statuses = ["2xx", 413, 422]

[checks.negative_data_rejection]
# those of schemathesis, and 413 as above
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""
OPTIONS = (
    "--seed",
    "1",
    "--max-examples",
    "12",
    "--generation-deterministic",
    "--no-color",
    "--no-shrink",
    "--suppress-health-check",
    "all",
)


@pytest.mark.parametrize("phase", ["fuzzing", pytest.param("coverage", marks=ONLY_NIGHTLY)])
def test_schemathesis_finds_nothing(service, tmp_path, phase):
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    command = [sys.executable, "-c", "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"]
    asked = [*command, "run", f"http://127.0.0.1:{service.port}/openapi.json", *OPTIONS, "--phases", phase]
    ended = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=3600)  # noqa: S603 - a test tool
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "8 selected / 8 total" in ended.stdout


def test_schemas_in_the_description_are_the_exported_ones(service):
    shared = json.loads(service.ask("GET", "/openapi.json")[2])["components"]["schemas"]

    def local(schema):
        return json.loads(json.dumps(schema).replace("#/components/schemas/", "#/$defs/"))

    for kind in ("state", "plan", "workload"):
        exported = json_schema(kind)
        definitions = exported.pop("$defs")
        assert local(shared[kind.capitalize()]) == {name: value for name, value in exported.items() if name not in ("$schema", "$id")}
        assert {name: local(shared[name]) for name in definitions} == definitions


def test_every_problem_that_the_service_has_is_in_the_description(service):
    described = json.loads(service.ask("GET", "/openapi.json")[2])
    assert {kind.rpartition(":")[2] for kind in described["components"]["schemas"]["Problem"]["properties"]["type"]["enum"]} == set(PROBLEMS)
    for operation in ("allocate", "validate", "verify"):
        assert {"200", "400", "408", "413", "415", "422", "500", "503", "504"} == set(described["paths"][f"/v1/{operation}"]["post"]["responses"])
