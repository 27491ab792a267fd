"""The textbooks' examples, and what each way of dividing is known for."""

import json
from fractions import Fraction
from typing import Any

import pytest

from libra_opt.domain import State, read_state
from libra_opt.simulation.policies.drf import divide_drf
from libra_opt.simulation.policies.forecasting import Divide
from libra_opt.simulation.policies.greedy import divide_greedily
from libra_opt.simulation.policies.max_min import divide_max_min
from libra_opt.simulation.policies.proportional import divide_in_proportion
from libra_opt.simulation.room import Room
from libra_opt.simulation.rungs import MOST_RUNGS, Ladder

EVERY = pytest.mark.parametrize("divide", [divide_max_min, divide_drf, divide_in_proportion, divide_greedily])


def _state(capacity: dict[str, float], jobs: list[dict[str, Any]], quantum: float = 1, **pool: Any) -> State:
    resources = [
        {"name": name, "quantum": quantum, "compressible": name != "gpu_mem", "costly": name in ("gpu", "gpu_mem")}
        for name in (*capacity, *(["gpu_mem"] if "gpu_mem" not in capacity else []))
    ]
    document = {
        "format": "libra-opt/state/1",
        "resources": resources,
        "pools": [{"name": "p", "capacity": capacity, **pool}],
        "jobs": [{"id": f"j{i}", "submitted": i, **job} for i, job in enumerate(jobs)],
    }
    return read_state(json.dumps(document))


def _held(divide: Divide, state: State) -> dict[int, tuple[int, ...]]:
    ledger = state.ledger
    cells = divide(state, ledger, Room(ledger, ledger.capacity))
    return {j: tuple(map(sum, zip(*(row for _, row in stages), strict=True))) for j, stages in cells.items()}


def test_drf_gives_the_example_of_its_paper():
    # Ghodsi et al., NSDI 2011, section 4: 9 CPUs and 18 GB; tasks of <1 CPU, 4 GB> and <3 CPUs, 1 GB>, as many as there may be of each.
    jobs = [
        {"demand": {"cpu": 60, "ram": 240}, "unit": {"cpu": 1, "ram": 4}},
        {"demand": {"cpu": 180, "ram": 60}, "unit": {"cpu": 3, "ram": 1}},
    ]
    assert _held(divide_drf, _state({"cpu": 9, "ram": 18}, jobs)) == {0: (3, 12, 0), 1: (6, 2, 0)}


def test_drf_counts_weights():
    jobs = [{"demand": {"gpu": 30}, "weight": 2}, {"demand": {"gpu": 30}}]
    assert _held(divide_drf, _state({"gpu": 30}, jobs)) == {0: (20, 0), 1: (10, 0)}


def test_max_min_gives_the_small_what_they_ask_and_divides_the_rest():
    # Keshav, An Engineering Approach to Computer Networking (1997), section 9.2: demands 2, 2.6, 4 and 5 of a capacity of 10 get 2, 2.6, 2.7 and 2.7.
    # Levels are amounts where every job could use as much: so all demand 5, and the first three have maxima.
    jobs = [{"demand": {"gpu": 5}, "max_quota": {"gpu": most}} for most in (2, 2.6, 4)] + [{"demand": {"gpu": 5}}]
    held = _held(divide_max_min, _state({"gpu": 10}, jobs, quantum=0.1))
    assert held == {0: (20, 0), 1: (26, 0), 2: (27, 0), 3: (27, 0)}


def test_max_min_raises_levels_together():
    jobs = [{"demand": {"gpu": 12}}, {"demand": {"gpu": 4}}]
    assert _held(divide_max_min, _state({"gpu": 8}, jobs)) == {0: (6, 0), 1: (2, 0)}


def test_proportional_gives_everybody_the_same_share_of_every_resource():
    jobs = [{"demand": {"gpu": 12, "cpu": 6}}, {"demand": {"gpu": 4, "cpu": 2}}]
    assert _held(divide_in_proportion, _state({"gpu": 8, "cpu": 20}, jobs)) == {0: (6, 3, 0), 1: (2, 1, 0)}


def test_greedy_serves_the_first_in_full():
    jobs = [{"demand": {"gpu": 6}}, {"demand": {"gpu": 5}}, {"demand": {"gpu": 4}, "min_quota": {"gpu": 3}}]
    assert _held(divide_greedily, _state({"gpu": 8}, jobs)) == {0: (6, 0), 1: (2, 0)}


@EVERY
def test_who_runs_is_served_before_who_came_earlier(divide: Divide):
    running = {"demand": {"gpu": 8}, "min_quota": {"gpu": 8}, "allocation": {"pool": "p", "resources": {"gpu": 8}}}
    assert set(_held(divide, _state({"gpu": 8}, [{"demand": {"gpu": 8}, "min_quota": {"gpu": 8}}, running]))) == {1}


@EVERY
def test_memory_is_covered_and_carried_by_cards(divide: Divide):
    jobs = [{"demand": {"gpu": 1, "gpu_mem": 25}}, {"demand": {"gpu": 4, "gpu_mem": 5}}, {"demand": {"gpu": 1, "gpu_mem": 40}}]
    held = _held(divide, _state({"gpu": 6, "gpu_mem": 60}, jobs, card_mem=10))
    assert held[0] == (3, 25)
    assert held[1] == (3, 5)
    assert 2 not in held


@EVERY
def test_everybody_is_served_in_full_where_there_is_enough(divide: Divide):
    jobs = [{"demand": {"gpu": 3, "cpu": 5}}, {"demand": {"gpu": 2, "cpu": 1}, "unit": 2}]
    assert _held(divide, _state({"gpu": 8, "cpu": 9}, jobs)) == {0: (3, 5, 0), 1: (2, 1, 0)}


def test_ladder_has_a_rung_per_card_and_stops_at_the_maximum():
    ladder = Ladder(_state({"gpu": 8}, [{"demand": {"gpu": 6}, "max_quota": {"gpu": 4}}]).ledger, 0)
    assert ladder.levels == tuple(Fraction(i, 6) for i in (1, 2, 3, 4))


def test_ladder_of_many_cards_is_thinned():
    ladder = Ladder(_state({"gpu": 5000}, [{"demand": {"gpu": 5000}}]).ledger, 0)
    assert len(ladder) <= MOST_RUNGS
    assert ladder.levels[-1] == 1
