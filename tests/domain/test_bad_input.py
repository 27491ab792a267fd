"""The table of bad input: what is refused, at which path, and with which remedy."""

import json
from typing import Any

import pytest

from libra_opt.domain import State, read_plan, read_state, write
from libra_opt.errors import InputError


def job(**fields: Any) -> dict[str, Any]:
    return {"pools": [{"name": "a100", "capacity": {"gpu": 8}}], "jobs": [{"id": "x", **fields}]}


def faults(document: object) -> dict[str, str]:
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    with pytest.raises(InputError) as refused:
        read_state(text)
    return {fault.path: fault.message for fault in refused.value.faults}


TEXTS = [
    ("nothing", "", "is empty; write a JSON object"),
    ("blanks", " \n\t ", "is empty; write a JSON object"),
    ("ends early", '{"jobs": [{"id": "a"', "ends early, it was cut off: EOF while parsing an object at line 1 column 20"),
    ("malformed", '{"jobs":\n [}', "is not JSON: expected value at line 2 column 3"),
    ("comma at the end", '{"jobs": [],}', "trailing comma at line 1"),
    ("two documents", "{} {}", "trailing characters at line 1 column 4"),
    ("single quotes", "{'jobs': []}", "key must be a string at line 1"),
    ("byte order mark", "\ufeff{}", "byte order mark at line 1; save it as UTF-8 without one"),
    ("byte order mark in bytes", b"\xef\xbb\xbf{}", "byte order mark at line 1"),
    ("other encoding", '{"jobs": []}'.encode("utf-16"), "is not UTF-8 text (byte 0xff at offset 0, line 1); save it as UTF-8"),
    ("bytes that are not UTF-8", b'{\n"jobs": [{"id": "\xff"}]}', "is not UTF-8 text (byte 0xff at offset 19, line 2)"),
    ("NUL", '{"jobs": \0}', "is not JSON: expected value at line 1 column 10"),
    ("NUL in a text", '{"jobs": [{"id": "a\0"}]}', "control character"),
    ("half a surrogate pair", '{"jobs": [{"id": "\\ud800"}]}', "is not JSON"),
    ("half a surrogate pair, decoded", '{"jobs": [{"id": "\ud800"}]}', "save it as UTF-8"),
    ("deep lists", "[" * 100_000, "is nested too deeply: recursion limit exceeded at line 1"),
    ("deep objects", '{"a":' * 100_000, "is nested too deeply"),
    ("endless number", '{"jobs": ' + "9" * 1_000_000 + "}", "has a number of too many digits"),
    ("a list", "[]", "a list is not an object; write { ... }"),
    ("null", "null", "null is not an object; write { ... }"),
]


@pytest.mark.parametrize(("text", "message"), [pytest.param(text, message, id=name) for name, text, message in TEXTS])
def test_text_that_is_no_document_is_refused_with_its_line_and_a_remedy(text: str | bytes, message: str) -> None:
    found = faults(text)
    assert list(found) == [""]
    assert message in found[""]


