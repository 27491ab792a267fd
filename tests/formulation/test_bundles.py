"""Bundles: nothing is lost by them, and every cell holds the least of every resource (R2 to R9), against a slow reading of every service there is."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.bundles import Bundles, Window, enumerate_bundles, least_amounts
from tests.formulation.made import EVERY_TICK, SEEDS, Parts, cut, parts, slow
from tests.formulation.reference import Amounts, SlowReading

NEAR = Fraction(1, 10**9)


def made_of(*jobs: dict[str, Any], **capacity: float) -> Parts:
    document = {
        "pools": [{"name": "p", "capacity": {"gpu": 8, "cpu": 20, **capacity}}],
        "jobs": [job if "stages" in job else {"demand": {"gpu": 4}, **job} for job in jobs],
    }
    return cut(State.model_validate(document))


def services(bundles: Bundles, job: int = 0) -> list[float]:
    return bundles.service[bundles.first_level[job] : bundles.first_level[job + 1]].tolist()


def fine_in(made: Parts, most_cells: int, low: float, high: float, anchor: float = -1.0) -> Bundles:
    """The bundles with the same window for all jobs."""
    ends = [np.full(made.tables.n_jobs, end) for end in (low, high, anchor)]
    return enumerate_bundles(made.tables, made.curves, made.ways, most_cells, Window(*ends))


def without_twins(reading: SlowReading, offered: dict[int, Amounts]) -> dict[int, Amounts]:
    """Leave out what holds the same in the same pool as the way before."""

    def is_twin(row: int) -> bool:
        way, before = reading.ways[row], reading.ways[row - 1]
        return offered.get(row - 1) == offered[row] and (before.stage, before.pool) == (way.stage, way.pool)

    return {row: held for row, held in offered.items() if not is_twin(row)}


def counted(made: Parts, bundles: Bundles) -> list[bool]:
    """Which resources can run short in some pool, are capped or reserved, or whose change is charged."""
    ledger = made.ledger
    most: dict[tuple[int, int], list[int]] = {}
    for way, held in zip(bundles.way.tolist(), bundles.amount.tolist(), strict=True):
        key = int(made.ways.stage[way]), int(made.ways.pool[way])
        most[key] = list(map(max, most.get(key, held), held))
    used = [[sum(held[r] for (_, k), held in most.items() if k == pool) for r in range(ledger.n_resources)] for pool in range(len(ledger.pools))]
    return [
        any(row[r] > capacity[r] for row, capacity in zip(used, ledger.capacity, strict=True))
        or ledger.resources[r].costly
        or any(charges[r] for charges in ledger.resize_ms)
        or any(limit[r] < 2**62 for limit in ledger.ceiling)
        or any(kept[r] for kept in ledger.reserved)
        for r in range(ledger.n_resources)
    ]


def nearest(known: Sequence[Fraction], service: float) -> Fraction:
    """The exact service that a level stands for."""
    found = min(known, key=lambda other: abs(other - Fraction(service)))
    assert abs(found - Fraction(service)) < NEAR
    return found


def cells(bundles: Bundles, level: int) -> list[tuple[int, Amounts]]:
    first, last = bundles.first_cell[bundles.first_slot[level]], bundles.first_cell[bundles.first_slot[level + 1]]
    return list(zip(bundles.way[first:last].tolist(), map(tuple, bundles.amount[first:last].tolist()), strict=True))


def assert_cells_are_least(made: Parts, reading: SlowReading, bundles: Bundles, extra: Sequence[Fraction] = ()) -> dict[int, list[Fraction]]:
    """Check every cell of every level; return each job's exact levels."""
    levels: dict[int, list[Fraction]] = {}
    for position, j in enumerate(reading.jobs):
        known = [*reading.candidates(j), *extra]
        levels[j] = []
        for level in range(bundles.first_level[position], bundles.first_level[position + 1]):
            assert bundles.job[level] == position
            service = nearest(known, float(bundles.service[level]))
            levels[j].append(service)
            assert cells(bundles, level) == sorted(without_twins(reading, reading.offers(j, service)).items())
            stages = [made.tables.stage[made.ways.stage[way]] for way, _ in cells(bundles, level)]
            sizes = [len(list(group)) for _, group in groupby(stages)]
            assert sizes == np.diff(bundles.first_cell)[bundles.first_slot[level] : bundles.first_slot[level + 1]].tolist()
        assert levels[j] == sorted(set(levels[j]))
    return levels


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_by_bundles(seed: int) -> None:
    made, reading = parts(seed), slow(seed)
    bundles = made.bundles()
    assert (bundles.is_whole, bundles.is_complete) == (True, True)
    assert bundles.surely.tolist() == bundles.amount.tolist()
    levels, counts = assert_cells_are_least(made, reading, bundles), counted(made, bundles)
    for j in reading.jobs:
        for service in reading.candidates(j):
            here = reading.offers(j, service)
            if not here or service < levels[j][0]:
                continue
            above = reading.offers(j, next(level for level in levels[j] if level >= service))
            assert here.keys() == above.keys()
            for row, held in here.items():
                assert [x for x, counts_here in zip(held, counts, strict=True) if counts_here] == [
                    x for x, counts_here in zip(above[row], counts, strict=True) if counts_here
                ]


