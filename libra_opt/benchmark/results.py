"""What the benchmark says: frozen values that a child hands to its parent, and that the parent writes as JSON."""

from typing import Literal

from libra_opt.domain.base import Flag, Natural, NonNegative, Text, Value

__all__ = [
    "NOT_STATED",
    "PHASES",
    "Case",
    "Measurement",
    "Outcome",
    "PeerMeasurement",
    "PeerRun",
    "Phases",
    "Run",
    "Settings",
    "TierValues",
]

NOT_STATED = "not stated"
"""Status of a peer that has no statement of what a state has."""

Outcome = Literal["done", "failed", "over_limit", "not_stated"]
"""How one measurement ended; ``not_stated``: the peer has no statement of what the family has."""


class Settings(Value):
    """What is to be measured.

    Attributes
    ----------
    families, sizes, n_seeds
        Which states: every family at every size with the seeds 0, 1, ..; recorded instances have their own sizes.
    peers, n_peer_seeds
        Which alternatives, and on how many of the seeds.
    n_starts
        How often whole processes are timed.
    budget_seconds
        Wall clock that each peer gets per state.
    effort, gap
        Put over the options of the states; as they say where null.
    instances
        Directory of the recorded instances.
    """

    families: tuple[str, ...]
    sizes: tuple[int, ...]
    n_seeds: int
    peers: tuple[str, ...]
    n_peer_seeds: int
    n_starts: int
    budget_seconds: float
    effort: float | None = None
    gap: float | None = None
    instances: str = "instances/recorded"


class Case(Value):
    """One state: drawn from a family with a seed, or recorded in a file.

    Attributes
    ----------
    family
        A family, or ``recorded``.
    label
        What tables call it: the family, or the name of the file.
    n_jobs, seed
        Size and seed of a drawn state.
    file
        Path of a recorded one.
    """

    family: str
    label: str
    n_jobs: int = 0
    seed: int = 0
    file: str | None = None


class Phases(Value):
    """Seconds of each phase of one call; `prices` and `core` together are the solve, `decode` includes reasons and the making of the plan."""

    read: float
    forecast: float
    encode: float
    prices: float
    core: float
    decode: float
    verify: float
    write: float


PHASES = tuple(Phases.model_fields)


class TierValues(Value):
    """Tiers 1 to 3 of a plan: worth of protected jobs lost, seconds over the budget, shares of guarantees short."""

    lost: float = 0.0
    over_seconds: float = 0.0
    shortfall: float = 0.0


class Measurement(Value):
    """One whole call and its phases.

    Attributes
    ----------
    n_jobs, n_stages
        Size of the state.
    whole_seconds, cpu_seconds
        `allocate` from a state in memory: wall clock, and time on the processor, which other work on the machine stretches less.
    phases
        Of a second pass over the same document, layer by layer.
    status, objective, bound, gap, tiers
        What the plan's certificate says.
    asked_gap
        The gap that the state calls good enough.
    peak_mib
        Most memory the process had held when the whole call ended, reading the document included.
    is_repeated
        Whether the second pass gave the same plan, byte for byte.
    """

    n_jobs: Natural
    n_stages: Natural
    whole_seconds: NonNegative
    cpu_seconds: NonNegative
    phases: Phases
    status: str
    objective: float
    bound: float
    gap: float
    asked_gap: float
    tiers: TierValues
    peak_mib: NonNegative
    is_repeated: Flag


class Run(Value):
    """How the measurement of one case ended; `message` says why it did not end well."""

    case: Case
    outcome: Outcome
    message: Text = ""
    measured: Measurement | None = None


class PeerMeasurement(Value):
    """What a peer did with a state.

    Attributes
    ----------
    build_seconds, solve_seconds
        From the state in memory to the solver's model, and the solver's own time.
    status
        In the peer's words.
    objective
        Tier 4 of the plan it found; null where it found none or gives only a bound.
    bound
        What it proves no plan can pass, over the levels that it knows.
    gap
        Between the two, relative to the larger.
    is_within_gap
        Whether it reached the gap that was asked of it.
    is_cut
        Whether it stopped for want of time, so that its seconds say only how long it had.
    note
        What else is to be said, such as what the peer cannot state.
    """

    build_seconds: NonNegative
    solve_seconds: NonNegative
    status: str
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    is_within_gap: Flag = False
    is_cut: Flag = False
    peak_mib: NonNegative = 0.0
    note: Text = ""


class PeerRun(Value):
    """How one peer ended on one case; `asked_gap` is the larger of the gap that we proved and the one the state asks for."""

    case: Case
    peer: str
    outcome: Outcome
    asked_gap: float
    message: Text = ""
    measured: PeerMeasurement | None = None
