"""HiGHS on the bundles: its plan is read back and checked, whatever the solver's tolerances let pass."""

import numpy as np
import pytest

from libra_opt.adapters.synthetic import generate
from libra_opt.benchmark.peers import bundles
from libra_opt.benchmark.peers.peer import NotStatedError
from libra_opt.benchmark.requests import PeerRequest
from libra_opt.benchmark.results import TierValues
from libra_opt.forecast import forecast
from libra_opt.formulation.encode import encode
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.solution import Limits

NOTHING = Limits(0.0, 0.0, 0.0)


@pytest.fixture
def state():
    return generate("plain", 20, np.random.default_rng(0))


def columns_of(state, levels_of):
    program = encode(state, state.ledger.with_forecast(forecast(state)))
    relaxation = relax(program, limits=NOTHING)
    columns = np.zeros(len(relaxation.gain))
    columns[levels_of(program)] = 1.0
    return program, relaxation, columns


def test_plan_that_overruns_a_row_is_found_out(state):
    program, relaxation, columns = columns_of(state, lambda program: program.bundles.first_level[1:] - 1)
    assert bundles.faults(program, relaxation, NOTHING, columns) == "its plan overruns a row"


def test_plan_in_which_one_job_runs_is_sound(state):
    program, relaxation, columns = columns_of(state, lambda program: program.bundles.first_level[:1])
    assert bundles.faults(program, relaxation, NOTHING, columns) == ""


def test_more_bundles_than_anyone_enumerates_are_not_tried(state, monkeypatch):
    monkeypatch.setattr(bundles, "MOST_CELLS", 100)
    with pytest.raises(NotStatedError, match="more than 100 cells"):
        bundles.solve_all(state, PeerRequest(peer="highs", document="", gap=0.0, tiers=TierValues(), seconds=100.0))
