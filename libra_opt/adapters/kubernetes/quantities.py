"""Kubernetes quantities and the whole quanta of the state, both ways, exactly; the parser and the suffixes are the domain's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final, TypeAlias

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.quantity import parse, unit_factor
from libra_opt.domain.resource import Resource

__all__ = ["Vector", "Vocabulary"]

Vector: TypeAlias = tuple[int, ...]
"""Whole quanta by resource."""

_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How the state and Kubernetes call the same resources.

    Attributes
    ----------
    resources
        Those of the state.
    keys
        How Kubernetes calls each.
    """

    resources: tuple[Resource, ...]
    keys: tuple[str, ...]

    @property
    def zero(self) -> Vector:
        """Nothing of anything."""
        return (0,) * len(self.resources)

    def read(self, amounts: Mapping[str, object], *, round_up: bool) -> Vector:
        """Return what is asked for or there is of each resource; other resources do not count, and what is no quantity is nothing."""
        return tuple(_quanta(amounts.get(key, 0), resource, round_up=round_up) for key, resource in zip(self.keys, self.resources, strict=True))

    def amounts(self, vector: Sequence[int]) -> Amounts:
        """Return a vector as a state writes it; resources of which there is nothing are left out."""
        return Amounts({resource.name: resource.write(quanta) for resource, quanta in zip(self.resources, vector, strict=True) if quanta})

    def every(self, vector: Sequence[int]) -> Amounts:
        """Return a vector as a state writes it, with every resource."""
        return Amounts({resource.name: resource.write(quanta) for resource, quanta in zip(self.resources, vector, strict=True)})

    def vector(self, amounts: Amounts) -> Vector:
        """Return the amounts of a state or a plan in whole quanta."""
        return tuple(resource.quanta(amounts.get(resource.name, 0), round_up=True) for resource in self.resources)

    def quantity(self, r: int, quanta: int) -> str:
        """Return the amount of resource `r` as Kubernetes writes it.

        Examples
        --------
        >>> cores = Resource(name="cpu", unit="cores", quantum=0.001)
        >>> Vocabulary((cores,), ("cpu",)).quantity(0, 36800), Vocabulary((cores,), ("cpu",)).quantity(0, 2000)
        ('36800m', '2')
        """
        resource = self.resources[r]
        factor = unit_factor(resource.unit)
        value = quanta * resource.step * (factor or 1)
        if value.denominator != 1:
            return f"{ceil(value * 1000)}m"
        whole = value.numerator
        if factor is None or whole == 0:
            return str(whole)
        for power in range(len(_BINARY), 0, -1):
            if whole % (1 << 10 * power) == 0:
                return f"{whole >> 10 * power}{_BINARY[power - 1]}"
        return str(whole)


def _quanta(written: object, resource: Resource, *, round_up: bool) -> int:
    if not isinstance(written, (int, float, str)) or isinstance(written, bool):
        return 0
    try:
        absolute = parse(str(written), "")
    except ValueError:
        return 0
    quanta = absolute / (unit_factor(resource.unit) or 1) / Fraction(resource.step)
    return ceil(quanta) if round_up else floor(quanta)