def test_first_level_is_the_least_there_is() -> None:
    for seed in SEEDS:
        made, reading = parts(seed), slow(seed)
        levels = assert_cells_are_least(made, reading, made.bundles())
        for j in reading.jobs:
            open_at = [service for service in reading.candidates(j) if reading.offers(j, service)]
            if levels[j]:
                lowest = reading.offers(j, levels[j][0])
                assert levels[j][-1] == open_at[-1]
                assert (
                    all(all(map(int.__le__, lowest[row], held)) for row, held in reading.offers(j, open_at[0]).items() if row in lowest)
                    or levels[j][0] > open_at[0]
                )
            else:
                assert open_at == []


def assert_surely_bounds_what_lies_between(reading: SlowReading, bundles: Bundles) -> int:
    """What a way uses between two levels is at least what it surely uses at both, weighed; return how often that was told."""
    n_told = 0
    for position, j in enumerate(reading.jobs):
        known = reading.candidates(j)
        first, last = bundles.first_level[position], bundles.first_level[position + 1]
        for level in range(first, last - 1):
            low, high = float(bundles.service[level]), float(bundles.service[level + 1])
            below, above = surely(bundles, level), surely(bundles, level + 1)
            for service in (service for service in known if low < service < high):
                share = (float(service) - low) / (high - low)
                for row in below.keys() & above.keys():
                    used = reading.used(row, service)
                    assert used is not None
                    bound = (1 - share) * below[row] + share * above[row]
                    assert (np.array(used) >= bound - 1e-6).all()
                    n_told += 1
    return n_told


def surely(bundles: Bundles, level: int) -> dict[int, Any]:
    first, last = bundles.first_cell[bundles.first_slot[level]], bundles.first_cell[bundles.first_slot[level + 1]]
    return dict(zip(bundles.way[first:last].tolist(), bundles.surely[first:last], strict=True))


def test_coarse_grid_holds_the_ends_and_bounds_what_lies_between() -> None:
    n_told = n_coarse = 0
    for seed in SEEDS:
        made, reading = parts(seed), slow(seed)
        whole, coarse = made.bundles(), made.bundles(most_cells=2)
        levels, coarse_levels = assert_cells_are_least(made, reading, whole), assert_cells_are_least(made, reading, coarse)
        assert (coarse.surely <= coarse.amount).all()
        for j, exact in levels.items():
            assert coarse_levels[j][-1:] == exact[-1:]
            assert bool(coarse_levels[j]) == bool(exact)
        n_told += assert_surely_bounds_what_lies_between(reading, coarse)
        n_coarse += not coarse.is_whole
    assert n_coarse > 20
    assert n_told > 100


WINDOWS = [(Fraction(1, 8), Fraction(5, 8), Fraction(3, 16)), (Fraction(0), Fraction(1), Fraction(-1)), (Fraction(7, 16), Fraction(9, 16), Fraction(1))]


