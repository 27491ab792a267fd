"""What a policy decides and sees: grants per job, and the moment it decides in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from libra_opt.domain import Options, Plan, State, Workload
from libra_opt.simulation.truth import Vector

__all__ = ["Decision", "Grant", "Holding", "Moment", "Policy", "StateMaker", "Weigh"]


@dataclass(frozen=True, slots=True)
class Grant:
    """What one stage holds: a pool, and amounts in the units of the resources."""

    pool: str
    amounts: Vector


Holding = tuple[Grant | None, ...]
"""What the stages of a job hold, in their order; None for a stage that holds nothing."""


Weigh = Callable[[int, float, float], float]
"""Index of a job, its own weight, and the share of its present step that it has done, to the weight that a state says."""


class StateMaker(Protocol):
    """Makes the state that an allocator is shown."""

    def __call__(self, options: Options, *, is_true: bool = False, weigh: Weigh | None = None) -> State:
        """Return the state of this moment.

        Parameters
        ----------
        options
            What the state asks for.
        is_true
            Demand and need are those that come, not a history to forecast from. For comparison: no scheduler can know them.
        weigh
            Gives every job the weight it has in the state; missing: its own.
        """


@dataclass(frozen=True, slots=True)
class Moment:
    """What a policy may look at when it decides.

    Attributes
    ----------
    period, now, seconds
        Number of the period that is decided, its beginning on the simulated clock, and its length.
    workload
        The cluster, and what the jobs declare. Their steps are the truth: only policies that say so look at it.
    capacity
        Of each pool by name: what it has now.
    arrived
        Indices of the jobs that are there and not done, in order of submission.
    held
        By index: what the job's stages hold; absent when it waits.
    waited
        By index: seconds that a waiting job has waited, since it came or was last stopped.
    state
        Makes the state of the moment.
    """

    period: int
    now: float
    seconds: float
    workload: Workload
    capacity: Mapping[str, Vector]
    arrived: Sequence[int]
    held: Mapping[int, Holding]
    waited: Mapping[int, float]
    state: StateMaker


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy decided.

    Attributes
    ----------
    grants
        By index of the job: what its stages hold in the coming period; a job that is absent waits.
    plan
        The plan it comes from, where there is one.
    state
        The state that was planned, where there is one.
    """

    grants: Mapping[int, Holding]
    plan: Plan | None = None
    state: State | None = None


class Policy(Protocol):
    """Decides every period. A policy may remember what it did: one is made anew for every run."""

    @property
    def name(self) -> str:
        """How tables call it."""

    def decide(self, moment: Moment) -> Decision:
        """Return what every job holds in the coming period."""
