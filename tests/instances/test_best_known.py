"""The best known values: one for every instance, and no plan of today is worse or better than they allow."""

import json

import pytest

from tests.instances.planned import INSTANCES, planned

NAMES = [
    path.relative_to(INSTANCES).as_posix() for pattern in ("tiny/*.json", "recorded/*.json", "scale/*.json.gz") for path in sorted(INSTANCES.glob(pattern))
]
TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def known():
    return json.loads((INSTANCES / "best_known.json").read_bytes())["instances"]


def test_every_instance_has_a_best_known_value(known):
    assert sorted(known) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_plan_of_today_is_as_good_as_the_best_known_within_the_gap(name, known):
    best = known[name]
    state, plan = planned(name)
    certificate = plan.certificate
    earlier = {tier.name: tier.objective for tier in certificate.tiers if tier.name != "value"}
    scale = max(1.0, abs(best["bound"]))
    assert earlier == pytest.approx(best["earlier_tiers"], abs=TOLERANCE, rel=TOLERANCE)
    assert certificate.objective <= best["bound"] + TOLERANCE * scale
    assert certificate.bound >= best["objective"] - TOLERANCE * scale
    assert certificate.objective >= best["objective"] - (state.options.gap + TOLERANCE) * scale
