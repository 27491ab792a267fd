"""A resource dimension: its unit, its smallest step, and what being short of it means."""

from fractions import Fraction
from functools import cached_property
from typing import Annotated

from pydantic import Field

from libra_opt.domain.base import Flag, Name, Positive, Value
from libra_opt.domain.quantity import LIMIT, UNLIMITED, WrittenAmount, exact, parse_ratio, render

__all__ = ["CARDS", "CARD_MEMORY", "DEFAULT_RESOURCES", "Resource"]

CARDS, CARD_MEMORY = "gpu", "gpu_mem"
"""The resources that R8's plain units and R9's memory per card speak of, and whose unit is priced by a pool's plain price (R16)."""


class Resource(Value):
    """One dimension that jobs share.

    Attributes
    ----------
    name
        How states call it (``gpu``).
    unit
        What a plain number counts (``GiB``); byte units also take suffixes, ``"80Gi"``.
    quantum
        Smallest step that can be allocated, in units.
    compressible
        True: short of it a stage is slower. False: short of it a stage dies, so its need is covered whenever it runs (R5).
    costly
        True: changing it under a running stage is a resize and costs time (R11). False: it follows freely.
    """

    name: Name
    unit: Annotated[str, Field(strict=True, max_length=64)] = ""
    quantum: Positive = 1
    compressible: Flag = True
    costly: Flag = False

    @cached_property
    def step(self) -> Fraction:
        """The quantum as an exact number of units."""
        return exact(self.quantum)

    def quanta(self, written: WrittenAmount, *, round_up: bool) -> int:
        """Return `written` in whole quanta, rounded as told.

        Raises
        ------
        ValueError
            `parse` refuses the amount, or it comes to 2^63 quanta or more.
        """
        numerator, denominator = parse_ratio(written, self.unit)
        numerator, denominator = numerator * self.step.denominator, denominator * self.step.numerator
        whole = -(-numerator // denominator) if round_up else numerator // denominator
        if whole >= LIMIT:
            raise ValueError(f"{written!r} is {whole} quanta of {self.quantum} {self.unit}, not below 2^63; write less or declare a coarser quantum")
        if round_up and whole * self.step.numerator >= LIMIT * self.step.denominator:
            raise ValueError(f"{written!r} rounds up to {whole} quanta of {self.quantum} {self.unit}, which is not below 2^63 any more; write less")
        return whole

    def ceiling(self, written: WrittenAmount) -> int:
        """Return a maximum in whole quanta, rounded down; a number that comes to 2^63 or more is the same as none."""
        try:
            return min(self.quanta(written, round_up=False), UNLIMITED)
        except ValueError:
            if isinstance(written, str) or not written >= 0:
                raise
            return UNLIMITED

    def write(self, quanta: int) -> WrittenAmount:
        """Return `quanta` as people write it; `quanta(write(n)) == n`."""
        return render(quanta, self.unit, self.step)


DEFAULT_RESOURCES = (
    Resource(name="gpu", unit="cards", quantum=1, compressible=True, costly=True),
    Resource(name="gpu_mem", unit="GiB", quantum=1, compressible=False, costly=True),
    Resource(name="cpu", unit="cores", quantum=0.1, compressible=True, costly=False),
    Resource(name="mem", unit="GiB", quantum=1, compressible=False, costly=False),
    Resource(name="net", unit="GB/s", quantum=0.1, compressible=True, costly=False),
)
"""The five dimensions of a state that names none."""
