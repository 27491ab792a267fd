"""What the parent asks of a child."""

from libra_opt.benchmark.results import Case, TierValues
from libra_opt.domain.base import Value

__all__ = ["MakeRequest", "MeasureRequest", "PeerRequest"]


class MakeRequest(Value):
    """Make the state of a case, with these options over its own."""

    case: Case
    effort: float | None = None
    gap: float | None = None


class MeasureRequest(Value):
    """Measure our own call on the document at this path."""

    document: str


class PeerRequest(Value):
    """Let a peer solve the document at this path.

    Attributes
    ----------
    gap
        Relative gap at which it may stop.
    tiers
        What our plan reached in tiers 1 to 3; the peer must be no worse there, and optimises tier 4.
    seconds
        Wall clock it is given; a solver that takes a limit gets this one.
    """

    peer: str
    document: str
    gap: float
    tiers: TierValues
    seconds: float
