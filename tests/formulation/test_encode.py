"""From a state to the program: charges of R11, the units in which shared rows are counted, how fine the grid is."""

from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.bundles import Window
from libra_opt.formulation.encode import encode, refine
from libra_opt.formulation.program import Program
from tests.formulation.choices import program, program_of
from tests.formulation.made import SEEDS, state
from tests.oracle import enumerate as rules


def made_of(*jobs: dict[str, Any], pools: list[dict[str, Any]] | None = None, **more: Any) -> Program:
    return program_of(State.model_validate({"pools": pools or [{"name": "p", "capacity": {"gpu": 8, "cpu": 8}}], "jobs": list(jobs), **more}))


def test_worth_is_spread_over_the_milliseconds_of_the_hold() -> None:
    made = made_of({"id": "a", "demand": {"gpu": 3}}, period={"seconds": 30}, options={"hold_periods": 4})
    assert made.worth.tolist() == [3]
    assert made.per_ms.tolist() == pytest.approx([3 / 120_000])


def test_waiting_costs_what_runs_now_its_eviction() -> None:
    runs = {"demand": {"gpu": 1}, "allocation": {"pool": "p", "resources": {"gpu": 1}}, "preemption_cost": {"evict_seconds": 7}}
    stages = [
        {"name": "x", "allocation": {"pool": "p", "resources": {"gpu": 1}}},
        {"name": "y", "allocation": {"pool": "p", "resources": {"gpu": 1}}},
        {"name": "z"},
    ]
    made = made_of({"id": "b", **runs}, {"id": "a", "demand": {"gpu": 2}, "preemption_cost": {"evict_seconds": 9}}, {"id": "c", "stages": stages})
    assert made.wait_ms.tolist() == [0, 7000, 45000]
    assert made.n_wait_moves.tolist() == [0, 1, 2]


def test_only_what_is_protected_can_be_lost() -> None:
    runs = {"demand": {"gpu": 2}, "allocation": {"pool": "p", "resources": {"gpu": 1}}}
    made = made_of({"id": "b", **runs, "preemptible": False}, {"id": "a", **runs}, {"id": "c", "demand": {"gpu": 1}, "preemptible": False})
    assert made.lost.tolist() == [0, 2, 0]


def test_charges_of_cells_agree_with_the_oracle() -> None:
    n_charged = n_free = n_moved = 0
    for seed in SEEDS:
        asked, made = state(seed), program(seed)
        ledger = asked.ledger
        eager = [resource.costly or not resource.compressible for resource in ledger.resources]
        for cell, (way, held) in enumerate(zip(made.bundles.way.tolist(), made.bundles.amount.tolist(), strict=True)):
            s, k = int(made.tables.stage[made.ways.stage[way]]), int(made.ways.pool[way])
            j = next(j for j, stages in enumerate(ledger.stage_of) if s in stages)
            paid = rules._paid(ledger, j, s, rules.Held(k, tuple(held), rules.Fraction(0)))
            current = ledger.current[s]
            moved = current is not None and (k != ledger.current_pool[s] or any(e and x != y for e, x, y in zip(eager, current, held, strict=True)))
            assert (made.cell_ms[cell], bool(made.cell_moved[cell])) == (paid, moved)
            n_charged, n_free, n_moved = n_charged + (paid > 0), n_free + (paid == 0), n_moved + moved
    assert min(n_charged, n_free, n_moved) > 100


