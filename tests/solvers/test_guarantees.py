"""Guarantees seen to by hand: never worse, and no longer than the effort allows."""

import numpy as np
import pytest

from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.greedy import settle
from libra_opt.solvers.guarantees import PLACEMENTS, honour
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.prices import dual_prices
from tests.solvers.conftest import programmed


@pytest.fixture(scope="module")
def short():
    """Return a program whose guarantees are all owed, its bundles at the prices, and the plan that keeps what may not go."""
    program = programmed("full", 80, 3)
    priced = price_out(program, dual_prices(program), NOTHING_SPENT)
    choice = settle(program, np.where(program.lost[program.tables.stage_job] > 0, program.nothing, -1))
    assert program.score(choice).shortfall > 0
    return program, priced, choice


def test_more_effort_leaves_no_more_short_and_none_changes_nothing(short):
    program, priced, choice = short
    short_by = [
        program.score(honour(program, choice, priced.job_value, priced.cell_cost, effort)).shortfall for effort in (0.0, 60 / PLACEMENTS, 600 / PLACEMENTS, 2.0)
    ]
    assert short_by == sorted(short_by, reverse=True)
    assert short_by[0] == program.score(choice).shortfall > short_by[-1]
