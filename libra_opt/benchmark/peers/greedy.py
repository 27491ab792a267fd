"""Plain greedy: our own `greedy` back-end, the whole call with verification."""

from libra_opt.allocation import allocate
from libra_opt.benchmark.measure import tier_values, timed, warm_up
from libra_opt.benchmark.peers.peer import Begin, at_once
from libra_opt.benchmark.requests import PeerRequest
from libra_opt.benchmark.results import PeerMeasurement, TierValues
from libra_opt.domain import State

__all__ = ["solve"]


def solve(state: State, request: PeerRequest, begin: Begin = at_once) -> PeerMeasurement:
    """Plan by the rule of thumb."""
    warm_up()
    begin()
    state = state.replace({"options": state.options.replace({"backend": "greedy"})})
    seconds, plan = timed(lambda: allocate(state))
    certificate = plan.certificate
    return PeerMeasurement(
        build_seconds=0.0,
        solve_seconds=seconds,
        status="rule of thumb" + (", worse in tiers 1 to 3" if _is_worse(tier_values(plan), request.tiers) else ""),
        objective=certificate.objective,
        bound=certificate.bound,
        gap=certificate.gap,
        is_within_gap=certificate.gap <= request.gap,
    )


def _is_worse(theirs: TierValues, ours: TierValues) -> bool:
    pairs = ((theirs.lost, ours.lost), (theirs.over_seconds, ours.over_seconds), (theirs.shortfall, ours.shortfall))
    return any(one > other + 1e-6 * max(1.0, other) for one, other in pairs)
