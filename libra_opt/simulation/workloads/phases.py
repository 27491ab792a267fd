"""Phases of a step with their use, and steps of them: what the simpler generated workloads share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from libra_opt.domain import Amounts, Part, Step
from libra_opt.domain.frozen import FrozenMapping

__all__ = ["Phase", "amounts", "highest", "step_of"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a job of one stage.

    Attributes
    ----------
    name
        What the job calls it.
    seconds
        How long it takes at full service.
    use
        What the stage can use or must hold in it, in the units of the default resources.
    """

    name: str
    seconds: float
    use: Mapping[str, float]


def amounts(use: Mapping[str, float]) -> Amounts:
    """Return amounts with one decimal, of memory with none, as a person writes them; what comes to 0 is left out."""
    rounded = {name: round(amount) if name in ("gpu_mem", "mem") else round(amount, 1) for name, amount in use.items()}
    return Amounts({name: int(amount) if amount == int(amount) else amount for name, amount in rounded.items() if amount})


def step_of(phases: Sequence[Phase], trajectories: int = 0, tokens: int = 0) -> Step:
    """Return a step of those phases, one part each."""
    parts = tuple(Part(seconds=round(phase.seconds, 1), phase=phase.name, use=FrozenMapping({"main": amounts(phase.use)})) for phase in phases)
    return Step(parts=parts, trajectories=trajectories, tokens=tokens)


def highest(steps: Sequence[Step], stage: str = "main") -> dict[str, float]:
    """Return the most of each resource that a stage uses in any part of those steps."""
    most: dict[str, float] = {}
    for step in steps:
        for part in step.parts:
            for name, amount in part.use.get(stage, {}).items():
                most[name] = max(most.get(name, 0), float(amount))
    return most
