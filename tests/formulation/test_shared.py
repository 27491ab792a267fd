"""The shared rows: capacity (R1), ceilings and reserves (R10), the budget (R12) and what guarantees are owed (tier 3)."""

from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.shared import SharedRows, shared_rows
from tests.formulation.made import SEEDS, Parts, cut, parts
from tests.oracle import enumerate as rules

RESOURCES = [{"name": "cpu", "quantum": 0.5}, {"name": "gpu", "costly": True}]


def rows_of(made: Parts, budget: float | None = None) -> SharedRows:
    return shared_rows(made.ledger, made.tables, made.curves, made.ways, budget)


def shared(queues: list[dict[str, Any]], *jobs: dict[str, Any], gpu: float = 8, budget: float | None = None) -> SharedRows:
    pools = [{"name": "p", "capacity": {"gpu": gpu, "cpu": 10}}, {"name": "q", "capacity": {"gpu": 2}}]
    named = [{"id": name, "queue": queues[0]["name"], **job} for name, job in zip("abcdef", jobs, strict=False)]
    return rows_of(cut(State.model_validate({"resources": RESOURCES, "pools": pools, "queues": queues, "jobs": named})), budget)


def test_capacity_per_pool_and_in_all() -> None:
    rows = shared([{"name": "t"}])
    assert rows.capacity.tolist() == [[20, 8], [0, 2]]
    assert rows.total.tolist() == [20, 10]


def test_ceiling_is_quota_and_borrowing_limit() -> None:
    rows = shared([{"name": "t", "nominal_quota": {"gpu": 3}, "borrowing_limit": {"gpu": 2}}, {"name": "u", "nominal_quota": {"gpu": 3}}])
    assert rows.ceiling.tolist() == [[np.inf, 5], [np.inf, np.inf], [np.inf, np.inf]]
    assert rows.nominal.tolist() == [[1, 3], [1, 3], [1, 1]]


def test_reserved_is_what_is_not_lent() -> None:
    rows = shared([{"name": "t", "nominal_quota": {"gpu": 3, "cpu": 4}, "lending_limit": {"gpu": 1}}, {"name": "u", "nominal_quota": {"gpu": 3}}])
    assert rows.reserved.tolist() == [[0, 2], [0, 0], [0, 0]]
    assert rows.is_reserving.tolist() == [False, True]


def test_reserves_larger_than_the_cluster_are_cut_in_proportion() -> None:
    queues = [{"name": name, "nominal_quota": {"gpu": quota}, "lending_limit": {"gpu": 0}} for name, quota in (("t", 9), ("u", 4))]
    assert shared(queues).reserved[:, 1].tolist() == [6, 3, 0]
    assert shared(queues, gpu=11).reserved[:, 1].tolist() == [9, 4, 0]
    assert shared(queues, gpu=10).reserved[:, 1].tolist() == [8, 3, 0]


@pytest.mark.parametrize(("seconds", "ms"), [(None, np.inf), (0, 0), (1.5, 1500), (0.0014, 1)])
def test_budget_is_held_to_the_millisecond(seconds: float | None, ms: float) -> None:
    assert shared([{"name": "t"}], budget=seconds).budget_ms == ms


@pytest.mark.parametrize(
    ("job", "owed"),
    [
        ({"demand": {"gpu": 4}}, 4),
        ({"demand": {"gpu": 9}}, 6),
        ({"demand": {"gpu": 4}, "max_quota": {"gpu": 3}}, 3),
        ({"demand": {"gpu": 1}, "min_quota": {"gpu": 3}}, 3),
        ({"demand": {"gpu": 3}, "unit": {"gpu": 2}}, 4),
        ({"demand": {"gpu": 4}, "pools": {"p": 0.5, "q": 2}}, 2),
        ({"demand": {"gpu": 4}, "curve": [[0.5, 1], [1, 1]]}, 2),
        ({"demand": {"gpu": 3}, "demand_intensity": [2, 1]}, 3),
        ({"demand": {"gpu": 4}, "demand_intensity": [0.25, 0.5]}, 2),
        ({"demand": {"gpu": 4}, "demand_intensity": [0]}, 0),
        ({"demand": {"gpu": 4}, "min_quota": {"gpu": 9}}, 0),
        ({"stages": [{"name": "x", "demand": {"gpu": 2}}, {"name": "y", "demand": {"gpu": 1}}]}, 3),
        ({"stages": [{"name": "x", "demand": {"gpu": 2}}, {"name": "y", "demand": {"gpu": 1}, "min_quota": {"gpu": 9}}]}, 0),
    ],
)
def test_what_a_queue_asks_for(job: dict[str, Any], owed: int) -> None:
    rows = shared([{"name": "t", "nominal_quota": {"gpu": 6}}, {"name": "u", "nominal_quota": {"gpu": 6}}], job)
    assert rows.floor.tolist() == [[0, owed], [0, 0], [0, 0]]


