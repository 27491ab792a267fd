"""Keys that a JSON object has twice: every common reader keeps the last and drops the others in silence, so they are looked for here."""

import json
from collections.abc import Iterator
from typing import Final

from libra_opt.domain.faults import Location

__all__ = ["may_repeat_keys", "repeated_keys"]

_ESCAPED_COLON: Final = ("\\u003a", "\\u003A")


class _Object(dict[str, object]):
    """A JSON object that remembers which of its keys it was given more than once."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self.repeated: list[str] = []
        if len(self) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self.repeated.append(key)
                seen.add(key)


def may_repeat_keys(text: str, written: str) -> bool:
    """Tell whether a document that was read may repeat keys, given the document as it is written again (cheaper than reading it twice).

    There is one colon per key and one per colon inside a string. What was written again has every key once; so, unless colons are
    written as escapes, it has as many colons as the text exactly when no key was dropped.
    """
    return text.count(":") != written.count(":") or any(escape in text for escape in _ESCAPED_COLON)


def repeated_keys(text: str) -> tuple[Location, ...]:
    """Return the places of a well-formed document at which an object has a key once more."""
    return tuple(dict.fromkeys(_search(json.loads(text, object_pairs_hook=_Object), ())))


def _search(value: object, loc: Location) -> Iterator[Location]:
    if isinstance(value, _Object):
        for key in value.repeated:
            yield (*loc, key)
        for key, inner in value.items():
            yield from _search(inner, (*loc, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from _search(inner, (*loc, i))
