"""What a forecasting method is: a pure function from observations to demand and the spread around it.

A method says nothing of needs: memory must be covered and not predicted, so `need` does that the same way for all methods.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from libra_opt.forecast.demand import Demand
from libra_opt.forecast.observations import Observations

__all__ = ["Method", "Outlook"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """The next period of a block of stages.

    Attributes
    ----------
    demand
        Shape ``(n_stages, n_resources)``, int64, whole quanta at full service; 0 for incompressible resources.
    intensity
        Shape ``(n_stages, n_factors)``, float64, finite and not negative: equally likely factors on the compressible demand, ascending
        (R6). A row of ones is a demand taken as certain.
    leading
        Which method leads for each stage, where several are combined; else empty.
    ahead
        `demand` and `intensity` of each period after the next, as many as were asked for; empty where what is said of the next holds for them.
    """

    demand: NDArray[np.int64]
    intensity: NDArray[np.float64]
    leading: tuple[str, ...] = ()
    ahead: tuple[tuple[NDArray[np.int64], NDArray[np.float64]], ...] = ()


class Method(Protocol):
    """A way to forecast; without state of its own, every stage by itself."""

    @property
    def name(self) -> str:
        """How plans and reports call the method."""
        ...

    def predict(self, observations: Observations, demand: Demand) -> Outlook:
        """Return the next period of every stage observed."""
        ...
