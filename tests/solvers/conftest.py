"""Programs to search: synthetic states of every kind of shared row, encoded."""

import numpy as np
import pytest

from libra_opt.adapters.synthetic import generate
from libra_opt.forecast import forecast
from libra_opt.formulation.encode import encode
from libra_opt.formulation.program import Program
from libra_opt.solvers.columns import Columns, near_best
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.prices import dual_prices


def programmed(family: str, n_jobs: int, seed: int) -> Program:
    state = generate(family, n_jobs, np.random.default_rng(seed))
    return encode(state, state.ledger.with_forecast(forecast(state)))


def opened(program: Program, width: float) -> Columns:
    """Return the columns within a width, relative to a job's worth, of its best at the dual prices."""
    return near_best(program, price_out(program, dual_prices(program), NOTHING_SPENT), width * program.worth)


@pytest.fixture(
    scope="session", params=[("full", 60, 1), ("full", 90, 2), ("templates", 60, 1), ("rigid", 50, 3), ("five", 40, 1)], ids=lambda p: f"{p[0]}-{p[1]}"
)
def program(request: pytest.FixtureRequest) -> Program:
    return programmed(*request.param)
