"""HiGHS called directly gives what SciPy's door and trying everything give."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from libra_opt.solvers.highs import Linear, solve_integer


def drawn(seed: int, n_rows: int, n_columns: int) -> Linear:
    generator = np.random.default_rng(seed)
    matrix = sparse.csc_array(np.round(generator.uniform(0, 5, (n_rows, n_columns)) * (generator.random((n_rows, n_columns)) < 0.6)))
    high = np.asarray(matrix.sum(axis=1)).ravel() * 0.4
    return Linear(generator.uniform(0.1, 9, n_columns), matrix, np.full(n_rows, -np.inf), high, np.ones(n_columns))


@pytest.mark.parametrize("seed", range(6))
def test_linear_optimum_is_that_of_another_door(seed):
    program = drawn(seed, 5, 12)
    other = linprog(-program.gain, A_ub=program.matrix, b_ub=program.high, bounds=(0, 1), method="highs")
    optimum = program.open()
    assert optimum.is_optimal
    assert optimum.value == pytest.approx(-other.fun)
    assert optimum.duals == pytest.approx(-other.ineqlin.marginals)


@pytest.mark.parametrize("seed", range(6))
def test_whole_numbers_are_the_best_of_all(seed):
    program = drawn(seed, 3, 9)
    answer = solve_integer(program, np.zeros(9, dtype=np.bool_), 1_000, 0.0)
    fitting = [np.array(x) for x in product((0, 1), repeat=9) if (program.matrix @ np.array(x) <= program.high).all()]
    assert program.gain @ answer.columns == pytest.approx(max(program.gain @ x for x in fitting))


def test_where_nothing_fits_the_start_is_the_answer():
    program = Linear(np.ones(2), sparse.csc_array(np.eye(2)), np.array([2.0, -np.inf]), np.array([2.0, 1.0]), np.ones(2))
    start = np.array([True, False])
    assert (solve_integer(program, start, 10, 0.0).columns == start).all()
    assert not program.open().is_optimal