CASES = [
    ("NaN", '{"jobs":[{"id":"a","demand":{"cpu":NaN}}]}', "jobs[0].demand.cpu", "NaN is not an amount; write a number of 0 or more"),
    ("infinity", '{"jobs":[{"id":"a","demand":{"cpu":1e999}}]}', "jobs[0].demand.cpu", "Infinity is not an amount"),
    ("infinite weight", '{"jobs":[{"id":"a","weight":-Infinity}]}', "jobs[0].weight", "-Infinity is not a number from 0 to 1e+15"),
    ("NaN in a curve", '{"jobs":[{"id":"a","curve":[[NaN,1]]}]}', "jobs[0].curve[0][0]", "NaN is not a number"),
    ("digits without end", '{"jobs":[{"id":"a","demand":{"cpu":' + "9" * 4000 + "}}]}", "jobs[0].demand.cpu", "a number of 4000 digits is not below 2^63"),
    ("negative", job(demand={"cpu": -3}), "jobs[0].demand.cpu", "-3 is negative; write 0 or more"),
    ("negative text", job(demand={"cpu": "-3"}), "jobs[0].demand.cpu", "'-3' is negative; write 0 or more"),
    ("true", job(demand={"cpu": True}), "jobs[0].demand.cpu", "true is not an amount; write a number"),
    ("null", job(demand={"cpu": None}), "jobs[0].demand.cpu", "null is not an amount; leave the resource out"),
    ("a list for an amount", job(demand={"cpu": [1]}), "jobs[0].demand.cpu", "a list is not an amount"),
    ("wrong suffix", job(demand={"mem": "5GiB"}), "jobs[0].demand.mem", "'5GiB' has the unknown suffix 'GiB'; Kubernetes suffixes are Ki, Mi, Gi"),
    ("blank in a quantity", job(demand={"mem": "5 Gi"}), "jobs[0].demand.mem", "'5 Gi' is not a quantity; write a number or a Kubernetes quantity"),
    ("bytes or units", job(demand={"mem": "5"}), "jobs[0].demand.mem", "leaves open whether it means bytes or GiB; write the number 5 for GiB"),
    ("long text", job(demand={"mem": "1" * 65}), "jobs[0].demand.mem", "has 65 characters, an amount has 1 to 64"),
    ("2^63 bytes", job(demand={"mem": "9223372036854775808"}), "jobs[0].demand.mem", "leaves open"),
    ("2^63 bytes, with suffix", job(demand={"mem": "8Ei"}), "jobs[0].demand.mem", "'8Ei' is not below 2^63; write less"),
    ("2^63 cards", job(min_quota={"gpu": 2**63}), "jobs[0].min_quota.gpu", "9223372036854775808 is not below 2^63; write less"),
    ("2^63 quanta", job(min_quota={"cpu": 2**62}), "jobs[0].min_quota.cpu", "not below 2^63; write less or declare a coarser quantum"),
    ("unknown resource", job(demand={"gpus": 1}), "jobs[0].demand.gpus", "unknown resource; this state has gpu, gpu_mem, cpu, mem, net"),
    ("resource with dots", job(demand={"nvidia.com/gpu": 1}), 'jobs[0].demand["nvidia.com/gpu"]', "unknown resource"),
    ("unknown field", job(min_qouta={}), "jobs[0].min_qouta", "unknown field; did you mean 'min_quota'?"),
    ("unknown field, nothing near", job(zzz=1), "jobs[0].zzz", "unknown field; known are allocation, coupling"),
    ("unknown field at the top", {"job": []}, "job", "unknown field; did you mean 'jobs'?"),
    ("unknown pool", job(pools=["b100"]), "jobs[0].pools[0]", "unknown pool 'b100'; this state has 'a100'"),
    ("unknown pool, speed", job(pools={"b100": 1}), "jobs[0].pools.b100", "unknown pool 'b100'; this state has 'a100'"),
    ("unknown pool of an allocation", job(allocation={"pool": "b"}), "jobs[0].allocation.pool", "list a lost pool with capacity {}"),
    ("unknown queue", job(queue="q"), "jobs[0].queue", "unknown queue 'q'; this state has no queues"),
    ("no pool allowed", job(pools=[]), "jobs[0].pools", "allows no pool; leave it out to allow any"),
    ("no speed", job(pools={"a100": 0}), "jobs[0].pools.a100", "0 is not a number from 1e-06 to 1e+06"),
    ("id missing", {"jobs": [{}]}, "jobs[0].id", "is missing; add it, a text"),
    ("pool missing", job(allocation={"resources": {}}), "jobs[0].allocation.pool", "is missing; add it, a text"),
    ("id is a number", {"jobs": [{"id": 7}]}, "jobs[0].id", "7 is not a text; write it in quotes"),
    ("id empty", {"jobs": [{"id": ""}]}, "jobs[0].id", '"" is empty; give it at least one character'),
    ("id too long", {"jobs": [{"id": "a" * 254}]}, "jobs[0].id", "has 254 characters; shorten it to 253"),
    ("empty key", job(demand={"": 1}), 'jobs[0].demand[""]', 'as a key, "" is empty'),
    ("duplicate id", {"jobs": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}, "jobs[2].id", "'a' is taken by jobs[0]; give each its own"),
    ("duplicate pool", {"pools": [{"name": "a"}, {"name": "a"}]}, "pools[1].name", "'a' is taken by pools[0]"),
    ("duplicate stage", job(stages=[{"name": "s"}, {"name": "s"}]), "jobs[0].stages[1].name", "'s' is taken by stages[0]"),
    ("duplicate key", '{"jobs":[{"id":"a","demand":{"gpu":1,"gpu":2}}]}', "jobs[0].demand.gpu", "is written twice in one object"),
    ("minimum above maximum", job(min_quota={"gpu": 4}, max_quota={"gpu": 2}), "jobs[0].max_quota.gpu", "2 is below min_quota 4; raise it or lower min_quota"),
    ("between two quanta", job(min_quota={"gpu": 0.5}, max_quota={"gpu": 0.5}), "jobs[0].max_quota.gpu", "declare a finer quantum"),
    ("unit and minimum", job(unit=4, min_quota={"gpu": 6}), "jobs[0].min_quota.gpu", "6 is not a multiple of unit 4; round it up"),
    ("unit and maximum", job(unit=4, max_quota={"gpu": 6}), "jobs[0].max_quota.gpu", "6 is not a multiple of unit 4; round it down"),
    ("unit 0", job(unit=0), "jobs[0].unit", "0 is not a whole number of cards from 1 to 2^63 - 1"),
    ("unit in quotes", job(unit="2"), "jobs[0].unit", "write it without quotes"),
    ("unit of a resource", job(unit={"cpu": 0.05}), "jobs[0].unit.cpu", "0.05 is not a whole, positive number of quanta of 0.1 cores"),
    ("unit, negative", job(unit={"gpu": -1}), "jobs[0].unit.gpu", "-1 is negative; write 0 or more"),
    ("fraction for a whole number", job(priority=1.5), "jobs[0].priority", "1.5 is not a whole number from -12 to 12"),
    ("whole number in quotes", job(priority="1"), "jobs[0].priority", '"1" is not a whole number from -12 to 12; write it without quotes'),
    ("priority out of range", job(priority=13), "jobs[0].priority", "13 is not a whole number from -12 to 12"),
    ("number in quotes", job(weight="2"), "jobs[0].weight", '"2" is not a number from 0 to 1e+15 (and not between 0 and 1e-30); write it without quotes'),
    ("vanishing weight", job(weight=1e-300), "jobs[0].weight", "1e-300 is not a number from 0 to 1e+15"),
    ("flag in quotes", job(preemptible="no"), "jobs[0].preemptible", '"no" is not true or false; write one of them, without quotes'),
    ("flag as a number", job(preemptible=1), "jobs[0].preemptible", "1 is not true or false"),
    ("resize cost", job(preemption_cost={"resize_seconds": -1}), "jobs[0].preemption_cost.resize_seconds", "-1 is not a number of seconds from 0 to 1e+09"),
    ("resize cost of one", job(preemption_cost={"resize_seconds": {"gpu": "1"}}), "jobs[0].preemption_cost.resize_seconds.gpu", '"1" is not a number'),
    ("resize cost of none", job(preemption_cost={"resize_seconds": {"g": 1}}), "jobs[0].preemption_cost.resize_seconds.g", "unknown resource"),
    ("pools as a text", job(pools="a100"), "jobs[0].pools", '"a100" is not a list; write [ ... ]'),
    ("a pool as a number", job(pools=["a100", 3]), "jobs[0].pools[1]", "3 is not a text"),
    ("history, negative", job(history=[{"cpu": 1}, {"cpu": -1}]), "jobs[0].history[1].cpu", "-1 is negative"),
    ("history, unknown", job(history=[{"cpus": None}]), "jobs[0].history[0].cpus", "unknown resource"),
    ("history and demand", job(history=[], demand={}), "jobs[0].history", "demand is given as well; leave out one of the two"),
    ("history as an object", job(history={"cpu": 1}), "jobs[0].history", "an object is not a list; write [ ... ]"),
    ("too many intensities", job(demand_intensity=[1] * 1001), "jobs[0].demand_intensity", "has more than 1000 entries"),
    ("intensity too high", job(demand_intensity=[1, 2e6]), "jobs[0].demand_intensity[1]", "2000000.0 is not a number from 0 to 1e+06"),
    ("need of what is compressible", job(need={"cpu": 1}), "jobs[0].need.cpu", "is compressible"),
    ("convex curve", job(curve=[[0, 0], [1, 0.1], [2, 1]]), "jobs[0].curve", "is not concave"),
    ("falling curve", job(curve=[[0, 1], [1, 0.1]]), "jobs[0].curve", "falls"),
    ("curve in disorder", job(curve=[[1, 1], [0.5, 1]]), "jobs[0].curve", "must increase from point to point"),
    ("curve above 1", job(curve=[[1, 2]]), "jobs[0].curve[0][1]", "2 is not a number from 0 to 1"),
    ("no point", job(curve=[]), "jobs[0].curve", "has no points"),
    ("no stages", job(stages=[]), "jobs[0].stages", "lists no stage; give at least one"),
    ("stages and fields", job(stages=[{}], demand={}), "jobs[0].demand", "belongs to a stage once the job lists stages; move it there"),
    ("jobs as an object", {"jobs": {}}, "jobs", "an object is not a list; write [ ... ]"),
    ("a job as a text", {"jobs": ["a"]}, "jobs[0]", '"a" is not an object; write { ... }'),
    ("memory per card", {"pools": [{"name": "a", "card_mem": "x"}]}, "pools[0].card_mem", "'x' is not a quantity"),
    ("memory per card, negative", {"pools": [{"name": "a", "card_mem": -1}]}, "pools[0].card_mem", "-1 is negative"),
    ("memory without cards", {"resources": [{"name": "cpu"}], "pools": [{"name": "a", "card_mem": 1}]}, "pools[0].card_mem", "leave it out or declare them"),
    ("pools beyond 2^63", {"pools": [{"name": n, "capacity": {"gpu": 2**62}} for n in "ab"]}, "pools[1].capacity.gpu", "with the pools before"),
    ("lends what it has not", {"queues": [{"name": "q", "lending_limit": {"gpu": 1}}]}, "queues[0].lending_limit.gpu", "1 is above nominal_quota 0"),
    ("unknown parent", {"queues": [{"name": "q", "parent": "r"}]}, "queues[0].parent", "unknown queue 'r'; known are 'q'; list it, or leave parent out"),
    ("no quantum", {"resources": [{"name": "gpu", "quantum": 0}]}, "resources[0].quantum", "0 is not a number from 1e-09 to 1e+15"),
    ("unknown back-end", {"options": {"backend": "cpsat"}}, "options.backend", "did you mean 'cp_sat'?"),
    ("gap", {"options": {"gap": 2}}, "options.gap", "2 is not a number from 0 to 1"),
    ("seed", {"options": {"seed": -1}}, "options.seed", "-1 is not a whole number from 0 to 2147483647"),
    ("period", {"period": {"seconds": 0}}, "period.seconds", "0 is not a number from 0.001 to 1e+09"),
    ("a plan", {"format": "libra-opt/plan/1", "certificate": {}}, "format", "is a plan, and a state ('libra-opt/state/1') is asked for"),
    ("another version", {"format": "libra-opt/state/2", "new": 1}, "format", "this version, which reads 'libra-opt/state/1'"),
    ("no version", {"format": None}, "format", "null is not a format"),
]


