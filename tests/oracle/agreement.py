"""What it means that two answers to a state agree."""

from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec

import pytest

from libra_opt.domain import State
from tests.oracle.mathprog import TIERS

__all__ = ["BACKENDS", "asking", "assert_agrees", "differ"]

BACKENDS = ("cp_sat", "auto")
TOLERANCE = 1e-6
EFFORT = 30.0


def differ(one: Sequence[float | Fraction], other: Sequence[float | Fraction]) -> bool:
    """Tell whether two answers differ in a tier by more than rounding."""
    return any(abs(a - b) > TOLERANCE * max(1, abs(a), abs(b)) for a, b in zip(map(float, one), map(float, other), strict=True))


def asking(state: State, backend: str) -> State:
    """Return the state with options that ask a back-end for a proof."""
    return state.replace({"options": state.options.replace({"backend": backend, "gap": 0.0, "effort": EFFORT})})


def assert_agrees(state: State, tiers: Sequence[float | Fraction]) -> None:
    """Assert that every exact back-end proves these tiers, with a plan that the verifier accepts."""
    if find_spec("libra_opt.allocate") is None:
        return
    allocate = pytest.importorskip("libra_opt.allocate").allocate
    verify = pytest.importorskip("libra_opt.verification").verify
    for backend in BACKENDS:
        asked = asking(state, backend)
        plan = allocate(asked)
        certificate = plan.certificate
        found = [tier.objective for tier in certificate.tiers]
        assert [tier.name for tier in certificate.tiers] == list(TIERS)
        assert not differ(found, tiers), f"{backend} reaches {found}, the oracle {[float(tier) for tier in tiers]}"
        assert not differ([tier.bound for tier in certificate.tiers], tiers), f"{backend} does not prove what it reached: {certificate}"
        assert certificate.status == "optimal", certificate
        report = verify(asked, plan)
        assert report.holds, report
