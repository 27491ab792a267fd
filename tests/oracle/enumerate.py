"""Finds the best plan of a tiny state by trying every allocation, from the text of the rules and with exact rationals.

It knows no ticks, no bundles and no solver: per stage every pool it may use and every whole number of units of every resource; per job every
combination of these that the rules on one job allow; then every combination of jobs that the shared rules allow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import lcm, prod

from libra_opt.domain import Ledger, State
from libra_opt.domain.quantity import UNLIMITED, exact

__all__ = ["TooLargeError", "enumerate_tiers"]

Vector = tuple[int, ...]


class TooLargeError(Exception):
    """The state has more combinations than are worth trying."""


@dataclass(frozen=True)
class Held:
    """One allocation of a stage in a pool, and the service it gives the stage."""

    pool: int
    amounts: Vector
    service: Fraction


@dataclass(frozen=True)
class Way:
    """One way to treat a job: what it takes of every pool and resource, its service and its charges."""

    runs: bool
    take: tuple[Vector, ...]
    service: Fraction
    ms: int


def enumerate_tiers(state: State, most_stage: int = 60_000, most_plans: int = 400_000) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return the optimum of the four tiers, in strict order.

    Raises
    ------
    TooLargeError
        A stage has more than `most_stage` allocations, or the jobs together more than `most_plans` combinations.
    """
    ledger = state.ledger
    ways = [_ways(ledger, j, most_stage) for j in range(len(ledger.jobs))]
    if prod(len(choices) for choices in ways) > most_plans:
        raise TooLargeError
    return _best(state, ledger, ways)


def _curve(ledger: Ledger, s: int) -> tuple[tuple[Fraction, Fraction], ...]:
    return ledger.curve[s] or ((Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)))


def _share_service(ledger: Ledger, s: int, share: Fraction) -> Fraction:
    """Read the service curve at a share of the demand."""
    points = _curve(ledger, s)
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= share <= x1:
            return y0 + (y1 - y0) * (share - x0) / (x1 - x0)
    return points[-1][1]


def _service(ledger: Ledger, s: int, level: Fraction) -> Fraction:
    """S(level) of R6."""
    intensities = [exact(m) for m in ledger.intensity[s]] or [Fraction(1)]
    served = [_curve(ledger, s)[-1][1] if m == 0 else _share_service(ledger, s, level / m) for m in intensities]
    return sum(served, Fraction(0)) / len(served)


def _corners(ledger: Ledger, s: int) -> list[Fraction]:
    """Levels at which the slope of S may change."""
    return sorted({exact(m) * share for m in ledger.intensity[s] or (1.0,) for share, _ in _curve(ledger, s)} | {Fraction(0)})


def _is_idle(ledger: Ledger, s: int) -> bool:
    curve = _curve(ledger, s)
    return not any(ledger.demand[s]) or curve[0][1] == curve[-1][1] or (bool(ledger.intensity[s]) and not any(ledger.intensity[s]))


def _pace_level(ledger: Ledger, s: int, service: Fraction) -> Fraction:
    """Return the least level with S(level) >= service."""
    if _is_idle(ledger, s):
        return Fraction(0)
    corners = _corners(ledger, s)
    before = corners[0]
    for corner in corners:
        if _service(ledger, s, corner) >= service:
            low, high = _service(ledger, s, before), _service(ledger, s, corner)
            return before if low >= service else before + (corner - before) * (service - low) / (high - low)
        before = corner
    raise AssertionError("a service above the top")


def _top(ledger: Ledger, s: int) -> Fraction:
    return _pace_level(ledger, s, _service(ledger, s, _corners(ledger, s)[-1]))


