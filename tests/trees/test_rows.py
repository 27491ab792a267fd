"""The rows of a tree in the program: what choices use, what fits, what is owed, and what prices of these rows prove."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt import State
from libra_opt.domain.queue_tree import way_up
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.columns import near_best
from libra_opt.solvers.dual import Dual
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.greedy import greedy_choice
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.linear import solve_linear
from libra_opt.solvers.master import master
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.residual import Residual
from libra_opt.solvers.solution import Limits
from tests.formulation.choices import choices, program_of
from tests.oracle import enumerate as rules
from tests.properties.reached import FEW, Reached
from tests.strategies import tree_states
from tests.trees.larger import program_of_tree


def holds(shared: rules._Shared, use: list[list[int]]) -> bool:
    """Read R10 from the enumerator, whose own search leaves what passes a ceiling early."""
    ledger = shared.ledger
    everything = range(ledger.n_resources)
    under = all(shared._held(q, r, use) <= ledger.ceiling[q][r] for q in range(len(ledger.queues)) for r in everything)
    booked = (sum(shared._booked(q, r, use) for q in shared._below(-1)) + use[-1][r] for r in everything)
    reserving = [any(row[r] for row in shared.reserved) for r in everything]  # where a cluster without capacity cuts all reserves, R1 says the rest
    return under and all(amount <= total for amount, total, limited in zip(booked, shared.total, reserving, strict=True) if limited)


def test_what_fits_is_what_the_rules_allow(record_property) -> None:
    reached = Reached()

    @settings(max_examples=FEW)
    @given(tree_states(), st.integers(0, 99))
    def check(state: State, seed: int) -> None:
        reached.state()
        made, rules_of, dice = program_of(state, 400), rules._Shared(state, state.ledger), Random(seed)
        shared, parents, n = made.shared, state.ledger.parent, len(state.ledger.queues)
        assert (shared.floor[:-1] * made.scale == np.array(rules_of.owed).reshape(n, -1)).all()

        def draw(total: int) -> int:
            return dice.choice((0, dice.randint(0, 1 + total // n)))

        for _ in range(20):
            own = np.array([[draw(total) * scale for total, scale in zip(rules_of.total, made.scale.tolist(), strict=True)] for _ in range(n + 1)])
            used = shared.forest.gathered(own / made.scale)
            assert (used[:-1] == [sum(own[c] for c in range(n) if q in way_up(parents, c)) / made.scale for q in range(n)]).all()
            is_under, keeps, allowed = bool((used <= shared.ceiling).all()), shared.keeps_reserves(used), holds(rules_of, own.tolist())
            assert (is_under and keeps) == allowed
            reached.note("fits", holds=allowed)
            reached.note("reserves bind", holds=is_under and not keeps)
            held = used + shared.forest.of_children(shared.forest.idle(used, shared.reserved))
            assert (held[:-1] * made.scale == [[rules_of._held(q, r, own.tolist()) for r in range(len(rules_of.total))] for q in range(n)]).all()
            reached.note("held above a ceiling by reserves alone", holds=is_under and bool((held > shared.ceiling).any()))

    check()
    reached.require(record_property, {"fits": 1.0, "reserves bind": 1.0, "held above a ceiling by reserves alone": 0.2})


@settings(max_examples=FEW)
@given(tree_states(), st.integers(0, 99))
def test_a_job_is_taken_only_where_all_above_its_queue_have_room(state: State, seed: int) -> None:
    made, dice = program_of(state, 400), Random(seed)
    residual = Residual(made, made.nothing, keeps_budget=False)
    for choice in choices(made, seed, 2):
        for job in dice.sample(range(made.n_jobs), made.n_jobs):
            rows = slice(int(made.first_stage[job]), int(made.first_stage[job + 1]))
            cells = choice[rows]
            if (cells < 0).any() or (residual.choice[rows] >= 0).any():
                continue
            trial = residual.choice.copy()
            trial[rows] = cells
            assert residual.allows(job, cells) == made.fits(made.usage(trial))
            if residual.allows(job, cells):
                residual.take(job, cells)
    assert (residual.used == made.usage(residual.choice).queue).all()


@pytest.fixture(scope="module", params=[(60, 1, 1.0), (90, 2, 0.3), (60, 3, 0.6)], ids=lambda p: f"{p[0]}-{p[1]}-{p[2]}")
def program(request: pytest.FixtureRequest) -> Program:
    return program_of_tree(*request.param[:2], limits=request.param[2])


def test_slope_is_how_fast_the_smoothed_dual_rises(program: Program) -> None:
    dual = Dual(program, np.random.default_rng(0).uniform(0.5, 2, program.n_jobs))
    point = dual.rows.start() + np.random.default_rng(1).uniform(0, 0.1, dual.rows.size)
    _, slope = dual.value_and_slope(point, 0.1)
    for row in range(dual.rows.size):
        step = np.zeros(dual.rows.size)
        step[row] = 1e-6
        rise = dual.value_and_slope(point + step, 0.1)[0] - dual.value_and_slope(point - step, 0.1)[0]
        assert rise / 2e-6 == pytest.approx(slope[row], rel=1e-4, abs=1e-6)


def test_unknowns_and_prices_stand_for_each_other(program: Program) -> None:
    dual = Dual(program, np.ones(program.n_jobs))
    point = np.random.default_rng(4).uniform(0.1, 0.9, dual.rows.size)
    prices = dual.rows.prices(point)
    again = dual.rows.prices(dual.rows.point(prices))
    assert again.ceiling == pytest.approx(prices.ceiling)
    below = [q for layer in program.shared.forest.layers for q in layer.tolist()]
    assert again.reserve[below] == pytest.approx(prices.reserve[below])


def test_prices_prove_what_the_linear_program_reaches(program: Program) -> None:
    limits = Limits.of(program.score(greedy_choice(program)))
    relaxation = relax(program, limits=limits, is_bound=True)
    optimum = solve_linear(relaxation)
    assert optimum is not None
    value = float(relaxation.gain @ optimum.columns) + relaxation.constant
    best = relaxation.prices(program, optimum.duals)
    assert price_out(program, best, limits).bound == pytest.approx(value, rel=1e-9), "strong duality"
    drawn = np.random.default_rng(9)
    for spread in (0.1, 1.0) * 10:
        tables = [table * drawn.uniform(1 - spread, 1 + spread, table.shape) for table in (best.pool, best.ceiling, best.guarantee, best.reserve)]
        assert price_out(program, Prices(*tables, best.ms, best.lost), limits).bound >= value * (1 - 1e-9), "weak duality, at any prices"


def test_master_prices_prove_about_what_it_reaches(program: Program) -> None:
    columns = near_best(program, price_out(program, dual_prices(program), NOTHING_SPENT), np.full(program.n_jobs, np.inf), most=200)
    over = master(columns)
    optimum = over.linear.open()
    assert optimum.is_optimal
    proven = price_out(program, over.prices(optimum.duals), NOTHING_SPENT).bound
    assert optimum.value * (1 - 1e-9) <= proven <= optimum.value * 1.02
