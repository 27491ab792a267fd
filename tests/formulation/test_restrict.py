"""A smaller program inside a program, and the same plan on another grid: what fits and what it is worth stays the same."""

from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from libra_opt.domain import State
from libra_opt.formulation.bundles import Window
from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import Choice, Program, Usage
from libra_opt.formulation.restrict import Restricted, restrict, transfer
from tests.formulation.choices import choices, meaning, program, program_of
from tests.formulation.made import SEEDS, state


def inside(made: Program, jobs: npt.NDArray[np.intp], choice: Choice) -> npt.NDArray[np.bool_]:
    """Which stages of the larger program belong to jobs of the smaller."""
    return np.isin(np.repeat(np.arange(made.n_jobs), np.diff(made.first_stage)), jobs)[: len(choice)]


def some_jobs(made: Program, dice: Random) -> npt.NDArray[np.intp]:
    return np.array(sorted(dice.sample(range(made.n_jobs), dice.randint(0, made.n_jobs))), dtype=np.intp)


def every_level(made: Program) -> npt.NDArray[np.bool_]:
    return np.ones(len(made.bundles.job), dtype=np.bool_)


def assert_same_meaning(made: Program, small: Restricted, seed: int, choice: Choice) -> None:
    """Check that every job inside means the same in both programs."""
    asked = state(seed)
    whole = meaning(asked, made, choice)
    assert meaning(asked, small.program, small.shrink(choice)) == [whole[job] for job in small.jobs]


def test_smaller_program_counts_what_the_others_leave() -> None:
    n_compared = n_fitting = 0
    for seed in SEEDS:
        made, dice = program(seed), Random(seed)
        jobs = some_jobs(made, dice)
        for choice in choices(made, seed):
            mine = inside(made, jobs, choice)
            outer, inner = np.where(mine, -1, choice), np.where(mine, choice, -1)
            fixed, whole = made.usage(outer), made.usage(choice)
            waiting = float(made.wait_ms[jobs].sum())
            fixed = type(fixed)(fixed.pool, fixed.queue, fixed.ms - waiting)
            small = restrict(made, jobs, every_level(made), fixed)
            part = small.shrink(choice)
            assert small.widen(part, outer).tolist() == choice.tolist()
            assert small.widen(part, made.nothing).tolist() == inner.tolist()
            assert_same_meaning(made, small, seed, choice)
            used, score, total = small.program.usage(part), small.program.score(part), made.score(choice)
            assert np.allclose(used.pool + fixed.pool, whole.pool)
            assert np.allclose(used.queue + fixed.queue, whole.queue)
            assert used.ms + fixed.ms == pytest.approx(whole.ms)
            if made.fits(fixed):
                assert small.program.fits(used) is made.fits(whole)
                n_fitting += 1
            rest = made.score(outer)
            per_job = made.per_ms * made.wait_ms
            assert score.value == pytest.approx(total.value - rest.value - float(per_job[jobs].sum()))
            assert score.lost == pytest.approx(total.lost - rest.lost + float(made.lost[jobs].sum()))
            assert score.unevenness == pytest.approx(total.unevenness - rest.unevenness)
            assert score.shortfall == pytest.approx(total.shortfall)
            assert score.moves == total.moves - rest.moves + made.n_wait_moves[jobs].sum()
            assert score.over_seconds == pytest.approx(total.over_seconds)
            n_compared += 1
    assert n_compared > 100
    assert n_fitting > 50


def test_what_fixed_use_leaves_of_every_row() -> None:
    queues = [
        {"name": "s", "nominal_quota": {"gpu": 5}, "borrowing_limit": {"gpu": 1}, "lending_limit": {"gpu": 1}},
        {"name": "t", "nominal_quota": {"gpu": 2}, "lending_limit": {"gpu": 0}},
    ]
    jobs = [{"id": "a", "queue": "s", "demand": {"gpu": 3}}, {"id": "b", "queue": "s", "demand": {"gpu": 4}}, {"id": "c", "queue": "t", "demand": {"gpu": 1}}]
    document = {"pools": [{"name": "p", "capacity": {"gpu": 9}}], "queues": queues, "jobs": jobs, "options": {"preemption_budget_seconds": 9}}
    made = program_of(State.model_validate(document))
    fixed = made.usage(np.array([made.bundles.first_cell[made.bundles.first_slot[made.bundles.first_level[1] - 1]], -1, -1]))
    assert (fixed.queue[0, 0], fixed.ms) == (3, 0)
    left = restrict(made, np.array([1, 2]), every_level(made), Usage(fixed.pool, fixed.queue, 1000.0)).program.shared
    assert left.capacity[0, 0] == 6
    assert left.ceiling[:, 0].tolist() == [3, np.inf, np.inf]
    assert left.reserved[:, 0].tolist() == [1, 2, 0]
    assert left.floor[:, 0].tolist() == [2, 1, 0]
    assert left.nominal[:, 0].tolist() == [5, 2, 1]
    assert (left.total[0], left.budget_ms) == (6, 8000)
    assert left.is_reserving[0]
    more = restrict(made, np.array([1, 2]), every_level(made), Usage(fixed.pool, 2 * fixed.queue, 0.0)).program.shared
    assert (more.reserved[0, 0], more.floor[0, 0]) == (0, 0)


