"""The members of a JSON object as they stand in the text, byte for byte: for documents inside a document."""

import json
from typing import Final

__all__ = ["members"]

_SPACE: Final = " \t\n\r"
_DECODER: Final = json.JSONDecoder()


def members(text: str) -> dict[str, str]:
    """Return the text of every member of the one object that `text` is, in their order.

    Raises
    ------
    ValueError
        It is no JSON object, or has a key twice; the message says where.

    Examples
    --------
    >>> members('{"a": 1.50, "b": {"c" : []}}')
    {'a': '1.50', 'b': '{"c" : []}'}
    """
    found: dict[str, str] = {}
    place = _expect(text, 0, "{")
    if _next(text, place) == "}":
        _end(text, _expect(text, place, "}"))
        return found
    while True:
        key, place = _value(text, place)
        if not key.startswith('"'):
            raise ValueError(f"a key is expected at character {place - len(key)}, not {key[:20]}")
        name = str(json.loads(key))
        if name in found:
            raise ValueError(f"the key {name!r} is written twice in one object, and readers differ in which they take; delete one")
        found[name], place = _value(text, _expect(text, place, ":"))
        if _next(text, place) != ",":
            _end(text, _expect(text, place, "}"))
            return found
        place = _expect(text, place, ",")


def _value(text: str, place: int) -> tuple[str, int]:
    start = _skip(text, place)
    try:
        end = _DECODER.raw_decode(text, start)[1]
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    return text[start:end], end


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place


def _next(text: str, place: int) -> str:
    place = _skip(text, place)
    return text[place : place + 1]


def _expect(text: str, place: int, mark: str) -> int:
    place = _skip(text, place)
    if text[place : place + 1] != mark:
        raise ValueError(f"{mark!r} is expected at character {place}" if place < len(text) else "it ends early")
    return place + 1


def _end(text: str, place: int) -> None:
    if _skip(text, place) < len(text):
        raise ValueError(f"something follows the object at character {_skip(text, place)}")