def test_rows_are_counted_in_the_coarsest_unit_that_loses_nothing() -> None:
    n_coarse = 0
    for seed in SEEDS:
        made = program(seed)
        scale = made.scale
        assert (made.amount * scale).tolist() == made.bundles.amount.tolist()
        assert np.allclose(made.surely * scale, made.bundles.surely)
        assert (made.shared.capacity * scale <= made.limits.capacity).all()
        assert (made.limits.capacity < (made.shared.capacity + 1) * scale).all()
        bounded = np.isfinite(made.limits.ceiling)
        assert (np.isfinite(made.shared.ceiling) == bounded).all()
        assert (np.where(bounded, made.shared.ceiling, 0) * scale <= np.where(bounded, made.limits.ceiling, 0)).all()
        assert (np.where(bounded, made.limits.ceiling, 0) < (np.where(bounded, made.shared.ceiling, 0) + 1) * scale).all()
        for name in ("reserved", "floor", "nominal", "total"):
            assert np.allclose(getattr(made.shared, name) * scale, getattr(made.limits, name))
        assert made.is_exact
        wholes = [made.bundles.amount, made.limits.floor, made.limits.reserved, np.where(made.limits.is_reserving, made.limits.total, 0)[None, :]]
        common = np.gcd.reduce(np.concatenate([np.asarray(part, dtype=np.int64) for part in wholes]), axis=0)
        assert scale.tolist() == np.maximum(1, common).tolist()
        n_coarse += int((scale > 1).any())
    assert n_coarse > 10


def test_unit_of_a_row_divides_all_that_is_compared_with_it() -> None:
    job = {"id": "a", "demand": {"gpu": 4}, "unit": 4}
    assert made_of(job).scale[0] == 4
    assert made_of(job).shared.capacity[0, 0] == 2
    assert made_of({**job, "queue": "t"}, queues=[{"name": "t", "nominal_quota": {"gpu": 2}}]).scale[0] == 2
    assert made_of(job, queues=[{"name": "t", "nominal_quota": {"gpu": 3}, "lending_limit": {"gpu": 0}}]).scale[0] == 1
    reserving = made_of(job, pools=[{"name": "p", "capacity": {"gpu": 10}}], queues=[{"name": "t", "nominal_quota": {"gpu": 4}, "lending_limit": {"gpu": 0}}])
    assert (int(reserving.scale[0]), reserving.shared.total[0]) == (2, 5)
    capped = made_of({**job, "queue": "t"}, queues=[{"name": "t", "nominal_quota": {"gpu": 0}, "borrowing_limit": {"gpu": 7}}])
    assert (int(capped.scale[0]), capped.shared.ceiling[0, 0]) == (4, 1)


def test_amounts_are_counted_in_twos_where_every_resource_comes_in_twos() -> None:
    made = made_of({"id": "a", "demand": {"gpu": 4}, "unit": 2}, resources=[{"name": "gpu", "costly": True}], pools=[{"name": "p", "capacity": {"gpu": 8}}])
    assert made.scale.tolist() == [2]
    assert made.amount.tolist() == made.surely.tolist() == [[0], [1], [2]]


def test_unit_of_a_row_divides_the_last_of_very_many_amounts() -> None:
    jobs = [{"id": "a", "demand": {"gpu": 6000}, "unit": 2}, {"id": "b", "demand": {"gpu": 3}, "unit": 3}]
    pools = [{"name": "p", "capacity": {"gpu": 6001}}]
    assert made_of(*jobs, pools=pools).scale[0] == 1
    assert made_of(jobs[0], pools=pools).scale[0] == 2


