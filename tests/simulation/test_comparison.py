import numpy as np
import pytest

from libra_opt.simulation.comparison import difference, ratio, spread


def dice(seed=0):
    return np.random.default_rng(seed)


def test_pairs_cancel_what_seeds_share():
    theirs = dice(1).uniform(50, 150, 12)  # seeds differ threefold, the policies by ten percent and a little noise
    ours = theirs * dice(2).normal(1.1, 0.01, 12)
    found = ratio(ours.tolist(), theirs.tolist(), dice())
    unpaired = ratio(sorted(ours.tolist()), sorted(theirs.tolist(), reverse=True), dice())
    assert found.value == pytest.approx(1.1, abs=0.01)
    assert 1.08 < found.low < found.value < found.high < 1.12
    assert found.method == "BCa"
    assert unpaired.high - unpaired.low > 10 * (found.high - found.low)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    truth, generator, covered = 2.0, dice(3), 0
    for _ in range(60):
        found = difference(generator.normal(5 + truth, 1, 20).tolist(), generator.normal(5, 1, 20).tolist(), generator)
        covered += found.low <= truth <= found.high
    assert covered >= 51  # of 95 % two in a hundred samples would come below


def test_same_generator_gives_the_same_interval():
    ours, theirs = [1.0, 2.0, 4.0, 3.0], [1.0, 1.5, 3.0, 2.0]
    assert ratio(ours, theirs, dice(7)) == ratio(ours, theirs, dice(7))


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_constant_ratio_is_exact(factor):
    found = ratio([factor * x for x in (1.0, 2.0, 5.0)], [1.0, 2.0, 5.0], dice())
    assert (found.low, found.value, found.high, found.method) == (pytest.approx(factor), pytest.approx(factor), pytest.approx(factor), "exact")


def test_one_seed_has_no_interval():
    found = ratio([3.0], [2.0], dice())
    assert (found.value, found.low, found.high, found.n, found.method) == (1.5, None, None, 1, "none")


def test_nothing_to_compare_with_is_no_ratio():
    assert ratio([1.0, 2.0], [0.0, 0.0], dice()) is None
    assert ratio([], [], dice()) is None
    assert difference([], [], dice()) is None
    assert spread([], dice()) is None


def test_seed_in_which_the_other_did_nothing_is_no_infinity():
    found = ratio([1.0, 2.0, 3.0], [0.0, 0.0, 1.5], dice())
    assert found.value == pytest.approx(4.0)
    assert found.low is None or np.isfinite(found.low)


def test_spread_is_about_the_mean():
    found = spread([1.0, 2.0, 3.0, 6.0], dice())
    assert found.low < 3.0 == found.value < found.high
