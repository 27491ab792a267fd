"""How prices and the ceiling are written: what is refused, and what is counted exactly."""

import json
from fractions import Fraction

import pytest

from libra_opt import InputError, State, allocate, read_state
from libra_opt.adapters.mathprog import write_data
from tests.cost.priced import cost


def read(pool: object, options: object = None, **more: object) -> State:
    """A state with one pool of ten cards and a job that wants them all."""
    whole = {"name": "p", "capacity": {"gpu": 10, "cpu": 10}} | dict(pool)  # type: ignore[call-overload]
    job = {"id": "a", "demand": {"gpu": 10, "cpu": 10}}
    return read_state(json.dumps({"pools": [whole], "jobs": [job], "options": options or {}, **more}))


@pytest.mark.parametrize(
    ("pool", "options", "fault"),
    [
        ({"price_per_hour": {"tpu": 1}}, {}, "pools[0].price_per_hour.tpu: unknown resource; this state has gpu, gpu_mem, cpu, mem, net"),
        ({"price": 1, "price_per_hour": {"gpu": 1}}, {}, "pools[0].price: is the price of 'gpu', which price_per_hour states as well; leave one of them out"),
        ({"price_per_hour": {"gpu": -1}}, {}, "pools[0].price_per_hour.gpu: -1 is not a number from 0"),
        ({"price": 1}, {"cost_ceiling": -1}, "options.cost_ceiling: -1 is not a number from 0"),
        ({"price": 1}, {"cost_ceiling": 5, "lookahead": 2}, "options.lookahead: states with a cost_ceiling are planned one period at a time"),
        (
            {"price_per_hour": {"gpu": 1, "cpu": 1e-15}, "capacity": {"gpu": 9e18, "cpu": 9e17}},
            {"cost_ceiling": 5},
            "options.cost_ceiling: prices and capacities together are no whole numbers below 2^63 of one amount of money; declare coarser quanta in resources",
        ),
    ],
)
def test_what_contradicts_itself_is_refused_by_its_path(pool: object, options: object, fault: str) -> None:
    with pytest.raises(InputError) as found:
        read(pool, options)
    assert any(str(each).startswith(fault) for each in found.value.faults), found.value.faults


def test_ceiling_without_any_price_is_warned_of() -> None:
    plan = allocate(read({}, {"cost_ceiling": 5}))
    assert plan.warnings == ("options.cost_ceiling limits nothing: no pool has a price; give price_per_hour to the pools",)
    assert plan.jobs[0].service == 1


def test_costs_are_exact_where_floats_are_not() -> None:
    """Ten times 0.1 and ten times 0.7 for cards and cores is 8 exactly; the sum of the floats is not."""
    state = read({"price_per_hour": {"gpu": 0.1, "cpu": 0.7}}, {"cost_ceiling": 8})
    plan = allocate(state)
    assert plan.jobs[0].service == 1
    assert cost(state, plan) == 8
    assert plan.cost_per_hour == 8
    below = allocate(read({"price_per_hour": {"gpu": 0.1, "cpu": 0.7}}, {"cost_ceiling": 7.999}))
    assert below.jobs[0].service == 0.9
    assert below.cost_per_hour == pytest.approx(7.9)  # nine cards, and all cores: the last of them are spare


def test_prices_of_many_digits_round_up() -> None:
    prices = {"gpu": 7 / 3, "cpu": 1 / 30}
    state = read({"price_per_hour": prices, "capacity": {"gpu": 10**6, "cpu": 10**6}}, {"cost_ceiling": 70 / 3})
    assert state.ledger.cost is not None
    assert 1 << 53 < state.ledger.cost.of(enumerate(state.ledger.capacity)) < 1 << 63
    for backend in ("auto", "cp_sat", "greedy"):
        plan = allocate(state.replace({"options": state.options.replace({"backend": backend})}))
        assert Fraction(20) < cost(state, plan) <= Fraction("23.333333333333332")
        assert plan.cost_per_hour == pytest.approx(float(cost(state, plan)), rel=1e-9)


def test_cluster_of_more_quanta_than_floats_count_keeps_the_ceiling() -> None:
    resources = [{"name": "gpu", "quantum": 1e-9}, {"name": "mem", "unit": "B", "compressible": False}]
    pool = {"price_per_hour": {"gpu": 2.5, "mem": 1e-9}, "capacity": {"gpu": 10**6, "mem": 10**15}}
    job = {"id": "a", "demand": {"gpu": 8, "mem": 3}}
    state = read_state(json.dumps({"resources": resources, "pools": [{"name": "p", **pool}], "jobs": [job], "options": {"cost_ceiling": 9}}))
    for backend in ("auto", "cp_sat", "greedy"):
        plan = allocate(state.replace({"options": state.options.replace({"backend": backend})}))
        assert 8 < cost(state, plan) <= 9


def test_plain_price_is_that_of_cards() -> None:
    one, two = (allocate(read(pool, {"cost_ceiling": 12.5})) for pool in ({"price": 2.5}, {"price_per_hour": {"gpu": 2.5}}))
    assert one.jobs == two.jobs
    assert one.jobs[0].stages[0].resources["gpu"] == 5


def test_spare_is_paid_for_as_well() -> None:
    job = {"id": "a", "min_quota": {"gpu": 2}, "max_quota": {"gpu": 2, "cpu": 10}, "demand": {"gpu": 2, "cpu": 4}}
    document = {"pools": [{"name": "p", "capacity": {"gpu": 10, "cpu": 10}, "price_per_hour": {"cpu": 1}}], "jobs": [job]}
    held = [allocate(State.model_validate({**document, "options": {"cost_ceiling": most}})).jobs[0].stages[0].resources["cpu"] for most in (4, 6, 20)]
    assert held == [4, 6, 10]


def test_state_without_a_ceiling_says_nothing_of_cost() -> None:
    state = read({"price": 2.5})
    assert state.ledger.cost is None
    assert b"cost" not in allocate(state).model_dump_json().encode()
    assert "param M :=" not in write_data(state)
