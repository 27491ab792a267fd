"""Where a state contradicts itself: collected while it is entered into the ledger, so that all are reported at once."""

from collections.abc import Iterable
from typing import Final

from libra_opt.domain.faults import Location

__all__ = ["Contradictions"]

_MOST: Final = 10_000
"""So many are kept: a document of a hundred megabytes can hold millions."""


class Contradictions:
    """A growing list of places and what is wrong there.

    Parameters
    ----------
    unsure
        Collections (``resources``, ``pools``, ``queues``) that are not known whole, as they are broken in the document; what would be wrong
        only because of that is not collected.
    """

    def __init__(self, unsure: Iterable[str] = ()) -> None:
        self.found: list[tuple[Location, str]] = []
        self._unsure = frozenset(unsure)

    def add(self, loc: Location, message: str, depends_on: str = "") -> None:
        """Add what is wrong at a place; `depends_on` names the collection that has to be whole for it to be wrong."""
        if depends_on not in self._unsure and len(self.found) < _MOST:
            self.found.append((loc, message))
