"""What `models/feedback.md` claims of the loop's stability is so, and its tables are the constants in force."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.feedback import LAW, Band, Law

PAGE = (Path(__file__).parents[2] / "models" / "feedback.md").read_text(encoding="utf-8")


def open_loop(z, n_late):
    return z**-n_late / (z - 1)


def largest_root(k, n_late):
    """Return the largest modulus of the closed loop's poles at a fixed gain."""
    return abs((np.poly1d([1, -1]) * np.poly1d([1, *[0] * n_late]) + k).roots).max()


@pytest.mark.parametrize(("n_late", "bound"), [(0, 2.0), (1, 1.0)])
def test_linear_condition_is_sharp(n_late, bound):
    assert largest_root(0.99 * bound, n_late) < 1 < largest_root(1.01 * bound, n_late)


@pytest.mark.parametrize("n_late", [0, 1, 2])
def test_circle_criterion_gives_the_bound_that_is_told(n_late):
    z = np.exp(1j * np.linspace(1e-4, np.pi, 20_001))
    assert -open_loop(z, n_late).real.min() == pytest.approx(n_late + 0.5, rel=1e-3)
    bound = 1 / (n_late + 0.5)
    told = re.search(r"`k` below ([\d.]+), ([\d.]+) and ([\d.]+) for", PAGE)[n_late + 1]
    assert 0 <= bound - float(told) < 0.01
    elasticity = re.search(r"at gain ([\d.]+) elasticities up to ([\d.]+), ([\d.]+) and ([\d.]+):", PAGE)
    assert float(elasticity[1]) == LAW.price_gain
    assert 0 <= bound / LAW.price_gain - float(elasticity[n_late + 2]) < 0.1


@given(st.floats(0.01, 1), st.integers(0, 1), st.lists(st.floats(0, 1), min_size=60, max_size=60), st.floats(0.1, 10))
def test_error_never_passes_zero_at_the_gains_that_are_told(share, n_late, cuts, start):
    """The recursion of the argument, steps cut at will and stopped in the middle of the band."""
    k = share * (1.0, 0.25)[n_late]
    error, seen = start, [start] * n_late
    for cut in cuts:
        seen.append(error)
        late = seen.pop(0)
        error -= k * cut * late if late > math.log(2) else 0.0
        assert error >= -1e-12


def test_period_steps_cannot_undo_each_other():
    assert LAW.period_dominance**2 > LAW.period_factor**2
    assert f"`period_factor^2 = {LAW.period_factor**2:.2f}`" in PAGE
    assert f"`period_dominance^2 = {LAW.period_dominance**2:g}`" in PAGE


def test_kills_balance_waste_at_the_rate_that_is_told():
    assert LAW.kills.low == LAW.waste_step / LAW.kill_gain
    assert f"one kill in {round(LAW.kill_gain / LAW.waste_step):,} job-periods" in PAGE


def test_tables_are_the_constants_in_force():
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", PAGE, flags=re.MULTILINE))
    wanted = {}
    for name in Law.model_fields:
        value = getattr(LAW, name)
        wanted[name] = f"{value.low:g} .. {value.high:g}" if isinstance(value, Band) else f"{value:g}"
    assert told == wanted