@pytest.mark.parametrize(("document", "path", "message"), [pytest.param(*case, id=name) for name, *case in CASES])
def test_fault_is_reported_once_with_its_path_and_a_remedy(document: object, path: str, message: str) -> None:
    found = faults(document)
    assert list(found) == [path]
    assert message in found[path]


def test_state_is_refused_for_a_plan() -> None:
    with pytest.raises(InputError, match="is a state, and a plan"):
        read_plan('{"format": "libra-opt/state/1"}')


@pytest.mark.parametrize(
    "smaller",
    [
        {"jobs": [{"id": "a", "priority": 2.0, "unit": 2.0, "min_quota": {"gpu": 2.0}}], "period": {"index": 3.0}},
        {"jobs": [{"id": "a", "weight": 1e9}, {"id": "b", "weight": 1e-3}]},
        {"jobs": [{"id": "a", "max_quota": {"gpu": 1e30, "cpu": 10**40}}]},
        {"jobs": [{"id": "caf\u00e9"}, {"id": "cafe\u0301"}]},
        {"jobs": [{"id": "a:b", "queue": None}]},
    ],
)
def test_unusual_but_valid_is_read(smaller: dict[str, Any]) -> None:
    assert read_state(json.dumps(smaller)) == State.model_validate(smaller)


def test_whole_float_is_the_same_number_everywhere() -> None:
    template = '{"jobs":[{"id":"a","priority":N,"unit":N,"demand":{"gpu":N}}],"options":{"seed":N}}'
    texts = [template.replace("N", number) for number in ("2", "2.0", "0.2e1")]
    states = [read_state(text) for text in texts]
    assert states[0] == states[1] == states[2]
    assert '"priority":2,' in write(states[1])


def test_escaped_colons_are_not_taken_for_repeated_keys() -> None:
    assert read_state('{"jobs":[{"id":"a\\u003ab"}]}').jobs[0].id == "a:b"


def test_repeated_key_behind_an_escaped_colon_is_found() -> None:
    assert list(faults('{"jobs":[{"id":"a\\u003ab","weight":1,"weight":1}]}')) == ["jobs[0].weight"]


def test_repeated_key_is_found_where_the_format_is_left_out() -> None:
    assert list(faults('{"jobs":[{"id":"a","weight":1,"weight":2}]}')) == ["jobs[0].weight"]
