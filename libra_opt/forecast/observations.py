"""Observations: histories as written become arrays of whole quanta, blocks of stages at a time.

Stages are independent of each other, so a block is only a matter of memory: histories of similar length share one, and one very
long history does not pad all others to its length. Nothing is judged or filled in here; what was not measured stays `UNKNOWN`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.quantity import WrittenAmount
from libra_opt.domain.resource import Resource

__all__ = ["UNKNOWN", "History", "Observations", "observe"]

History = Sequence[Mapping[str, WrittenAmount | None]]
"""Amounts as written per resource, one entry per period, oldest first."""

UNKNOWN: Final = -1
"""Stands where nothing was measured."""

_CELLS_AT_ONCE: Final = 1 << 20
_EXACT_FLOATS: Final = 1 << 53
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Observations:
    """What was measured of a block of stages.

    Attributes
    ----------
    stages
        Shape ``(n_stages,)``: which of the histories given the rows are.
    quanta
        Shape ``(n_stages, n_periods, n_resources)``, int64, newest period last, at least one period; `UNKNOWN` where not measured.
    compressible
        Shape ``(n_resources,)``.
    """

    stages: tuple[int, ...]
    quanta: NDArray[np.int64]
    compressible: NDArray[np.bool_]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Shape of `quanta`: where something was measured."""
        return np.not_equal(self.quanta, UNKNOWN)

    def last(self) -> NDArray[np.int64]:
        """Return the last known quanta, shape ``(n_stages, n_resources)``; 0 where nothing was ever measured."""
        n_periods = self.quanta.shape[1]
        newest = (n_periods - 1 - self.known[:, ::-1].argmax(axis=1))[:, None]
        return np.maximum(np.take_along_axis(self.quanta, newest, axis=1)[:, 0], 0)


def observe(histories: Sequence[History], resources: Sequence[Resource]) -> Iterator[Observations]:
    """Read histories, amounts rounded up to quanta, in blocks that together hold each history once.

    The histories are those of a valid state: their amounts parse, are not negative and stay below 2^63 quanta.
    """
    readers = [_Reader(resource) for resource in resources]
    compressible = np.array([resource.compressible for resource in resources], dtype=np.bool_)
    compressible.flags.writeable = False
    for stages in _blocks([len(history) for history in histories], len(resources)):
        quanta = _aligned([histories[i] for i in stages], readers)
        yield Observations(stages, quanta, compressible)


def _blocks(lengths: Sequence[int], n_resources: int) -> Iterator[tuple[int, ...]]:
    block: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[i] * n_resources > _CELLS_AT_ONCE:
            yield tuple(block)
            block = []
        block.append(i)
    if block:
        yield tuple(block)


def _aligned(histories: Sequence[History], readers: Sequence["_Reader"]) -> NDArray[np.int64]:
    lengths = np.array([len(history) for history in histories], dtype=np.int64)
    n_periods = max(1, int(lengths.max(initial=0)))
    given = np.arange(n_periods) >= n_periods - lengths[:, None]
    quanta = np.full((len(histories), n_periods, len(readers)), UNKNOWN, dtype=np.int64)
    samples = [sample for history in histories for sample in history]
    for r, reader in enumerate(readers):
        quanta[:, :, r][given] = reader.read(_column(samples, reader.resource.name))
    quanta.flags.writeable = False
    return quanta


def _column(samples: History, resource: str) -> list[WrittenAmount | None]:
    try:
        return list(map(itemgetter(resource), samples))  # half the time of `get`, and most histories have all their keys
    except KeyError:
        return [sample.get(resource) for sample in samples]


class _Reader(dict[WrittenAmount | None, int]):
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

    def _exactly(self, written: Iterable[WrittenAmount | None]) -> NDArray[np.int64]:
        return np.fromiter(map(self.__getitem__, written), dtype=np.int64)
