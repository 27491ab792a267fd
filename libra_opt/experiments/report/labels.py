"""Names out of files as labels of plots: short, unlike each other, and nothing in them that a plot or a page would take for markup."""

from collections.abc import Sequence
from html import escape
from typing import Final

__all__ = ["labels", "plain_text"]

_LONGEST: Final = 36


def labels(names: Sequence[str]) -> list[str]:
    """Return one label per name, for plotly, which reads some HTML in its texts.

    Examples
    --------
    >>> labels(["a", "<b>a</b>"])
    ['a', '&lt;b&gt;a&lt;/b&gt;']
    """
    found: list[str] = []
    for i, name in enumerate(names):
        shown = plain_text(name)
        short = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
        label = escape(short, quote=False).replace("$", "&#36;")  # between two dollars plotly looks for mathematics
        found.append(label if label not in found else f"{label} ({i})")
    return found


def plain_text(text: str) -> str:
    """Return text with everything that does not print, or would turn its direction, written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