def _round_up(amount: Fraction, unit: int) -> int:
    return unit * -((-amount) // unit)


def _names(ledger: Ledger) -> tuple[int, int]:
    names = [resource.name for resource in ledger.resources]
    return (names.index("gpu") if "gpu" in names else -1), (names.index("gpu_mem") if "gpu_mem" in names else -1)


def _level(ledger: Ledger, s: int, speed: Fraction, amounts: Vector) -> Fraction:
    return min(speed * x / d for x, d in zip(amounts, ledger.demand[s], strict=True) if d)


def _allocations(ledger: Ledger, s: int, most: int) -> list[Held]:
    """Every allocation of a stage alone that holds R2, R3, R4, R5, R8 and R9, with its service (R5, R6)."""
    cards, memory = _names(ledger)
    found = []
    for k, speed in ledger.allowed[s]:
        amounts = [
            [x for x in range(0, min(ledger.hi[s][r], ledger.capacity[k][r]) + 1, ledger.unit[s][r]) if x >= max(ledger.lo[s][r], ledger.need[s][r])]
            for r in range(ledger.n_resources)
        ]
        if prod(len(choices) for choices in amounts) > most:
            raise TooLargeError
        ratio = ledger.card_ratio[k]
        for x in product(*amounts):
            if ratio is not None and x[memory] * ratio[1] > ratio[0] * x[cards]:
                continue
            if s in ledger.profiles:
                found += [Held(k, x, share) for share in _measured(ledger, s, k, x)]
                continue
            service = _curve(ledger, s)[-1][1] if _is_idle(ledger, s) else _service(ledger, s, _level(ledger, s, speed, x))
            found.append(Held(k, x, service))
    return found


def _measured(ledger: Ledger, s: int, k: int, x: Vector) -> list[Fraction]:
    """R15: the service of every entry of the profile that lists exactly this."""
    listed = [r for r, flag in enumerate(ledger.profiles[s].listed) if flag]
    return [entry.share for entry in ledger.profiles[s].entries if entry.pool == k and all(entry.amounts[r] == x[r] for r in listed)]


def _least(ledger: Ledger, s: int, speed: Fraction, pace: Fraction) -> Vector:
    """Return the least allocation, but for the floor that memory sets for exclusive cards."""
    return tuple(
        _round_up(max(Fraction(ledger.lo[s][r]), Fraction(ledger.need[s][r]), ledger.demand[s][r] * pace / speed), ledger.unit[s][r])
        for r in range(ledger.n_resources)
    )


def _paid(ledger: Ledger, j: int, s: int, held: Held) -> int:
    """Charge of a stage that stays with its job (R11)."""
    current = ledger.current[s]
    if current is None:
        return 0
    if ledger.current_pool[s] != held.pool:
        return ledger.migrate_ms[j]
    return max((ledger.resize_ms[j][r] for r in range(ledger.n_resources) if current[r] != held.amounts[r]), default=0)


def _holds_least_or_keeps(ledger: Ledger, j: int, s: int, held: Held, least: Vector) -> bool:
    """R14: the least of every resource, or what it has of one whose change costs more than what it pays."""
    cards, memory = _names(ledger)
    paid = _paid(ledger, j, s, held)
    stays = ledger.current[s] is not None and ledger.current_pool[s] == held.pool
    ratio = ledger.card_ratio[held.pool]
    for r, x in enumerate(held.amounts):
        if stays and ledger.resize_ms[j][r] > paid:
            continue
        if s in ledger.profiles and ledger.profiles[s].listed[r]:
            continue
        floor = least[r]
        if r == cards and ratio is not None and ratio[0]:
            floor = max(floor, _round_up(Fraction(held.amounts[memory] * ratio[1], ratio[0]), ledger.unit[s][r]))
        if x != floor:
            return False
    return True


def _ways(ledger: Ledger, j: int, most: int) -> list[Way]:
    n_pools, n_resources = len(ledger.pools), ledger.n_resources
    nothing = tuple((0,) * n_resources for _ in range(n_pools))
    ways = {(nothing, ledger.evict_ms[j] if ledger.running[j] else 0, False): Fraction(0)}
    stages = ledger.stage_of[j]
    every = {s: _allocations(ledger, s, most) for s in stages}
    services = {held.service for s in stages for held in every[s]}
    for service in services:
        fitting = [list(_fitting(ledger, j, s, every[s], service)) for s in stages]
        for combination in product(*fitting):
            if min(held.service for held, _ in combination) != service:
                continue
            take = [[0] * n_resources for _ in range(n_pools)]
            for held, _ in combination:
                for r, x in enumerate(held.amounts):
                    take[held.pool][r] += x
            key = (tuple(tuple(row) for row in take), sum(ms for _, ms in combination), True)
            ways[key] = max(ways.get(key, Fraction(0)), service)
    return [Way(runs, take, service, ms) for (take, ms, runs), service in ways.items()]


def _fitting(ledger: Ledger, j: int, s: int, every: list[Held], service: Fraction) -> Iterator[tuple[Held, int]]:
    """Allocations of a stage that a job of this service may hold (R7, R14), with their charges."""
    if all(held.service < service for held in every):
        return
    pace = _pace_level(ledger, s, service)
    least = {k: _least(ledger, s, speed, pace) for k, speed in ledger.allowed[s]}
    for held in every:
        if held.service >= service and _holds_least_or_keeps(ledger, j, s, held, least[held.pool]):
            yield held, _paid(ledger, j, s, held)


def _worth(state: State, ledger: Ledger, j: int) -> Fraction:
    job, options = state.jobs[j], state.options
    scale = exact(job.weight) * exact(options.priority_base) ** job.priority
    seconds = exact(state.period.seconds)
    rate = {"tokens": job.rates.tokens, "steps": job.rates.steps, "trajectories": job.rates.trajectories, "jobs": None}[options.throughput]
    if rate is not None:
        return scale * seconds * exact(rate)
    if options.throughput == "jobs" and job.remaining:
        return scale * seconds / exact(job.remaining)
    cards, _ = _names(ledger)
    stages = ledger.stage_of[j]
    step = ledger.resources[cards].step if cards >= 0 else Fraction(1)
    own_cards = sum(ledger.wish(s)[cards] for s in stages) * step if cards >= 0 else Fraction(0)
    if job.rates.cards is not None:
        own_cards = own_cards / 2 + exact(job.rates.cards) / 2
    if own_cards:
        return scale * own_cards
    totals = [sum(row[r] for row in ledger.capacity) for r in range(ledger.n_resources)]
    demands_something = any(any(ledger.wish(s)) or any(ledger.need[s]) for s in stages)
    share = Fraction(0)
    for r, total in enumerate(totals):
        if total:
            asked = sum(ledger.wish(s)[r] + ledger.need[s][r] if demands_something else ledger.lo[s][r] for s in stages)
            share = max(share, Fraction(asked, total))
    return scale * share * (totals[cards] * step if cards >= 0 and totals[cards] else 1)


def _asked(ledger: Ledger, s: int, r: int) -> int:
    top = Fraction(0) if _is_idle(ledger, s) else _top(ledger, s)
    fastest = max((speed for _, speed in ledger.allowed[s]), default=Fraction(1))
    wanted = max(Fraction(ledger.lo[s][r]), Fraction(ledger.need[s][r]), ledger.demand[s][r] * min(Fraction(1), top) / fastest)
    if s in ledger.profiles:
        wanted = max(wanted, Fraction(ledger.wish(s)[r]))
    return min(ledger.hi[s][r], _round_up(wanted, ledger.unit[s][r]))


def _allocations_exist(ledger: Ledger, s: int) -> bool:
    """Whether some allocation of a stage alone holds R2, R3, R4, R5, R8 and R9, looked for at the rounded-up floors with any number of cards."""
    cards, memory = _names(ledger)
    if s in ledger.profiles:
        return bool(_allocations(ledger, s, 10**9))
    for k, _ in ledger.allowed[s]:
        floors = [_round_up(Fraction(max(ledger.lo[s][r], ledger.need[s][r])), ledger.unit[s][r]) for r in range(ledger.n_resources)]
        tops = [min(ledger.hi[s][r], ledger.capacity[k][r]) for r in range(ledger.n_resources)]
        ratio = ledger.card_ratio[k]
        most_cards = tops[cards] - tops[cards] % ledger.unit[s][cards] if cards >= 0 else 0
        carries = ratio is None or floors[memory] * ratio[1] <= ratio[0] * most_cards
        if carries and all(floor <= top for floor, top in zip(floors, tops, strict=True)):
            return True
    return False


def _best(state: State, ledger: Ledger, ways: list[list[Way]]) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    shared = _Shared(state, ledger)
    worths = [_worth(state, ledger, j) for j in range(len(ways))]
    spread = 1000 * exact(state.period.seconds) * exact(state.options.hold_periods)
    values = [[a * (way.service - way.ms / spread) for way in choices] for a, choices in zip(worths, ways, strict=True)]
    scale = lcm(*(value.denominator for row in values for value in row), *(a.denominator for a in worths))
    whole_values = [[int(value * scale) for value in row] for row in values]
    lost = [[int(a * scale) if ledger.protected[j] and not way.runs else 0 for way in ways[j]] for j, a in enumerate(worths)]
    best: tuple[int, int, int, int] | None = None
    for plan in shared.fitting(ways):
        tiers = (
            sum(row[i] for row, i in zip(lost, plan, strict=True)),
            shared.over_budget(sum(choices[i].ms for choices, i in zip(ways, plan, strict=True))),
            shared.shortfall([choices[i] for choices, i in zip(ways, plan, strict=True)]),
            -sum(row[i] for row, i in zip(whole_values, plan, strict=True)),
        )
        if best is None or tiers < best:
            best = tiers
    if best is None:
        raise AssertionError("every valid state has a plan")
    return Fraction(best[0], scale), Fraction(best[1], 1000), Fraction(best[2], shared.shortfall_scale), Fraction(-best[3], scale)


class _Shared:
    """The rules that tie jobs together: R1, R10, R12, R16 and the guarantees."""

    def __init__(self, state: State, ledger: Ledger) -> None:
        self.ledger = ledger
        n_resources = ledger.n_resources
        self.total = [sum(row[r] for row in ledger.capacity) for r in range(n_resources)]
        reserved = [sum(self._at_rest(q, r) for q in self._below(-1)) for r in range(n_resources)]
        self.reserved = [[b if reserved[r] <= self.total[r] else b * self.total[r] // reserved[r] for r, b in enumerate(row)] for row in ledger.reserved]
        self.lending_is_limited = [total > 0 for total in reserved]
        self.pools, self.cost_ceiling = state.pools, state.options.cost_ceiling
        budget = state.options.preemption_budget_seconds
        self.budget = None if budget is None else round(exact(budget) * 1000)
        self.shortfall_scale = lcm(*(amount for row in ledger.nominal for amount in row if amount))
        can_run = [all(_allocations_exist(ledger, s) for s in stages) for stages in ledger.stage_of]
        self.asked = [
            [
                sum(_asked(ledger, s, r) for j, stages in enumerate(ledger.stage_of) if ledger.job_queue[j] == q and can_run[j] for s in stages)
                for r in range(n_resources)
            ]
            for q in range(len(ledger.queues))
        ]
        self.owed = [
            [min(amount - sum(self._spared(c, r) for c in self._below(q)), self._wanted(q, r)) for r, amount in enumerate(row)]
            for q, row in enumerate(ledger.nominal)
        ]

    def _below(self, q: int) -> list[int]:
        """The queues right below a queue; the roots for -1."""
        return [c for c, above in enumerate(self.ledger.parent) if above == q]

    def _at_rest(self, q: int, r: int) -> int:
        """What a queue keeps from the others while nothing runs."""
        return max(self.ledger.reserved[q][r], sum(self._at_rest(c, r) for c in self._below(q)))

    def _wanted(self, q: int, r: int) -> int:
        """What the jobs of a queue and those below it want, of these no more than their ceilings allow."""
        return self.asked[q][r] + sum(self._usable(c, r) for c in self._below(q))

    def _usable(self, q: int, r: int) -> int:
        return min(self._wanted(q, r), self.ledger.ceiling[q][r] - sum(self._spared(c, r) for c in self._below(q)))

    def _spared(self, q: int, r: int) -> int:
        """What a queue and those below it keep to themselves although nobody there wants it."""
        return max(self.reserved[q][r] - self._usable(q, r), sum(self._spared(c, r) for c in self._below(q)))

    def over_budget(self, ms: int) -> int:
        return 0 if self.budget is None else max(0, ms - self.budget)

    def shortfall(self, plan: list[Way]) -> int:
        use = self._use(plan)
        got = [[sum(use[c][r] for c in self._family(q)) for r in range(self.ledger.n_resources)] for q in range(len(self.ledger.queues))]
        return sum(
            max(0, self.owed[q][r] - got[q][r]) * (self.shortfall_scale // amount)
            for q, row in enumerate(self.ledger.nominal)
            for r, amount in enumerate(row)
            if amount
        )

    def fitting(self, ways: list[list[Way]]) -> Iterator[tuple[int, ...]]:
        """Yield the combinations that hold R1 and R10, one job after the other so that what does not fit is left early."""
        free = [list(row) for row in self.ledger.capacity]
        below = [list(row) for row in self.ledger.ceiling]
        yield from self._extend(ways, (), free, below)

    def _extend(self, ways: list[list[Way]], chosen: tuple[int, ...], free: list[list[int]], below: list[list[int]]) -> Iterator[tuple[int, ...]]:
        j = len(chosen)
        if j == len(ways):
            plan = [choices[i] for choices, i in zip(ways, chosen, strict=True)]
            if self._lending_holds(plan) and self._cost_holds(plan):
                yield chosen
            return
        for i, way in enumerate(ways[j]):
            left = [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(free, way.take, strict=True)]
            if any(amount < 0 for row in left for amount in row):
                continue
            room, q = list(below), self.ledger.job_queue[j]
            while q >= 0:
                room[q] = [b if b == UNLIMITED else b - sum(pool[r] for pool in way.take) for r, b in enumerate(below[q])]
                q = self.ledger.parent[q]
            if any(amount < 0 for row in room for amount in row):
                continue
            yield from self._extend(ways, (*chosen, i), left, room)

    def _family(self, q: int) -> list[int]:
        """A queue and all below it."""
        return [q, *(member for c in self._below(q) for member in self._family(c))]

    def _booked(self, q: int, r: int, use: list[list[int]]) -> int:
        """What a queue takes of the one above it: what it and those below it use or, where that is more, keep to themselves."""
        return max(self.reserved[q][r], self._held(q, r, use))

    def _held(self, q: int, r: int, use: list[list[int]]) -> int:
        return use[q][r] + sum(self._booked(c, r, use) for c in self._below(q))

    def _use(self, plan: list[Way]) -> list[list[int]]:
        """What each queue holds; the last row is what jobs outside every queue hold."""
        use = [[0] * self.ledger.n_resources for _ in range(len(self.ledger.queues) + 1)]
        for j, way in enumerate(plan):
            for row in way.take:
                for r, amount in enumerate(row):
                    use[self.ledger.job_queue[j]][r] += amount
        return use

    def _cost_holds(self, plan: list[Way]) -> bool:
        """Whether all that is held costs no more than the ceiling, from the prices as they are written."""
        if self.cost_ceiling is None:
            return True
        spent = Fraction(0)
        for way in plan:
            for pool, row in zip(self.pools, way.take, strict=True):
                for resource, amount in zip(self.ledger.resources, row, strict=True):
                    written = pool.price if resource.name == "gpu" and pool.price is not None else pool.price_per_hour.get(resource.name, 0)
                    spent += amount * resource.step * exact(written)
        return spent <= exact(self.cost_ceiling)

    def _lending_holds(self, plan: list[Way]) -> bool:
        if not any(self.lending_is_limited):
            return True
        use = self._use(plan)
        return all(
            not self.lending_is_limited[r]
            or (
                sum(self._booked(q, r, use) for q in self._below(-1)) + use[-1][r] <= self.total[r]
                and all(self._held(q, r, use) <= self.ledger.ceiling[q][r] for q in range(len(self.reserved)))
            )
            for r in range(self.ledger.n_resources)
        )
