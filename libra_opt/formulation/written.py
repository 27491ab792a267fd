"""Whole quanta as people write them, each distinct amount once: plans repeat the same few thousand, and writing one takes exact arithmetic."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.quantity import WrittenAmount
from libra_opt.domain.resource import Resource

__all__ = ["Written"]


class _Column(dict[int, WrittenAmount]):
    """The amounts of one resource that were written so far."""

    def __init__(self, resource: Resource) -> None:
        super().__init__()
        self._resource = resource

    def __missing__(self, quanta: int) -> WrittenAmount:
        written = self[quanta] = self._resource.write(quanta)
        return written


class Written:
    """Writes amounts of some resources."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._names = tuple(resource.name for resource in resources)
        self._columns = [_Column(resource) for resource in resources]

    def one(self, r: int, quanta: int) -> WrittenAmount:
        """Return one amount of resource `r`."""
        return self._columns[r][quanta]

    def rows(self, quanta: npt.NDArray[np.int64]) -> Iterator[Amounts]:
        """Yield every row of quanta, shape ``(n, n_resources)``."""
        names = self._names
        columns = (map(column.__getitem__, whole) for column, whole in zip(self._columns, quanta.T.tolist(), strict=True))
        return (Amounts(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
