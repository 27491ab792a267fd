"""Need: how much of an incompressible resource covers the next period (R5).

Short of memory a stage dies, so its need is not a mean but an upper quantile of what was measured, with a margin on top, and never under
what it holds by the last measurement.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.observations import Observations

__all__ = ["COVERAGE_PERCENT", "MARGIN_PERCENT", "Cover", "cover"]

COVERAGE_PERCENT: Final = 99
"""Share of next periods the quantile is to cover."""

MARGIN_PERCENT: Final = 10
"""Added where a history is not constant: a short history has not seen its own maximum. A first, modest choice; a closed loop under memory
pressure gains from more."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Needs of a block of stages.

    Attributes
    ----------
    need
        Shape ``(n_stages, n_resources)``, int64, whole quanta, never above the ceiling; 0 for compressible resources.
    short
        Same shape: where the ceiling is under what the history, without the margin, asks for; the stage may run out of memory.
    """

    need: NDArray[np.int64]
    short: NDArray[np.bool_]


def cover(observations: Observations, ceiling: NDArray[np.int64]) -> Cover:
    """Return the needs that cover the next period.

    The quantile is the order statistic of rank ``ceil(0.99 * (n + 1))`` among `n` known values, which the next of exchangeable values exceeds in at
    most 1 % of cases (Vovk, Gammerman, Shafer, *Algorithmic Learning in a Random World*, 2005); with fewer than 99 values it is their maximum.

    Parameters
    ----------
    ceiling
        Shape ``(n_stages, n_resources)``: the most that can be allocated.
    """
    ascending = np.sort(observations.quanta, axis=1)  # what is unknown comes first, as it is negative
    n_periods = ascending.shape[1]
    n_known = observations.known.sum(axis=1, dtype=np.int64)
    rank = np.minimum(n_known, -(-COVERAGE_PERCENT * (n_known + 1) // 100))
    highest = _pick(ascending, np.maximum(n_periods - n_known + rank - 1, 0))
    lowest = _pick(ascending, np.minimum(n_periods - n_known, n_periods - 1))
    covered = np.maximum(highest, observations.last())
    varies = ascending[:, -1] != lowest
    room = np.iinfo(np.int64).max - covered
    margin = np.where(varies, np.minimum(_margin(covered), room), 0)
    memory = ~observations.compressible
    return Cover(np.where(memory, np.minimum(covered + margin, ceiling), 0), memory & (covered > ceiling))


def _margin(quanta: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `MARGIN_PERCENT` of `quanta`, rounded up; hundreds and rest apart, as the product with large quanta would overflow."""
    margin: NDArray[np.int64] = quanta // 100 * MARGIN_PERCENT - (-(quanta % 100) * MARGIN_PERCENT // 100)
    return margin


def _pick(ascending: NDArray[np.int64], period: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.take_along_axis(ascending, period[:, None], axis=1)[:, 0]
