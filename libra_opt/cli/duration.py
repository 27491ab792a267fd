"""Durations as people write them."""

import re
from typing import Final

from libra_opt.errors import Fault

__all__ = ["seconds_of"]

_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|)")
_LIMITS: Final = (0.001, 1e6)


def seconds_of(text: str, option: str, faults: list[Fault]) -> float:
    """Return the seconds of a duration such as ``60s``, ``2m`` or ``90``."""
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not _LIMITS[0] <= seconds <= _LIMITS[1]:
        faults.append(Fault(option, f"{text!r} is no duration from {_LIMITS[0]:g} to {_LIMITS[1]:,.0f} seconds; write such as 60s, 2m or 90"))
        return 1.0
    return seconds