@pytest.mark.parametrize(("low", "high", "anchor"), WINDOWS)
def test_every_tick_inside_a_window_is_a_level(low: Fraction, high: Fraction, anchor: Fraction) -> None:
    n_inside = 0
    for seed in SEEDS:
        made, reading = parts(seed), slow(seed)
        bundles = fine_in(made, EVERY_TICK, float(low), float(high), float(anchor))
        assert (bundles.is_whole, bundles.is_complete) == (False, True)
        levels = assert_cells_are_least(made, reading, bundles, (low, high, anchor))
        for j in reading.jobs:
            known = [service for service in reading.candidates(j) if reading.offers(j, service)]
            if not levels[j]:
                continue
            for service in (service for service in known if low < service <= high):
                above = next(level for level in levels[j] if level >= service)
                assert reading.offers(j, service) == reading.offers(j, above)
                n_inside += 1
            for edge in (low, high, anchor):
                if levels[j][0] <= edge <= known[-1]:
                    assert edge in levels[j]
            assert levels[j][-1] == known[-1]
        assert_surely_bounds_what_lies_between(reading, bundles)
    assert n_inside > 50


def test_inside_a_window_what_is_held_is_held_surely() -> None:
    made = made_of({"id": "j", "demand": {"gpu": 4, "cpu": 1}})
    bundles = fine_in(made, EVERY_TICK, 0.5, 1.0)
    assert services(bundles) == pytest.approx([0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1])
    assert bundles.surely[:, [0, 2]].tolist() == [[0, 0], [2, 5], [3, 6], [3, 7], [3, 8], [4, 8], [4, 9], [4, 10]]


def test_at_the_ends_of_a_window_only_the_demand_is_held_surely() -> None:
    made = made_of({"id": "j", "demand": {"gpu": 4, "cpu": 1}})
    bundles = fine_in(made, EVERY_TICK, 0.55, 0.75)
    assert services(bundles) == pytest.approx([0, 0.55, 0.6, 0.7, 0.75, 1])
    assert bundles.amount[:, [0, 2]].tolist() == [[0, 0], [3, 6], [3, 6], [3, 7], [3, 8], [4, 10]]
    assert bundles.surely[:, [0, 2]] == pytest.approx(np.array([[0, 0], [2.2, 5.5], [3, 6], [3, 7], [3, 7.5], [4, 10]]))


def test_at_the_highest_level_of_a_job_what_is_held_is_held_surely() -> None:
    jobs = [{"id": name, "demand": {"gpu": 3}, "unit": 2} for name in "ab"]
    bundles = fine_in(made_of(*jobs), EVERY_TICK, 0.5, 1.0)
    for job in (0, 1):
        at = slice(bundles.first_level[job], bundles.first_level[job + 1])
        assert services(bundles, job) == pytest.approx([0, 0.5, 2 / 3, 1])
        assert bundles.amount[at, 0].tolist() == [0, 2, 2, 4]
        assert bundles.surely[at, 0] == pytest.approx(np.array([0, 1.5, 2, 4]))


def test_window_of_one_point_is_a_level() -> None:
    assert services(fine_in(made_of({"id": "j"}), EVERY_TICK, 0.55, 0.55)) == pytest.approx([0, 0.55, 1])


def test_window_below_all_services_leaves_a_job_coarse() -> None:
    assert services(fine_in(made_of({"id": "j"}), EVERY_TICK, 0.0, -1.0)) == [0, 1]


def test_empty_window_leaves_a_job_coarse() -> None:
    made = made_of({"id": "a"}, {"id": "b"})
    window = Window(np.array([0.9, 0.3]), np.array([-1.0, 0.8]), np.array([-1.0, -1.0]))
    bundles = enumerate_bundles(made.tables, made.curves, made.ways, EVERY_TICK, window)
    assert services(bundles, 0) == [0, 1]
    assert services(bundles, 1) == pytest.approx([0, 0.3, 0.5, 0.75, 0.8, 1])
    nothing = enumerate_bundles(made.tables, made.curves, made.ways, EVERY_TICK, Window(np.array([1.0, 0.8]), np.array([0.5, 0.2]), np.array([0.5, 9.0])))
    assert [services(nothing, job) for job in (0, 1)] == [[0, 0.5, 1], [0, 1]]


