"""Families of the benchmark, and what is refused before anything is measured."""

from dataclasses import replace

import numpy as np
import pytest

from libra_opt.adapters.synthetic import FAMILIES, generate
from libra_opt.allocation import allocate
from libra_opt.benchmark.cases import DRAWN, RECORDED, all_cases, make_state
from libra_opt.benchmark.peers.direct_data import read_direct_data
from libra_opt.benchmark.peers.direct_rules import direct_form
from libra_opt.benchmark.peers.mixed import solve_mixed
from libra_opt.benchmark.peers.registry import PEERS
from libra_opt.benchmark.results import Case, Settings, TierValues
from libra_opt.cli import parser
from libra_opt.errors import InputError
from libra_opt.forecast import forecast


def settings(**changes):
    return Settings(families=("plain", "full"), sizes=(100, 1000), n_seeds=2, peers=(), n_peer_seeds=0, n_starts=0, budget_seconds=1.0).replace(changes)


def state_of(family, n_jobs=200, **options):
    return make_state(Case(family=family, label=family, n_jobs=n_jobs), **options)


def test_command_offers_what_there_is():
    assert set(parser.BENCH_FAMILIES) == {*DRAWN, RECORDED}
    assert set(parser.PEERS) == set(PEERS)
    assert set(parser.FAMILIES) == set(FAMILIES)


def test_every_family_at_every_size_with_every_seed_small_ones_first():
    cases = all_cases(settings())
    assert [(case.family, case.n_jobs, case.seed) for case in cases[:5]] == [
        ("plain", 100, 0),
        ("plain", 100, 1),
        ("plain", 1000, 0),
        ("plain", 1000, 1),
        ("full", 100, 0),
    ]
    assert len(cases) == 8


def test_recorded_instances_are_found_and_named(tmp_path):
    for name in ("b.json", "a.json.gz", "notes.txt"):
        (tmp_path / name).write_text("")
    cases = all_cases(settings(families=("recorded",), instances=str(tmp_path)))
    assert [case.label for case in cases] == ["a", "b"]


def test_directory_without_states_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no states; name a directory"):
        all_cases(settings(families=("recorded",), instances=str(tmp_path)))


def relaxed_value(data):
    form = direct_form(data, TierValues(), with_least=False)
    return solve_mixed(replace(form, is_whole=np.zeros_like(form.is_whole)), 0.0, 30.0).objective


@pytest.mark.parametrize("seed", range(3))
def test_more_of_any_resource_is_worth_something_in_the_family_five(seed):
    state = generate("five", 200, np.random.default_rng(seed))
    data = read_direct_data(state, forecast(state))
    value = relaxed_value(data)
    for r in range(5):
        capacity = data.capacity.copy()
        capacity[:, r] *= 1.01
        assert relaxed_value(replace(data, capacity=capacity)) > value * (1 + 1e-5)


def test_everything_fits_in_the_family_fits():
    plan = allocate(state_of("fits", effort=0.1))
    assert {job.service for job in plan.jobs} == {1.0}


def test_thirty_times_as_much_is_asked_as_there_is():
    ledger = state_of("30x").ledger
    assert sum(row[0] for row in ledger.demand) / ledger.capacity[0][0] == pytest.approx(30, rel=0.05)


def test_options_of_the_benchmark_are_put_over_those_of_the_state():
    options = state_of("full", effort=0.25, gap=0.5).options
    assert (options.effort, options.gap) == (0.25, 0.5)
    assert options.preemption_budget_seconds == 400
