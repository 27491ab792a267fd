"""Rollouts as curves: how many trajectories of a batch still decode and run tools, from heavy-tailed lengths.

All trajectories of a batch start together; the batch ends with the longest. Decoding and tools alternate within a trajectory, many times over, so that at
any moment a share of it decodes.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["TRAJECTORY_SOURCES", "Batch", "Lengths", "Stretch", "draw_batch", "draw_lengths", "stretches"]

_SPREADS: Final = (0.3, 0.6)
_LONGEST: Final = (2.2, 4.0)
_TAIL_SHARE: Final = 0.02
_TAIL_INDEX: Final = 1.5
_TOOL_SHAPE: Final = (2.6, 7.4)
_ALIVE: Final = (0.92, 0.78, 0.62, 0.46, 0.31, 0.18, 0.08, 0.03)
_LEAST_SECONDS: Final = 8.0

TRAJECTORY_SOURCES: Final = (
    (
        f"lengths of trajectories: log-normal, spread {_SPREADS[0]:g} to {_SPREADS[1]:g} by job, {_TAIL_SHARE:.0%} of them of a Pareto tail of index "
        f"{_TAIL_INDEX:g} from twice the median on, cut at {_LONGEST[0]:g} to {_LONGEST[1]:g} medians (the longest allowed); the mean is 30 to 50 % of "
        "the longest, between what PolyTrace recorded of DAPO (7 to 10 %) and of Search-R1 and DeepCoder (56 and 65 %)"
    ),
    "share of a trajectory in tools: beta distributed, mean 26 %, as measured in the coding agents recorded by AgentCgroup (arXiv 2602.09345); spread assumed",
    "a batch starts together and ends with its longest trajectory (synchronous rollouts: RollPacker, arXiv 2509.21009)",
    "cards that engines can use: whole engines, in proportion to the trajectories that decode, so that a tail fits on few cards (assumed)",
)
"""Where the figures are from, and what was assumed."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the trajectories of a job are.

    Attributes
    ----------
    spread
        Standard deviation of the logarithm.
    longest
        Where they are cut, in medians.
    """

    spread: float
    longest: float


@dataclass(frozen=True, slots=True)
class Batch:
    """Trajectories of one rollout.

    Attributes
    ----------
    seconds
        ``(n,)``: how long each takes at full service.
    tokens
        ``(n,)``: what each has generated when it ends.
    tools
        ``(n,)``: share of its time in tools.
    """

    seconds: NDArray[np.float64]
    tokens: NDArray[np.float64]
    tools: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a rollout.

    Attributes
    ----------
    seconds
        How long it takes.
    decoding
        Mean number of trajectories that decode, over how many did at the beginning.
    calls
        Mean number of tool calls under way.
    alive
        Mean number of trajectories that are not done.
    """

    seconds: float
    decoding: float
    calls: float
    alive: float


def draw_lengths(generator: np.random.Generator) -> Lengths:
    """Draw how long the trajectories of a job are."""
    return Lengths(float(generator.uniform(*_SPREADS)), float(generator.uniform(*_LONGEST)))


def draw_batch(n: int, lengths: Lengths, median_tokens: float, token_seconds: float, generator: np.random.Generator) -> Batch:
    """Draw a batch.

    Parameters
    ----------
    n
        How many trajectories.
    lengths
        How they spread.
    median_tokens
        Median of the tokens generated.
    token_seconds
        Seconds per token of one trajectory while it decodes.
    generator
        Where every random number comes from.
    """
    length = generator.lognormal(0, lengths.spread, n)
    in_tail = generator.random(n) < _TAIL_SHARE
    length = np.minimum(np.where(in_tail, 2 * (1 + generator.pareto(_TAIL_INDEX, n)), length), lengths.longest)
    tools = generator.beta(*_TOOL_SHAPE, n)
    tokens = median_tokens * length
    return Batch(tokens * token_seconds / (1 - tools), tokens, tools)


def stretches(batch: Batch) -> list[Stretch]:
    """Cut a rollout into stretches as its trajectories end, and return the means of each; together they hold all the work of the batch."""
    ends = np.sort(batch.seconds)
    n = len(ends)
    cuts = sorted({float(ends[min(n - 1, int(n * (1 - alive)))]) for alive in _ALIVE} | {float(ends[-1])})
    edges = [0.0]
    for cut in cuts:
        if cut - edges[-1] >= _LEAST_SECONDS:
            edges.append(cut)
    if edges[-1] < cuts[-1]:
        edges[-1:] = [cuts[-1]] if len(edges) > 1 else [0.0, cuts[-1]]
    start, end = np.array(edges[:-1]), np.array(edges[1:])
    length = end - start
    inside = np.clip(batch.seconds[:, None] - start, 0, length) / length
    decodes = 1 - batch.tools
    rows = zip(length, decodes @ inside / decodes.sum(), batch.tools @ inside, inside.sum(axis=0), strict=True)
    return [Stretch(*map(float, row)) for row in rows]
