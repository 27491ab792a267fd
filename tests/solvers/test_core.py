"""The core: how much of a program is open, and what the others do."""

import numpy as np
import pytest

from libra_opt.solvers.core import split, value_outside
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.prices import _sample, dual_prices
from tests.solvers.conftest import programmed


@pytest.fixture(scope="module")
def large():
    program = programmed("full", 600, 1)
    return program, price_out(program, dual_prices(program), NOTHING_SPENT)


@pytest.mark.parametrize(("n_jobs", "n_cells"), [(40, 10_000), (1_000, 300), (35, 400)])
def test_a_core_is_no_larger_than_asked(large, n_jobs, n_cells):
    program, priced = large
    core = split(program, priced, 0.5 * program.worth, n_jobs, n_cells)
    assert core is not None
    assert len(core.inner.jobs) <= n_jobs
    assert core.inner.program.n_cells <= n_cells
    assert not core.is_all


def test_a_core_with_room_holds_every_bundle_within_the_slack(large):
    program, priced = large
    slack = 0.03 * program.worth
    core = split(program, priced, slack, program.n_jobs, program.n_cells)
    assert core is not None
    assert core.is_all
    best = priced.job_value - slack * (1 - 1e-9)
    near = priced.level_value >= best[program.bundles.job]
    options = np.bincount(program.bundles.job[near], minlength=program.n_jobs) + (priced.wait_value >= best)
    assert set(np.flatnonzero(options > 1)) <= set(core.inner.jobs)


def test_jobs_outside_a_core_answer_to_the_prices(large):
    program, priced = large
    core = split(program, priced, 0.1 * program.worth, 60, 600)
    assert core is not None
    outside = np.setdiff1d(np.arange(program.n_jobs), core.inner.jobs)
    level = program.level(np.where(core.rest < 0, -1, core.rest))
    for job in outside:
        value = priced.level_value[level[job]] if level[job] >= 0 else priced.wait_value[job]
        assert value == pytest.approx(priced.job_value[job])
    nothing = float((program.per_ms * program.wait_ms)[core.inner.jobs].sum())
    assert value_outside(program, core) == pytest.approx(program.score(core.rest).value + nothing)


def test_a_sample_stands_for_all_jobs(large):
    program, _ = large
    jobs, weights = _sample(program, 200)
    assert len(jobs) == pytest.approx(200, abs=3)
    assert (weights >= 1).all()
    assert (weights * program.worth[jobs]).sum() == pytest.approx(program.worth.sum(), rel=0.1)
    everyone, ones = _sample(program, 400)
    assert (everyone == np.arange(program.n_jobs)).all()
    assert (ones == 1).all()
