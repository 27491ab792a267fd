"""Written amounts as arrays of quanta, whole or with their fraction: every way of writing is converted once, measured numbers all at once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.quantity import WrittenAmount, parse_ratio
from libra_opt.domain.resource import Resource

__all__ = ["UNKNOWN", "Reader", "column"]

UNKNOWN: Final = -1
"""Stands where nothing was measured."""

_EXACT_FLOATS: Final = 1 << 53
_CLOSE: Final = 1e-9


def column(samples: Sequence[Mapping[str, WrittenAmount | None]], resource: str) -> list[WrittenAmount | None]:
    """Return the amount of one resource in every sample, None where it is missing."""
    try:
        return list(map(itemgetter(resource), samples))  # half the time of `get`, and most histories have all their keys
    except KeyError:
        return [sample.get(resource) for sample in samples]


class Reader(dict[WrittenAmount | None, int]):
    """Amounts of one resource in quanta, each way of writing converted once."""

    def __init__(self, resource: Resource) -> None:
        super().__init__({None: UNKNOWN})
        self.resource = resource

    def __missing__(self, written: WrittenAmount) -> int:
        quanta = self.resource.quanta(written, round_up=True)
        # Above 2^53 an integer and the float equal to it are written differently and mean different numbers, but would share a key.
        if isinstance(written, str) or written < _EXACT_FLOATS:
            self[written] = quanta
        return quanta

    def read(self, written: list[WrittenAmount | None]) -> NDArray[np.int64]:
        """Return the quanta of each amount, shape ``(len(written),)``.

        Measured numbers seldom repeat, so those that a float division places clearly between two quanta are rounded up all at once;
        numbers close to a whole count, large ones and strings are read exactly.
        """
        try:
            counts = np.array(written, dtype=np.float64) / float(self.resource.step)
        except ValueError:
            return self._exactly(written)
        clear = np.abs(counts - np.rint(counts)) > _CLOSE * np.maximum(counts, 1)
        if not clear.any():
            return self._exactly(written)
        quanta = np.empty(len(written), dtype=np.int64)
        quanta[clear] = np.ceil(counts[clear]).astype(np.int64)
        quanta[~clear] = self._exactly(written[i] for i in np.flatnonzero(~clear).tolist())
        return quanta

    def measure(self, written: list[WrittenAmount | None]) -> NDArray[np.float64]:
        """Return each amount in quanta and parts of them, shape ``(len(written),)``; NaN where it is missing.

        A stage that uses 1.03 cards uses neither one nor two.
        """
        try:
            return np.array(written, dtype=np.float64) / float(self.resource.step)
        except ValueError:
            return np.fromiter(map(self._measured, written), dtype=np.float64)

    def _measured(self, written: WrittenAmount | None) -> float:
        if written is None:
            return math.nan
        numerator, denominator = parse_ratio(written, self.resource.unit)
        return float(Fraction(numerator, denominator) / self.resource.step)

    def _exactly(self, written: Iterable[WrittenAmount | None]) -> NDArray[np.int64]:
        return np.fromiter(map(self.__getitem__, written), dtype=np.int64)
