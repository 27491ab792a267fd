"""What it means that two answers to a state agree."""

from collections.abc import Sequence
from fractions import Fraction

from libra_opt.allocation import allocate
from libra_opt.domain import State
from libra_opt.verification import verify
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


def assert_agrees(state: State, backend: str, tiers: Sequence[float | Fraction]) -> bool:
    """Assert that a back-end reaches these optima with a plan that the verifier accepts, and states no bound that they pass.

    Returns
    -------
    bool
        Whether the back-end also proves what it reached.
    """
    asked = asking(state, backend)
    plan = allocate(asked)
    report = verify(asked, plan)
    assert report.holds, report
    stated = plan.certificate.tiers
    assert [tier.name for tier in stated] == list(TIERS)
    found, bounds = [tier.objective for tier in stated], [tier.bound for tier in stated]
    best = [float(tier) for tier in tiers]
    assert not differ(found, best), f"{backend} reaches {found}, the oracle {best}"
    margins = [b - a for a, b in zip(bounds[:3], best[:3], strict=True)] + [bounds[3] - best[3]]
    assert min(margins) >= -TOLERANCE * max(1, *map(abs, best)), f"{backend} states the bounds {bounds}, the oracle reaches {best}"
    proven = plan.certificate.status == "optimal"
    assert not proven or not differ(bounds, best), f"{backend} calls {found} optimal with the bounds {bounds}"
    return proven
