"""The cluster that recorded jobs are put on, and amounts as a workload writes them."""

from collections.abc import Mapping, Sequence
from typing import Final

from libra_opt.domain import Amounts, Pool, Step

__all__ = ["CLUSTER_ASSUMED", "amounts", "cards_of", "most_of", "pool", "work_within"]

_PER_CARD: Final = {"gpu": 1, "gpu_mem": 80, "cpu": 14, "mem": 250, "net": 6.2}
_WHOLE: Final = frozenset({"gpu_mem", "mem"})

CLUSTER_ASSUMED: Final = (
    "cluster: cards of 80 GiB, each with 14 cores, 250 GiB of host memory and 6.2 GB/s, an eighth of a DGX H100 (NVIDIA DGX BasePOD reference architecture) "
    "with one 400 Gb/s port; none of the traces ran on it"
)
"""What is assumed of the cluster."""


def pool(cards: int) -> Pool:
    """Return a pool of so many exclusive cards."""
    return Pool(name="h100", capacity=Amounts({name: round(amount * cards, 1) for name, amount in _PER_CARD.items()}), card_mem="80Gi")


def amounts(use: Mapping[str, float]) -> Amounts:
    """Return amounts with one decimal, of memory with none; what comes to 0 is left out."""
    rounded = {name: round(amount) if name in _WHOLE else round(amount, 1) for name, amount in use.items()}
    return Amounts({name: int(amount) if amount == int(amount) else amount for name, amount in rounded.items() if amount})


def most_of(steps: Sequence[Step]) -> dict[str, float]:
    """Return the most of each resource that the one stage of a job uses in any part."""
    most: dict[str, float] = {}
    for part in (part for step in steps for part in step.parts):
        for name, amount in part.use["main"].items():
            most[name] = max(most.get(name, 0.0), float(amount))
    return most


def cards_of(steps: Sequence[Step]) -> float:
    """Return the mean cards of a job of one stage."""
    parts = [part for step in steps for part in step.parts]
    return sum(part.seconds * float(part.use["main"].get("gpu", 0)) for part in parts) / sum(part.seconds for part in parts)


def work_within(steps: Sequence[Step], seconds: float) -> float:
    """Return the cards x seconds that a job of one stage uses in so many seconds at full service."""
    done = 0.0
    for part in (part for step in steps for part in step.parts):
        done += max(0.0, min(part.seconds, seconds)) * float(part.use["main"].get("gpu", 0))
        seconds -= part.seconds
    return done
