"""The neutral program: what a choice uses of the shared rows and which tiers it reaches, against a slow reading of the choice."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.program import Program, Score, Usage
from tests.formulation.choices import choices, in_pools, in_queues, meaning, program, program_of
from tests.formulation.made import SEEDS, state
from tests.oracle import enumerate as rules

EQUAL = Score(1.0, 2.0, 0.5, 10.0, 3.0, 4.0)
BETTER = (
    replace(EQUAL, lost=0.9),
    replace(EQUAL, over_seconds=1.9),
    replace(EQUAL, shortfall=0.4),
    replace(EQUAL, value=10.1),
    replace(EQUAL, unevenness=2.9),
    replace(EQUAL, moves=3.0),
)
"""Each better than `EQUAL` in one tier alone, in the order of the tiers."""


def small(**more: Any) -> Program:
    jobs = [
        {"id": "a", "demand": {"gpu": 2}, "preemptible": False, "allocation": {"pool": "p", "resources": {"gpu": 2}}},
        {"id": "b", "queue": "t", "demand": {"gpu": 4}, "weight": 3},
    ]
    queues = [{"name": "t", "nominal_quota": {"gpu": 3}, "borrowing_limit": {"gpu": 0}}]
    return program_of(State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 5}}], "queues": queues, "jobs": jobs, **more}))


@pytest.mark.parametrize("better", BETTER)
def test_score_is_better_in_one_tier(better: Score) -> None:
    assert better.beats(EQUAL)
    assert not EQUAL.beats(better)
    assert not EQUAL.beats(EQUAL)


def test_earlier_tiers_decide() -> None:
    names = ("lost", "over_seconds", "shortfall", "value", "unevenness", "moves")
    worse = {"lost": 9.0, "over_seconds": 9.0, "shortfall": 9.0, "value": 1.0, "unevenness": 9.0, "moves": 9.0}
    for (i, first), (k, second) in permutations(enumerate(names), 2):
        if i < k:
            mixed = replace(EQUAL, **{first: getattr(BETTER[i], first), second: worse[second]})
            assert mixed.beats(EQUAL)
            assert not EQUAL.beats(mixed)


@pytest.mark.parametrize(("scale", "is_tie"), [(1e-12, True), (0.9e-9, True), (1.1e-9, False)])
def test_differences_at_the_size_of_rounding_do_not_count(scale: float, is_tie: bool) -> None:  # noqa: FBT001
    higher, negative = Score(0, 0, 0, 1000 * (1 + scale), 0, 0), Score(0, 0, 0, -1000 * (1 + scale), 0, 0)
    assert higher.beats(Score(0, 0, 0, 1000, 0, 0)) is not is_tie
    assert Score(0, 0, 0, -1000, 0, 0).beats(negative) is not is_tie


def test_numbers_near_zero_are_compared_as_if_they_were_a_millionth() -> None:
    assert not Score(0, 0, 0, 0.9e-15, 0, 0).beats(Score(0, 0, 0, 0, 0, 0))
    assert Score(0, 0, 0, 1.1e-15, 0, 0).beats(Score(0, 0, 0, 0, 0, 0))


def test_tie_in_an_earlier_tier_leaves_it_to_the_next() -> None:
    assert Score(0, 0, 0, 1, 0, 0).beats(Score(1e-16, 0, 0, 0, 0, 0))
    assert Score(1e-16, 0, 0, 1, 0, 0).beats(Score(0, 0, 0, 0, 0, 0))


def test_choice_by_hand() -> None:
    made = small()
    assert made.bundles.service.tolist() == [0, 0.5, 1, 0, 0.25, 0.5, 0.75, 1]
    assert made.n_cells == 5 + 5
    keep = [cell for cell in range(made.n_cells) if made.cell_job[cell] == 0 and made.cell_ms[cell] == 0]
    assert made.score(np.array([keep[-1], -1])) == Score(0, 0, 1, 2, 2, 0)
    assert made.score(np.array([-1, -1])) == Score(2, 0, 1, pytest.approx(-2 * 45 / 120), 0, 1)
    assert made.score(np.array([-1, made.n_cells - 2])) == Score(2, 0, 0, pytest.approx(9 - 2 * 45 / 120), 12 * 0.75**2, 1)
    assert made.score(np.array([-1, made.n_cells - 3])).shortfall == pytest.approx(1 / 3)


def test_most_value_and_peak_are_what_every_job_could_have_alone() -> None:
    made = small()
    assert made.peak.tolist() == [1, 1]
    assert made.most_value == 2 + 12
    alone = small(pools=[{"name": "p", "capacity": {"gpu": 2}}])
    assert (alone.peak.tolist(), alone.most_value) == ([1, 0.5], 2 + 6)
    assert small(pools=[{"name": "p", "capacity": {}}]).peak.tolist() == [0, 0]


def test_budget_is_exceeded_by_seconds() -> None:
    for seconds, over in ((None, 0), (50, 0), (45, 0), (40.5, 4.5)):
        assert small(options={"preemption_budget_seconds": seconds}).score(np.array([-1, -1])).over_seconds == over


def usage_of(made: Program, pool: float = 0, queue: float = 0, outside: float = 0) -> Usage:
    shared = made.shared
    pools, queues = np.zeros_like(shared.capacity), np.zeros_like(shared.ceiling)
    pools[0, 0], queues[0, 0], queues[-1, 0] = pool, queue, outside
    return Usage(pools, queues, 0.0)


def test_usage_fits_up_to_every_limit() -> None:
    made = small()
    assert made.scale[0] == 1
    assert [made.fits(usage_of(made, pool=amount)) for amount in (0, 5, 6)] == [True, True, False]
    assert [made.fits(usage_of(made, queue=amount)) for amount in (0, 3, 4)] == [True, True, False]
    assert made.fits(usage_of(made, outside=99))
    reserving = small(queues=[{"name": "t", "nominal_quota": {"gpu": 3}, "lending_limit": {"gpu": 1}}])
    assert [reserving.fits(usage_of(reserving, outside=amount)) for amount in (3, 4)] == [True, False]
    assert [reserving.fits(usage_of(reserving, outside=2, queue=amount)) for amount in (0, 3, 4)] == [True, True, False]


def test_cells_know_where_they_are() -> None:
    n_cells = 0
    for seed in SEEDS:
        made = program(seed)
        bundles, cell = made.bundles, 0
        for job in range(made.n_jobs):
            for level in range(bundles.first_level[job], bundles.first_level[job + 1]):
                for stage, slot in enumerate(range(bundles.first_slot[level], bundles.first_slot[level + 1]), start=int(made.tables.first_stage[job])):
                    for here in range(bundles.first_cell[slot], bundles.first_cell[slot + 1]):
                        assert here == cell
                        found = (made.cell_slot, made.cell_level, made.cell_job, made.cell_stage, made.cell_pool)
                        assert [int(row[cell]) for row in found] == [slot, level, job, stage, made.ways.pool[bundles.way[cell]]]
                        assert made.ways.stage[bundles.way[cell]] == stage
                        assert made.slot_level[slot] == level
                        cell += 1
        assert (cell, len(made.cell_slot), len(made.slot_level)) == (made.n_cells, made.n_cells, len(bundles.first_cell) - 1)
        n_cells += cell
    assert n_cells > 500


def test_choices_agree_with_a_slow_reading() -> None:
    n_fitting = n_failing = n_short = n_over = 0
    for seed in SEEDS:
        asked, made = state(seed), program(seed)
        ledger, slow = asked.ledger, rules._Shared(asked, asked.ledger)
        worth = [float(rules._worth(asked, ledger, j)) for j in range(len(ledger.jobs))]
        spread = 1000 * asked.period.seconds * asked.options.hold_periods
        for choice in choices(made, seed):
            jobs = meaning(asked, made, choice)
            usage, score = made.usage(choice), made.score(choice)
            pools, queues, ms = in_pools(asked, jobs), in_queues(asked, jobs), sum(job.ms for job in jobs)
            assert (usage.pool * made.scale).tolist() == pools.tolist()
            assert (usage.queue * made.scale).tolist() == queues.tolist()
            assert usage.ms == ms
            assert made.runs(choice).tolist() == [job.runs for job in jobs]
            level = made.level(choice)
            assert [made.bundles.service[at] if at >= 0 else 0.0 for at in level.tolist()] == [job.service for job in jobs]
            assert (level >= 0).tolist() == [job.runs for job in jobs]
            short = [max(0, slow.owed[q][r] - queues[q][r]) / quota for q, row in enumerate(ledger.nominal) for r, quota in enumerate(row) if quota]
            assert score.lost == pytest.approx(sum(worth[job.job] for job in jobs if ledger.protected[job.job] and not job.runs))
            assert score.over_seconds == pytest.approx(0 if slow.budget is None else max(0, ms - slow.budget) / 1000)
            assert score.shortfall == pytest.approx(sum(short))
            assert score.value == pytest.approx(sum(worth[job.job] * (job.service - job.ms / spread) for job in jobs))
            assert score.unevenness == pytest.approx(sum(worth[job.job] * job.service**2 for job in jobs))
            assert score.moves == sum(job.moves for job in jobs)
            fits = bool((pools <= np.array(ledger.capacity)).all()) and all((queues[q] <= ledger.ceiling[q]).all() for q in range(len(ledger.queues)))
            for r in range(ledger.n_resources):
                kept = [row[r] for row in slow.reserved]
                if any(kept):
                    fits &= sum(map(max, queues[:-1, r], kept)) + queues[-1, r] <= slow.total[r]
            assert made.fits(usage) is bool(fits)
            n_fitting, n_failing, n_short, n_over = n_fitting + fits, n_failing + (not fits), n_short + any(short), n_over + (score.over_seconds > 0)
    assert min(n_fitting, n_failing, n_short, n_over) > 10


def test_nothing_is_the_choice_in_which_every_job_waits() -> None:
    made = small()
    assert made.nothing.tolist() == [-1, -1]
    assert not made.runs(made.nothing).any()
    assert made.level(made.nothing).tolist() == [-1, -1]
    assert program_of(State.model_validate({})).nothing.tolist() == []


def test_program_without_cells_still_scores() -> None:
    made = small(pools=[{"name": "p", "capacity": {}}], jobs=[{"id": "a", "demand": {"gpu": 2}, "min_quota": {"gpu": 1}}])
    assert made.n_cells == 0
    assert made.level(made.nothing).tolist() == [-1]
    assert made.score(made.nothing) == Score(0, 0, 0, 0, 0, 0)


def test_arrays_of_a_program_cannot_be_written() -> None:
    made = small()
    parts = (made, made.tables, made.curves, made.ways, made.bundles, made.limits, made.shared)
    arrays = [value for part in parts for value in (getattr(part, name) for name in part.__dataclass_fields__) if isinstance(value, np.ndarray)]
    assert len(arrays) > 50
    assert not any(array.flags.writeable for array in arrays)
    assert (made.is_original, made.is_exact) == (True, True)