def test_clusters_beyond_exact_numbers_are_counted_coarsely_and_on_the_safe_side() -> None:
    capacity = 2**55 + 1
    job = {"id": "a", "demand": {"gpu": 5}, "min_quota": {"gpu": 5}}
    made = made_of(job, pools=[{"name": "p", "capacity": {"gpu": str(capacity)}}], queues=[{"name": "t", "nominal_quota": {}, "borrowing_limit": {"gpu": 7}}])
    assert (int(made.scale[0]), made.shared.capacity[0, 0]) == (5, capacity // 5)
    assert made.is_exact
    jobs = [job, {"id": "b", "demand": {"gpu": 3}}]
    made = made_of(
        *jobs, pools=[{"name": "p", "capacity": {"gpu": str(capacity)}}], queues=[{"name": "t", "nominal_quota": {}, "borrowing_limit": {"gpu": 15}}]
    )
    assert (int(made.scale[0]), made.shared.capacity[0, 0], made.shared.total[0]) == (8, capacity // 8, capacity / 8)
    assert made.shared.ceiling[:, 0].tolist() == [1, np.inf]
    assert made.is_rounded.tolist() == [True, False, False, False, False]
    assert not made.is_exact
    assert sorted(set(made.amount[:, 0].tolist())) == [0, 1]
    twos = made_of(*jobs, pools=[{"name": "p", "capacity": {"gpu": str(2**53)}}])
    assert (int(twos.scale[0]), twos.is_exact) == (2, False)
    exact = made_of(*jobs, pools=[{"name": "p", "capacity": {"gpu": str(2**53 - 1)}}])
    assert (int(exact.scale[0]), exact.is_exact) == (1, True)


def test_grid_is_whole_while_cells_are_few() -> None:
    job = {"id": "a", "demand": {"gpu": 100}, "max_quota": {"gpu": 400}}
    pools = [{"name": "p", "capacity": {"gpu": 10**5}}]
    assert made_of(job, pools=pools).bundles.is_whole
    asked = State.model_validate({"pools": pools, "jobs": [job]})
    assert len(encode(asked, asked.ledger, 50).bundles.job) == 2
    assert len(encode(asked, asked.ledger, 101).bundles.job) == 101


@pytest.mark.parametrize(
    ("n_cards", "backend", "is_whole"),
    [(19_999, "auto", True), (20_000, "auto", False), (20_000, "cp_sat", True), (199_999, "cp_sat", True), (200_000, "cp_sat", False)],
)
def test_back_end_that_proves_only_what_is_on_the_grid_gets_more_cells(n_cards: int, backend: str, is_whole: bool) -> None:  # noqa: FBT001
    pools = [{"name": "p", "capacity": {"gpu": 10**6}}]
    assert made_of({"id": "a", "demand": {"gpu": n_cards}}, pools=pools, options={"backend": backend}).bundles.is_whole is is_whole


def test_refined_program_is_the_same_but_for_its_grid() -> None:
    job = {"id": "a", "demand": {"gpu": 30_000}, "preemptible": False, "allocation": {"pool": "p", "resources": {"gpu": 9}}}
    coarse = made_of(job, pools=[{"name": "p", "capacity": {"gpu": 10**5}}], options={"preemption_budget_seconds": 9})
    fine = refine(coarse, Window(np.array([0.5]), np.array([0.501]), np.array([0.25])))
    assert (len(coarse.bundles.job), len(fine.bundles.job)) == (3, 3 + 1 + 1 + 30)
    assert fine.bundles.is_complete
    assert (fine.is_original, fine.worth.tolist(), fine.lost.tolist(), fine.per_ms.tolist()) == (True, [30_000], [30_000], coarse.per_ms.tolist())
    assert (fine.tables, fine.curves, fine.ways, fine.limits) == (coarse.tables, coarse.curves, coarse.ways, coarse.limits)
    assert fine.shared.budget_ms == 9000
    assert not refine(
        made_of({"id": "a", "demand": {"gpu": 30_000}}, pools=[{"name": "p", "capacity": {"gpu": 10**5}}]), Window(*np.array([[0.0], [1.0], [-1.0]]))
    ).bundles.is_complete


def test_state_without_jobs_or_pools_has_a_program() -> None:
    empty = program_of(State.model_validate({}))
    assert (empty.n_jobs, empty.n_cells, empty.scale.tolist(), empty.n_wait_moves.tolist()) == (0, 0, [1] * 5, [])
    stuck = program_of(State.model_validate({"jobs": [{"id": "a", "demand": {"gpu": 1}}]}))
    assert (stuck.n_jobs, stuck.n_cells, stuck.shared.total.tolist()) == (1, 0, [0] * 5)
