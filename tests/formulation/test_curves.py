"""R6: service curves and their inverse, against hand-computed points and against the mean over the intensities in plain fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.curves import _breakpoints
from tests.formulation.made import SEEDS, Parts, cut, parts, slow


@pytest.fixture(autouse=True)
def _worked_out_anew() -> None:
    """Curves are remembered from one call to the next; here each test works them out for itself."""
    _breakpoints.cache_clear()


def one_stage(**fields: object) -> Parts:
    return cut(State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 9}}], "jobs": [{"id": "a", "demand": {"gpu": 2}, **fields}]}))


@pytest.mark.parametrize(
    ("fields", "points"),
    [
        ({}, [(0, 0), (1, 1)]),
        ({"demand_intensity": [0.5, 1, 2]}, [(0, 0), (0.5, 1.75 / 3), (1, 2.5 / 3), (2, 1)]),
        ({"demand_intensity": [0, 2]}, [(0, 0.5), (2, 1)]),
        ({"demand_intensity": [0, 0]}, [(0, 1)]),
        ({"curve": [[0, 0.25], [0.5, 0.75], [1, 0.75]]}, [(0, 0.25), (0.5, 0.75)]),
        ({"curve": [[0, 0.5]]}, [(0, 0.5)]),
        ({"curve": [[0.5, 0.5], [1, 0.75]], "demand_intensity": [2]}, [(0, 0), (1, 0.5), (2, 0.75)]),
        ({"demand": {"mem": 4}}, [(0, 1)]),
        ({"demand": {"mem": 4}, "curve": [[1, 0.5]]}, [(0, 0.5)]),
    ],
    ids=["certain", "uncertain", "sometimes idle", "always idle", "flat end", "flat", "own curve of a doubled demand", "no demand", "no demand, own curve"],
)
def test_breakpoints_end_at_the_top(fields: dict[str, object], points: list[tuple[float, float]]) -> None:
    curves = one_stage(**fields).curves
    assert curves.level[0].tolist() == pytest.approx([x for x, _ in points], abs=1e-15)
    assert curves.service[0].tolist() == pytest.approx([y for _, y in points], abs=1e-15)
    assert (curves.top[0], curves.peak[0]) == pytest.approx(points[-1], abs=1e-15)


def test_shorter_curves_are_padded_with_infinity() -> None:
    jobs = [{"id": "a", "demand": {"gpu": 1}, "demand_intensity": [1, 2, 3]}, {"id": "b", "demand": {"mem": 1}}, {"id": "c", "demand": {"gpu": 1}}]
    curves = cut(State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 9}}], "jobs": jobs})).curves
    assert curves.level.tolist() == [[0, 1, 2, 3], [0, np.inf, np.inf, np.inf], [0, 1, np.inf, np.inf]]
    assert np.isinf(curves.service).tolist() == np.isinf(curves.level).tolist()
    assert curves.top.tolist() == [3, 0, 1]


def test_equal_kinds_of_stages_share_no_numbers_with_others() -> None:
    jobs = [{"id": name, "demand": {"gpu": 1}, "demand_intensity": [m]} for name, m in zip("abcd", (1, 2, 1, 4), strict=True)]
    curves = cut(State.model_validate({"pools": [], "jobs": jobs})).curves
    assert curves.top.tolist() == [1, 2, 1, 4]


def test_service_and_pace_agree_with_fractions() -> None:
    compared = 0
    for seed in SEEDS:
        made, reading = parts(seed), slow(seed)
        for position, s in enumerate(made.tables.stage.tolist()):
            highest = reading.top(s)
            assert float(made.curves.top[position]) == pytest.approx(float(highest), abs=1e-12)
            levels = [highest * Fraction(i, 7) for i in range(8)] + [highest + 1]
            services = [reading.service(s, min(level, highest)) for level in levels]
            where = np.full(len(levels), position)
            assert made.curves.at(where, np.array(levels, dtype=float)).tolist() == pytest.approx(list(map(float, services)), abs=1e-12)
            paces = [float(pace) for pace in (reading.pace(s, service) for service in services) if pace is not None]
            assert made.curves.pace(where, np.array(services, dtype=float)).tolist() == pytest.approx(paces, abs=1e-9)
            compared += len(levels)
    assert compared > 500


def test_pace_above_the_peak_is_the_top_and_below_the_start_nothing() -> None:
    curves = one_stage(curve=[[0, 0.25], [0.5, 0.75]], demand_intensity=[1, 2]).curves
    stage = np.zeros(3, dtype=int)
    assert curves.pace(stage, np.array([2.0, 0.1, -1.0])).tolist() == [1, 0, 0]
    assert curves.at(stage, np.array([9.0, 0.0, -1.0])).tolist() == [0.75, 0.25, 0.25]
    straight = one_stage().curves
    assert straight.pace(stage, np.array([2.0, 0.1, -1.0])).tolist() == [1, 0.1, 0]
    assert straight.at(stage, np.array([9.0, 0.5, -1.0])).tolist() == [1, 0.5, 0]


def test_stages_are_looked_up_one_by_one() -> None:
    jobs = [{"id": "a", "demand": {"gpu": 1}, "demand_intensity": [1, 2]}, {"id": "b", "demand": {"gpu": 1}}]
    curves = cut(State.model_validate({"pools": [], "jobs": jobs})).curves
    assert curves.at(np.array([1, 0, 1]), np.array([0.5, 1.0, 2.0])).tolist() == [0.5, 0.75, 1.0]
    assert curves.pace(np.array([0, 1]), np.array([0.75, 0.75])).tolist() == [1.0, 0.75]


def test_state_without_jobs_has_no_curves() -> None:
    curves = cut(State.model_validate({})).curves
    assert curves.level.shape == (0, 1)
    assert curves.top.shape == (0,)


def test_curves_are_concave_and_increasing() -> None:
    for seed in SEEDS:
        curves = parts(seed).curves
        for level, service in zip(curves.level.tolist(), curves.service.tolist(), strict=True):
            points = [(x, y) for x, y in zip(level, service, strict=True) if np.isfinite(x)]
            slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(points)]
            assert all(slope > 0 for slope in slopes)
            assert all(b <= a + 1e-12 for a, b in pairwise(slopes))
