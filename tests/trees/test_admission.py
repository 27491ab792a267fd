"""The simulated cluster holds baselines to the same tree: what is free beside it, and which grants are refused."""

import pytest

from libra_opt.domain import Ledger, Workload
from libra_opt.simulation.admission import check_grants
from libra_opt.simulation.grant import Grant
from libra_opt.simulation.room import Room
from tests.trees.cases import Document, job, queue, state

LIMITED = [queue("org", borrows=0), queue("a", 4, "org", lends=1), queue("b", 2, "org"), queue("guest", 1)]
"""`org` has 6 cards; `a` keeps 3 of them to itself, so `b` may have 3."""


def most(ledger: Ledger, room: Room, j: int) -> int:
    """Return the most cards for which there is room for a job."""
    return max(n for n in range(sum(row[0] for row in ledger.capacity) + 1) if room.place(j, [(n,)]) is not None)


def test_room_counts_what_is_held_and_reserved_below_every_queue_above() -> None:
    ledger = state(8, LIMITED, [job("x", "a", 8), job("y", "b", 8), job("z", "guest", 8), job("out", None, 8)]).ledger
    room = Room(ledger, ledger.capacity)
    assert [most(ledger, room, j) for j in range(4)] == [6, 3, 5, 5]
    room.take(1, ((0, (2,)),))
    assert [most(ledger, room, j) for j in (0, 2, 3)] == [4, 3, 3]
    room.release(1, ((0, (2,)),))
    room.take(0, ((0, (3,)),))
    assert [most(ledger, room, j) for j in (1, 2, 3)] == [3, 5, 5]


def test_grants_above_the_ceiling_of_a_queue_above_are_refused() -> None:
    names = ("a", "b")
    jobs: list[Document] = [{"id": name, "queue": name, "steps": [{"parts": [{"seconds": 1}]}]} for name in names]
    queues = [queue("a", 4, "org"), queue("org", borrows=0), queue("b", 2, "org")]
    workload = Workload.model_validate({"resources": [{"name": "gpu"}], "pools": [{"name": "p", "capacity": {"gpu": 9}}], "queues": queues, "jobs": jobs})
    check_grants(workload, {"p": (9.0,)}, {j: (Grant("p", (3.0,)),) for j in range(2)}, [0, 1])
    with pytest.raises(ValueError, match="queue org: 7 gpu is above its ceiling 6"):
        check_grants(workload, {"p": (9.0,)}, {0: (Grant("p", (4.0,)),), 1: (Grant("p", (3.0,)),)}, [0, 1])
