"""Entering: a state into its ledger, row by row, with every contradiction that is found on the way."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import gt, mul
from typing import Final

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.cluster import Pool, Queue
from libra_opt.domain.contradictions import Contradictions
from libra_opt.domain.curve import enter_curve
from libra_opt.domain.faults import Location, path_of
from libra_opt.domain.history_reader import HistoryReader
from libra_opt.domain.job import Allocation, Job, PreemptionCost, StageFields
from libra_opt.domain.ledger import Ledger, Moment
from libra_opt.domain.profile_reader import Limits, ProfileReader
from libra_opt.domain.quantity import LIMIT, UNLIMITED, WrittenAmount, exact, parse
from libra_opt.domain.queue_tree import parents_of, together
from libra_opt.domain.resource import CARD_MEMORY, CARDS, Resource
from libra_opt.domain.vectors import Vector, Vectors

__all__ = ["enter"]

_MOST_BENDS: Final = 10_000
"""In so many places at most the service of a stage may bend: points of its curve times intensities of its demand."""

_STAGE_FIELDS: Final = frozenset(StageFields.model_fields)


def enter(
    resources: Sequence[Resource], pools: Sequence[Pool], queues: Sequence[Queue], jobs: Sequence[Job], wrong: Contradictions, planned: int = 0
) -> Ledger:
    """Enter a state; where it contradicts itself is added to `wrong`, and if anything was, the ledger must not be used.

    `planned` is the number of the period that is planned, 0 where it is not told.
    """
    return _Entry(resources, pools, queues, jobs, wrong, planned).ledger


class _Entry:
    """One entering of a state: the look-up tables that all parts share."""

    def __init__(
        self, resources: Sequence[Resource], pools: Sequence[Pool], queues: Sequence[Queue], jobs: Sequence[Job], wrong: Contradictions, planned: int
    ) -> None:
        self.resources = tuple(resources)
        self.index = {resource.name: r for r, resource in enumerate(resources)}
        self.pool_index = {pool.name: k for k, pool in enumerate(pools)}
        self.queue_index = {queue.name: q for q, queue in enumerate(queues)}
        self._fault = wrong.add
        self.rounded_up = Vectors(resources, _up)
        self.rounded_down = Vectors(resources, _down)
        self.ceilings = Vectors(resources, _ceiling)
        self.zeros: Vector = (0,) * len(resources)
        self.free: Vector = (UNLIMITED,) * len(resources)
        self.ones: Vector = (1,) * len(resources)
        self.compressible: Vector = tuple(int(resource.compressible) for resource in resources)
        self.incompressible: Vector = tuple(1 - flag for flag in self.compressible)
        self.anywhere = tuple((k, Fraction(1)) for k in range(len(pools)))
        self.units: dict[int, Vector] = {}
        self.charges: dict[tuple[object, ...], tuple[int, int, Vector]] = {}
        self.placings: dict[tuple[object, ...], tuple[tuple[int, Fraction], ...]] = {}
        self.profiles = ProfileReader(self.resources, self.pool_index, wrong)
        self.histories = HistoryReader(self.resources, self.rounded_up, planned, wrong)
        self.ledger = Ledger(self.resources, tuple(self.pool_index), tuple(self.queue_index), tuple(job.id for job in jobs))
        self._refuse_duplicates(("resources",), "name", [resource.name for resource in resources])
        self._refuse_duplicates(("pools",), "name", [pool.name for pool in pools])
        self._refuse_duplicates(("queues",), "name", [queue.name for queue in queues])
        self._refuse_duplicates(("jobs",), "id", [job.id for job in jobs])
        for k, pool in enumerate(pools):
            self._pool(("pools", k), pool)
        self._check_total()
        self._queues(queues)
        for j, job in enumerate(jobs):
            self._job(("jobs", j), job)

    def _refuse_duplicates(self, loc: Location, key: str, names: Sequence[str]) -> None:
        if len(set(names)) == len(names):
            return
        seen: dict[str, int] = {}
        for i, name in enumerate(names):
            if name in seen:
                self._fault((*loc, i, key), f"{name!r} is taken by {loc[-1]}[{seen[name]}]; give each its own")
            seen.setdefault(name, i)

    def _vector(self, loc: Location, name: str | int, amounts: Amounts, default: Vector, vectors: Vectors) -> Vector:
        if not amounts:
            return default
        try:
            return vectors.convert(amounts, default)
        except (KeyError, ValueError):
            whole, found = vectors.convertible(amounts)
        for resource, message in found:
            self._fault((*loc, name, resource), message, "resources")
        return vectors.convert(whole, default)

    def _pool(self, loc: Location, pool: Pool) -> None:
        self.ledger.capacity.append(self._vector(loc, "capacity", pool.capacity, self.zeros, self.rounded_down))
        self.ledger.card_ratio.append(None if pool.card_mem is None else self._card_ratio((*loc, "card_mem"), pool.card_mem))
        for name in pool.price_per_hour:
            if name not in self.index:
                self._fault((*loc, "price_per_hour", name), f"unknown resource; this state has {', '.join(self.index)}", "resources")
        if pool.price is not None and CARDS in pool.price_per_hour:
            self._fault((*loc, "price"), f"is the price of {CARDS!r}, which price_per_hour states as well; leave one of them out")

    def _check_total(self) -> None:
        total = self.zeros
        for k, capacity in enumerate(self.ledger.capacity):
            before, total = total, tuple(t + c for t, c in zip(total, capacity, strict=True))
            for r, resource in enumerate(self.resources):
                if before[r] < LIMIT <= total[r]:
                    message = "with the pools before, the capacity is not below 2^63 quanta; write less or declare a coarser quantum in resources"
                    self._fault(("pools", k, "capacity", resource.name), message, "resources")

    def _card_ratio(self, loc: Location, written: WrittenAmount) -> tuple[int, int] | None:
        if CARDS not in self.index or CARD_MEMORY not in self.index:
            self._fault(loc, f"memory per card needs the resources {CARDS!r} and {CARD_MEMORY!r}; leave it out or declare them", "resources")
            return None
        cards, memory = self.resources[self.index[CARDS]], self.resources[self.index[CARD_MEMORY]]
        try:
            ratio = parse(written, memory.unit) * cards.step / memory.step
        except ValueError as error:
            self._fault(loc, str(error), "resources")
            return None
        if max(ratio.numerator, ratio.denominator) >= LIMIT:
            self._fault(loc, f"{written!r} is no ratio of quanta below 2^63; write it with fewer digits", "resources")
        return ratio.numerator, ratio.denominator

    def _queues(self, queues: Sequence[Queue]) -> None:
        """R10: what a queue has is its own nominal quota and that of all below it; its limits speak of both together."""
        ledger = self.ledger
        if all(queue.parent is None for queue in queues):
            ledger.parent = [-1] * len(queues)
            for q, queue in enumerate(queues):
                self._queue(("queues", q), queue, self._nominal(("queues", q), queue))
            return
        ledger.parent = parents_of(queues, self.queue_index, self._fault)
        owned = together(ledger.parent, [self._nominal(("queues", q), queue) for q, queue in enumerate(queues)])
        for q, (queue, nominal) in enumerate(zip(queues, owned, strict=True)):
            for resource, amount in zip(self.resources, nominal, strict=True):
                if amount >= LIMIT:
                    message = "with the queues below, the quota is not below 2^63 quanta; write less or declare a coarser quantum in resources"
                    self._fault(("queues", q, "nominal_quota", resource.name), message, "resources")
            self._queue(("queues", q), queue, nominal)

    def _nominal(self, loc: Location, queue: Queue) -> Vector:
        return self._vector(loc, "nominal_quota", queue.nominal_quota, self.zeros, self.rounded_down)

    def _queue(self, loc: Location, queue: Queue, nominal: Vector) -> None:
        borrow = self.free if queue.borrowing_limit is None else self._vector(loc, "borrowing_limit", queue.borrowing_limit, self.free, self.ceilings)
        lend = nominal if queue.lending_limit is None else self._vector(loc, "lending_limit", queue.lending_limit, nominal, self.rounded_down)
        for r, resource in enumerate(self.resources):
            if lend[r] > nominal[r]:
                self._fault(
                    (*loc, "lending_limit", resource.name),
                    f"{resource.write(lend[r])} is above nominal_quota {resource.write(nominal[r])}; a queue cannot lend more than it has",
                    "resources",
                )
        self.ledger.nominal.append(nominal)
        self.ledger.ceiling.append(tuple(min(UNLIMITED, n + b) for n, b in zip(nominal, borrow, strict=True)))
        self.ledger.reserved.append(tuple(n - b for n, b in zip(nominal, lend, strict=True)))

    def _job(self, loc: Location, job: Job) -> None:
        ledger = self.ledger
        queue = -1 if job.queue is None else self.queue_index.get(job.queue, -2)
        if queue == -2:
            self._fault((*loc, "queue"), f"unknown queue {job.queue!r}; {_known(self.queue_index, 'queue')}", "queues")
        first = len(ledger.lo)
        if job.stages is None:
            self._stage(loc, job, job)
        else:
            for name in sorted(_STAGE_FIELDS & job.model_fields_set):
                self._fault((*loc, name), "belongs to a stage once the job lists stages; move it there")
            if not job.stages:
                self._fault((*loc, "stages"), "lists no stage; give at least one, or leave it out")
            self._refuse_duplicates((*loc, "stages"), "name", [stage.name for stage in job.stages])
            for s, stage in enumerate(job.stages):
                self._stage((*loc, "stages", s), stage, job)
        rows = range(first, len(ledger.lo))
        running = ledger.current[first:].count(None) < len(rows)
        ledger.job_queue.append(queue)
        ledger.running.append(running)
        ledger.protected.append(running and (not job.preemptible or job.running_seconds < job.min_runtime_seconds))
        ledger.stage_of.append(rows)
        evict, migrate, resize = self._charge(loc, job.preemption_cost)
        ledger.evict_ms.append(evict)
        ledger.migrate_ms.append(migrate)
        ledger.resize_ms.append(resize)

    def _charge(self, loc: Location, cost: PreemptionCost) -> tuple[int, int, Vector]:
        key = (cost.evict_seconds, cost.migrate_seconds, cost.resize_seconds)
        known = self.charges.get(key)
        if known is not None:
            return known
        charge = _milliseconds(cost.evict_seconds), _milliseconds(cost.migrate_seconds), self._resize(cost.resize_seconds)
        unknown = cost.resize_seconds.keys() - self.index.keys() if isinstance(cost.resize_seconds, Mapping) else ()
        for name in sorted(unknown):
            self._fault((*loc, "preemption_cost", "resize_seconds", name), f"unknown resource; this state has {', '.join(self.index)}", "resources")
        if not unknown:
            self.charges[key] = charge
        return charge

    def _resize(self, seconds: float | Mapping[str, float]) -> Vector:
        if isinstance(seconds, Mapping):
            return tuple(_milliseconds(seconds.get(resource.name, 0)) for resource in self.resources)
        charge = _milliseconds(seconds)
        return tuple(charge if resource.costly else 0 for resource in self.resources)

    def _stage(self, loc: Location, stage: StageFields, job: Job) -> None:
        ledger = self.ledger
        lo = self._vector(loc, "min_quota", stage.min_quota, self.zeros, self.rounded_up)
        hi = self._vector(loc, "max_quota", stage.max_quota, self.free, self.ceilings)
        unit = self.ones if stage.unit is None else self._unit(loc, stage.unit)
        self._check_quotas(loc, stage, lo, hi, unit)
        demand, need = self._demand(loc, stage)
        if stage.demand_ahead:
            self._check_ahead((*loc, "demand_ahead"), stage)
            ledger.ahead[len(ledger.lo)] = tuple(self._moment(loc, t, stage, need, hi) for t in range(len(stage.demand_ahead)))
        if hi is not self.free and any(map(gt, need, hi)):
            names = ", ".join(self.resources[r].name for r in range(len(need)) if need[r] > hi[r])
            ledger.warnings.append(f"{path_of(loc)} ({job.id!r}): the need of {names} is above max_quota and was cut to it; the stage may run out of memory")
            need = tuple(map(min, need, hi))
        if stage.demand is None and stage.history is not None:
            ledger.uncertain.append(len(ledger.lo))
        is_profiled = stage.profile is not None or stage.full_rate is not None
        profile = self.profiles.read(loc, stage, Limits(lo, hi, unit, need, self.ledger.card_ratio)) if is_profiled else None
        if profile is not None:
            need = tuple(0 if is_listed else amount for is_listed, amount in zip(profile.listed, need, strict=True))
            ledger.profiles[len(ledger.lo)] = profile
        pool, current = (-1, None) if stage.allocation is None else self._allocation((*loc, "allocation"), stage.allocation)
        ledger.lo.append(lo)
        ledger.hi.append(hi)
        ledger.unit.append(unit)
        ledger.demand.append(demand)
        ledger.need.append(need)
        ledger.current.append(current)
        ledger.current_pool.append(pool)
        if profile is not None:
            ledger.allowed.append(self._allowed(loc, tuple(ledger.pools[k] for k in sorted({entry.pool for entry in profile.entries}))))
        else:
            ledger.allowed.append(self.anywhere if stage.pools is None else self._allowed((*loc, "pools"), stage.pools))
        if stage.curve is not None and len(stage.curve) * len(stage.demand_intensity) > _MOST_BENDS:
            found = f"{len(stage.curve)} points times {len(stage.demand_intensity)} intensities"
            self._fault((*loc, "curve"), f"{found} bend the service in more than {_MOST_BENDS:,} places; give fewer of either")
        ledger.intensity.append(stage.demand_intensity)
        ledger.curve.append(None if stage.curve is None else enter_curve(stage.curve, lambda message: self._fault((*loc, "curve"), message)))

    def _unit(self, loc: Location, unit: int | Amounts) -> Vector:
        if isinstance(unit, int):
            if unit in self.units:
                return self.units[unit]
            if CARDS not in self.index:
                self._fault((*loc, "unit"), f"a plain unit counts cards of {CARDS!r}, which this state does not have; write an object by resource", "resources")
                return self.ones
            written = Amounts({CARDS: unit})
        else:
            written = unit
        vector = self._vector(loc, "unit", written, self.ones, self.rounded_up)
        least = self._vector(loc, "unit", written, self.ones, self.rounded_down) if vector is not self.ones else self.ones
        for name, r in self.index.items():
            if name in written and (vector[r] == 0 or vector[r] != least[r]):
                where = (*loc, "unit") if isinstance(unit, int) else (*loc, "unit", name)
                resource = self.resources[r]
                message = f"{written[name]!r} is not a whole, positive number of quanta of {resource.quantum} {resource.unit}; round it to one"
                self._fault(where, message, "resources")
                return self.ones
        if isinstance(unit, int):
            self.units[unit] = vector
        return vector

    def _check_quotas(self, loc: Location, stage: StageFields, lo: Vector, hi: Vector, unit: Vector) -> None:
        if unit is self.ones and (hi is self.free or not any(map(gt, lo, hi))):
            return
        for r, resource in enumerate(self.resources):
            least, most, step = lo[r], hi[r], unit[r]
            if least > most:
                self._fault((*loc, "max_quota", resource.name), _above(resource, stage.max_quota, stage.min_quota), "resources")
            elif step == 1:
                continue
            elif least % step:
                message = f"{resource.write(least)} is not a multiple of unit {resource.write(step)}; round it up"
                self._fault((*loc, "min_quota", resource.name), message, "resources")
            elif most != UNLIMITED and most % step:
                message = f"{resource.write(most)} is not a multiple of unit {resource.write(step)}; round it down"
                self._fault((*loc, "max_quota", resource.name), message, "resources")

    def _demand(self, loc: Location, stage: StageFields) -> tuple[Vector, Vector]:
        if stage.history is not None:
            self.histories.check((*loc, "history"), stage)
        wished = self.zeros if stage.demand is None else self._vector(loc, "demand", stage.demand, self.zeros, self.rounded_up)
        needed = wished
        if stage.need:
            needed = self._vector(loc, "need", stage.need, wished, self.rounded_up)
            for name in stage.need:
                if name in self.index and self.compressible[self.index[name]]:
                    message = "is compressible, and a need covers incompressible resources only; write it as min_quota"
                    self._fault((*loc, "need", name), message, "resources")
        return tuple(map(mul, wished, self.compressible)), tuple(map(mul, needed, self.incompressible))

    def _check_ahead(self, loc: Location, stage: StageFields) -> None:
        if stage.history is not None:
            self._fault(loc, "history is given as well, and what is to come is forecast from it; leave out one of the two")
        elif stage.demand is None:
            self._fault(loc, "goes on from demand, which is not given; give the next period's demand as well, or leave this out")

    def _moment(self, loc: Location, t: int, stage: StageFields, stated: Vector, hi: Vector) -> Moment:
        """Return what a stage tells of a later period, given the need it states for all."""
        wished = self._vector((*loc, "demand_ahead"), t, stage.demand_ahead[t], self.zeros, self.rounded_up)
        need = list(map(mul, wished, self.incompressible))
        for name in stage.need or ():
            if name in self.index:
                need[self.index[name]] = stated[self.index[name]]
        return tuple(map(mul, wished, self.compressible)), tuple(map(min, need, hi)), stage.demand_intensity

    def _allowed(self, loc: Location, pools: Mapping[str, float] | tuple[str, ...]) -> tuple[tuple[int, Fraction], ...]:
        key: tuple[object, ...] = tuple(pools.items()) if isinstance(pools, Mapping) else pools
        known = self.placings.get(key)
        if known is not None:
            return known
        speeds = pools if isinstance(pools, Mapping) else dict.fromkeys(pools, 1.0)
        allowed = tuple((k, exact(speeds[name])) for name, k in self.pool_index.items() if name in speeds)
        if not pools:
            self._fault(loc, "allows no pool; leave it out to allow any")
        elif len(allowed) == len(speeds):
            self.placings[key] = allowed
        else:
            for i, name in enumerate(pools):
                if name not in self.pool_index:
                    where = (*loc, name) if isinstance(pools, Mapping) else (*loc, i)
                    self._fault(where, f"unknown pool {name!r}; {_known(self.pool_index, 'pool')}", "pools")
        return allowed

    def _allocation(self, loc: Location, allocation: Allocation) -> tuple[int, Vector | None]:
        pool = self.pool_index.get(allocation.pool, -1)
        if pool < 0:
            message = f"unknown pool {allocation.pool!r}; {_known(self.pool_index, 'pool')}; list a lost pool with capacity {{}}"
            self._fault((*loc, "pool"), message, "pools")
        held = self._vector(loc, "resources", allocation.resources, self.zeros, self.rounded_up)
        return (pool, held) if any(held) else (-1, None)


def _up(resource: Resource, written: WrittenAmount) -> int:
    return resource.quanta(written, round_up=True)


def _down(resource: Resource, written: WrittenAmount) -> int:
    return resource.quanta(written, round_up=False)


def _ceiling(resource: Resource, written: WrittenAmount) -> int:
    return resource.ceiling(written)


def _milliseconds(seconds: float) -> int:
    return round(exact(seconds) * 1000)


def _above(resource: Resource, maximum: Amounts, minimum: Amounts) -> str:
    most, least = maximum[resource.name], minimum[resource.name]
    if parse(most, resource.unit) < parse(least, resource.unit):
        return f"{most} is below min_quota {least}; raise it or lower min_quota"
    return f"{most} rounds down below min_quota {least} in quanta of {resource.quantum} {resource.unit}; declare a finer quantum in resources"


def _known(index: Mapping[str, int], noun: str) -> str:
    return f"this state has {', '.join(repr(name) for name in list(index)[:8])}" if index else f"this state has no {noun}s"
