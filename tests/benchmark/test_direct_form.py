"""The direct form against ours: written from the rules alone, it has the same optimum."""

from pathlib import Path

import numpy as np
import pytest

from libra_opt.adapters.synthetic import generate
from libra_opt.allocation import allocate
from libra_opt.benchmark.measure import tier_values
from libra_opt.benchmark.peers import cp_sat
from libra_opt.benchmark.peers.direct_data import read_direct_data
from libra_opt.benchmark.peers.direct_rules import direct_form
from libra_opt.benchmark.peers.mixed import solve_mixed
from libra_opt.benchmark.peers.peer import NotStatedError
from libra_opt.benchmark.requests import PeerRequest
from libra_opt.domain import read_state
from libra_opt.forecast import forecast

ALL = sorted((Path(__file__).parents[2] / "instances" / "tiny").glob("*.json"))
TREES = [path for path in ALL if '"parent"' in path.read_text()]
TINY = [path for path in ALL if path not in TREES]
COUNTED = {
    "r06-uncertain-demand",
    "r07-slowest-stage",
    "r09-memory-per-card",
    "r10-guarantee-is-reclaimed",
    "r10-reserved-is-not-lent",
    "r12-preemption-budget",
}
SECONDS = 30.0


def planned(state):
    state = state.replace({"options": state.options.replace({"backend": "cp_sat", "gap": 0.0, "effort": 30})})
    return allocate(state)


def optimum(state, plan, *, with_least):
    form = direct_form(read_direct_data(state, forecast(state)), tier_values(plan), with_least=with_least)
    return solve_mixed(form, 0.0, SECONDS)


def drawn(family, seed):
    return generate(family, 4 if family == "full" else 3, np.random.default_rng(seed))


@pytest.mark.parametrize("path", TINY, ids=lambda path: path.stem)
def test_optimum_of_a_tiny_state_is_ours(path):
    state = read_state(path.read_bytes())
    plan = planned(state)
    assert plan.certificate.status == "optimal"
    assert optimum(state, plan, with_least=True).objective == pytest.approx(plan.certificate.objective, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("path", TREES, ids=lambda path: path.stem)
def test_trees_of_queues_are_refused_and_not_misread(path):
    state = read_state(path.read_bytes())
    with pytest.raises(NotStatedError, match="queues below others"):
        read_direct_data(state, forecast(state))


@pytest.mark.parametrize("path", [path for path in TINY if path.stem in COUNTED], ids=lambda path: path.stem)
def test_cp_sat_finds_our_optimum_to_its_millionths(path):
    state = read_state(path.read_bytes())
    plan = planned(state)
    found = cp_sat.solve(state, PeerRequest(peer="cp_sat", document="", gap=0.0, tiers=tier_values(plan), seconds=SECONDS))
    assert found.objective == pytest.approx(plan.certificate.objective, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("family", ["plain", "five", "rigid", "full"])
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_optimum_of_a_drawn_state_is_ours(family, seed):
    state = drawn(family, seed)
    plan = planned(state)
    found = optimum(state, plan, with_least=True)
    assert plan.certificate.status == "optimal"
    assert found.objective == pytest.approx(plan.certificate.objective, rel=1e-5)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_leaving_least_allocations_out_only_adds_plans(seed):
    state = drawn("full", seed)
    plan = planned(state)
    assert optimum(state, plan, with_least=False).objective >= plan.certificate.objective - 1e-5 * abs(plan.certificate.objective)
