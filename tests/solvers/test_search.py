"""From columns to plans: the master program, dives, exchanges, the columns nearby."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from libra_opt.domain.options import Options
from libra_opt.solvers.diving import dive
from libra_opt.solvers.exchange import exchange, keeps_reserves, limits_at, mend
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.highs import Guess, Linear
from libra_opt.solvers.improve import search_columns
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.linear import solve_linear
from libra_opt.solvers.master import master
from libra_opt.solvers.nearby import search_nearby
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.recombine import DIVES, recombine
from libra_opt.solvers.relaxation import relax
from libra_opt.solvers.start import first_plan
from libra_opt.solvers.steps import reach, step
from tests.solvers.conftest import opened, programmed


def everybody_waits(columns):
    return columns.first[1:] - 1


def test_master_program_is_the_relaxation_once_all_columns_are_in_it():
    program = programmed("templates", 25, 4)
    over, relaxation = master(opened(program, 10.0)).linear.open(), relax(program)
    optimum = solve_linear(relaxation)
    assert optimum is not None
    assert np.isclose(over.value, relaxation.gain @ optimum.columns + relaxation.constant)


def test_duals_of_the_master_program_prove_what_it_is_worth():
    program = programmed("templates", 25, 4)
    whole = master(opened(program, 10.0))
    optimum = whole.linear.open()
    assert np.isclose(price_out(program, whole.prices(optimum.duals), NOTHING_SPENT).bound, optimum.value)


def test_a_guess_changes_the_way_to_the_optimum_and_not_the_optimum(program):
    over, prices = master(opened(program, 0.2)), dual_prices(program)
    cold = over.linear.open()
    poor = replace(prices, pool=prices.pool * 3, guarantee=prices.guarantee / 3)
    for guessed in (prices, poor, over.prices(cold.duals)):
        warm = over.linear.open(over.guess(guessed))
        assert warm.is_optimal
        assert np.isclose(warm.value, cold.value)
        assert len(warm.columns) == len(cold.columns)
        assert np.isclose(price_out(program, over.prices(warm.duals), NOTHING_SPENT).bound, price_out(program, over.prices(cold.duals), NOTHING_SPENT).bound)


def test_a_guess_that_is_the_optimum_leaves_nothing_to_do():
    program = Linear(np.array([3.0, 2.0]), sparse.csc_array(np.array([[1.0, 1.0], [1.0, 1.0]])), np.array([-np.inf, 1.0]), np.array([1.0, 1.0]), np.ones(2))
    optimum = program.open(Guess(np.array([0.0, 0.0]), np.array([0])))
    assert optimum.columns.tolist() == [1.0, 0.0]
    assert optimum.value == 3.0


def test_held_columns_are_let_go_again(program):
    columns = opened(program, 0.1)
    optimum = master(columns).linear.open()
    before = optimum.value
    optimum.fix(everybody_waits(columns), np.ones(program.n_jobs))
    assert optimum.is_optimal
    assert optimum.value < before
    optimum.release()
    optimum.fix(np.zeros(0, dtype=np.intp), np.zeros(0))
    assert np.isclose(optimum.value, before)


def test_a_dive_that_is_mended_keeps_every_hard_row(program):
    columns = opened(program, 0.1)
    over = master(columns)
    optimum = over.linear.open()
    price = columns.rows.prices(over.prices(optimum.duals))
    for batch, least in ((1, 0.0), (3, 10.0)):
        selected = mend(columns, dive(columns, optimum, price, batch, least))
        assert selected is not None
        assert program.fits(program.usage(columns.choice(selected)))
        assert (columns.job[selected] == np.arange(program.n_jobs)).all()


def test_exchanges_are_never_worse_and_keep_what_was_kept(program):
    columns = opened(program, 0.2)
    start = everybody_waits(columns)
    better = exchange(columns, start)
    assert (columns.use[better].sum(axis=0) <= limits_at(columns, start)).all()
    assert keeps_reserves(columns, better)
    assert program.score(columns.choice(better)).beats(program.score(columns.choice(start)))
    again = program.score(columns.choice(exchange(columns, better)))
    assert not program.score(columns.choice(better)).beats(again)


def test_what_is_nearby_is_never_worse(program):
    columns = opened(program, 0.2)
    loss = columns.loss(price_out(program, dual_prices(program), NOTHING_SPENT))
    start = exchange(columns, everybody_waits(columns))
    near = search_nearby(columns, loss, np.ones(program.n_jobs), start, 200, 2, 1e-3)
    assert not program.score(columns.choice(start)).beats(program.score(columns.choice(near.selected)))
    assert program.fits(program.usage(columns.choice(near.selected)))


def test_a_step_towards_better_prices_lowers_the_bound(program):
    good = dual_prices(program)
    poor = replace(good, pool=good.pool / 2, ceiling=good.ceiling / 2, guarantee=good.guarantee / 2, reserve=good.reserve / 2, ms=good.ms / 2)
    before = price_out(program, poor, NOTHING_SPENT)
    prices, after = step(program, poor, before, good)
    assert after.bound < before.bound
    assert np.isclose(price_out(program, prices, NOTHING_SPENT).bound, after.bound)


def test_a_step_that_finds_nothing_better_stays(program):
    prices = dual_prices(program)
    far = reach(program, prices)
    unbeaten = replace(price_out(program, prices, NOTHING_SPENT), bound=-np.inf)
    after, priced = step(program, prices, unbeaten, far)
    assert after is prices
    assert priced is unbeaten


def test_first_plan_fits_and_its_bound_is_above_it(program):
    found = first_plan(program, dual_prices(program), Options(gap=1e-3))
    assert found.program.fits(found.program.usage(found.choice))
    assert found.score.value <= found.bound * (1 + 1e-9)


def test_recombined_dives_are_never_worse_and_fit(program):
    found = first_plan(program, dual_prices(program), Options(gap=1e-9))
    options = Options(gap=1e-4)
    for dives in DIVES:
        better, effort = recombine(found, options, dives)
        assert effort > 0
        assert not found.score.beats(better.score)
        assert better.program.fits(better.program.usage(better.choice))
        assert better.score.value <= better.bound * (1 + 1e-9)


def test_searches_nearby_that_are_drawn_look_elsewhere_and_repeat_themselves(program):
    found = first_plan(program, dual_prices(program), Options(gap=1e-9))
    once, again = (search_columns(found, Options(gap=1e-4), 60, 1, np.random.default_rng(3)) for _ in range(2))
    assert once[0].choice.tolist() == again[0].choice.tolist()
    assert not found.score.beats(once[0].score)
