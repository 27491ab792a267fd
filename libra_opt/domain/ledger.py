"""The ledger: a state in whole quanta, one row per stage.

Capacity, maxima and ceilings round down; minima, demand and needs round up, so that no plan can exceed a limit by a rounding. The
formulation and the verifier both read the ledger and nothing else of each other's.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from libra_opt.domain.cost import Cost
from libra_opt.domain.curve import Curve
from libra_opt.domain.forecast import Forecast
from libra_opt.domain.profile import Entry, Profile
from libra_opt.domain.queue_tree import top_down
from libra_opt.domain.resource import CARD_MEMORY, CARDS, Resource
from libra_opt.domain.vectors import Vector

__all__ = ["CARDS", "CARD_MEMORY", "Ledger", "Moment"]

Moment: TypeAlias = tuple[Vector, Vector, tuple[float, ...]]
"""Demand, need and intensities of a stage in one period."""


@dataclass(slots=True)
class Ledger:
    """A state in whole quanta; indices `k` pool, `q` queue, `j` job, `s` stage (over all jobs), `r` resource.

    Attributes
    ----------
    capacity
        ``[k][r]``.
    card_ratio
        ``[k]``: (p, q) such that R9 reads ``gpu * p >= gpu_mem * q`` in quanta, or None where cards are not exclusive.
    parent
        ``[q]``: the queue above, -1 for none.
    nominal, ceiling, reserved
        ``[q][r]``, of a queue and all below it together; a ceiling of `UNLIMITED` is none, `reserved` is the part of the nominal quota that is never lent.
    job_queue
        ``[j]``; -1 for a job outside every queue.
    running, protected
        ``[j]``.
    evict_ms, migrate_ms, resize_ms
        ``[j]``, ``[j]``, ``[j][r]``: charges of R11 in milliseconds.
    stage_of
        ``[j]``: the range of the job's rows among the stages.
    lo, hi, unit, demand, need, current
        ``[s][r]``; `demand` is 0 for incompressible resources and `need` for compressible ones, `current` is None for a stage that holds nothing.
        Where a profile lists a resource, both are 0.
    current_pool
        ``[s]``; -1 for none.
    allowed
        ``[s]``: pairs (pool, speed), in the order of the pools.
    intensity, curve
        ``[s]``: equally likely factors on the demand (empty: certain), and the points (share, service) of an own service curve or None.
    uncertain
        Stages whose demand is to be forecast from their history.
    profiles
        R15, of the stages that bring one.
    ahead
        Of stages that tell more than the next period: `demand`, `need` and `intensity` of every period after it.
    cost
        R16, where the state has a cost ceiling.
    """

    resources: tuple[Resource, ...]
    pools: tuple[str, ...]
    queues: tuple[str, ...]
    jobs: tuple[str, ...]
    capacity: list[Vector] = field(default_factory=list)
    card_ratio: list[tuple[int, int] | None] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    nominal: list[Vector] = field(default_factory=list)
    ceiling: list[Vector] = field(default_factory=list)
    reserved: list[Vector] = field(default_factory=list)
    job_queue: list[int] = field(default_factory=list)
    running: list[bool] = field(default_factory=list)
    protected: list[bool] = field(default_factory=list)
    evict_ms: list[int] = field(default_factory=list)
    migrate_ms: list[int] = field(default_factory=list)
    resize_ms: list[Vector] = field(default_factory=list)
    stage_of: list[range] = field(default_factory=list)
    lo: list[Vector] = field(default_factory=list)
    hi: list[Vector] = field(default_factory=list)
    unit: list[Vector] = field(default_factory=list)
    demand: list[Vector] = field(default_factory=list)
    need: list[Vector] = field(default_factory=list)
    current: list[Vector | None] = field(default_factory=list)
    current_pool: list[int] = field(default_factory=list)
    allowed: list[tuple[tuple[int, Fraction], ...]] = field(default_factory=list)
    intensity: list[tuple[float, ...]] = field(default_factory=list)
    curve: list[Curve | None] = field(default_factory=list)
    uncertain: list[int] = field(default_factory=list)
    profiles: dict[int, Profile] = field(default_factory=dict)
    ahead: dict[int, tuple[Moment, ...]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cost: Cost | None = None

    @property
    def n_resources(self) -> int:
        """How many resource dimensions the state has."""
        return len(self.resources)

    def wish(self, s: int) -> Vector:
        """Return what a stage would use in a fully served period: its demand, or what the fastest entry of its profile lists (R15)."""
        profile = self.profiles.get(s)
        return self.demand[s] if profile is None else profile.wish

    def booked_at_rest(self, r: int) -> int:
        """Return what queues reserve of a resource together while nothing runs: of each the more of its own reserve and of those below it (R10)."""
        booked = [row[r] for row in self.reserved]
        if max(self.parent, default=-1) < 0:
            return sum(booked)
        below = [0] * len(booked)
        for q in reversed(top_down(self.parent)):
            booked[q] = max(booked[q], below[q])
            if self.parent[q] >= 0:
                below[self.parent[q]] += booked[q]
        return sum(amount for amount, above in zip(booked, self.parent, strict=True) if above < 0)

    def fits_alone(self, s: int) -> bool:
        """Return whether a stage could run in some pool it may use if the cluster were empty (R2, R3, R5, R8, R9, R15)."""
        profile = self.profiles.get(s)
        if profile is None:
            return any(self._fits_pool(s, k, self.lo[s], self.hi[s]) for k, _ in self.allowed[s])
        return any(self._fits_pool(s, entry.pool, *self._around(s, profile, entry)) for entry in profile.entries)

    def _around(self, s: int, profile: Profile, entry: Entry) -> tuple[Vector, Vector]:
        """Return minimum and maximum of a stage that holds an entry of its profile."""
        least = tuple(map(max, self.lo[s], entry.amounts))
        return least, tuple(amount if is_listed else hi for amount, hi, is_listed in zip(entry.amounts, self.hi[s], profile.listed, strict=True))

    def _fits_pool(self, s: int, k: int, least: Vector, most: Vector) -> bool:
        held = [-(-max(lo, n) // u) * u for lo, n, u in zip(least, self.need[s], self.unit[s], strict=True)]
        ratio = self.card_ratio[k]
        if ratio is not None:
            names = [resource.name for resource in self.resources]
            card, memory = names.index(CARDS), names.index(CARD_MEMORY)
            if held[memory] and not ratio[0]:
                return False
            unit = self.unit[s][card]
            held[card] = max(held[card], -(-held[memory] * ratio[1] // (ratio[0] * unit)) * unit if ratio[0] else 0)
        return all(amount <= there and amount <= limit for amount, there, limit in zip(held, self.capacity[k], most, strict=True))

    def with_forecast(self, forecast: Forecast) -> "Ledger":
        """Return a ledger in which forecast stages have the demand, need and intensity of their forecast."""
        if not forecast.stages:
            return self
        demand, need, intensity = list(self.demand), list(self.need), list(self.intensity)
        for s, expected in forecast.stages:
            demand[s], need[s], intensity[s] = expected.demand, expected.need, expected.intensity
        ahead = self.ahead | {s: tuple((wished, told.need, factors) for wished, factors in told.ahead) for s, told in forecast.stages if told.ahead}
        return replace(self, demand=demand, need=need, intensity=intensity, ahead=ahead)

    def later(self, step: int) -> "Ledger":
        """Return the ledger of the period `step` periods after the next one: what a stage tells of it, else the last it tells of.

        What stages hold is still what they hold now.
        """
        if not step or not self.ahead:
            return self
        demand, need, intensity = list(self.demand), list(self.need), list(self.intensity)
        for s, moments in self.ahead.items():
            demand[s], need[s], intensity[s] = moments[min(step, len(moments)) - 1]
        return replace(self, demand=demand, need=need, intensity=intensity)
