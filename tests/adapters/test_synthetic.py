"""Synthetic states: what each family promises holds, and what runs fits."""

import numpy as np
import pytest

from libra_opt.adapters.synthetic import FAMILIES, generate


def made(family, n_jobs=400, contention=3.0):
    return generate(family, n_jobs, np.random.default_rng(7), contention=contention)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_jobs", [0, 1, 2, 17])
def test_every_size_is_a_valid_state(family, n_jobs):
    assert len(made(family, n_jobs).jobs) == n_jobs


@pytest.mark.parametrize("family", FAMILIES)
def test_cards_are_contended_as_asked(family):
    ledger = made(family).ledger
    demand = sum(row[0] for row in ledger.demand)
    supply = sum(row[0] for row in ledger.capacity)
    assert demand / supply > 2.5


def test_everything_fits_below_a_contention_of_one():
    ledger = made("plain", contention=0.8).ledger
    assert all(sum(row[r] for row in ledger.demand) <= ledger.capacity[0][r] for r in range(5))


def test_what_runs_in_the_full_family_fits_pools_and_queues():
    ledger = made("full").ledger
    for k, capacity in enumerate(ledger.capacity):
        held = [row for row, pool in zip(ledger.current, ledger.current_pool, strict=True) if pool == k]
        assert all(sum(row[r] for row in held) <= capacity[r] for r in range(5))
    for q, ceiling in enumerate(ledger.ceiling):
        held = [ledger.current[s] for j, queue in enumerate(ledger.job_queue) if queue == q for s in ledger.stage_of[j] if ledger.current[s]]
        assert all(sum(row[r] for row in held) <= ceiling[r] for r in range(5))


def test_full_family_has_stages_queues_and_running_jobs_in_their_shares():
    state = made("full", 3000)
    ledger = state.ledger
    assert sum(len(rows) == 3 for rows in ledger.stage_of) / 3000 == pytest.approx(1 / 3, abs=0.03)
    assert sum(ledger.running) / 3000 == pytest.approx(0.6, abs=0.03)
    assert len(ledger.queues) == 8
    assert len(ledger.pools) == 3
    assert state.options.preemption_budget_seconds == 6000


def test_templates_are_ten_kinds_of_identical_jobs():
    ledger = made("templates").ledger
    assert len(set(zip(ledger.demand, ledger.need, ledger.lo, ledger.hi, strict=True))) <= 10


def test_rigid_jobs_are_all_or_nothing_on_at_most_512_cards():
    ledger = made("rigid").ledger
    assert ledger.capacity[0][0] <= 512
    assert all(lo[0] == hi[0] == demand[0] for lo, hi, demand in zip(ledger.lo, ledger.hi, ledger.demand, strict=True))


def test_unknown_family_is_refused():
    with pytest.raises(ValueError, match="plain, full, templates, rigid"):
        made("secret")
