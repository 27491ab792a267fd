"""The ledger as arrays: jobs by id, each job's stages as given, every number of a state written out of order found again."""

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.tables import Tables, tabulate
from tests.formulation.made import SEEDS, parts

DOCUMENT = {
    "resources": [
        {"name": "cpu", "quantum": 0.5},
        {"name": "gpu", "costly": True},
        {"name": "gpu_mem", "unit": "GiB", "compressible": False, "costly": True},
    ],
    "pools": [{"name": "z", "capacity": {"gpu": 8, "cpu": 4}, "card_mem": 80}, {"name": "a", "capacity": {"gpu_mem": 9}}],
    "queues": [
        {"name": "t", "nominal_quota": {"gpu": 3}, "borrowing_limit": {"gpu": 2}},
        {"name": "s", "nominal_quota": {"cpu": 3}, "lending_limit": {"cpu": 1}},
    ],
    "jobs": [
        {
            "id": "second",
            "queue": "t",
            "preemptible": False,
            "preemption_cost": {"evict_seconds": 1, "migrate_seconds": 2, "resize_seconds": {"gpu": 3}},
            "stages": [
                {"name": "x", "demand": {"gpu": 1, "cpu": 1}, "allocation": {"pool": "a", "resources": {"gpu": 1}}},
                {"name": "y", "need": {"gpu_mem": 5}, "demand": {"gpu": 2}},
            ],
        },
        {
            "id": "first",
            "preemption_cost": {"evict_seconds": 4, "migrate_seconds": 5, "resize_seconds": 6},
            "min_quota": {"gpu": 2},
            "max_quota": {"gpu": 4},
            "unit": {"gpu": 2},
            "demand": {"gpu_mem": 7},
        },
    ],
}


@pytest.fixture
def tables() -> Tables:
    return tabulate(State.model_validate(DOCUMENT).ledger)


def test_jobs_are_in_order_of_their_ids(tables: Tables) -> None:
    assert tables.job_order.tolist() == [1, 0]
    assert tables.stage.tolist() == [2, 0, 1]
    assert tables.stage_job.tolist() == [0, 1, 1]
    assert tables.first_stage.tolist() == [0, 1, 3]
    assert tables.n_jobs == 2


def test_rows_of_stages(tables: Tables) -> None:
    free = [UNLIMITED] * 3
    assert tables.lo.tolist() == [[0, 2, 0], [0, 0, 0], [0, 0, 0]]
    assert tables.hi.tolist() == [[UNLIMITED, 4, UNLIMITED], free, free]
    assert tables.unit.tolist() == [[1, 2, 1], [1, 1, 1], [1, 1, 1]]
    assert tables.demand.tolist() == [[0, 0, 0], [2, 1, 0], [0, 2, 0]]
    assert tables.need.tolist() == [[0, 0, 7], [0, 0, 0], [0, 0, 5]]
    assert tables.held.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert tables.holds.tolist() == [False, True, False]
    assert tables.here.tolist() == [-1, 1, -1]


def test_rows_of_jobs(tables: Tables) -> None:
    assert tables.evict_ms.tolist() == [4000, 1000]
    assert tables.migrate_ms.tolist() == [5000, 2000]
    assert tables.resize_ms.tolist() == [[0, 6000, 6000], [0, 3000, 0]]
    assert tables.queue.tolist() == [2, 0]
    assert tables.running.tolist() == [False, True]
    assert tables.protected.tolist() == [False, True]


def test_rows_of_cluster_and_queues(tables: Tables) -> None:
    free = [UNLIMITED] * 3
    assert tables.capacity.tolist() == [[8, 8, 0], [0, 0, 9]]
    assert tables.ceiling.tolist() == [[UNLIMITED, 5, UNLIMITED], free, free]
    assert tables.card_ratio.tolist() == [[80, 1], [1, 0]]
    assert tables.compressible.tolist() == [True, True, False]
    assert tables.costly.tolist() == [False, True, True]
    assert tables.limited.tolist() == [True, True, False]
    assert (tables.card, tables.memory) == (1, 2)


@pytest.mark.parametrize(("lent", "is_limited"), [(0, True), (1, False)])
def test_reserve_of_a_single_quantum_is_a_limit(lent: int, is_limited: bool) -> None:  # noqa: FBT001
    queue = {"name": "t", "nominal_quota": {"gpu": 1}, "lending_limit": {"gpu": lent}}
    assert tabulate(State.model_validate({"resources": [{"name": "gpu"}], "queues": [queue]}).ledger).limited.tolist() == [is_limited]


@pytest.mark.parametrize("missing", ["gpu", "gpu_mem"])
def test_without_cards_or_their_memory_there_is_no_r9(missing: str) -> None:
    state = State.model_validate({"resources": [{"name": name} for name in ("cpu", "gpu", "gpu_mem") if name != missing]})
    tables = tabulate(state.ledger)
    assert (tables.card, tables.memory) == (-1, -1)


def test_empty_state_has_empty_tables() -> None:
    tables = tabulate(State.model_validate({}).ledger)
    assert tables.n_jobs == 0
    assert tables.first_stage.tolist() == [0]
    for rows in (tables.lo, tables.hi, tables.unit, tables.need, tables.held, tables.demand, tables.resize_ms, tables.capacity):
        assert rows.shape == (0, 5)
    assert (tables.ceiling.shape, tables.card_ratio.shape) == ((1, 5), (0, 2))
    assert not tables.limited.any()


def test_numbers_are_of_the_kind_they_are_counted_in() -> None:
    for seed in SEEDS:
        tables = parts(seed).tables
        for whole in (tables.lo, tables.hi, tables.unit, tables.need, tables.held, tables.resize_ms, tables.capacity, tables.ceiling, tables.card_ratio):
            assert whole.dtype == np.int64
        for number in (tables.demand, tables.evict_ms, tables.migrate_ms):
            assert number.dtype == np.float64
        for flag in (tables.holds, tables.running, tables.protected, tables.compressible, tables.costly, tables.limited):
            assert flag.dtype == np.bool_
        for index in (tables.job_order, tables.stage, tables.stage_job, tables.first_stage, tables.here, tables.queue):
            assert index.dtype == np.intp


def test_amounts_of_62_bits_keep_every_digit() -> None:
    huge = 2**61 + 1
    document = {"pools": [{"name": "p", "capacity": {"gpu": str(huge)}}], "jobs": [{"id": "a", "demand": {"gpu": 1}, "min_quota": {"gpu": str(huge)}}]}
    tables = tabulate(State.model_validate(document).ledger)
    assert (int(tables.capacity[0, 0]), int(tables.lo[0, 0])) == (huge, huge)
