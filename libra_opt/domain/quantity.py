"""Quantities as people write them, and the whole quanta that the program counts in.

Here, and nowhere else, a written amount (``8``, ``1.5``, ``"80Gi"``, ``"500m"``) becomes an exact rational number and then a whole
number of quanta, and a number of quanta is written out again. Suffixes are those of Kubernetes (apimachinery, `resource.Quantity`); its own
client has a parser, but importing that client costs over a second, so the table is repeated here and a test holds the two together.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

__all__ = ["LIMIT", "UNLIMITED", "WrittenAmount", "exact", "parse", "render", "unit_factor"]

LIMIT: Final = 1 << 63
"""Amounts reach up to, not including, this many units, bytes or quanta (as in Kubernetes)."""

UNLIMITED: Final = LIMIT - 1
"""The number of quanta that stands for "no ceiling"."""

WrittenAmount = int | float | str

_SUFFIXES: Final = {
    **{name: Fraction(1 << (10 * power)) for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{name: Fraction(1000) ** power for power, name in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{name: Fraction(1, 1000**power) for power, name in enumerate(("m", "u", "n"), start=1)},
}
_WRITTEN: Final = re.compile(r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE](?P<exponent>[+-]?[0-9]{1,2})|(?P<suffix>[A-Za-z]+))?")
_BINARY_UNITS: Final = {"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50}
_DECIMAL_UNITS: Final = {"B": 0, "kB": 3, "MB": 6, "GB": 9, "TB": 12, "PB": 15, "B/s": 0, "kB/s": 3, "MB/s": 6, "GB/s": 9, "TB/s": 12}
_BINARY_SUFFIXES: Final = ((60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki"))
_LONGEST: Final = 64


def unit_factor(unit: str) -> int | None:
    """Return how many bytes (or bytes per second) one `unit` is, or None for a unit that is not one of bytes."""
    if unit in _BINARY_UNITS:
        return 1 << _BINARY_UNITS[unit]
    return 10 ** _DECIMAL_UNITS[unit] if unit in _DECIMAL_UNITS else None


def exact(number: float) -> Fraction:
    """Return the rational number that a person means who writes `number`: 0.1 is one tenth."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


@lru_cache(maxsize=65536)
def parse(written: WrittenAmount, unit: str) -> Fraction:
    """Read one written amount as a multiple of `unit`.

    A plain number counts units; a string with a suffix is absolute (``"80Gi"`` bytes, ``"500m"`` of a core).

    Raises
    ------
    ValueError
        The amount is negative, too large, has an unknown suffix, or leaves open whether it counts bytes or units.

    Examples
    --------
    >>> parse("80Gi", "GiB"), parse("500m", "cores"), parse(1.5, "cores")
    (Fraction(80, 1), Fraction(1, 2), Fraction(3, 2))
    """
    if isinstance(written, str):
        value = _parse_text(written, unit)
    else:
        value = exact(written)
        if value >= LIMIT:
            raise ValueError(f"{written!r} is not below 2^63")
    if value < 0:
        raise ValueError(f"{written!r} is negative; write 0 or more")
    return value


def _parse_text(written: str, unit: str) -> Fraction:
    match = _WRITTEN.fullmatch(written) if len(written) <= _LONGEST else None
    if match is None:
        raise ValueError(f"{written[:_LONGEST]!r} is not a quantity; write a number or a Kubernetes quantity such as '80Gi' or '500m'")
    number = Fraction(match["number"])
    factor = unit_factor(unit)
    suffix = match["suffix"]
    if suffix is None:
        if factor is not None and number != 0:
            raise ValueError(f"{written!r} leaves open whether it means bytes or {unit}; write the number {written} for {unit}, or a suffix such as '80Gi'")
        value = number * Fraction(10) ** int(match["exponent"] or 0)
        absolute = value
    elif suffix in _SUFFIXES:
        absolute = number * _SUFFIXES[suffix]
        value = absolute / (factor or 1)
    else:
        raise ValueError(f"{written!r} has the unknown suffix {suffix!r}; Kubernetes suffixes are {', '.join(_SUFFIXES)}")
    if absolute >= LIMIT:
        raise ValueError(f"{written!r} is not below 2^63")
    return value


def render(quanta: int, unit: str, quantum: Fraction) -> int | float | str:
    """Write a whole number of quanta so that `parse` reads the same number back.

    Binary byte units are written with a suffix (``"160Gi"``), all others as a plain number in the unit; a number that a float would not
    keep is written as a string of digits.
    """
    value = quanta * quantum
    if unit in _BINARY_UNITS and value:
        size = value * (1 << _BINARY_UNITS[unit])
        if size.denominator == 1 and size < LIMIT:
            for power, suffix in _BINARY_SUFFIXES:
                if size.numerator % (1 << power) == 0:
                    return f"{size.numerator >> power}{suffix}"
    if value.denominator == 1:
        return value.numerator
    number = float(value)
    if exact(number) == value:
        return number
    return _decimal_text(value)


def _decimal_text(value: Fraction) -> str:
    digits = 0
    scaled = value
    while scaled.denominator != 1:
        scaled *= 10
        digits += 1
    text = str(scaled.numerator).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}"