def test_smaller_program_without_others_has_all_the_rows() -> None:
    for seed in SEEDS:
        made = program(seed)
        small = restrict(made, np.arange(made.n_jobs), every_level(made))
        assert small.program.shared == made.shared
        assert (small.program.is_original, small.program.bundles.is_whole, small.program.bundles.is_complete) == (False, False, True)
        for choice in choices(made, seed):
            assert small.shrink(choice).tolist() == choice.tolist()
            assert small.program.score(choice) == made.score(choice)


def test_smaller_program_keeps_the_levels_asked_for() -> None:
    n_dropped = 0
    for seed in SEEDS:
        made, dice = program(seed), Random(seed)
        jobs = some_jobs(made, dice)
        levels = np.array([dice.random() < 0.6 for _ in made.bundles.job], dtype=np.bool_)
        small = restrict(made, jobs, levels)
        expected = [level for level in range(len(levels)) if levels[level] and made.bundles.job[level] in jobs]
        assert small.program.bundles.service.tolist() == made.bundles.service[expected].tolist()
        assert jobs[small.program.bundles.job].tolist() == made.bundles.job[expected].tolist()
        assert small.cells.tolist() == [cell for cell in range(made.n_cells) if made.cell_level[cell] in expected]
        assert_parts_are_those_of_the_larger(made, small)
        n_dropped += len(levels) - len(expected)
    assert n_dropped > 100


def test_level_that_loses_a_slot_is_dropped() -> None:
    n_dropped = n_kept = 0
    for seed in SEEDS:
        made, dice = program(seed), Random(seed)
        jobs, cells = some_jobs(made, dice), np.array([dice.random() < 0.8 for _ in range(made.n_cells)], dtype=np.bool_)
        levels = np.array([dice.random() < 0.8 for _ in made.bundles.job], dtype=np.bool_)
        small = restrict(made, jobs, levels, cells=cells)
        expected = []
        for level in range(len(levels)):
            slots = {int(made.cell_slot[cell]) for cell in range(made.n_cells) if made.cell_level[cell] == level and cells[cell]}
            if levels[level] and made.bundles.job[level] in jobs and len(slots) == made.bundles.first_slot[level + 1] - made.bundles.first_slot[level]:
                expected.append(level)
            else:
                n_dropped += 1
        n_kept += len(expected)
        assert small.program.bundles.service.tolist() == made.bundles.service[expected].tolist()
        assert small.cells.tolist() == [cell for cell in range(made.n_cells) if made.cell_level[cell] in expected and cells[cell]]
        assert_parts_are_those_of_the_larger(made, small)
    assert min(n_dropped, n_kept) > 100


def assert_parts_are_those_of_the_larger(made: Program, small: Restricted) -> None:
    inner, cells = small.program, small.cells
    assert inner.n_jobs == len(small.jobs)
    assert inner.job_order.tolist() == made.job_order[small.jobs].tolist()
    assert inner.queue.tolist() == made.queue[small.jobs].tolist()
    assert inner.tables.stage.tolist() == made.tables.stage[small.stages].tolist()
    assert small.jobs[inner.tables.stage_job].tolist() == made.tables.stage_job[small.stages].tolist()
    assert np.diff(inner.first_stage).tolist() == np.diff(made.first_stage)[small.jobs].tolist()
    for name in ("worth", "per_ms", "wait_ms", "lost", "n_wait_moves"):
        assert getattr(inner, name).tolist() == getattr(made, name)[small.jobs].tolist()
    for name in ("cell_ms", "cell_moved", "amount", "surely", "cell_pool"):
        assert getattr(inner, name).tolist() == getattr(made, name)[cells].tolist()
    for name in ("way", "amount", "surely"):
        assert getattr(inner.bundles, name).tolist() == getattr(made.bundles, name)[cells].tolist()
    assert small.jobs[inner.cell_job].tolist() == made.cell_job[cells].tolist()
    assert small.stages[inner.cell_stage].tolist() == made.cell_stage[cells].tolist()
    assert inner.first_stage[-1] == len(small.stages)
    assert len(inner.first_stage) == len(inner.bundles.first_level) == len(small.jobs) + 1
    assert len(inner.bundles.first_slot) == len(inner.bundles.job) + 1
    assert (inner.bundles.first_level[-1], inner.bundles.first_slot[-1], inner.bundles.first_cell[-1]) == (
        len(inner.bundles.job),
        len(inner.bundles.first_cell) - 1,
        len(cells),
    )


