"""The best known values: one for every instance, and no plan of today is worse or better than they allow."""

import json
from pathlib import Path

import pytest

from libra_opt.adapters.files import read_bytes
from libra_opt.allocate import allocate
from libra_opt.domain import read_state

INSTANCES = Path(__file__).parents[2] / "instances"
KNOWN = json.loads((INSTANCES / "best_known.json").read_bytes())["instances"]
TOLERANCE = 1e-6


def test_every_instance_has_a_best_known_value():
    files = [*INSTANCES.glob("tiny/*.json"), *INSTANCES.glob("recorded/*.json"), *INSTANCES.glob("scale/*.json.gz")]
    assert set(KNOWN) == {path.relative_to(INSTANCES).as_posix() for path in files}


@pytest.mark.parametrize("name", KNOWN)
def test_plan_of_today_is_as_good_as_the_best_known_within_the_gap(name):
    known = KNOWN[name]
    state = read_state(read_bytes(str(INSTANCES / name)), name)
    certificate = allocate(state).certificate
    earlier = {tier.name: tier.objective for tier in certificate.tiers if tier.name != "value"}
    scale = max(1.0, abs(known["bound"]))
    assert earlier == pytest.approx(known["earlier_tiers"], abs=TOLERANCE, rel=TOLERANCE)
    assert certificate.objective <= known["bound"] + TOLERANCE * scale
    assert certificate.bound >= known["objective"] - TOLERANCE * scale
    assert certificate.objective >= known["objective"] - (state.options.gap + TOLERANCE) * scale
