"""The reader under fire: whatever it is given, it returns a state or refuses with paths, and never anything else."""

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import Plan, State, read_plan, read_state, write
from libra_opt.errors import Fault, InputError

WHOLE: dict[str, Any] = {
    "format": "libra-opt/state/1",
    "about": {"title": "t", "recorded": ["a"], "synthetic": False},
    "period": {"index": 1, "seconds": 60},
    "resources": [
        {"name": "gpu", "unit": "cards", "quantum": 1, "compressible": True, "costly": True},
        {"name": "gpu_mem", "unit": "GiB", "compressible": False, "costly": True},
        {"name": "cpu", "unit": "cores", "quantum": 0.1},
    ],
    "pools": [{"name": "a", "capacity": {"gpu": 8, "gpu_mem": "640Gi", "cpu": "64"}, "card_mem": "80Gi", "price": 2}, {"name": "b", "capacity": {}}],
    "queues": [
        {"name": "q", "nominal_quota": {"gpu": 4}, "borrowing_limit": {"gpu": 1}, "lending_limit": {"gpu": 2}, "weight": 1},
        {"name": "r"},
    ],
    "jobs": [
        {"id": "x", "queue": "q", "min_quota": {"gpu": 2}, "max_quota": {"gpu": 4}, "unit": 2, "demand": {"gpu": 3, "gpu_mem": "160Gi", "cpu": 8.5}},
        {
            "id": "y",
            "priority": 1,
            "weight": 2,
            "preemptible": False,
            "running_seconds": 5,
            "preemption_cost": {"evict_seconds": 9, "resize_seconds": {"gpu": 3}},
            "rates": {"tokens": 5},
            "stages": [
                {"name": "s", "history": [{"gpu": 1, "cpu": None}, {"gpu": 2}], "waits_in": ["train"], "need": {"gpu_mem": 4}, "pools": {"a": 1, "b": 0.5}},
                {"name": "t", "unit": {"gpu": 1}, "demand": {"gpu": 1}, "demand_intensity": [0.5, 1.5], "pools": ["a"], "curve": [[0.5, 0.7], [1, 1]]},
            ],
        },
        {"id": "z", "queue": "r", "demand": {"cpu": 3}, "allocation": {"pool": "a", "resources": {"cpu": 2}}},
    ],
    "options": {"gap": 0.01, "backend": "auto", "seed": 3, "spare": True, "preemption_budget_seconds": None},
}

NUMBERS = st.one_of(
    st.sampled_from([0, -0.0, 1, -1, 0.5, 2**53 + 1, 2**63 - 1, 2**63, 10**400, 1e15, 1e300, 5e-324, 1e-9, 1e-31, float("nan"), float("inf"), -float("inf")]),
    st.integers(-10, 100),
    st.floats(),
)
WORDS = st.one_of(
    st.sampled_from(
        ["", "a", "b", "q", "x", "gpu", "cpu", "1Gi", "500m", "-1", "1e99", "8Ei", "nan", "0" * 65, "\x00", "\u202e", "caf\u00e9", "[key]", "<mapping>"]
    ),
    st.text(max_size=8),
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS)
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += places(inner, (*path, key))
    return found


def reach(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def mutate(draw: st.DrawFn, document: dict[str, Any], path: tuple[Any, ...]) -> None:
    parent, key = reach(document, path[:-1]), path[-1]
    match draw(st.sampled_from(["put", "put", "drop", "swap", "rename", "repeat", "add"])):
        case "put":
            parent[key] = draw(ANYTHING)
        case "drop":
            del parent[key]
        case "swap":
            parent[key] = copy.deepcopy(reach(document, draw(st.sampled_from(places(document)))))
        case "rename" if isinstance(parent, dict):
            parent[draw(WORDS)] = parent.pop(key)
        case "repeat" if isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        case _ if isinstance(parent, dict):
            parent[draw(WORDS)] = draw(ANYTHING)
        case _:
            parent.append(draw(ANYTHING))


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    document = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 4))):
        found = places(document)[1:]
        if found:
            mutate(draw, document, draw(st.sampled_from(found)))
    return document


def refusal(read: Callable[[str | bytes], State | Plan], text: str | bytes) -> tuple[Fault, ...]:
    """Return why a text is refused, or nothing if it is read and written as it was read."""
    try:
        document = read(text)
    except InputError as error:
        return error.faults
    assert read(write(document)) == document
    assert write(read(write(document))) == write(document)
    return ()


def read_or_refuse(text: str | bytes) -> None:
    for read in (read_state, read_plan):
        for fault in refusal(read, text):
            assert isinstance(fault.path, str)
            assert fault.message
            assert str(fault).isprintable()


@given(mutated())
def test_a_mutated_document_is_read_or_refused_with_paths(document: dict[str, Any]) -> None:
    read_or_refuse(json.dumps(document))


@given(mutated(), st.data())
def test_a_damaged_text_is_read_or_refused(document: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(document, ensure_ascii=data.draw(st.booleans()))
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(len(text), at + 20)))
    read_or_refuse(text[:at] + data.draw(st.sampled_from(["", "{", "]", '"', ",", "\\", "\x00", "\\ud800", "1e999", "-", "9" * 50, "\ufeff"])) + text[until:])


@given(st.text() | st.binary())
def test_noise_is_refused(noise: str | bytes) -> None:
    read_or_refuse(noise)


@given(mutated())
def test_python_objects_are_judged_as_json_is(document: dict[str, Any]) -> None:
    try:
        expected = write(read_state(json.dumps(document)))
    except InputError:
        expected = ""
    try:
        found = write(State.model_validate(json.loads(json.dumps(document))))
    except ValueError:
        found = ""
    assert found == expected
