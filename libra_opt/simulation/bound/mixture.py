"""The best mixture of known plans that fits into the cards there are: the restricted master program of column generation."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.solvers.highs import Linear

__all__ = ["Mixed", "Mixture"]

_Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Mixed:
    """A mixture at its best.

    Attributes
    ----------
    value
        What it is worth.
    prices
        What one more card-second of each block would add, not negative, shape ``(n_blocks,)``.
    """

    value: float
    prices: _Floats


class Mixture:
    """Plans of jobs, of which each job may follow several in part, together no more than one whole.

    Parameters
    ----------
    n_jobs
        How many jobs there are.
    supply
        Card-seconds of every block of time, shape ``(n_blocks,)``.
    """

    def __init__(self, n_jobs: int, supply: _Floats) -> None:
        self._supply, self._n_jobs = supply, n_jobs
        self._jobs: list[int] = []
        self._worth: list[float] = []
        self._used: list[_Floats] = []

    def add(self, j: int, worth: float, used: _Floats) -> None:
        """Enter a plan of a job: what it is worth, and the card-seconds it takes of every block, shape ``(n_blocks,)``."""
        self._jobs.append(j)
        self._worth.append(worth)
        self._used.append(used)

    def best(self) -> Mixed | None:
        """Return the best mixture; None where there are no plans, or the solver found none."""
        if not self._jobs:
            return None
        n = len(self._jobs)
        whole = sparse.coo_array((np.ones(n), (self._jobs, np.arange(n))), shape=(self._n_jobs, n))
        matrix = sparse.csc_array(sparse.vstack([sparse.csr_array(np.array(self._used).T), whole]))
        high = np.concatenate([self._supply, np.ones(self._n_jobs)])
        found = Linear(np.array(self._worth), matrix, np.full(len(high), -np.inf), high, np.full(n, np.inf)).open()
        return Mixed(found.value, np.maximum(0.0, found.duals[: len(self._supply)])) if found.is_optimal else None
