"""Replay: the states of a recording planned again, and every plan compared with the recorded one byte for byte."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from libra_opt.allocation import allocate
from libra_opt.domain import Plan, State, write
from libra_opt.recorder.pair import Pair, versions

__all__ = ["Difference", "Replayed", "difference", "replay"]

_LONGEST: Final = 200
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place at which two documents differ, and what stands there, as JSON; the path is empty for the document itself."""

    path: str
    recorded: str
    again: str

    def __str__(self) -> str:
        return f"{self.path or 'the document'}: recorded {self.recorded}, now {self.again}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One period planned again.

    Attributes
    ----------
    pair
        The period.
    difference
        The first difference of the plan; None where it is the same, byte for byte.
    other_versions
        Per library whose version is another now: the recorded one and the present one.
    """

    pair: Pair
    difference: Difference | None
    other_versions: dict[str, tuple[str, str]]


def replay(pairs: Iterable[Pair], plan: Callable[[State], Plan] = allocate) -> Iterator[Replayed]:
    """Plan every state again; raises `InputError` at a state that is none."""
    for pair in pairs:
        again = write(plan(pair.state()))
        found = None if again == pair.plan_text else difference(pair.plan_text, again)
        others = {name: (then, versions().get(name, "not installed")) for name, then in pair.versions.items()}
        yield Replayed(pair, found, {name: (then, now) for name, (then, now) in others.items() if then != now})


def difference(recorded: str, again: str) -> Difference:
    """Return the first difference of two texts that are not the same: the first in the order of the recorded document.

    Examples
    --------
    >>> print(difference('{"a": [1, {"b": 2}]}', '{"a": [1, {"b": 3}]}'))
    a[1].b: recorded 2, now 3
    """
    then, now = (json.loads(text, parse_float=_Written, parse_int=_Written) for text in (recorded, again))
    found = next(_differences(then, now, ""), None)
    if found is not None:
        return found
    offset = next(i for i, (one, other) in enumerate(zip_longest(recorded, again)) if one != other)
    return Difference("", *(f"{text[offset : offset + 20]!r} at character {offset} (equal values, written differently)" for text in (recorded, again)))


class _Written(str):
    """A number as it is written, so that 1 and 1.0 are two."""

    __slots__ = ()


def _differences(then: Any, now: Any, path: str) -> Iterator[Difference]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in (*then, *(key for key in now if key not in then)):
            yield from _differences(then.get(key, _NOTHING), now.get(key, _NOTHING), f"{path}.{key}" if path else key)
    elif isinstance(then, list) and isinstance(now, list):
        for i, (one, other) in enumerate(zip_longest(then, now, fillvalue=_NOTHING)):
            yield from _differences(one, other, f"{path}[{i}]")
    elif type(then) is not type(now) or then != now:
        yield Difference(path, _shown(then), _shown(now))


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    text = str(value) if isinstance(value, _Written) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
