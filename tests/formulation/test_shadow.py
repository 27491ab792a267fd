"""Shadow prices as a plan writes them: value per unit of a resource, only what is above nothing, in the order of the state."""

from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices, shadow_prices
from tests.formulation.choices import program_of

STATE = State.model_validate(
    {
        "resources": [{"name": "cpu", "quantum": 0.5}, {"name": "gpu"}],
        "pools": [{"name": "z", "capacity": {"gpu": 8, "cpu": 9}}, {"name": "a", "capacity": {"gpu": 6}}],
        "queues": [{"name": "t"}, {"name": "s"}],
        "jobs": [{"id": "j", "demand": {"gpu": 2}, "unit": {"gpu": 2}}],
    }
)


@pytest.fixture
def program() -> Program:
    return program_of(STATE)


def prices(**changes: Any) -> Prices:
    tables = {"pool": np.zeros((2, 2)), "ceiling": np.zeros((3, 2)), "guarantee": np.zeros((3, 2)), "reserve": np.zeros((3, 2))}
    return Prices(**{**tables, "ms": 0.0, "lost": 0.0, **changes})


def written(program: Program, **changes: Any) -> list[tuple[str, str, str, float]]:
    return [(price.kind, price.name, price.resource, price.price) for price in shadow_prices(STATE.ledger, program, prices(**changes))]


def test_prices_are_per_unit_of_each_resource(program: Program) -> None:
    assert program.scale.tolist() == [1, 2]
    assert written(program, pool=np.array([[3.0, 5.0], [0.0, 7.0]])) == [("pool", "z", "cpu", 6), ("pool", "z", "gpu", 2.5), ("pool", "a", "gpu", 3.5)]


@pytest.mark.parametrize(("table", "kind"), [("ceiling", "queue_ceiling"), ("guarantee", "queue_guarantee"), ("reserve", "reserve")])
def test_prices_of_queues(program: Program, table: str, kind: str) -> None:
    assert written(program, **{table: np.array([[0.0, 2.0], [4.0, 0.0], [9.0, 9.0]])}) == [(kind, "t", "gpu", 1), (kind, "s", "cpu", 8)]


def test_price_of_the_budget_is_per_second(program: Program) -> None:
    assert written(program, ms=0.25) == [("preemption_budget", "", "seconds", 250)]


def test_kinds_follow_one_another(program: Program) -> None:
    ones = {"pool": np.ones((2, 2)), "ceiling": np.ones((3, 2)), "guarantee": np.ones((3, 2)), "reserve": np.ones((3, 2)), "ms": 1.0}
    kinds = [kind for kind, *_ in written(program, **ones)]
    assert kinds == ["pool"] * 4 + ["queue_ceiling"] * 4 + ["queue_guarantee"] * 4 + ["reserve"] * 4 + ["preemption_budget"]


def test_negligible_prices_are_not_written(program: Program) -> None:
    assert written(program) == []
    assert written(program, pool=np.array([[0.5e-9, 0.0], [0.0, 2e-9]]), ms=1e-12) == []
    assert len(written(program, pool=np.array([[0.6e-9, 0.0], [0.0, 3e-9]]), ms=2e-12)) == 3


def test_guarantee_lowers_what_a_queue_pays(program: Program) -> None:
    three = {name: np.full((3, 2), value) for name, value in (("ceiling", 5.0), ("guarantee", 2.0), ("reserve", 0.5))}
    assert prices(**three).of_queues(program.shared).tolist() == [[3.5, 3.5]] * 3
