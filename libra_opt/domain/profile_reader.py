"""Reads profiles into whole quanta and refuses those that contradict themselves, their stage or the cluster (R15)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from libra_opt.domain.contradictions import Contradictions
from libra_opt.domain.faults import Location
from libra_opt.domain.job import StageFields
from libra_opt.domain.profile import Entry, Profile, ProfileEntry, profile_of
from libra_opt.domain.quantity import exact
from libra_opt.domain.resource import Resource
from libra_opt.domain.vectors import Vector

__all__ = ["Limits", "ProfileReader"]

_REPLACED: Final = ("demand", "demand_ahead", "history", "waits_in", "demand_intensity", "pools", "curve")
"""What a profile takes the place of."""

_CARDS, _MEMORY = "gpu", "gpu_mem"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the entries of a stage must keep: its quotas, units and needs, ``[r]``, and the pools' ``card_ratio``, ``[k]``, as the ledger has them."""

    lo: Vector
    hi: Vector
    unit: Vector
    need: Vector
    card_ratio: Sequence[tuple[int, int] | None]


class ProfileReader:
    """Reads the profiles of one state; equal ones are one object.

    Parameters
    ----------
    resources, pool_index
        What the state has, pools by name.
    wrong
        Where faults are told.
    """

    def __init__(self, resources: Sequence[Resource], pool_index: Mapping[str, int], wrong: Contradictions) -> None:
        self._resources = resources
        self._index = {resource.name: r for r, resource in enumerate(resources)}
        self._pool_index = pool_index
        self._fault = wrong.add
        self._known: dict[tuple[tuple[ProfileEntry, ...], float | None], Profile] = {}

    def read(self, loc: Location, stage: StageFields, limits: Limits) -> Profile | None:
        """Return the profile of a stage; None where something is wrong with it, which is told."""
        if stage.profile is None:
            self._fault((*loc, "full_rate"), "is the rate of full service of a profile, and none is given; leave it out or give profile")
            return None
        for name in _REPLACED:
            if name in stage.model_fields_set and getattr(stage, name) not in (None, ()):
                self._fault((*loc, name), "is given beside profile, which takes its place; leave out one of the two")
        key = (stage.profile, stage.full_rate)
        profile = self._known.get(key)
        if profile is None:
            profile = self._enter(loc, stage.profile, stage.full_rate)
        if profile is not None:
            self._known[key] = profile
            self._check(loc, stage.profile, limits)
        return profile

    def _enter(self, loc: Location, written: Sequence[ProfileEntry], full_rate: float | None) -> Profile | None:
        if not written:
            self._fault((*loc, "profile"), "has no entries; leave it out or give at least one")
            return None
        highest = max(entry.rate for entry in written)
        if full_rate is not None and full_rate < highest:
            self._fault((*loc, "full_rate"), f"{full_rate} is below {highest}, the highest rate of profile; raise it or leave it out")
            return None
        full = exact(full_rate or highest)
        entries: dict[tuple[int, Vector], Entry] = {}
        first: dict[tuple[int, Vector], int] = {}
        for i, line in enumerate(written):
            where = (*loc, "profile", i)
            entry = self._entry(where, line, full, written[0].resources.keys())
            if entry is None:
                continue
            place = (entry.pool, entry.amounts)
            if place in entries:
                self._fault(where, f"lists what entry {first[place]} lists in pool {line.pool!r}; keep one of the two")
            entries.setdefault(place, entry)
            first.setdefault(place, i)
        if len(entries) < len(written):
            return None
        return profile_of(tuple(int(name in written[0].resources) for name in self._index), entries.values())

    def _entry(self, loc: Location, line: ProfileEntry, full: Fraction, names: AbstractSet[str]) -> Entry | None:
        pool = self._pool_index.get(line.pool, -1)
        if pool < 0:
            known = ", ".join(repr(name) for name in list(self._pool_index)[:8])
            has = f"this state has {known}; list a lost pool with capacity {{}}" if known else "this state has no pools"
            self._fault((*loc, "pool"), f"unknown pool {line.pool!r}; {has}", "pools")
        if not line.resources:
            self._fault((*loc, "resources"), "lists no resource; name what was held")
            return None
        if line.resources.keys() != names:
            listed, others = (", ".join(sorted(some)) for some in (line.resources, names))
            self._fault((*loc, "resources"), f"lists {listed}, and the first entry lists {others}; list the same resources in every entry")
            return None
        amounts = [0] * len(self._resources)
        is_whole = pool >= 0
        for name, amount in line.resources.items():
            r = self._index.get(name, -1)
            fault = f"unknown resource; this state has {', '.join(self._index)}" if r < 0 else ""
            if not fault:
                resource = self._resources[r]
                try:
                    amounts[r] = resource.quanta(amount, round_up=False)
                    if resource.quanta(amount, round_up=True) != amounts[r]:
                        unit = f"{resource.quantum:g} {resource.unit}".strip()
                        fault = f"{amount!r} is not a whole number of quanta of {unit}; round it, or declare a finer quantum in resources"
                except ValueError as error:
                    fault = str(error)
            if fault:
                self._fault((*loc, "resources", name), fault, "resources")
                is_whole = False
        return Entry(pool, tuple(amounts), exact(line.rate) / full) if is_whole else None

    def _check(self, loc: Location, written: Sequence[ProfileEntry], limits: Limits) -> None:
        """Refuse entries that the stage's own limits forbid (R2, R3, R5, R8) or whose memory its cards cannot carry (R9)."""
        for i, line in enumerate(written):
            where = (*loc, "profile", i, "resources")
            held = {name: self._resources[self._index[name]].quanta(amount, round_up=False) for name, amount in line.resources.items()}
            for name, amount in held.items():
                fault = self._limit(self._index[name], amount, limits)
                if fault:
                    self._fault((*where, name), f"{fault}; change that or leave the entry out", "resources")
            ratio = limits.card_ratio[self._pool_index[line.pool]]
            if ratio is not None and _CARDS in held and _MEMORY in held and held[_CARDS] * ratio[0] < held[_MEMORY] * ratio[1]:
                cards = line.resources[_CARDS]
                message = f"{line.resources[_MEMORY]} is more than {cards} {_CARDS} carry by card_mem of pool {line.pool!r}; correct it or leave the entry out"
                self._fault((*where, _MEMORY), message, "resources")

    def _limit(self, r: int, amount: int, limits: Limits) -> str:
        """Return which limit of the stage an amount breaks, or nothing."""
        resource = self._resources[r]
        if amount > limits.hi[r]:
            return f"{resource.write(amount)} is above max_quota {resource.write(limits.hi[r])}"
        if amount < limits.lo[r]:
            return f"{resource.write(amount)} is below min_quota {resource.write(limits.lo[r])}"
        if amount < limits.need[r]:
            return f"{resource.write(amount)} is below need {resource.write(limits.need[r])}"
        if amount % limits.unit[r]:
            return f"{resource.write(amount)} is not a multiple of unit {resource.write(limits.unit[r])}"
        return ""
