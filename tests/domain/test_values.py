"""States and plans are values: unchangeable, comparable, hashable, picklable, changed only by a validating `replace`."""

import copy
import json
import pickle
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pytest
from pydantic import ValidationError

from libra_opt.domain import Amounts, Plan, State, digest, read_plan, read_state, write
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.errors import Fault, InputError

STATE: dict[str, Any] = {
    "format": "libra-opt/state/1",
    "about": {"title": "all of it", "recorded": ["gpu"], "synthetic": True},
    "period": {"index": 2, "seconds": 30.0},
    "pools": [{"name": "a", "capacity": {"gpu": 8, "gpu_mem": "640Gi", "cpu": 12.5}, "card_mem": "80Gi", "price": 2.5}, {"name": "b"}],
    "queues": [{"name": "q", "nominal_quota": {"gpu": 4}, "borrowing_limit": {"gpu": 2}, "lending_limit": {"gpu": 1}, "weight": 2.0}],
    "jobs": [
        {
            "id": "j",
            "queue": "q",
            "priority": 1,
            "weight": 2.5,
            "preemption_cost": {"evict_seconds": 1.0, "resize_seconds": {"gpu": 2.0}},
            "deadline": -4.0,
            "rates": {"tokens": 3.0},
            "stages": [
                {"name": "rollout", "unit": {"gpu": 2}, "history": [{"gpu": 1.5, "cpu": None}], "pools": {"a": 1.5}},
                {"name": "train", "unit": 2, "demand": {"gpu": 2}, "demand_intensity": [0.5, 1.5], "pools": ["a", "b"], "curve": [[0.5, 0.75], [1.0, 1.0]]},
            ],
        },
        {"id": "k", "demand": {"gpu": 1}, "allocation": {"pool": "a", "resources": {"gpu": 1}}},
    ],
    "options": {"backend": "greedy", "preemption_budget_seconds": None},
}
PLAN: dict[str, Any] = {
    "format": "libra-opt/plan/1",
    "state_digest": "sha256:0",
    "period": {"index": 2, "seconds": 30.0},
    "jobs": [
        {
            "id": "k",
            "action": "keep",
            "service": 1.0,
            "stages": [{"name": "main", "pool": "a", "resources": {"gpu": 1, "gpu_mem": "2Gi"}}],
            "reason": {"code": "served", "message": "It has what it asked for."},
        }
    ],
    "certificate": {"status": "optimal", "objective": 1.5, "bound": 1.5, "gap": 0.0, "backend": "auto", "limit": None},
    "utilisation": {"a": {"gpu": 0.5}},
    "prices": [{"kind": "pool", "name": "a", "resource": "gpu", "price": 0.25}],
    "warnings": ["none"],
}


@pytest.fixture
def state() -> State:
    return read_state(json.dumps(STATE))


@pytest.fixture
def plan() -> Plan:
    return read_plan(json.dumps(PLAN))


def test_json_there_and_back_is_the_identity(state: State, plan: Plan) -> None:
    assert json.loads(write(state)) == STATE
    assert read_plan(write(plan)) == plan
    assert write(read_state(write(state))) == write(state)
    assert write(read_plan(write(plan))) == write(plan)
    assert digest(read_state(write(state))) == digest(state)


def test_format_is_always_written(plan: Plan) -> None:
    assert write(State()) == '{"format":"libra-opt/state/1"}'
    assert digest(State()) == digest(read_state("{}")) == digest(read_state(write(State())))
    assert write(Plan(**{name: getattr(plan, name) for name in plan.model_fields_set - {"format"}})) == write(plan)


@pytest.mark.parametrize("options", [None, {}, {"gap": 0.1}, {"seed": 3, "spare": False}, {"preemption_budget_seconds": 1e-7}])
@pytest.mark.parametrize("rest", [{}, {"format": "libra-opt/state/1"}, {"period": {}, "jobs": [{"id": '},"options":{}}', "demand": {"gpu": 1}}]}])
def test_digest_is_of_all_but_the_format_and_how_hard_to_search(rest: dict[str, Any], options: dict[str, Any] | None) -> None:
    made = State.model_validate(rest if options is None else {**rest, "options": options})
    search = {"backend", "gap", "effort", "seed"}
    left_out: dict[str, Any] = {"format": True, "options": made.options.model_fields_set <= search or search}
    counted = sha256(made.model_dump_json(exclude_unset=True, exclude=left_out).encode()).hexdigest()
    assert made.digest == read_state(write(made)).digest == f"sha256:{counted}"


