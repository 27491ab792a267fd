"""Children: what they answer, and what is said of one that fails or does not end."""

import json
from pathlib import Path

import numpy as np
import pytest

from libra_opt.adapters.synthetic import generate
from libra_opt.allocation import allocate
from libra_opt.benchmark.isolate import isolated
from libra_opt.benchmark.measure import measure
from libra_opt.benchmark.requests import MakeRequest, MeasureRequest, PeerRequest
from libra_opt.benchmark.results import PHASES, Case, Settings, TierValues
from libra_opt.benchmark.suite import run_case
from libra_opt.domain import write

QUICK = Settings(families=(), sizes=(), n_seeds=1, peers=(), n_peer_seeds=1, n_starts=0, budget_seconds=10.0, effort=0.1, gap=0.01)


def test_child_makes_the_state_that_the_seed_stands_for():
    case = Case(family="plain", label="plain", n_jobs=3, seed=5)
    ended = isolated("make", MakeRequest(case=case), 60)
    assert json.loads(ended.answer)["jobs"] == json.loads(write(generate("plain", 3, np.random.default_rng(5))))["jobs"]


def test_child_that_fails_is_an_answer_with_its_last_words():
    ended = isolated("measure", MeasureRequest(document="/nowhere/state.json"), 60)
    assert ended.outcome == "failed"
    assert "No such file" in ended.message


def test_child_that_does_not_end_is_killed_and_reported():
    ended = isolated("make", MakeRequest(case=Case(family="full", label="full", n_jobs=500_000)), 0.5)
    assert (ended.outcome, ended.message) == ("over_limit", "over 0.5 s")


def test_peer_ends_itself_when_its_budget_is_over(tmp_path):
    document = tmp_path / "state.json"
    document.write_text(write(generate("plain", 1000, np.random.default_rng(0))))
    ended = isolated("peer", PeerRequest(peer="highs", document=str(document), gap=0.0, tiers=TierValues(), seconds=0.01), 120)
    assert ended.outcome == "over_limit"


def test_measurement_is_of_the_plan_that_allocate_makes():
    state = generate("plain", 100, np.random.default_rng(0)).replace({"options": {"effort": 0.1}})
    measured = measure(write(state).encode())
    certificate = allocate(state).certificate
    assert (measured.objective, measured.bound, measured.status) == (certificate.objective, certificate.bound, certificate.status)
    assert measured.is_repeated
    assert measured.whole_seconds > 0
    assert all(getattr(measured.phases, phase) > 0 for phase in PHASES)


def test_small_state_that_needs_no_prices_spends_nothing_on_them():
    state = generate("plain", 2, np.random.default_rng(0))
    assert measure(write(state).encode()).phases.prices == 0


@pytest.mark.parametrize("content", ["not JSON", '{"format": "libra-opt/state/1", "pools": 3}'])
def test_case_whose_state_cannot_be_read_is_reported_as_failed(content, tmp_path):
    path = Path(tmp_path, "broken.json")
    path.write_text(content)
    run, peers = run_case(Case(family="recorded", label="broken", file=str(path)), QUICK)
    assert run.outcome == "failed"
    assert "state" in run.message or "JSON" in run.message or "pools" in run.message
    assert peers == ()


def test_peers_get_the_state_and_no_bound_is_below_our_value():
    peers = ("cp_sat", "highs_grid", "lp_clarabel", "greedy")
    run, of_peers = run_case(Case(family="plain", label="plain", n_jobs=4), QUICK.replace({"peers": peers}))
    assert [one.peer for one in of_peers] == list(peers)
    assert [one.message for one in of_peers] == [""] * len(peers)
    for one in of_peers:
        assert one.measured.bound >= run.measured.objective * (1 - 1e-5)
        assert one.measured.objective is None or one.measured.objective <= run.measured.bound * (1 + 1e-5)
