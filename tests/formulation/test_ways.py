"""R2 to R4, R8, R9 and R14's keep: the ways a stage can be placed, against the slow reading and by hand."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.ways import cards_for
from tests.formulation.made import SEEDS, cut, parts, slow

Document = dict[str, Any]


def placed(**job: Any) -> list[tuple[str, list[int], list[int]]]:
    """Pool, floor and ceiling of cards, card memory and cores (in tenths) of each way."""
    capacity = {"gpu": 8, "gpu_mem": 100, "cpu": 20}
    pools = [{"name": "z", "capacity": capacity}, {"name": "a", "capacity": {**capacity, "gpu": 5}, "card_mem": 10}]
    ways = cut(State.model_validate({"pools": pools, "jobs": [{"id": "j", **job}]})).ways
    names = ["z", "a"]
    return [(names[k], floor[:3], ceiling[:3]) for k, floor, ceiling in zip(ways.pool.tolist(), ways.floor.tolist(), ways.ceiling.tolist(), strict=True)]


def test_one_way_per_pool_by_name() -> None:
    assert placed(demand={"gpu": 2}) == [("a", [0, 0, 0], [5, 100, 200]), ("z", [0, 0, 0], [8, 100, 200])]


def test_floor_is_the_larger_of_minimum_and_need_and_ceiling_the_smaller_of_maximum_and_capacity() -> None:
    job = {"demand": {"gpu": 2}, "min_quota": {"gpu": 1, "gpu_mem": 9}, "need": {"gpu_mem": 3}, "max_quota": {"gpu": 6, "cpu": 2.5}, "pools": ["z"]}
    assert placed(**job) == [("z", [1, 9, 0], [6, 100, 25])]
    assert placed(**{**job, "need": {"gpu_mem": 30}}) == [("z", [1, 30, 0], [6, 100, 25])]


def test_units_round_floors_up_and_ceilings_down() -> None:
    job = {"demand": {"gpu": 2}, "need": {"gpu_mem": 5}, "unit": {"gpu": 3, "gpu_mem": 8}, "pools": ["z"]}
    assert placed(**job) == [("z", [0, 8, 0], [6, 96, 200])]


def test_memory_sets_a_floor_of_exclusive_cards() -> None:
    assert placed(demand={"gpu": 1}, need={"gpu_mem": 21}, pools=["a"]) == [("a", [3, 21, 0], [5, 100, 200])]
    assert placed(demand={"gpu": 1}, need={"gpu_mem": 21}, unit={"gpu": 2}, pools=["a"]) == [("a", [4, 21, 0], [4, 100, 200])]
    assert placed(demand={"gpu": 1}, need={"gpu_mem": 50}, pools=["a"]) == [("a", [5, 50, 0], [5, 100, 200])]
    assert placed(demand={"gpu": 1}, need={"gpu_mem": 51}, pools=["a"]) == []


def test_what_is_dearer_to_change_is_kept_first() -> None:
    job = {
        "demand": {"gpu": 2},
        "pools": ["z"],
        "preemption_cost": {"resize_seconds": {"gpu": 5, "gpu_mem": 9}},
        "allocation": {"pool": "z", "resources": {"gpu": 4, "gpu_mem": 40, "cpu": 3}},
    }
    free, top = [0, 0, 0], [8, 100, 200]
    assert placed(**job) == [("z", [4, 40, 0], [4, 40, 200]), ("z", [0, 40, 0], [8, 40, 200]), ("z", free, top)]


@pytest.mark.parametrize(
    ("change", "n_ways"),
    [
        ({}, 2),
        ({"max_quota": {"gpu": 3}}, 1),
        ({"max_quota": {"gpu": 4}}, 2),
        ({"min_quota": {"gpu": 5}}, 1),
        ({"min_quota": {"gpu": 4}}, 2),
        ({"need": {"gpu_mem": 41}}, 1),
        ({"unit": {"gpu": 3}}, 1),
        ({"unit": {"gpu": 4}}, 2),
        ({"pools": ["a"]}, 1),
        ({"preemption_cost": {"resize_seconds": 0}}, 1),
    ],
)
def test_allocation_that_breaks_a_rule_is_not_kept(change: Document, n_ways: int) -> None:
    job = {"demand": {"gpu": 2}, "pools": ["z"], "allocation": {"pool": "z", "resources": {"gpu": 4, "gpu_mem": 40}}, **change}
    assert len(placed(**job)) == n_ways


def test_single_card_that_breaks_a_rule_is_not_kept() -> None:
    job = {"demand": {"gpu": 2}, "pools": ["z"], "allocation": {"pool": "z", "resources": {"gpu": 1}}}
    assert [len(placed(**job, **change)) for change in ({}, {"unit": {"gpu": 2}}, {"max_quota": {"gpu": 0}})] == [2, 1, 1]


def test_kept_cards_must_carry_the_memory() -> None:
    allocation = {"pool": "a", "resources": {"gpu": 2, "gpu_mem": 20}}
    assert [floor for _, floor, _ in placed(demand={"gpu": 1}, pools=["a"], allocation=allocation)] == [[2, 20, 0], [0, 0, 0]]
    allocation = {"pool": "a", "resources": {"gpu": 2, "gpu_mem": 21}}
    assert [floor for _, floor, _ in placed(demand={"gpu": 1}, pools=["a"], allocation=allocation)] == [[0, 0, 0]]


def test_ways_agree_with_the_slow_reading() -> None:
    n_ways = n_kept = 0
    for seed in SEEDS:
        made, reading = parts(seed), slow(seed)
        ledger, ways = made.ledger, made.ways
        expected = []
        for way in reading.ways:
            s = way.stage
            limits = [min(hi, row) for hi, row in zip(ledger.hi[s], ledger.capacity[way.pool], strict=True)]
            most = [x - x % u if kept is None else kept for kept, x, u in zip(way.kept, limits, ledger.unit[s], strict=True)]
            expected.append((s, way.pool, float(way.speed), reading.least(way, Fraction(0)), tuple(most)))
            n_kept += any(kept is not None for kept in way.kept)
        amounts = [[tuple(row) for row in rows.tolist()] for rows in (ways.floor, ways.ceiling)]
        found = list(zip(made.tables.stage[ways.stage].tolist(), ways.pool.tolist(), ways.speed.tolist(), *amounts, strict=True))
        assert found == expected, seed
        n_ways += len(found)
    assert n_ways > 100
    assert n_kept > 15


@pytest.mark.parametrize(
    ("memory", "ratio", "unit", "cards"),
    [
        (0, (10, 1), 1, 0),
        (1, (10, 1), 1, 1),
        (10, (10, 1), 1, 1),
        (11, (10, 1), 1, 2),
        (11, (10, 1), 4, 4),
        (41, (10, 1), 4, 8),
        (5, (5, 2), 1, 2),
        (6, (5, 2), 1, 3),
        (7, (1, 0), 1, 0),
        (0, (0, 1), 3, 0),
        (1, (0, 1), 3, -1),
    ],
)
def test_cards_for_memory(memory: int, ratio: tuple[int, int], unit: int, cards: int) -> None:
    assert cards_for(np.array([memory, 0]), np.array([ratio, ratio], dtype=float), np.array([unit, unit])).tolist() == [cards, 0]


def test_state_without_pools_or_jobs_has_no_ways() -> None:
    assert len(cut(State.model_validate({"jobs": [{"id": "a", "demand": {"gpu": 1}}]})).ways.stage) == 0
    assert len(cut(State.model_validate({"pools": [{"name": "p", "capacity": {}}]})).ways.stage) == 0
