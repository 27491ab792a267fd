"""What is free of pools and of the quotas of queues."""

import json
from typing import Any

from libra_opt.domain import Ledger, read_state
from libra_opt.simulation.room import Room


def _ledger(jobs: list[dict[str, Any]], pools: dict[str, int], queues: list[dict[str, Any]] = []) -> Ledger:  # noqa: B006
    document = {
        "format": "libra-opt/state/1",
        "resources": [{"name": "gpu"}],
        "pools": [{"name": name, "capacity": {"gpu": cards}} for name, cards in pools.items()],
        "queues": queues,
        "jobs": [{"id": f"j{i}", **job} for i, job in enumerate(jobs)],
    }
    return read_state(json.dumps(document)).ledger


def _room(ledger: Ledger) -> Room:
    return Room(ledger, ledger.capacity)


def test_stages_go_to_the_fastest_pool_that_has_room():
    room = _room(_ledger([{"pools": {"slow": 1.0, "fast": 2.0}}, {"stages": [{"name": "a"}, {"name": "b"}]}], {"slow": 4, "fast": 4}))
    cells = room.place(0, [(3,)])
    assert cells == ((1, (3,)),)
    room.take(0, cells)
    assert room.place(0, [(3,)]) == ((0, (3,)),)
    assert room.place(1, [(1,), (4,)]) == ((1, (1,)), (0, (4,)))
    assert room.place(1, [(2,), (4,)]) is None  # 4 and 1 are left, and no stage is split


def test_stage_stays_where_it_prefers():
    room = _room(_ledger([{"pools": {"slow": 1.0, "fast": 2.0}}], {"slow": 4, "fast": 4}))
    assert room.place(0, [(3,)], prefer=[0]) == ((0, (3,)),)
    assert room.place(0, [(3,)], prefer=[-1]) == ((1, (3,)),)


def test_what_is_released_is_free_again():
    room = _room(_ledger([{}], {"p": 4}))
    cells = room.place(0, [(4,)])
    assert cells is not None
    room.take(0, cells)
    assert room.place(0, [(1,)]) is None
    assert not room.fits(0, ((0, (1,)),))
    room.release(0, cells)
    assert room.place(0, [(4,)]) == cells
    assert room.fits(0, cells)


def test_queue_keeps_below_its_ceiling():
    queues = [{"name": "a", "nominal_quota": {"gpu": 2}, "borrowing_limit": {"gpu": 1}}]
    room = _room(_ledger([{"queue": "a"}, {}], {"p": 8}, queues))
    assert room.place(0, [(4,)]) is None
    cells = room.place(0, [(3,)])
    assert cells is not None
    room.take(0, cells)
    assert room.place(0, [(1,)]) is None
    assert room.place(1, [(5,)]) is not None


def test_what_a_queue_does_not_lend_stays_free_for_it():
    queues = [{"name": "a", "nominal_quota": {"gpu": 4}, "lending_limit": {"gpu": 1}}, {"name": "b"}]
    room = _room(_ledger([{"queue": "a"}, {"queue": "b"}, {}], {"p": 8}, queues))
    assert room.place(1, [(6,)]) is None
    assert room.place(2, [(6,)]) is None
    assert room.place(2, [(5,)]) is not None
    cells = room.place(0, [(4,)])
    assert cells is not None
    room.take(0, cells)
    assert room.place(1, [(4,)]) is not None