def test_where_cells_are_few_only_costly_ticks_become_levels() -> None:
    made = made_of({"id": "j", "demand": {"gpu": 4, "cpu": 10}})
    bundles = fine_in(made, 50, 0.0, 1.0)
    assert services(bundles) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert not bundles.is_complete
    assert bundles.surely[:, 2].tolist() == [0, 25, 50, 75, 100]
    assert [len(services(fine_in(made, most_cells, 0.0, 1.0))) for most_cells in (105, 106)] == [5, 101]
    assert services(fine_in(made, 50, 0.055, 1.0)) == pytest.approx([0, 0.055, 0.25, 0.5, 0.75, 1])
    assert services(made.bundles(most_cells=50)) == [0, 1]


def test_where_nothing_is_costly_every_tick_counts_as_costly() -> None:
    made = made_of({"id": "a", "demand": {"cpu": 1}}, {"id": "b", "demand": {"gpu": 2, "cpu": 1}})
    bundles = fine_in(made, 20, 0.0, 1.0)
    assert services(bundles, 0) == pytest.approx([i / 10 for i in range(11)])
    assert services(bundles, 1) == [0, 0.5, 1]


def test_resource_of_very_many_ticks_is_passed_over() -> None:
    made = made_of({"id": "a", "demand": {"gpu": 200}}, {"id": "b", "demand": {"gpu": 127}}, gpu=400)
    for most_cells, levels in ((127, [2, 2]), (128, [2, 128]), (328, [2, 128]), (329, [201, 128])):
        bundles = fine_in(made, most_cells, 0.0, 1.0)
        assert [len(services(bundles, job)) for job in (0, 1)] == levels


def test_levels_are_ticks_of_the_slowest_stage() -> None:
    stages = [{"name": "fast", "demand": {"gpu": 4}}, {"name": "slow", "demand": {"gpu": 4}, "max_quota": {"gpu": 2}}]
    bundles = made_of({"id": "j", "stages": stages}).bundles()
    assert services(bundles) == [0, 0.25, 0.5]
    assert bundles.amount[:, 0].tolist() == [0, 0, 1, 1, 2, 2]


def test_service_starts_where_the_minimum_carries_it() -> None:
    bundles = made_of({"id": "j", "min_quota": {"gpu": 3}}).bundles()
    assert services(bundles) == [0.75, 1]
    assert bundles.amount[:, 0].tolist() == [3, 4]


def test_service_of_a_job_starts_where_its_own_minimum_carries_it() -> None:
    bundles = made_of({"id": "j", "min_quota": {"gpu": 3}}, {"id": "k"}).bundles(most_cells=1)
    assert [services(bundles, job) for job in (0, 1)] == [[0.75, 1], [0, 1]]


def test_bend_of_a_curve_is_a_level_of_a_coarse_grid() -> None:
    made = made_of({"id": "j", "demand_intensity": [0.5, 1]})
    assert services(made.bundles(most_cells=1)) == pytest.approx([0, 0.75, 1])


def test_floor_that_binds_midway_is_a_level_of_a_coarse_grid() -> None:
    made = made_of({"id": "j", "demand": {"gpu": 4, "cpu": 10}, "min_quota": {"cpu": 3}})
    bundles = made.bundles(most_cells=1)
    assert services(bundles) == pytest.approx([0, 0.3, 1])
    assert bundles.surely[:, [0, 2]] == pytest.approx(np.array([[0, 30], [1.2, 30], [4, 100]]))


def test_floor_beyond_what_a_pool_can_carry_is_no_level() -> None:
    pools = [{"name": "x", "capacity": {"gpu": 8, "cpu": 3}}, {"name": "y", "capacity": {"gpu": 8, "cpu": 20}}]
    job = {"id": "j", "demand": {"gpu": 4, "cpu": 10}, "min_quota": {"gpu": 2}, "pools": {"x": 1, "y": 2}}
    assert services(cut(State.model_validate({"pools": pools, "jobs": [job]})).bundles(most_cells=1)) == pytest.approx([0, 0.3, 1])


