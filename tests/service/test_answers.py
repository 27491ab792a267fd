"""What the service answers: the bytes of `allocate`, the paths of the command line, and a problem document for everything else."""

import gzip
import json

import pytest

from libra_opt.allocation import allocate
from libra_opt.cli import main
from libra_opt.domain import read_plan, read_state, write
from libra_opt.domain.schema import json_schema
from tests.service.running import ROOT, SMALLEST, problem_of

TINY = sorted((ROOT / "instances" / "tiny").glob("*.json"))
BROKEN = [
    path
    for path in sorted((ROOT / "instances" / "regression").glob("*.json"))
    if path.name in ("maximum-below-minimum.json", "not-a-number.json", "one-id-twice.json")
]
PLAN = write(allocate(read_state(SMALLEST)))


@pytest.mark.parametrize("path", TINY[::4], ids=lambda path: path.stem)
def test_plan_is_byte_for_byte_that_of_allocate(service, path):
    state = path.read_bytes()
    status, headers, body = service.post("/v1/allocate", state)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert body.decode() == write(allocate(read_state(state)))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (SMALLEST, {"kind": "state", "jobs": 2, "pools": 1, "queues": 0}),
        (PLAN.encode(), {"kind": "plan", "jobs": 2}),
        (b"{}", {"kind": "state", "jobs": 0, "pools": 0, "queues": 0}),
    ],
)
def test_valid_document_is_said_to_be_one(service, body, told):
    status, _, answer = service.post("/v1/validate", body)
    assert (status, json.loads(answer)) == (200, told)


def test_plan_that_holds_and_plan_that_breaks_a_rule_are_told_apart(service):
    def verdict(plan):
        status, _, body = service.post("/v1/verify", b'{"state": %s, "plan": %s}' % (SMALLEST, plan.encode()))
        assert status == 200
        return json.loads(body)

    assert verdict(PLAN) == {"holds": True, "broken": []}
    damaged = verdict(PLAN.replace('{"gpu":6,', '{"gpu":9,'))
    assert damaged["holds"] is False
    assert "R1" in {fault["rule"] for fault in damaged["broken"]}


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
@pytest.mark.parametrize("route", ["/v1/allocate", "/v1/validate"])
def test_faults_are_those_of_the_command_line(service, path, route, capsys):
    answer = service.post(route, path.read_bytes())
    told = json.loads(answer[2])
    assert answer[0] in (400, 422)
    assert main(["validate", str(path)]) == 2
    lines = [f"  {each['path']}: {each['message']}" if each["path"] else f"  {each['message']}" for each in told["errors"]]
    assert capsys.readouterr().err.splitlines()[1:] == lines


@pytest.mark.parametrize("kind", ["state", "plan", "workload"])
def test_schema_is_the_exported_one(service, kind):
    status, _, body = service.ask("GET", f"/v1/schema/{kind}")
    assert status == 200
    assert json.loads(body) == json_schema(kind) == json.loads((ROOT / "instances" / "schema" / f"{kind}.schema.json").read_text())


