"""The least that a second at full service of every part takes of the cluster, whoever allocates.

A job that runs a part at pace p holds ``U(max(floor, p * demand / speed))`` of a resource for ``1 / p`` seconds per second at full service, where the floor
is what any pace holds (minimum, memory that is needed, the cards that this memory needs, R9) and U rounds up to whole units (R8). The least of that over
all paces it can reach is the price of the part: the demand itself where some whole number of units above the floor fits into it, else what the fastest pace
holds. Speeds and memory per card are the best of the pools that a stage may use, so that no placing is cheaper.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Final

from libra_opt.domain import Workload, WorkloadJob, WorkloadStage
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.quantity import parse
from libra_opt.simulation.truth import Truth, Vector, vector

__all__ = ["Price", "Pricing", "StageLimits"]

_ALMOST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Price:
    """What a part of a job takes.

    Attributes
    ----------
    pace
        The fastest it can be done, 0..1; 0 where it never can.
    use
        Per set of pools, unit-seconds of every resource per second at full service, of the stages that are bound to it.
    """

    pace: float
    use: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class StageLimits:
    """What one stage may hold: floors, ceilings, the unit of cards, the best speed and memory per card (infinite where cards are shared)."""

    least: Vector
    most: Vector
    unit: float
    speed: float
    card_mem: float


class Pricing:
    """Prices the parts of the jobs of one workload.

    Attributes
    ----------
    sets
        The sets of pools whose capacity is shared: all of them, and every one that some stage is bound to.
    """

    def __init__(self, workload: Workload) -> None:
        self._resources = workload.resources
        names = [resource.name for resource in workload.resources]
        self._cards = names.index(CARDS) if CARDS in names else -1
        self._memory = names.index(CARD_MEMORY) if CARD_MEMORY in names else -1
        self._names = frozenset(pool.name for pool in workload.pools)
        bound = {frozenset(stage.pools) for job in workload.jobs for stage in job.stages if stage.pools is not None}
        self.sets = tuple(sorted({self._names, *bound}, key=sorted))
        self._most: dict[str, Vector] = {}
        for name, capacity in [*((p.name, p.capacity) for p in workload.pools), *((c.pool, c.capacity) for c in workload.changes)]:
            known = self._most.get(name, (0.0,) * len(names))
            self._most[name] = tuple(map(max, known, vector(capacity, workload.resources)))
        self._card_mem = {
            pool.name: inf if pool.card_mem is None or self._memory < 0 else float(parse(pool.card_mem, workload.resources[self._memory].unit))
            for pool in workload.pools
        }

    def prices(self, job: WorkloadJob, truth: Truth) -> list[Price]:
        """Return the price of every part of a job."""
        limits = self.limits(job)
        bound_to = [self._pools(stage) for stage in job.stages]
        known: dict[tuple[tuple[Vector, ...], tuple[Vector, ...]], Price] = {}
        found = []
        for key in zip(truth.demand, truth.need, strict=True):
            if key not in known:
                pace, use = self._price(limits, *key)
                nothing = (0.0,) * len(self._resources)
                known[key] = Price(pace, tuple(_sum([nothing, *(row for row, to in zip(use, bound_to, strict=True) if to <= inside)]) for inside in self.sets))
            found.append(known[key])
        return found

    @property
    def columns(self) -> tuple[int, int]:
        """The columns of cards (the first compressible resource, where there are none) and of the memory they carry, -1 for none."""
        if self._cards >= 0:
            return self._cards, self._memory
        return next((r for r, resource in enumerate(self._resources) if resource.compressible), 0), -1

    def limits(self, job: WorkloadJob) -> list[StageLimits]:
        """Return what the stages of a job may hold."""
        return [self._limits(stage) for stage in job.stages]

    def _pools(self, stage: WorkloadStage) -> frozenset[str]:
        return self._names if stage.pools is None else frozenset(stage.pools)

    def _limits(self, stage: WorkloadStage) -> StageLimits:
        pools = self._pools(stage)
        room = [max(self._most[pool][r] for pool in pools) for r in range(len(self._resources))]
        most = list(map(min, vector(stage.max_quota, self._resources, inf), room))
        unit = float(stage.unit) if stage.unit and self._cards >= 0 else 0.0
        if unit:
            most[self._cards] = unit * floor(most[self._cards] / unit + _ALMOST)
        speed = max((1.0 if stage.pools is None else stage.pools[pool]) for pool in pools)
        return StageLimits(vector(stage.min_quota, self._resources), tuple(most), unit, speed, max(self._card_mem[pool] for pool in pools))

    def _price(self, limits: Sequence[StageLimits], demand: Sequence[Vector], need: Sequence[Vector]) -> tuple[float, list[Vector]]:
        """Return the fastest pace, and what each stage takes."""
        floors = [self._floor(limit, needed) for limit, needed in zip(limits, need, strict=True)]
        pace = 1.0
        for limit, held, wanted in zip(limits, floors, demand, strict=True):
            if any(h > m * (1 + _ALMOST) + _ALMOST for h, m in zip(held, limit.most, strict=True)):
                pace = 0.0
            pace = min([pace, *(limit.speed * m / d for m, d in zip(limit.most, wanted, strict=True) if d > 0)])
        if pace <= 0:
            return 0.0, [(0.0,) * len(row) for row in demand]
        use: list[Vector] = []
        for limit, held, wanted in zip(limits, floors, demand, strict=True):
            units = [limit.unit if r == self._cards else 0.0 for r in range(len(held))]
            use.append(tuple(_least(h, d / limit.speed, u, pace) for h, d, u in zip(held, wanted, units, strict=True)))
        return pace, use

    def _floor(self, limit: StageLimits, needed: Vector) -> Vector:
        held = list(map(max, limit.least, needed))
        if self._cards >= 0 and self._memory >= 0 and limit.card_mem < inf:
            held[self._cards] = max(held[self._cards], held[self._memory] / limit.card_mem if limit.card_mem else inf if held[self._memory] else 0.0)
        if limit.unit and held[self._cards] < inf:
            held[self._cards] = _up(held[self._cards], limit.unit)
        return tuple(held)


def _sum(rows: Iterable[Vector]) -> Vector:
    return tuple(map(sum, zip(*rows, strict=True)))


def _least(held: float, demand: float, unit: float, pace: float) -> float:
    """Return the least unit-seconds of one resource per second at full service over all paces up to `pace`."""
    if not unit:
        return max(held / pace, demand)
    whole = unit * floor(pace * demand / unit + _ALMOST)
    if whole > 0 and whole >= held - _ALMOST:
        return demand
    return max(held, _up(pace * demand, unit)) / pace


def _up(amount: float, unit: float) -> float:
    return unit * ceil(amount / unit - _ALMOST)
