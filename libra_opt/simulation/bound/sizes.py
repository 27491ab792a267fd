"""What a job can hold of cards, as few choices: per stage whole units up to what it could ever use, all stages together.

Where there are many, neighbours are one choice that lets the job run as fast as the largest of them and costs as much as the smallest, so that nothing real is
better than its choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, floor
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.simulation.bound.least_use import StageLimits
from libra_opt.simulation.truth import Truth

__all__ = ["MOST_SIZES", "Sizes", "sizes_of"]

MOST_SIZES: Final = 40
"""Most choices of a job."""

_ALMOST: Final = 1e-9
_Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """The choices of one job.

    Attributes
    ----------
    cards
        What each costs, in cards (or in the resource that stands for them), shape ``(n_sizes,)``.
    pace
        Of every part under each, 0..1; 0 where memory or a resource is not there, shape ``(n_sizes, n_parts)``.
    """

    cards: _Floats
    pace: _Floats


def sizes_of(truth: Truth, limits: Sequence[StageLimits], priced: int, memory: int, step: float) -> Sizes:
    """Return the choices of a job.

    Parameters
    ----------
    limits
        Of its stages.
    priced, memory
        Columns of the resource that is priced and of the memory it carries; -1 for no such memory.
    step
        The least by which amounts differ where a stage has no unit.
    """
    demand, need = np.array(truth.demand), np.array(truth.need)
    ladders = []
    for s, limit in enumerate(limits):
        by = limit.unit or step
        carried = need[:, s, memory] / limit.card_mem if memory >= 0 and limit.card_mem > 0 else np.zeros(len(need))
        useful = max(float(demand[:, s, priced].max()) / limit.speed, float(carried.max()), limit.least[priced])
        least, most = ceil(limit.least[priced] / by - _ALMOST), floor(limit.most[priced] / by + _ALMOST)
        ladders.append([by * i for i in range(least, max(least, min(most, ceil(useful / by - _ALMOST))) + 1)])
    choices = [[(x, x) for x in ladder] for ladder in ladders]
    while _count(choices) > MOST_SIZES:
        longest = max(range(len(choices)), key=lambda s: len(choices[s]))
        choices[longest] = _joined(choices[longest])
    cards: list[float] = []
    paces: list[_Floats] = []
    for choice in product(*choices):
        pace = np.ones(len(truth.ends))
        for s, ((_, held), limit) in enumerate(zip(choice, limits, strict=True)):
            with np.errstate(divide="ignore", invalid="ignore"):
                level = np.where(demand[:, s, priced] > 0, limit.speed * held / demand[:, s, priced], 1.0)
            pace = np.minimum(pace, level)
            if memory >= 0 and np.isfinite(limit.card_mem):
                pace = np.where(need[:, s, memory] > limit.card_mem * held * (1 + _ALMOST) + _ALMOST, 0.0, pace)
        if pace.any() or not cards:  # at the least a job may stand with what does nothing, as while it starts
            cards.append(sum(least for least, _ in choice))
            paces.append(pace)
    kept = [i for i in range(len(cards)) if not any(_is_better(cards, paces, k, i) for k in range(len(cards)) if k != i)]
    return Sizes(np.array([cards[i] for i in kept]), np.array([paces[i] for i in kept]).reshape(len(kept), len(truth.ends)))


def _is_better(cards: Sequence[float], paces: Sequence[_Floats], k: int, i: int) -> bool:
    """Return whether a choice costs no more than another and is nowhere slower; of equal ones the first is better."""
    if cards[k] > cards[i] or bool((paces[k] < paces[i]).any()):
        return False
    return k < i or cards[k] < cards[i] or bool((paces[k] > paces[i]).any())


def _count(choices: Sequence[Sequence[tuple[float, float]]]) -> int:
    total = 1
    for ladder in choices:
        total *= len(ladder)
    return total


def _joined(ladder: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join neighbours in twos: (costs as the smallest, as fast as the largest)."""
    return [(ladder[i][0], ladder[min(i + 1, len(ladder) - 1)][1]) for i in range(0, len(ladder), 2)]