@pytest.mark.parametrize(
    ("body", "status", "kind", "path", "message"),
    [
        (b"", 400, "not-json", "", "is empty"),
        (b"{", 400, "not-json", "", "ends early"),
        (b'{"options": {"gap": NaN}}', 400, "not-json", "options.gap", "NaN"),
        (b"[" * 100_000, 400, "not-json", "", "nested too deeply"),
        (b'{"jobs": ' + b'{"a":' * 30_000, 400, "not-json", "", "nested too deeply"),
        (b"\xff{}", 400, "not-json", "", "is not UTF-8 text"),
        (b"\xef\xbb\xbf{}", 400, "not-json", "", "byte order mark"),
        (b"[]", 422, "invalid-document", "", ""),
        (b"null", 422, "invalid-document", "", ""),
        (b'{"jobs": 7}', 422, "invalid-document", "jobs", ""),
        (b'{"jobs": [], "jobs": []}', 422, "invalid-document", "jobs", "is written twice"),
        (b'{"colour": 1}', 422, "invalid-document", "colour", "unknown"),
        (b'{"options": {"effort": 11}}', 422, "invalid-document", "options.effort", "11 is above 10, the most this service allows"),
        (b'{"options": {"effort": 1e999}}', 422, "invalid-document", "options.effort", "is not a number from 0"),
        (b'{"format": "libra-opt/plan/1"}', 422, "invalid-document", "format", "is a plan, and a state"),
        (b'{"jobs": [{"id": "\\ud800"}]}', 400, "not-json", "", ""),
    ],
)
def test_bad_state_is_a_problem_that_says_where(service, body, status, kind, path, message):
    problem = problem_of(service.post("/v1/allocate", body), status, kind)
    assert any(each["path"] == path and message in each["message"] for each in problem["errors"]), problem


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b"{}", {"state", "plan"}),
        (b'{"state": {}, "plan": {}, "extra": 1}', {"extra"}),
        (b'{"state": {"jobs": [{"id": 3}]}, "plan": %s}' % PLAN.encode(), {"state.jobs[0].id"}),
        (b'{"state": {}, "plan": 5}', {"plan"}),
        (b'{"state": {}, "state": {}, "plan": {}}', {""}),
        (b"[]", {""}),
    ],
)
def test_bad_verification_is_a_problem_that_says_where(service, body, paths):
    problem = problem_of(service.post("/v1/verify", body), 422, "invalid-document")
    assert paths <= {each["path"] for each in problem["errors"]}


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/", 404, "not-found"),
        ("GET", "/v1/schema/cluster", 404, "not-found"),
        ("GET", "/v1/allocate/", 404, "not-found"),
        ("GET", "/docs", 404, "not-found"),
        ("GET", "/v1/allocate", 405, "wrong-method"),
        ("DELETE", "/v1/verify", 405, "wrong-method"),
        ("POST", "/healthz", 405, "wrong-method"),
    ],
)
def test_wrong_place_or_method_is_a_problem(service, method, path, status, kind):
    answer = service.ask(method, path)
    problem_of(answer, status, kind)
    assert (status == 405) == ("allow" in answer[1])


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": ""},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Encoding": "gzip"},
        {"Content-Encoding": "br"},
    ],
)
def test_other_types_and_packed_bodies_are_refused(service, headers):
    body = gzip.compress(SMALLEST) if headers.get("Content-Encoding") == "gzip" else SMALLEST
    problem_of(service.ask("POST", "/v1/allocate", body, headers.items()), 415, "wrong-type")


def test_type_may_say_its_charset(service):
    assert service.post("/v1/allocate", SMALLEST, Content_Type="application/json; charset=utf-8")[0] == 200


def test_plan_of_the_service_reads_back(service):
    assert read_plan(service.post("/v1/allocate", SMALLEST)[2]) == read_plan(PLAN)


def test_metrics_count_requests_by_route_and_say_gap_queue_and_workers(service):
    def metrics():
        lines = service.ask("GET", "/metrics")[2].decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def fine():
        return metrics().get('libra_opt_requests_total{route="/v1/allocate",status="200"}', 0)

    before, gaps = fine(), metrics()["libra_opt_plan_gap_count"]
    service.post("/v1/allocate", SMALLEST)
    service.ask("GET", "/no/such/place")
    assert fine() == before + 1
    found = metrics()
    assert found["libra_opt_plan_gap_count"] == gaps + 1
    assert found["libra_opt_workers"] == found["libra_opt_workers_idle"] == 2
    assert found["libra_opt_waiting_requests"] == found["libra_opt_body_bytes"] == 0
    assert found['libra_opt_requests_total{route="other",status="404"}'] >= 1
    assert found['libra_opt_request_seconds_count{route="/v1/allocate"}'] >= 1


def test_health_needs_nothing(service):
    status, _, body = service.ask("GET", "/healthz")
    assert (status, json.loads(body)["status"]) == (200, "ok")
