"""Series: what was measured, as plain arrays: one row per series, one column per period.

A series knows nothing of resources and quanta, so that methods can be scored on any recorded numbers. `fill` carries the last known value
forward: what the methods look back on has no holes, and whether a period was measured stays with the series.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Series", "fill"]

_Float = TypeVar("_Float", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Series:
    """Series of one kind of amount, one row each, newest period last.

    Attributes
    ----------
    values
        Shape ``(n_series, n_periods)``, float64, not negative, NaN where nothing was measured. Negative or infinite numbers, which the
        door of a state refuses, are taken as not measured.
    step
        Shape ``(n_jobs, n_periods)``, int64: the number of the job's own step (iteration) that a period belongs to, -1 unknown; None: not recorded.
        A job has the same number of neighbouring rows of `values`, one unless said otherwise.
    phase
        Same shape: a code of the stage of its step the job was in, -1 unknown; None: not recorded.
    progress
        Same shape, float64: the done share of that stage of the step, 0 to 1, NaN unknown; None: not recorded.
    """

    values: NDArray[np.float64]
    step: NDArray[np.int64] | None = None
    phase: NDArray[np.int64] | None = None
    progress: NDArray[np.float64] | None = None

    @property
    def measured(self) -> NDArray[np.float64]:
        """The values with everything that is no measurement as NaN, shape ``(n_series, n_periods)``."""
        values = np.asarray(self.values, dtype=np.float64)
        if not values.size or (values.min() >= 0 and values.max() < np.inf):
            return values
        return np.where((values >= 0) & (values < np.inf), values, np.nan)


def fill(measured: NDArray[_Float]) -> NDArray[_Float]:
    """Return the values with every gap filled by the last value before it; NaN only before the first.

    Examples
    --------
    >>> fill(np.array([[np.nan, 1.0, np.nan, 3.0]]))
    array([[nan,  1.,  1.,  3.]])
    """
    gaps = np.isnan(measured)
    if not gaps.any():
        return measured
    newest = np.maximum.accumulate(np.where(gaps, 0, np.arange(measured.shape[1])), axis=1)
    filled: NDArray[_Float] = np.take_along_axis(measured, newest, axis=1)
    return filled
