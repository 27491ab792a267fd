"""What every peer takes and gives."""

import signal
from collections.abc import Callable
from typing import Final, Protocol

from libra_opt.benchmark.requests import PeerRequest
from libra_opt.benchmark.results import PeerMeasurement
from libra_opt.domain import State

__all__ = ["Begin", "NotStatedError", "Peer", "arm", "at_once", "relative_gap"]

_GRACE: Final = 1.25
_GRACE_SECONDS: Final = 2.0
"""A solver that takes a time limit gets the budget, and ends a little later; one that does not end by itself is ended after this much more."""


Begin = Callable[[], None]
"""What a peer calls when what is timed begins."""


class NotStatedError(Exception):
    """The peer has no statement of something that the state has; the message says of what."""


class Peer(Protocol):
    """A peer: one call, which times itself and loads its library before it does."""

    def __call__(self, state: State, request: PeerRequest, begin: Begin) -> PeerMeasurement:
        """Solve tier 4 of a state, no worse than `request.tiers` in the tiers before, and stop at `request.gap`; `begin` is called when its time begins."""
        ...


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """Return the gap of a plan and a bound, relative to the larger of the two; null where one is missing."""
    if objective is None or bound is None:
        return None
    return max(0.0, bound - objective) / max(abs(bound), abs(objective), 1e-9)


def arm(budget_seconds: float) -> None:
    """Let the system end this process when the budget and some grace are over, whatever library is at work; a later call starts anew."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, _GRACE * budget_seconds + _GRACE_SECONDS)


def at_once() -> None:
    """Begin without a limit that the system watches over."""