def test_program_without_cells_can_be_restricted() -> None:
    made = program_of(State.model_validate({"jobs": [{"id": "a", "demand": {"gpu": 1}}, {"id": "b", "demand": {"gpu": 1}}]}))
    small = restrict(made, np.array([1]), every_level(made), cells=np.zeros(0, dtype=np.bool_))
    assert (small.program.n_jobs, small.program.n_cells) == (1, 0)
    assert small.shrink(made.nothing).tolist() == [-1]
    assert small.widen(np.array([-1]), made.nothing).tolist() == [-1, -1]


def test_same_plan_on_a_finer_grid() -> None:
    n_moved = 0
    for seed in SEEDS:
        coarse = program(seed, most_cells=2)
        for choice in choices(coarse, seed):
            level = coarse.level(choice)
            service = np.where(level >= 0, coarse.bundles.service[level], -1.0) if coarse.n_cells else np.full(coarse.n_jobs, -1.0)
            fine = refine(coarse, Window(np.full(coarse.n_jobs, 0.3), np.full(coarse.n_jobs, 0.7), service))
            moved = transfer(choice, coarse, fine)
            assert meaning(state(seed), fine, moved) == [pytest_approx_service(job) for job in meaning(state(seed), coarse, choice)]
            n_moved += int((moved >= 0).any())
    assert n_moved > 50


def pytest_approx_service(job: Any) -> Any:
    return type(job)(job.job, job.runs, pytest.approx(job.service, abs=1e-9), job.held, job.ms, job.moves)


def test_job_with_one_stage_that_is_not_on_the_other_grid_waits() -> None:
    stages = [{"name": "x", "demand": {"mem": 1}}, {"name": "y", "demand": {"gpu": 4}}, {"name": "z", "demand": {"mem": 1}}]
    jobs = [{"id": "a", "demand": {"gpu": 1}}, {"id": "b", "stages": stages}, {"id": "c", "demand": {"gpu": 1}}]
    made = program_of(State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 9, "mem": 9}}], "jobs": jobs}))
    bundles = made.bundles
    wanted = [int(bundles.first_level[1]) - 1, next(level for level in range(len(bundles.job)) if bundles.service[level] == 0.5), len(bundles.job) - 1]
    choice = np.concatenate([bundles.first_cell[bundles.first_slot[level] : bundles.first_slot[level + 1]] for level in wanted])
    other = restrict(made, np.arange(3), np.isin(bundles.service, [0.0, 1.0])).program
    moved = transfer(choice, made, other)
    assert (moved[1:4].tolist(), other.runs(moved).tolist()) == ([-1, -1, -1], [True, False, True])
    assert transfer(choice, made, made).tolist() == choice.tolist()


def test_job_whose_amounts_are_not_on_the_other_grid_waits() -> None:
    jobs = [{"id": "a", "demand": {"gpu": 4}}, {"id": "b", "stages": [{"name": "x", "demand": {"gpu": 4}}, {"name": "y", "demand": {"mem": 1}}]}]
    made = program_of(State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 9, "mem": 9}}], "jobs": jobs}))
    half = next(level for level in range(len(made.bundles.job)) if made.bundles.service[level] == 0.5)
    choice = made.nothing
    choice[0] = made.bundles.first_cell[made.bundles.first_slot[half]]
    last = int(made.bundles.first_slot[-2])
    choice[1:] = made.bundles.first_cell[last], made.bundles.first_cell[last + 1]
    ends = np.isin(made.bundles.service, [0.0, 1.0])
    other = restrict(made, np.arange(2), ends).program
    moved = transfer(choice, made, other)
    assert moved[0] == -1
    assert other.runs(moved).tolist() == [False, True]
    assert other.score(moved).value == 4
    assert transfer(made.nothing, made, other).tolist() == [-1, -1, -1]