def test_names_come_first_in_what_is_written() -> None:
    shuffled = json.loads(json.dumps(STATE, sort_keys=True), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert write(read_state(json.dumps(shuffled))).startswith('{"format":')
    again = json.loads(write(read_state(json.dumps(shuffled))))
    for element, key in [(again["pools"][0], "name"), (again["queues"][0], "name"), (again["jobs"][0], "id"), (again["jobs"][0]["stages"][0], "name")]:
        assert next(iter(element)) == key


def test_python_objects_are_read_as_json_is(state: State, plan: Plan) -> None:
    assert State.model_validate(STATE) == state
    assert Plan.model_validate(PLAN) == plan
    assert State(pools=state.pools, queues=state.queues, jobs=state.jobs).ledger == state.ledger


def test_copies_are_equal_and_keep_the_ledger(state: State, plan: Plan) -> None:
    for again in (pickle.loads(pickle.dumps(state)), copy.copy(state), copy.deepcopy(state), state.replace({})):  # noqa: S301
        assert again == state
        assert hash(again) == hash(state)
        assert again.ledger == state.ledger
        assert write(again) == write(state)
    for again in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):  # noqa: S301
        assert again == plan
        assert hash(again) == hash(plan)
    assert state != state.replace({"period": {"index": 3}})


def test_replace_validates_and_enters_the_ledger_again(state: State) -> None:
    smaller = state.replace({"jobs": state.jobs[1:]})
    assert len(smaller.ledger.lo) == 1
    assert len(state.ledger.lo) == 3
    for wrong in ({"jobs": state.jobs * 2}, {"queues": ()}, {"jobz": ()}, {"pools": [{"name": "a", "capacity": {"gpu": -1}}]}):
        with pytest.raises(ValidationError):
            state.replace(wrong)
    with pytest.raises(ValidationError, match="weight"):
        state.jobs[0].replace({"weight": -1})


def test_nothing_inside_can_be_changed(state: State, plan: Plan) -> None:
    first = state.jobs[0].all_stages[0]
    assert first.history is not None
    frozen = [state.pools[0].capacity, first.history[0], first.pools, state.jobs[0].preemption_cost.resize_seconds, plan.utilisation, plan.utilisation["a"]]
    for mapping in frozen:
        assert isinstance(mapping, Mapping)
        assert isinstance(mapping, FrozenMapping)
        for change in (
            lambda target: target.__setitem__("gpu", 1),
            lambda target: target.__delitem__("gpu"),
            lambda target: target.update(gpu=1),
            lambda target: target.pop("gpu"),
            lambda target: target.popitem(),
            lambda target: target.setdefault("gpu", 1),
            lambda target: target.clear(),
            lambda target: target.__ior__({}),
        ):
            with pytest.raises(TypeError, match="cannot be changed"):
                change(mapping)
        assert hash(mapping) == hash(type(mapping)(mapping))
    with pytest.raises(ValidationError, match="frozen"):
        state.jobs = ()  # type: ignore[misc]


def test_hand_made_amounts_are_validated_too() -> None:
    with pytest.raises(ValidationError, match="not an amount"):
        State.model_validate({"pools": [{"name": "a", "capacity": Amounts({"gpu": -1})}]})


def test_amounts_compare_as_mappings() -> None:
    assert Amounts({"gpu": 1}) == {"gpu": 1}
    assert repr(Amounts({"gpu": 1})) == "Amounts({'gpu': 1})"
    assert {Amounts({"gpu": 1, "cpu": 2}), Amounts({"cpu": 2, "gpu": 1})} == {Amounts({"gpu": 1, "cpu": 2})}


def test_input_error_survives_a_process_boundary() -> None:
    error = InputError("state.json", (Fault("jobs[0]", "is wrong; put it right"), Fault("", "is short")))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.faults) == (str(error), error.faults)
    assert str(error) == "state.json has 2 faults:\n  jobs[0]: is wrong; put it right\n  is short"
