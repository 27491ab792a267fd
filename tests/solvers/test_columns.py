"""Columns: whole jobs near their best."""

from itertools import product

import numpy as np

from libra_opt.formulation.program import Program, Usage
from libra_opt.solvers.columns import near_best
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.prices import dual_prices
from tests.solvers.conftest import opened


def combinations(program: Program, job: int):
    bundles = program.bundles
    for level in range(bundles.first_level[job], bundles.first_level[job + 1]):
        slots = range(bundles.first_slot[level], bundles.first_slot[level + 1])
        yield from ((level, cells) for cells in product(*(range(bundles.first_cell[s], bundles.first_cell[s + 1]) for s in slots)))


def used_of(usage: Usage, kind: str, a: int, r: int) -> float:
    if kind == "pool":
        return float(usage.pool[a, r])
    if kind == "budget":
        return usage.ms
    return float(usage.queue[a, r] if kind == "ceiling" else -usage.queue[a, r])


def test_columns_are_all_that_come_within_the_slack(program):
    priced = price_out(program, dual_prices(program), NOTHING_SPENT)
    slack = 0.02 * program.worth
    columns = near_best(program, priced, slack)
    for job in range(0, program.n_jobs, 7):
        found = {tuple(cells[cells >= 0].tolist()) for cells in columns.cells[columns.first[job] : columns.first[job + 1]]}
        expected = {()}
        for level, cells in combinations(program, job):
            value = program.worth[job] * program.bundles.service[level] - priced.cell_cost[list(cells)].sum()
            if priced.job_value[job] - value <= slack[job] * (1 - 1e-9):
                expected.add(cells)
        if len(expected) <= 40:  # no job has more columns than that
            assert expected <= found
            assert len(found) <= len(expected) + 2
        else:
            assert len(found) >= 40


def test_value_and_use_of_a_selection_are_those_of_its_choice(program):
    columns = opened(program, 0.1)
    drawn = np.random.default_rng(0)
    for _ in range(5):
        selected = np.array([drawn.integers(a, b) for a, b in zip(columns.first[:-1], columns.first[1:], strict=True)])
        choice = columns.choice(selected)
        assert np.isclose(columns.value[selected].sum(), program.score(choice).value)
        assert np.isclose(columns.lost[selected].sum(), program.score(choice).lost)
        usage, rows, used = program.usage(choice), columns.rows, columns.use[selected].sum(axis=0)
        for i, (kind, (a, r)) in enumerate(zip(rows.kind, rows.index, strict=True)):
            assert used[i] == used_of(usage, str(kind), a, r)
        assert (columns.select(choice) == selected).all()


def test_rows_left_out_cannot_be_overrun(program):
    columns = opened(program, 0.1)
    dearest = [max(range(a, b), key=lambda c: columns.held[c].sum()) for a, b in zip(columns.first[:-1], columns.first[1:], strict=True)]
    usage = program.usage(columns.choice(np.array(dearest)))
    assert (usage.pool > program.shared.capacity).any()
    shown = {tuple(index) for kind, index in zip(columns.rows.kind, columns.rows.index.tolist(), strict=True) if kind == "pool"}
    for pool, resource in np.argwhere(usage.pool > program.shared.capacity).tolist():
        assert (pool, resource) in shown


def test_columns_asked_for_are_kept(program):
    wide = opened(program, 0.3)
    drawn = np.random.default_rng(1)
    selected = np.array([drawn.integers(a, b) for a, b in zip(wide.first[:-1], wide.first[1:], strict=True)])
    choice = wide.choice(selected)
    narrow = near_best(program, price_out(program, dual_prices(program), NOTHING_SPENT), np.zeros(program.n_jobs), keep=choice)
    assert (narrow.choice(narrow.select(choice)) == choice).all()


def test_loss_of_the_best_column_is_nothing(program):
    columns = opened(program, 0.1)
    loss = columns.loss(price_out(program, dual_prices(program), NOTHING_SPENT))
    assert (np.minimum.reduceat(loss, columns.first[:-1]) == 0).all()
    assert (loss >= 0).all()