def test_job_that_fits_nowhere_has_no_level() -> None:
    bundles = made_of({"id": "a", "min_quota": {"gpu": 9}}, {"id": "b"}).bundles()
    assert bundles.first_level.tolist() == [0, 0, 5]
    stages = [{"name": "x", "demand": {"gpu": 1}}, {"name": "y", "demand": {"gpu": 1}, "min_quota": {"gpu": 9}}]
    assert len(made_of({"id": "a", "stages": stages}).bundles().job) == 0


def test_state_without_jobs_has_no_bundles() -> None:
    bundles = made_of().bundles()
    assert (len(bundles.job), bundles.first_level.tolist(), bundles.first_slot.tolist(), bundles.first_cell.tolist()) == (0, [0], [0], [0])


def test_level_that_changes_only_what_never_runs_short_is_left_out() -> None:
    job = {"id": "j", "demand": {"gpu": 2, "cpu": 1}, "preemption_cost": {"resize_seconds": 0}}
    assert services(made_of(job).bundles()) == [0, 0.5, 1]
    assert services(made_of({**job, "demand": {"cpu": 0.1}}).bundles()) == [1]
    assert services(made_of(job, {**job, "id": "k"}, cpu=2.0).bundles()) == [0, 0.5, 1]
    assert len(services(made_of(job, {**job, "id": "k"}, cpu=1.9).bundles())) == 11
    assert len(services(made_of({**job, "preemption_cost": {"resize_seconds": {"cpu": 1}}}).bundles())) == 11


def test_what_runs_short_or_is_charged_counts_by_itself() -> None:
    job = {"id": "j", "demand": {"gpu": 2, "cpu": 1, "mem": 1}, "preemption_cost": {"resize_seconds": {"gpu": 1}}}
    assert services(made_of(job, {**job, "id": "k"}, mem=10).bundles(), 1) == [0, 0.5, 1]
    assert services(made_of(job, {**job, "id": "k"}, mem=1).bundles(), 1) == [0, 0.5, 1]
    assert len(services(made_of(job, {**job, "id": "k"}, mem=10, cpu=1.9).bundles(), 1)) == 11


def test_what_runs_short_runs_short_in_its_own_pool() -> None:
    def bundles_with(*cores: float) -> Bundles:
        pools = [{"name": name, "capacity": {"gpu": 8, "cpu": cpu}} for name, cpu in zip("xyz", cores, strict=True)]
        demand = {"demand": {"gpu": 2, "cpu": 1}, "preemption_cost": {"resize_seconds": 0}, "pools": ["y"]}
        return cut(State.model_validate({"pools": pools, "jobs": [{"id": name, **demand} for name in "jk"]})).bundles()

    assert services(bundles_with(0.5, 2.0, 0.5)) == [0, 0.5, 1]
    assert len(services(bundles_with(20.0, 1.9, 20.0))) == 11


@pytest.mark.parametrize("names", [("gpu", "gpu_mem"), ("gpu_mem", "gpu")])
def test_level_whose_memory_wants_more_cards_than_allowed_is_left_out(names: tuple[str, str]) -> None:
    kinds: dict[str, dict[str, Any]] = {"gpu": {"costly": True}, "gpu_mem": {"unit": "GiB", "compressible": True}}
    resources = [{"name": name, **kinds[name]} for name in names]
    jobs = [{"id": name, "demand": demand, "max_quota": {"gpu": 2}} for name, demand in (("a", {"gpu": 1, "gpu_mem": 8}), ("b", {"gpu_mem": 8}))]

    def bundles_with(card_memory: int) -> Bundles:
        pools = [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 64}, "card_mem": card_memory}]
        return cut(State.model_validate({"resources": resources, "pools": pools, "jobs": jobs})).bundles()

    bundles, card, memory = bundles_with(2), names.index("gpu"), names.index("gpu_mem")
    for job in (0, 1):
        assert services(bundles, job)[-1] == 0.5
        at = slice(bundles.first_level[job], bundles.first_level[job + 1])
        assert (bundles.amount[at, card] * 2 >= bundles.amount[at, memory]).all()
        assert bundles.amount[at.stop - 1, [card, memory]].tolist() == [2, 4]
    assert len(bundles.job) == len(bundles.way)
    assert bundles.surely.tolist() == bundles.amount.tolist()
    assert bundles_with(0).service.tolist() == [0, 0]


