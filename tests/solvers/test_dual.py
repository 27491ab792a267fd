"""The smoothed dual: its layout, its value and its slope."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.solvers.dual import Dual
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.ranks import Ranks


@given(st.lists(st.integers(1, 6), max_size=12), st.integers(0, 99))
def test_runs_laid_out_by_rank_give_what_runs_in_order_give(counts, seed):
    sizes = np.array(counts, dtype=np.intp)
    ranks, values = Ranks(sizes), np.random.default_rng(seed).uniform(-1, 1, int(sizes.sum()))
    runs = np.split(values, np.cumsum(sizes)[:-1]) if counts else []
    laid = values[ranks.entry]
    assert ranks.least(laid).tolist() == [runs[i].min() for i in ranks.run]
    assert ranks.most(laid).tolist() == [runs[i].max() for i in ranks.run]
    assert ranks.total(laid) == pytest.approx([runs[i].sum() for i in ranks.run])
    of_run = np.repeat(np.arange(len(counts)), sizes).astype(np.float64)
    assert ranks.spread(ranks.run.astype(np.float64)).tolist() == of_run[ranks.entry].tolist()
    assert ranks.entry[ranks.place].tolist() == list(range(len(values)))


def test_smoothing_only_raises_the_bound_and_less_where_it_is_colder(program):
    dual = Dual(program, np.ones(program.n_jobs))
    point = dual.rows.start()
    bound = price_out(program, dual.rows.prices(point), NOTHING_SPENT).bound / dual.rows.value
    warm, cold = (dual.value_and_slope(point, temperature)[0] for temperature in (0.1, 1e-4))
    assert bound <= cold < warm
    assert cold == pytest.approx(bound, rel=1e-2)


def test_slope_is_how_fast_the_value_rises(program):
    dual = Dual(program, np.random.default_rng(0).uniform(0.5, 2, program.n_jobs))
    point = dual.rows.start() + np.random.default_rng(1).uniform(0, 0.1, dual.rows.size)
    _, slope = dual.value_and_slope(point, 0.1)
    for row in range(dual.rows.size):
        step = np.zeros(dual.rows.size)
        step[row] = 1e-6
        rise = dual.value_and_slope(point + step, 0.1)[0] - dual.value_and_slope(point - step, 0.1)[0]
        assert rise / 2e-6 == pytest.approx(slope[row], rel=1e-4, abs=1e-6)
