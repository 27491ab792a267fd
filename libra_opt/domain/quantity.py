"""Quantities as people write them, and the whole quanta that the program counts in.

Here, and nowhere else, a written amount (``8``, ``1.5``, ``"80Gi"``, ``"500m"``) becomes an exact rational number and then a whole
number of quanta, and a number of quanta is written out again. Suffixes are those of Kubernetes (apimachinery, `resource.Quantity`); its own
client has a parser, but importing that client costs over a second, so the table is repeated here and a test holds the two together.
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

__all__ = ["LIMIT", "LONGEST", "PATTERN", "UNLIMITED", "WrittenAmount", "exact", "parse", "parse_ratio", "render", "shortened", "unit_factor"]

LIMIT: Final = 1 << 63
"""Amounts reach up to, not including, this many units, bytes or quanta (as in Kubernetes)."""

UNLIMITED: Final = LIMIT - 1
"""The number of quanta that stands for "no ceiling"."""

WrittenAmount = int | float | str

LONGEST: Final = 64
"""A written amount has at most this many characters."""

PATTERN: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2}|[A-Za-z]+)?"
"""What a text must look like to be read as an amount, as a regular expression of both Python and JSON schema."""

_SUFFIXES: Final = {
    **{name: (1 << (10 * power), 1) for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{name: (1000**power, 1) for power, name in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{name: (1, 1000**power) for power, name in enumerate(("m", "u", "n"), start=1)},
}
_WRITTEN: Final = re.compile(PATTERN, re.ASCII)
_BINARY_UNITS: Final = {"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50}
_DECIMAL_UNITS: Final = {"B": 0, "kB": 3, "MB": 6, "GB": 9, "TB": 12, "PB": 15, "B/s": 0, "kB/s": 3, "MB/s": 6, "GB/s": 9, "TB/s": 12}
_BINARY_SUFFIXES: Final = ((60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki"))


def unit_factor(unit: str) -> int | None:
    """Return how many bytes (or bytes per second) one `unit` is, or None for a unit that is not one of bytes."""
    if unit in _BINARY_UNITS:
        return 1 << _BINARY_UNITS[unit]
    return 10 ** _DECIMAL_UNITS[unit] if unit in _DECIMAL_UNITS else None


def exact(number: float) -> Fraction:
    """Return the rational number that a person means who writes `number`: 0.1 is one tenth."""
    return Fraction(*_ratio(number))


def _ratio(number: float) -> tuple[int, int]:
    # A float without a fraction is that integer, so that equal numbers (2^62 as int and as float) are equal amounts.
    if isinstance(number, int) or number.is_integer():
        return int(number), 1
    return _written_ratio(float(number))


@lru_cache(maxsize=1 << 17)
def _written_ratio(number: float) -> tuple[int, int]:
    # Histories say the same amounts again in every period.
    return Decimal(repr(number)).as_integer_ratio()


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
    return Fraction(*parse_ratio(written, unit))


def shortened(number: float) -> str:
    """Return a number for a message: every digit, but of a longer one than any amount can be only how large it is."""
    text = repr(number)
    return text if len(text) <= LONGEST else f"a number of {len(text)} digits"


def parse_ratio(written: WrittenAmount, unit: str) -> tuple[int, int]:
    """Read one written amount as `parse` does, as numerator and denominator, not reduced (reading a large state is mostly this)."""
    if isinstance(written, str):
        return _parse_text(written, unit)
    if written < 0:
        raise ValueError(f"{written!r} is negative; write 0 or more")
    if not written < LIMIT:
        raise ValueError(f"{shortened(written)} is not below 2^63; write less")
    return _ratio(written)


def _parse_text(written: str, unit: str) -> tuple[int, int]:
    digits, suffix = written[:-2], _SUFFIXES.get(written[-2:])
    if suffix is not None and digits.isascii() and digits.isdigit() and len(written) <= LONGEST:
        whole = int(digits) * suffix[0]
        if whole < LIMIT:
            return whole, unit_factor(unit) or 1
    match = _WRITTEN.fullmatch(written) if len(written) <= LONGEST else None
    if match is None:
        raise ValueError(f"{written[:LONGEST]!r} is not a quantity; write a number or a Kubernetes quantity such as '80Gi' or '500m'")
    tail = match[3] or ""
    has_suffix = tail.isalpha()
    numerator, denominator = Decimal(written[: len(written) - len(tail)] if has_suffix else written).as_integer_ratio()
    factor = unit_factor(unit)
    if not has_suffix:
        if factor is not None and numerator:
            raise ValueError(f"{written!r} leaves open whether it means bytes or {unit}; write the number {written} for {unit}, or a suffix such as '80Gi'")
        factor = None
    elif tail in _SUFFIXES:
        up, down = _SUFFIXES[tail]
        numerator, denominator = numerator * up, denominator * down
    else:
        raise ValueError(f"{written!r} has the unknown suffix {tail!r}; Kubernetes suffixes are {', '.join(_SUFFIXES)}")
    if numerator < 0:
        raise ValueError(f"{written!r} is negative; write 0 or more")
    if numerator >= LIMIT * denominator:
        raise ValueError(f"{written!r} is not below 2^63; write less")
    return numerator, denominator * (factor or 1)


def render(quanta: int, unit: str, quantum: Fraction) -> int | float | str:
    """Write a whole number of quanta so that `parse` reads the same number back.

    Binary byte units are written with a suffix (``"160Gi"``), all others as a plain number in the unit; a number that a float would not
    keep is written as a string of digits (in thousands of bytes, ``"..k"``, where the unit is one of bytes).
    """
    numerator, denominator = quanta * quantum.numerator, quantum.denominator
    if unit in _BINARY_UNITS and numerator:
        size, rest = divmod(numerator << _BINARY_UNITS[unit], denominator)
        if not rest and size < LIMIT:
            for power, suffix in _BINARY_SUFFIXES:
                if size % (1 << power) == 0:
                    return f"{size >> power}{suffix}"
    if numerator % denominator == 0:
        return numerator // denominator
    number = numerator / denominator
    read, per = _ratio(number)
    if read * denominator == numerator * per:
        return number
    value, factor = Fraction(numerator, denominator), unit_factor(unit)
    return _decimal_text(value) if factor is None else f"{_decimal_text(value * factor / 1000)}k"


def _decimal_text(value: Fraction) -> str:
    digits = 0
    scaled = value
    while scaled.denominator != 1:
        scaled *= 10
        digits += 1
    text = str(scaled.numerator).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}" if digits else text
