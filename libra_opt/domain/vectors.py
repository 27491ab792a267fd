"""Written amounts as vectors of whole quanta: every distinct amount is converted once, as states repeat the same few."""

from collections.abc import Callable, Mapping, Sequence
from operator import getitem, itemgetter
from typing import Final, TypeAlias

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.quantity import WrittenAmount
from libra_opt.domain.resource import Resource

__all__ = ["Vector", "Vectors"]

Vector: TypeAlias = tuple[int, ...]

_Pick: TypeAlias = Callable[[Vector], Vector] | None

_SURE: Final = 1 << 52
"""Plain numbers below so many units and quanta need no exact conversion to be known to have one."""


class _Column(dict[WrittenAmount, int]):
    """The amounts of one resource that were converted so far."""

    def __init__(self, resource: Resource, convert: Callable[[Resource, WrittenAmount], int]) -> None:
        super().__init__()
        self._resource = resource
        self._convert = convert

    def __missing__(self, written: WrittenAmount) -> int:
        whole = self[written] = self._convert(self._resource, written)
        return whole


class Vectors:
    """Converts amounts with one way of rounding.

    Parameters
    ----------
    resources
        The dimensions, in their order.
    convert
        A resource and a written amount to whole quanta; raises ValueError with what is wrong.
    """

    def __init__(self, resources: Sequence[Resource], convert: Callable[[Resource, WrittenAmount], int]) -> None:
        self._names = tuple(resource.name for resource in resources)
        self._columns = {resource.name: _Column(resource, convert) for resource in resources}
        self._sure = {resource.name: min(_SURE, float(resource.step) * _SURE) for resource in resources}
        self._layouts: dict[tuple[str, ...], tuple[tuple[_Column, ...], _Pick]] = {}

    def is_sure(self, amounts: Mapping[str, WrittenAmount | None]) -> bool:
        """Return whether all amounts are plain numbers, or none, that can surely be converted: measured ones seldom repeat, and this takes a look only."""
        for name, written in amounts.items():
            if name not in self._sure or not (written is None or (not isinstance(written, str) and 0 <= written < self._sure[name])):
                return False
        return True

    def convert(self, amounts: Amounts, default: Vector) -> Vector:
        """Return the amounts in whole quanta, and the default where one is missing.

        Raises
        ------
        KeyError
            An amount is of an unknown resource.
        ValueError
            An amount cannot be converted.
        """
        names = tuple(amounts)
        columns, pick = self._layouts.get(names) or self._lay_out(names)
        given = tuple(map(getitem, columns, amounts.values()))
        return given if pick is None else pick(given + default)

    def _lay_out(self, names: tuple[str, ...]) -> tuple[tuple[_Column, ...], _Pick]:
        """Return the columns of amounts that are named in this order, and how the vector is picked from the amounts followed by the default."""
        columns = tuple(self._columns[name] for name in names)
        given = {name: position for position, name in enumerate(names)}
        order = [given.get(name, len(names) + r) for r, name in enumerate(self._names)]
        if names == self._names:
            pick: _Pick = None
        elif len(order) == 1:
            pick = itemgetter(slice(order[0], order[0] + 1))
        else:
            pick = itemgetter(*order)
        self._layouts[names] = columns, pick
        return columns, pick

    def faults(self, amounts: Amounts) -> list[tuple[str, str]]:
        """Return what keeps the amounts from being converted: the resource, and why."""
        found = []
        for name, written in amounts.items():
            try:
                self._columns[name][written]
            except KeyError:
                found.append((name, f"unknown resource; this state has {', '.join(self._columns)}"))
            except ValueError as error:
                found.append((name, str(error)))
        return found

    def convertible(self, amounts: Amounts) -> tuple[Amounts, list[tuple[str, str]]]:
        """Return the amounts that can be converted, and what keeps the others from it."""
        found = self.faults(amounts)
        broken = {name for name, _ in found}
        return Amounts({name: written for name, written in amounts.items() if name not in broken}), found
