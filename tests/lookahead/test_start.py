"""A start that is not the best must not be called optimal (seen with HiGHS 1.16 and its presolve)."""

from itertools import product

import numpy as np
from scipy import sparse

from libra_opt.solvers.highs import Linear, solve_integer


def test_a_start_that_is_not_best_is_left() -> None:
    routes = list(product((0, 1), repeat=3))
    one = [0, 0.990025, -1.975075, 1.985025, -1.985, -0.994975, -0.975075, 2.985025]
    other = [0, 1.98005, 1.99, 3.97005, -1.333333, 0.646717, 0.656667, 2.636717]
    matrix = np.zeros((5, 16))
    for i, route in enumerate(routes):
        matrix[:3, i], matrix[:3, 8 + i] = np.array(route) / 2, route
        matrix[3, i] = matrix[4, 8 + i] = 1
    gain, low = np.array(one + other), np.array([-np.inf, -np.inf, -np.inf, 1, 1])
    start = np.zeros(16)
    start[[4, 8 + 3]] = 1
    answer = solve_integer(Linear(gain, sparse.csc_array(matrix), low, np.ones(5), np.ones(16)), start, 1000, 0.0, 16)
    assert answer.is_proven
    assert np.flatnonzero(answer.columns).tolist() == [0, 11]
