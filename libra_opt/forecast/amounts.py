"""Written amounts as arrays of quanta, whole or with their fraction: every way of writing is converted once, measured numbers all at once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import compress
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
_MOST_PARTS: Final = 10**6
_MOST_COUNTED: Final = 10**9
"""Fewer than so many of such parts of a unit have at most 15 digits."""


def column(samples: Sequence[Mapping[str, WrittenAmount | None]], resource: str, missing: WrittenAmount | None = None) -> list[WrittenAmount | None]:
    """Return the amount of one resource in every sample, `missing` where it has none."""
    try:
        return list(map(itemgetter(resource), samples))  # half the time of `get`, and most histories have all their keys
    except KeyError:
        return [sample.get(resource, missing) for sample in samples]


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

    def read(self, written: Sequence[WrittenAmount | None]) -> NDArray[np.int64]:
        """Return the quanta of each amount, shape ``(len(written),)``.

        Measured numbers seldom repeat, so those that a float division places clearly between two quanta are rounded up all at once, and those that are
        written as a whole count of a decimal quantum are taken for it; other numbers close to a whole count, large ones and texts are read exactly.
        """
        return self._whole(written, _numbers(written))

    def measure(self, written: Sequence[WrittenAmount | None]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the quanta of each amount as `read` does, and the amount in quanta and parts of them, NaN where it is missing; shape ``(len(written),)``.

        A stage that uses 1.03 cards uses neither one nor two.
        """
        numbers = _numbers(written)
        if numbers is None:
            return self._whole(written, None), np.fromiter(map(self._measured, written), dtype=np.float64)
        return self._whole(written, numbers), numbers / float(self.resource.step)

    def _whole(self, written: Sequence[WrittenAmount | None], numbers: NDArray[np.float64] | None) -> NDArray[np.int64]:
        if numbers is None:
            return self._exactly(written)
        counts = numbers / float(self.resource.step)
        nearest = np.rint(counts)
        clear = np.abs(counts - nearest) > _CLOSE * np.maximum(counts, 1)
        close = ~(clear | np.isnan(numbers))
        quanta = np.full(len(written), UNKNOWN, dtype=np.int64)
        quanta[clear] = np.ceil(counts[clear]).astype(np.int64)
        if close.any():
            quanta[close] = self._close(list(compress(written, close.tolist())), numbers[close], nearest[close])
        return quanta

    def _close(self, written: Sequence[WrittenAmount | None], numbers: NDArray[np.float64], nearest: NDArray[np.float64]) -> NDArray[np.int64]:
        """Read amounts close to a whole count.

        No two decimals of at most 15 digits are the same float, so a float that equals the quotient of such a decimal means it.
        """
        each = self.resource.step.denominator
        if self.resource.step.numerator != 1 or _MOST_PARTS % each or any(issubclass(kind, str) for kind in set(map(type, written))):
            return self._exactly(written)
        meant = (numbers == nearest / each) & (nearest < _MOST_COUNTED)
        quanta = np.where(meant, nearest, UNKNOWN).astype(np.int64)
        if not meant.all():
            quanta[~meant] = self._exactly(compress(written, (~meant).tolist()))
        return quanta

    def _measured(self, written: WrittenAmount | None) -> float:
        if written is None:
            return math.nan
        numerator, denominator = parse_ratio(written, self.resource.unit)
        return float(Fraction(numerator, denominator) / self.resource.step)

    def _exactly(self, written: Iterable[WrittenAmount | None]) -> NDArray[np.int64]:
        return np.fromiter(map(self.__getitem__, written), dtype=np.int64)


def _numbers(written: Sequence[WrittenAmount | None]) -> NDArray[np.float64] | None:
    """Return the amounts as numbers, NaN where one is missing; None where some are texts that are no plain number."""
    try:
        return np.array(written, dtype=np.float64)
    except ValueError:
        return None
