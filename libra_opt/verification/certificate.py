"""Whether the certificate tells the truth: its numbers are the recomputed ones, its bounds lie on the right side, its status follows from them."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from libra_opt.domain import Certificate, Tier
from libra_opt.verification.fairness import Division
from libra_opt.verification.objective import Counted
from libra_opt.verification.reading import Reading
from libra_opt.verification.report import Broken

__all__ = ["ABSOLUTE_TOLERANCE", "NOISE", "RELATIVE_TOLERANCE", "certified"]

RELATIVE_TOLERANCE: Final = 1e-6
"""How far a stated number may be from the recomputed one, as a share of it; also how large a gap still counts as none."""

ABSOLUTE_TOLERANCE: Final = 1e-9
"""How far a stated number may be from a recomputed one near 0."""

NOISE: Final = 1e-12
"""How far a stated value may be off as a share of its absolute terms, where they cancel."""

_Minimised = Literal["protected_lost", "over_budget_seconds", "guarantee_shortfall"]


def certified(reading: Reading, counted: Counted, division: Division | None) -> Iterator[Broken]:
    """List what the certificate states and what is not so; nothing is said of a plan with jobs that could not be read."""
    if not all(reading.sound):
        return
    certificate = reading.plan.certificate
    tiers = counted.tiers
    least: dict[_Minimised, float] = {
        "protected_lost": tiers.protected_lost,
        "over_budget_seconds": tiers.over_budget_seconds,
        "guarantee_shortfall": tiers.guarantee_shortfall,
    }
    noise = NOISE * counted.gross
    yield from _equal("certificate.objective", "the value of the plan", certificate.objective, tiers.value, noise)
    yield from _bounded("certificate.bound", certificate.objective, certificate.bound, noise)
    yield from _gap(certificate)
    for i, tier in enumerate(certificate.tiers):
        where = f"certificate.tiers[{i}]"
        if tier.name == "value":
            yield from _equal(f"{where}.objective", tier.name, tier.objective, tiers.value, noise)
            yield from _equal(f"{where}.bound", "the bound of the certificate", tier.bound, certificate.bound, noise)
            yield from _bounded(f"{where}.bound", tier.objective, tier.bound, noise)
        elif tier.name in ("unserved", "level"):
            yield from _divided(where, tier, division)
        else:
            yield from _equal(f"{where}.objective", tier.name, tier.objective, least[tier.name], 0.0)  # type: ignore[index] - not narrowed by `in`
            yield from _bounded(f"{where}.bound", tier.bound, tier.objective, 0.0)
    yield from _status(certificate, reading.state.options.gap, least)


def _divided(where: str, tier: Tier, division: Division | None) -> Iterator[Broken]:
    if division is None:
        yield Broken("objective", f"{where}.name", f"{tier.name} is stated, but the objective divides nothing", 1.0)
        return
    true = float(division.unserved) if tier.name == "unserved" else division.level
    yield from _equal(f"{where}.objective", tier.name, tier.objective, true, 0.0)
    low, high = (tier.bound, tier.objective) if tier.name == "unserved" else (tier.objective, tier.bound)
    yield from _bounded(f"{where}.bound", low, high, 0.0)


def _tolerance(first: float, second: float, noise: float) -> float:
    return RELATIVE_TOLERANCE * max(abs(first), abs(second)) + ABSOLUTE_TOLERANCE + noise


def _equal(where: str, name: str, stated: float, true: float, noise: float) -> Iterator[Broken]:
    off = abs(stated - true)
    if not off <= _tolerance(stated, true, noise):
        yield Broken("objective", where, f"{stated:.12g} is stated, but {name} is {true:.12g}", off)


def _bounded(where: str, low: float, high: float, noise: float) -> Iterator[Broken]:
    off = low - high
    if not off <= _tolerance(low, high, noise):
        yield Broken("objective", where, f"the bound lies on the wrong side of the objective: {low:.12g} should not be above {high:.12g}", off)


def _gap(certificate: Certificate) -> Iterator[Broken]:
    scale = max(abs(certificate.bound), abs(certificate.objective), ABSOLUTE_TOLERANCE)
    gap = max(0.0, certificate.bound - certificate.objective) / scale
    off = abs(certificate.gap - gap)
    if not off <= RELATIVE_TOLERANCE:
        yield Broken("objective", "certificate.gap", f"{certificate.gap:.6g} is stated, but bound and objective are {gap:.6g} apart", off)


def _status(certificate: Certificate, wanted: float, least: Mapping[_Minimised, float]) -> Iterator[Broken]:
    """Check that the gap and the bounds of the minimised tiers bear out the status; a tier that is not listed has the bound 0."""
    where = "certificate.status"
    most = {"optimal": 0.0, "within_gap": wanted}.get(certificate.status)
    if most is not None and not certificate.gap <= most + RELATIVE_TOLERANCE:
        yield Broken("objective", where, f"{certificate.status} is stated with a gap of {certificate.gap:.6g}, above {most:.6g}", certificate.gap - most)
    if certificate.status == "optimal":
        bounds = {tier.name: tier.bound for tier in certificate.tiers}
        for name, reached in least.items():
            bound = bounds.get(name, 0.0)
            off = reached - bound
            if not off <= _tolerance(reached, bound, 0.0):
                yield Broken("objective", where, f"optimal is stated, but {name} {reached:.12g} is not shown to be least: its bound is {bound:.12g}", off)
