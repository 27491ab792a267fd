"""The ledger: a state in whole quanta, one row per stage, and every contradiction found while entering it.

Capacity, maxima and ceilings round down; minima, demand and needs round up, so that no plan can exceed a limit by a rounding. The
formulation and the verifier both read the ledger and nothing else of each other's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.cluster import Pool, Queue
from libra_opt.domain.forecast import Forecast
from libra_opt.domain.job import Allocation, Job, StageFields
from libra_opt.domain.quantity import UNLIMITED, WrittenAmount, exact, parse
from libra_opt.domain.resource import Resource

__all__ = ["CARDS", "CARD_MEMORY", "Ledger", "Location", "enter"]

CARDS, CARD_MEMORY = "gpu", "gpu_mem"
"""The resources that R8's plain units and R9's memory per card speak of."""

Location = tuple[str | int, ...]
Vector = tuple[int, ...]
_Fault = Callable[[Location, str], None]


@dataclass(slots=True)
class Ledger:
    """A state in whole quanta; indices `k` pool, `q` queue, `j` job, `s` stage (over all jobs), `r` resource.

    Attributes
    ----------
    capacity
        ``[k][r]``.
    card_ratio
        ``[k]``: (p, q) such that R9 reads ``gpu * p >= gpu_mem * q`` in quanta, or None where cards are not exclusive.
    nominal, ceiling, reserved
        ``[q][r]``; a ceiling of `UNLIMITED` is none, `reserved` is the part of the nominal quota that is never lent.
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
    current_pool
        ``[s]``; -1 for none.
    allowed
        ``[s]``: pairs (pool, speed), in the order of the pools.
    intensity, curve
        ``[s]``: equally likely factors on the demand (empty: certain), and the points (share, service) of an own service curve or None.
    uncertain
        Stages whose demand is to be forecast from their history.
    """

    resources: tuple[Resource, ...]
    pools: tuple[str, ...]
    queues: tuple[str, ...]
    jobs: tuple[str, ...]
    capacity: list[Vector] = field(default_factory=list)
    card_ratio: list[tuple[int, int] | None] = field(default_factory=list)
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
    curve: list[tuple[tuple[Fraction, Fraction], ...] | None] = field(default_factory=list)
    uncertain: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def n_resources(self) -> int:
        """How many resource dimensions the state has."""
        return len(self.resources)

    def with_forecast(self, forecast: Forecast) -> "Ledger":
        """Return a ledger in which forecast stages have the demand, need and intensity of their forecast."""
        if not forecast.stages:
            return self
        demand, need, intensity = list(self.demand), list(self.need), list(self.intensity)
        for s, expected in forecast.stages:
            demand[s], need[s], intensity[s] = expected.demand, expected.need, expected.intensity
        return replace(self, demand=demand, need=need, intensity=intensity)


def enter(
    resources: Sequence[Resource], pools: Sequence[Pool], queues: Sequence[Queue], jobs: Sequence[Job], faults: list[tuple[Location, str]]
) -> Ledger:
    """Enter a state; what contradicts itself is appended to `faults` with its location, and then the ledger must not be used."""
    return _Entry(resources, pools, queues, jobs, faults).ledger


class _Entry:
    """One entering of a state: the look-up tables that all parts share."""

    def __init__(
        self, resources: Sequence[Resource], pools: Sequence[Pool], queues: Sequence[Queue], jobs: Sequence[Job], faults: list[tuple[Location, str]]
    ) -> None:
        self.resources = tuple(resources)
        self.index = {resource.name: r for r, resource in enumerate(resources)}
        self.pool_index = {pool.name: k for k, pool in enumerate(pools)}
        self.queue_index = {queue.name: q for q, queue in enumerate(queues)}
        self.faults = faults
        self.zeros: Vector = (0,) * len(resources)
        self.free: Vector = (UNLIMITED,) * len(resources)
        self.ones: Vector = (1,) * len(resources)
        self.anywhere = tuple((k, Fraction(1)) for k in range(len(pools)))
        self.ledger = Ledger(self.resources, tuple(self.pool_index), tuple(self.queue_index), tuple(job.id for job in jobs))
        self._refuse_duplicates(("resources",), "name", [resource.name for resource in resources])
        self._refuse_duplicates(("pools",), "name", [pool.name for pool in pools])
        self._refuse_duplicates(("queues",), "name", [queue.name for queue in queues])
        self._refuse_duplicates(("jobs",), "id", [job.id for job in jobs])
        for k, pool in enumerate(pools):
            self._pool(("pools", k), pool)
        for q, queue in enumerate(queues):
            self._queue(("queues", q), queue)
        for j, job in enumerate(jobs):
            self._job(("jobs", j), job)

    def _fault(self, loc: Location, message: str) -> None:
        self.faults.append((loc, message))

    def _refuse_duplicates(self, loc: Location, key: str, names: Iterable[str]) -> None:
        seen: dict[str, int] = {}
        for i, name in enumerate(names):
            if name in seen:
                self._fault((*loc, i, key), f"{name!r} is taken by {loc[-1]}[{seen[name]}]; give each its own")
            seen.setdefault(name, i)

    def _vector(self, loc: Location, amounts: Mapping[str, WrittenAmount], default: Vector, convert: Callable[[Resource, WrittenAmount], int]) -> Vector:
        if not amounts:
            return default
        values = list(default)
        for name, written in amounts.items():
            r = self.index.get(name)
            if r is None:
                self._fault((*loc, name), f"unknown resource; this state has {', '.join(self.index)}")
                continue
            try:
                values[r] = convert(self.resources[r], written)
            except ValueError as error:
                self._fault((*loc, name), str(error))
        return tuple(values)

    def _pool(self, loc: Location, pool: Pool) -> None:
        self.ledger.capacity.append(self._vector((*loc, "capacity"), pool.capacity, self.zeros, _down))
        self.ledger.card_ratio.append(None if pool.card_mem is None else self._card_ratio((*loc, "card_mem"), pool.card_mem))

    def _card_ratio(self, loc: Location, written: WrittenAmount) -> tuple[int, int] | None:
        if CARDS not in self.index or CARD_MEMORY not in self.index:
            self._fault(loc, f"memory per card needs the resources {CARDS!r} and {CARD_MEMORY!r}; leave it out or declare them")
            return None
        cards, memory = self.resources[self.index[CARDS]], self.resources[self.index[CARD_MEMORY]]
        try:
            ratio = parse(written, memory.unit) * cards.step / memory.step
        except ValueError as error:
            self._fault(loc, str(error))
            return None
        return ratio.numerator, ratio.denominator

    def _queue(self, loc: Location, queue: Queue) -> None:
        nominal = self._vector((*loc, "nominal_quota"), queue.nominal_quota, self.zeros, _down)
        borrow = self.free if queue.borrowing_limit is None else self._vector((*loc, "borrowing_limit"), queue.borrowing_limit, self.free, _ceiling)
        lend = nominal if queue.lending_limit is None else self._vector((*loc, "lending_limit"), queue.lending_limit, nominal, _down)
        for r, resource in enumerate(self.resources):
            if lend[r] > nominal[r]:
                self._fault(
                    (*loc, "lending_limit", resource.name),
                    f"{resource.write(lend[r])} is above nominal_quota {resource.write(nominal[r])}; a queue cannot lend more than it has",
                )
        if queue.parent is not None:
            self._fault((*loc, "parent"), "trees of queues are not planned by this version; leave parent out")
        self.ledger.nominal.append(nominal)
        self.ledger.ceiling.append(tuple(min(UNLIMITED, n + b) for n, b in zip(nominal, borrow, strict=True)))
        self.ledger.reserved.append(tuple(n - b for n, b in zip(nominal, lend, strict=True)))

    def _job(self, loc: Location, job: Job) -> None:
        ledger = self.ledger
        queue = -1 if job.queue is None else self.queue_index.get(job.queue, -2)
        if queue == -2:
            self._fault((*loc, "queue"), f"unknown queue {job.queue!r}; {_known(self.queue_index, 'queue')}")
        first = len(ledger.lo)
        if job.is_shorthand:
            self._stage(loc, job, job)
        else:
            given = sorted(StageFields.model_fields.keys() & job.model_fields_set)
            for name in given:
                self._fault((*loc, name), "belongs to a stage once the job lists stages; move it there")
            self._refuse_duplicates((*loc, "stages"), "name", [stage.name for stage in job.all_stages])
            for s, stage in enumerate(job.all_stages):
                self._stage((*loc, "stages", s), stage, job)
        rows = range(first, len(ledger.lo))
        running = any(ledger.current[s] is not None for s in rows)
        ledger.job_queue.append(queue)
        ledger.running.append(running)
        ledger.protected.append(running and (not job.preemptible or job.running_seconds < job.min_runtime_seconds))
        ledger.stage_of.append(rows)
        cost = job.preemption_cost
        ledger.evict_ms.append(_milliseconds(cost.evict_seconds))
        ledger.migrate_ms.append(_milliseconds(cost.migrate_seconds))
        ledger.resize_ms.append(self._resize((*loc, "preemption_cost", "resize_seconds"), cost.resize_seconds))

    def _resize(self, loc: Location, seconds: float | Mapping[str, float]) -> Vector:
        if not isinstance(seconds, Mapping):
            charge = _milliseconds(seconds)
            return tuple(charge if resource.costly else 0 for resource in self.resources)
        for name in seconds:
            if name not in self.index:
                self._fault((*loc, name), f"unknown resource; this state has {', '.join(self.index)}")
        return tuple(_milliseconds(seconds.get(resource.name, 0)) for resource in self.resources)

    def _stage(self, loc: Location, stage: StageFields, job: Job) -> None:
        ledger = self.ledger
        lo = self._vector((*loc, "min_quota"), stage.min_quota, self.zeros, _up)
        hi = self._vector((*loc, "max_quota"), stage.max_quota, self.free, _ceiling)
        unit = self._unit((*loc, "unit"), stage.unit)
        self._check_quotas(loc, stage, lo, hi, unit)
        demand, need = self._demand(loc, stage)
        cut = tuple(min(n, h) for n, h in zip(need, hi, strict=True))
        if cut != need:
            names = ", ".join(self.resources[r].name for r in range(len(cut)) if cut[r] != need[r])
            ledger.warnings.append(f"{_path(loc)} ({job.id!r}): the need of {names} is above max_quota and was cut to it; the stage may run out of memory")
        if stage.demand is None and stage.history is not None:
            ledger.uncertain.append(len(ledger.lo))
        ledger.intensity.append(stage.demand_intensity)
        ledger.curve.append(None if stage.curve is None else self._curve((*loc, "curve"), stage.curve))
        pool, current = self._allocation((*loc, "allocation"), stage.allocation)
        ledger.lo.append(lo)
        ledger.hi.append(hi)
        ledger.unit.append(unit)
        ledger.demand.append(demand)
        ledger.need.append(cut)
        ledger.current.append(current)
        ledger.current_pool.append(pool)
        ledger.allowed.append(self._allowed((*loc, "pools"), stage.pools))

    def _unit(self, loc: Location, unit: int | Amounts | None) -> Vector:
        if unit is None:
            return self.ones
        if isinstance(unit, int):
            if CARDS not in self.index:
                self._fault(loc, f"a plain unit counts cards of {CARDS!r}, which this state does not have; write a mapping of resources")
                return self.ones
            unit = Amounts({CARDS: unit})
        vector = self._vector(loc, unit, self.ones, _up)
        for name, written in unit.items():
            r = self.index.get(name)
            if r is not None and (vector[r] == 0 or not _is_whole(self.resources[r], written)):
                self._fault((*loc, name), f"{written!r} is not a whole, positive number of quanta of {self.resources[r].quantum} {self.resources[r].unit}")
        return tuple(max(1, u) for u in vector)

    def _check_quotas(self, loc: Location, stage: StageFields, lo: Vector, hi: Vector, unit: Vector) -> None:
        if hi is self.free and unit is self.ones:
            return
        for r, resource in enumerate(self.resources):
            if lo[r] > hi[r]:
                self._fault((*loc, "max_quota", resource.name), _above(resource, stage.max_quota, stage.min_quota))
            elif lo[r] % unit[r]:
                self._fault((*loc, "min_quota", resource.name), f"{resource.write(lo[r])} is not a multiple of unit {resource.write(unit[r])}; round it up")
            elif hi[r] != UNLIMITED and hi[r] % unit[r]:
                self._fault((*loc, "max_quota", resource.name), f"{resource.write(hi[r])} is not a multiple of unit {resource.write(unit[r])}; round it down")

    def _demand(self, loc: Location, stage: StageFields) -> tuple[Vector, Vector]:
        if stage.demand is not None and stage.history is not None:
            self._fault((*loc, "history"), "demand is given as well; leave out one of the two")
        wished = self.zeros if stage.demand is None else self._vector((*loc, "demand"), stage.demand, self.zeros, _up)
        need = wished
        if stage.need:
            need = self._vector((*loc, "need"), stage.need, wished, _up)
            for name in stage.need:
                if name in self.index and self.resources[self.index[name]].compressible:
                    self._fault((*loc, "need", name), "is compressible, and a need covers incompressible resources only; write it as min_quota")
        for t, sample in enumerate(stage.history or ()):
            self._vector((*loc, "history", t), {name: amount for name, amount in sample.items() if amount is not None}, self.zeros, _up)
            for name in sample.keys() - self.index.keys():
                if sample[name] is None:
                    self._fault((*loc, "history", t, name), f"unknown resource; this state has {', '.join(self.index)}")
        return (
            tuple(d if resource.compressible else 0 for d, resource in zip(wished, self.resources, strict=True)),
            tuple(0 if resource.compressible else n for n, resource in zip(need, self.resources, strict=True)),
        )

    def _curve(self, loc: Location, curve: Sequence[tuple[float, float]]) -> tuple[tuple[Fraction, Fraction], ...]:
        points = [(exact(x), exact(y)) for x, y in curve]
        if not points:
            self._fault(loc, "has no points; leave it out or give at least one")
            return ()
        if points[0][0] > 0:
            points.insert(0, (Fraction(0), Fraction(0)))
        steps = list(zip(points, points[1:], strict=False))
        if any(b[0] <= a[0] for a, b in steps):
            self._fault(loc, "the shares of demand must increase from point to point")
            return ()
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in steps]
        if any(later > earlier for earlier, later in zip(slopes, slopes[1:], strict=False)):
            self._fault(loc, "is not concave: service must grow by less and less")
        if any(slope < 0 for slope in slopes):
            self._fault(loc, "falls: service must not shrink as the allocation grows")
        if points[-1][1] > 1:
            self._fault(loc, f"service {curve[-1][1]} is above 1, full service")
        return tuple(points)

    def _allowed(self, loc: Location, pools: Mapping[str, float] | Sequence[str] | None) -> tuple[tuple[int, Fraction], ...]:
        if pools is None:
            return self.anywhere
        if not pools:
            self._fault(loc, "allows no pool; leave it out to allow any")
        speeds = pools if isinstance(pools, Mapping) else dict.fromkeys(pools, 1.0)
        for name in speeds:
            if name not in self.pool_index:
                where = (*loc, name) if isinstance(pools, Mapping) else (*loc, list(pools).index(name))
                self._fault(where, f"unknown pool {name!r}; {_known(self.pool_index, 'pool')}")
        return tuple((k, exact(speeds[name])) for name, k in self.pool_index.items() if name in speeds)

    def _allocation(self, loc: Location, allocation: Allocation | None) -> tuple[int, Vector | None]:
        if allocation is None:
            return -1, None
        pool = self.pool_index.get(allocation.pool, -1)
        if pool < 0:
            self._fault((*loc, "pool"), f"unknown pool {allocation.pool!r}; {_known(self.pool_index, 'pool')}; list a lost pool with capacity {{}}")
        held = self._vector((*loc, "resources"), allocation.resources, self.zeros, _up)
        return (pool, held) if any(held) else (-1, None)


def _up(resource: Resource, written: WrittenAmount) -> int:
    return resource.quanta(written, round_up=True)


def _down(resource: Resource, written: WrittenAmount) -> int:
    return resource.quanta(written, round_up=False)


def _ceiling(resource: Resource, written: WrittenAmount) -> int:
    return resource.ceiling(written)


def _is_whole(resource: Resource, written: WrittenAmount) -> bool:
    try:
        return resource.quanta(written, round_up=True) == resource.quanta(written, round_up=False)
    except ValueError:
        return True


def _milliseconds(seconds: float) -> int:
    return round(exact(seconds) * 1000)


def _above(resource: Resource, maximum: Amounts, minimum: Amounts) -> str:
    most, least = maximum[resource.name], minimum[resource.name]
    if parse(most, resource.unit) < parse(least, resource.unit):
        return f"{most} is below min_quota {least}; raise it or lower min_quota"
    return f"{most} rounds down below min_quota {least} in quanta of {resource.quantum} {resource.unit}; declare a finer quantum in resources"


def _known(index: Mapping[str, int], noun: str) -> str:
    return f"this state has {', '.join(repr(name) for name in list(index)[:8])}" if index else f"this state has no {noun}s"


def _path(loc: Location) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" if i else part for i, part in enumerate(loc))
