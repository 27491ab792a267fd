"""A profile: a measured table of what a stage may hold and how fast it is with it, in place of a demand and a service curve (R15)."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.base import Name, Numerous, Positive
from libra_opt.domain.vectors import Vector

__all__ = ["LONGEST_PROFILE", "Entry", "Profile", "ProfileEntry", "profile_of"]

LONGEST_PROFILE = 1000
"""A profile has at most this many entries."""


class ProfileEntry(Numerous):
    """One line of a profile: where, with what, how fast.

    Attributes
    ----------
    pool
        The pool it was measured in.
    resources
        What the stage held, in whole quanta; every entry of a profile lists the same resources.
    rate
        Its progress with that, in the job's own unit per second or relative to anything, positive; a configuration that cannot run is left out.
    """

    pool: Name
    resources: Amounts
    rate: Positive


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry in whole quanta.

    Attributes
    ----------
    pool
        Index of its pool.
    amounts
        ``[r]``; 0 where the profile lists nothing.
    share
        Its rate as a share of the full one: the service of a stage that holds it.
    """

    pool: int
    amounts: Vector
    share: Fraction


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a stage in whole quanta.

    Attributes
    ----------
    listed
        ``[r]``: 1 for the resources that its entries list, 0 for those that follow minimum and need.
    entries
        In the order of pools, then of amounts.
    wish
        ``[r]``: what the fastest entry lists (of equally fast ones the one that lists least): what the stage would hold in a fully served period.
    """

    listed: Vector
    entries: tuple[Entry, ...]
    wish: Vector

    def matching(self, pool: int, held: Vector) -> Entry | None:
        """Return the entry that a stage with these amounts in that pool holds, or None where it holds none."""
        for entry in self.entries:
            if entry.pool == pool and all(amount == wanted for amount, wanted, is_listed in zip(held, entry.amounts, self.listed, strict=True) if is_listed):
                return entry
        return None


def profile_of(listed: Vector, entries: Iterable[Entry]) -> Profile:
    """Return the profile of some entries, whatever their order."""
    in_order = tuple(sorted(entries, key=lambda entry: (entry.pool, entry.amounts)))
    fastest = min(in_order, key=lambda entry: (-entry.share, entry.amounts, entry.pool))
    return Profile(listed, in_order, fastest.amounts)