def test_jobs_of_a_queue_add_up_to_its_quota() -> None:
    queues = [{"name": "t", "nominal_quota": {"gpu": 6, "cpu": 1}}, {"name": "u", "nominal_quota": {"gpu": 9}}]
    jobs = [{"demand": {"gpu": 2}}, {"demand": {"gpu": 3, "cpu": 8}}, {"demand": {"gpu": 3}, "queue": "u"}, {"demand": {"gpu": 8}, "queue": None}]
    assert shared(queues, *jobs).floor.tolist() == [[2, 5], [0, 3], [0, 0]]


def test_shared_rows_agree_with_the_oracle() -> None:
    n_owed = n_reserved = 0
    for seed in SEEDS:
        made = parts(seed)
        rows, slow = rows_of(made, made.state.options.preemption_budget_seconds), rules._Shared(made.state, made.ledger)
        n_queues = len(made.ledger.queues)
        assert rows.floor.tolist() == [*slow.owed, [0] * made.ledger.n_resources]
        assert rows.reserved[:n_queues].tolist() == slow.reserved
        assert not rows.reserved[n_queues].any()
        assert rows.total.tolist() == slow.total
        assert rows.is_reserving.tolist() == [any(row[r] for row in slow.reserved) for r in range(made.ledger.n_resources)]
        assert rows.budget_ms == (np.inf if slow.budget is None else slow.budget)
        n_owed += int(rows.floor.any())
        n_reserved += int(rows.reserved.any())
    assert n_owed > 10
    assert n_reserved > 5


def test_state_without_pools_owes_nothing() -> None:
    document = {"resources": RESOURCES, "queues": [{"name": "t", "nominal_quota": {"gpu": 6}}], "jobs": [{"id": "a", "queue": "t", "demand": {"gpu": 4}}]}
    rows = rows_of(cut(State.model_validate(document)))
    assert rows.floor.tolist() == [[0, 0], [0, 0]]
    assert (rows.capacity.shape, rows.total.tolist()) == ((0, 2), [0, 0])


@pytest.mark.parametrize(
    ("seconds", "over", "most"),
    [(None, 0, np.inf), (10, 0, 10_000), (11, 0, 10_000), (14.999, 0, 10_000), (15, 0, 15_000), (12, 3, 15_000), (0, 4.9, 0), (0, 4.998, 0), (0, 0, 0)],
)
def test_charges_add_up_to_whole_steps_within_the_budget(seconds: float | None, over: float, most: float) -> None:
    job = {"demand": {"gpu": 1}, "preemption_cost": {"evict_seconds": 10, "migrate_seconds": 25, "resize_seconds": 5}}
    held = {"allocation": {"pool": "p", "resources": {"gpu": 1}}}
    rows = shared([{"name": "t"}], {**job, **held}, budget=seconds)
    assert (rows.step_ms, rows.most_ms(over)) == (5000, most)


def test_nothing_is_spent_over_the_budget_unless_allowed() -> None:
    job = {"demand": {"gpu": 1}, "preemption_cost": {"evict_seconds": 5}, "allocation": {"pool": "p", "resources": {"gpu": 1}}}
    rows = shared([{"name": "t"}], job, budget=14.5)
    assert (rows.most_ms(), rows.most_ms(1)) == (10_000, 15_000)


def test_where_nothing_is_charged_a_step_is_a_millisecond() -> None:
    assert shared([{"name": "t"}], {"demand": {"gpu": 1}}).step_ms == 1