def test_ticks_of_every_way_make_cells() -> None:
    pools = [{"name": name, "capacity": {"gpu": 8}} for name in "pq"]
    made = cut(State.model_validate({"pools": pools, "jobs": [{"id": "j", "demand": {"gpu": 4}}]}))
    assert services(made.bundles(most_cells=12)) == [0, 1]
    assert services(made.bundles(most_cells=40)) == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize(
    ("memory", "pace", "amounts"),
    [(0, 0.0, [0, 0, 0]), (0, 0.5, [2, 0, 50]), (0, 0.51, [3, 0, 51]), (45, 0.25, [5, 45, 25]), (45, 1.0, [5, 45, 100])],
)
def test_least_amounts_at_a_pace(memory: int, pace: float, amounts: list[int]) -> None:
    document = {
        "pools": [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 80, "cpu": 20}, "card_mem": 10}],
        "jobs": [{"id": "j", "demand": {"gpu": 4, "cpu": 10}, "need": {"gpu_mem": memory}}],
    }
    made = cut(State.model_validate(document))
    assert least_amounts(made.tables, made.ways, np.array([0]), np.array([pace]))[0, :3].tolist() == amounts


def test_rounding_noise_does_not_take_another_unit() -> None:
    made = made_of({"id": "j", "demand": {"gpu": 3}, "unit": 3})
    assert least_amounts(made.tables, made.ways, np.array([0, 0]), np.array([1 + 1e-12, 1 + 1e-6]))[:, 0].tolist() == [3, 6]


@pytest.mark.parametrize("unit", [1, 2])
def test_amounts_beyond_all_capacity_stay_whole_numbers(unit: int) -> None:
    made = made_of({"id": "j", "demand": {"gpu": 2.0**61}, "unit": unit})
    held = least_amounts(made.tables, made.ways, np.array([0]), np.array([1000.0]))[0, 0]
    assert held >= 2**61
    assert services(made.bundles())[-1] == pytest.approx(8 / 2.0**61, rel=1e-9)


def test_grid_of_very_many_levels_is_as_exact_as_a_small_one() -> None:
    n_cards = 100_000
    jobs = [
        {"id": "a", "demand": {"gpu": n_cards}},
        {"id": "b", "demand": {"gpu": 2}},
        {"id": "c", "demand": {"gpu": n_cards}, "max_quota": {"gpu": n_cards // 2}},
    ]
    bundles = fine_in(made_of(*jobs, gpu=10**6), EVERY_TICK, 0.0, 1.0)
    assert np.diff(bundles.first_level).tolist() == [n_cards + 1, 3, n_cards // 2 + 1]
    expected = [*range(n_cards + 1), *range(3), *range(n_cards // 2 + 1)]
    assert bundles.amount[:, 0].tolist() == expected
    assert bundles.surely[:, 0].tolist() == expected
    assert bundles.first_cell.tolist() == list(range(len(expected) + 1))


def test_whole_grid_of_very_many_levels_counts_what_all_jobs_together_run_short_of() -> None:
    jobs = [{"id": name, "demand": {"gpu": 1, "cpu": 3000}, "preemption_cost": {"resize_seconds": 0}} for name in "ab"]
    bundles = made_of(*jobs, cpu=5000).bundles()
    assert bundles.is_whole
    assert np.diff(bundles.first_level).tolist() == [30_001, 30_001]
    assert np.diff(made_of(*jobs, cpu=6000).bundles().first_level).tolist() == [2, 2]
