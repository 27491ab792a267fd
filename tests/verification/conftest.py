"""Plans for the verifier: one door that completes a plan written by hand, and one that composes random plans that obey every rule.

The composer is a second reading of the write-up, in plain fractions and without regard to speed. It goes the other way round: it first decides
what every stage holds, then builds a cluster around it in which that is allowed.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil
from operator import le
from random import Random
from typing import Any

import pytest

from libra_opt.domain import DEFAULT_RESOURCES, Plan, State, digest

Answer = Callable[..., Plan]
Compose = Callable[..., tuple[State, Plan]]
Document = dict[str, Any]
N = len(DEFAULT_RESOURCES)
GPU, GPU_MEM, CPU, MEM, NET = range(N)
UNLIMITED = 10**12
CURVES = (None, None, None, [[0.5, 0.8], [1, 1]], [[0, 0.25], [0.25, 0.5], [1.25, 0.875]], [[0, 0.5], [2, 0.5]], [[1, 1], [2, 1]])
INTENSITIES = ((), (), (), (0.5, 1, 1.5), (0, 0.75, 1.1), (0, 0), (0.3, 0.3, 2.75), (1.25,))


@pytest.fixture
def answer() -> Answer:
    return complete_plan


@pytest.fixture
def compose() -> Compose:
    return compose_plan


def complete_plan(state: State, jobs: Sequence[Document], value: float, *, tiers: Mapping[str, float] | None = None, **changes: Any) -> Plan:
    """Complete a plan written by hand: digest, period, reasons, and a certificate that calls it optimal."""
    certificate = {
        "status": "optimal",
        "objective": value,
        "bound": value,
        "gap": 0.0,
        "backend": "auto",
        "tiers": [{"name": name, "objective": number, "bound": number} for name, number in (tiers or {}).items()],
        **changes.pop("certificate", {}),
    }
    document = {
        "state_digest": digest(state),
        "period": state.period.model_dump(),
        "jobs": [{"reason": {"code": "test", "message": "by hand"}, **job} for job in jobs],
        "certificate": certificate,
        **changes,
    }
    return Plan.model_validate(document)


def written(amounts: Sequence[int]) -> Document:
    return {resource.name: resource.write(amount) for resource, amount in zip(DEFAULT_RESOURCES, amounts, strict=True)}


def points_of(curve: list[list[float]] | None) -> list[tuple[Fraction, Fraction]]:
    points = [(Fraction(str(x)), Fraction(str(y))) for x, y in curve or [[0, 0], [1, 1]]]
    return points if points[0][0] == 0 else [(Fraction(0), Fraction(0)), *points]


def on_curve(points: list[tuple[Fraction, Fraction]], share: Fraction) -> Fraction:
    for (x0, y0), (x1, y1) in pairwise(points):
        if share <= x1:
            return y0 + (y1 - y0) * (share - x0) / (x1 - x0)
    return points[-1][1]


class Stage:
    """One stage as the composer sees it."""

    def __init__(self, dice: Random, n_pools: int, exclusive: Sequence[int | None]) -> None:
        self.exclusive = exclusive
        self.speeds = {k: Fraction(dice.choice(("1", "1", "0.5", "1.25"))) for k in sorted(dice.sample(range(n_pools), dice.randint(1, n_pools)))}
        self.unit = [dice.choice((1, 1, 2, 4)), 1, dice.choice((1, 5)), 1, 1]
        self.points = points_of(curve := dice.choice(CURVES))
        self.curve = curve
        intensity = dice.choice(INTENSITIES)
        self.intensity = intensity
        self.factors = [Fraction(str(m)) for m in intensity] or [Fraction(1)]
        self.demand = [dice.choice((0, dice.randint(1, 12))), 0, dice.choice((0, dice.randint(1, 300))), 0, dice.choice((0, dice.randint(1, 50)))]
        self.need = [0, dice.choice((0, dice.randint(1, 200))), 0, dice.choice((0, dice.randint(1, 99))), 0]
        self.lo = [u * dice.choice((0, 0, 1, 2)) for u in self.unit]
        self.hi = [
            UNLIMITED if dice.random() < 0.6 else u * (-(-max(lo, d, n, 1) // u) + 40)
            for u, lo, d, n in zip(self.unit, self.lo, self.demand, self.need, strict=True)
        ]
        self.current: list[int] | None = None
        self.at = self.pool = -1
        self.held: list[int] = []

    def served(self, level: Fraction) -> Fraction:
        if self.idle:
            return self.points[-1][1]
        top = self.points[-1][1]
        return sum((on_curve(self.points, level / m) if m else top for m in self.factors), Fraction(0)) / len(self.factors)

    @property
    def idle(self) -> bool:
        return not any(self.demand) or self.points[0][1] == self.points[-1][1] or not any(self.factors)

    @property
    def bends(self) -> list[Fraction]:
        return sorted({Fraction(0)} | {m * x for m in self.factors for x, _ in self.points})

    @property
    def top(self) -> Fraction:
        return Fraction(0) if self.idle else next(level for level in self.bends if self.served(level) == self.served(self.bends[-1]))

    def pace(self, service: Fraction) -> Fraction:
        if self.idle or self.served(Fraction(0)) >= service:
            return Fraction(0)
        for low, high in pairwise(self.bends):
            if self.served(high) >= service:
                return low + (high - low) * (service - self.served(low)) / (self.served(high) - self.served(low))
        raise AssertionError(service)

    def least(self, pool: int, service: Fraction, memory: int | None = None) -> list[int]:
        level = self.pace(service) / self.speeds[pool]
        amounts = [u * ceil(max(Fraction(lo), Fraction(n), d * level) / u) for u, lo, n, d in zip(self.unit, self.lo, self.need, self.demand, strict=True)]
        if memory is not None:
            amounts[GPU_MEM] = memory
        ratio = self.exclusive[pool]
        if ratio is not None:
            amounts[GPU] = max(amounts[GPU], self.unit[GPU] * -(-amounts[GPU_MEM] // (ratio * self.unit[GPU])))
        return amounts

    def level(self) -> Fraction:
        return min(self.speeds[self.pool] * x / Fraction(d) for x, d in zip(self.held, self.demand, strict=True) if d) if any(self.demand) else Fraction(0)

    def ask(self) -> list[int]:
        full = min(Fraction(1), self.top) / max(self.speeds.values())
        return [
            min(h, u * ceil(max(Fraction(lo), Fraction(n), d * full) / u))
            for u, lo, n, d, h in zip(self.unit, self.lo, self.need, self.demand, self.hi, strict=True)
        ]

    def fits_some(self, capacity: Sequence[Sequence[int]]) -> bool:
        """Whether the stage could run alone in some pool it may use."""
        leasts = [(self.least_without_level(k), capacity[k]) for k in self.speeds]
        return any(all(map(le, held, map(min, row, self.hi))) for held, row in leasts)

    def least_without_level(self, pool: int) -> list[int]:
        amounts = [u * -(-max(lo, n) // u) for u, lo, n in zip(self.unit, self.lo, self.need, strict=True)]
        ratio = self.exclusive[pool]
        if ratio is not None:
            amounts[GPU] = max(amounts[GPU], self.unit[GPU] * -(-amounts[GPU_MEM] // (ratio * self.unit[GPU])))
        return amounts

    def document(self, name: str) -> Document:
        document: Document = {
            "name": name,
            "min_quota": written(self.lo),
            "max_quota": {key: amount for (key, amount), h in zip(written(self.hi).items(), self.hi, strict=True) if h < UNLIMITED},
            "unit": written(self.unit),
            "demand": written(self.demand),
            "need": {key: amount for key, amount in written(self.need).items() if key in ("gpu_mem", "mem")},
            "demand_intensity": self.intensity,
            "pools": {f"p{k}": float(v) for k, v in self.speeds.items()},
        }
        if self.curve is not None:
            document["curve"] = self.curve
        if self.current is not None:
            document["allocation"] = {"pool": f"p{self.at}", "resources": written(self.current)}
        return document

    def settle(self, dice: Random, service: Fraction, charges: Sequence[int], *, spare: bool) -> int:
        """Choose a pool, what is held and what was held before; return the charge in ms (the last of `charges` is for migrating)."""
        self.pool = dice.choice(list(self.speeds))
        self.held = self.least(self.pool, service)
        how = dice.choice(("start", "start", "keep", "keep", "keep memory", "resize", "migrate"))
        paid = 0
        if how in ("keep", "keep memory"):
            self.at = self.pool
            memory = min(self.hi[GPU_MEM], self.held[GPU_MEM] + dice.randint(0, 30))
            self.held = self.least(self.pool, service, memory)
            if how == "keep":
                self.held[GPU] = min(self.hi[GPU], self.held[GPU] + self.unit[GPU] * dice.randint(0, 3))
                self.current = [self.held[GPU], memory, *(dice.choice((self.held[CPU:], [dice.randint(0, 50) for _ in range(CPU, N)])))]
            else:
                self.current = [self.held[GPU] + 1, memory, *self.held[CPU:]]
                paid = charges[GPU]
        elif how == "resize":
            self.at, self.current = self.pool, [dice.randint(0, 9) for _ in range(N)]
            paid = max((charges[r] for r in range(N) if self.current[r] != self.held[r]), default=0)
        elif how == "migrate" and len(self.exclusive) > 1:
            self.at, self.current = dice.choice([k for k in range(len(self.exclusive)) if k != self.pool]), [dice.randint(1, 9) for _ in range(N)]
            paid = charges[-1]
        if self.current is not None and not any(self.current):
            self.current, self.at, paid = None, -1, 0
            self.held = self.least(self.pool, service)
        if spare:
            for r in (CPU, NET):
                self._add_spare(dice, r)
        return paid

    def _add_spare(self, dice: Random, r: int) -> None:
        if self.demand[r]:
            cap = self.hi[r] if self.hi[r] < UNLIMITED else self.unit[r] * ceil(self.demand[r] * max(self.factors) / self.unit[r])
            if cap > self.held[r]:
                self.held[r] += self.unit[r] * dice.randint(0, (cap - self.held[r]) // self.unit[r])


class Composer:
    """One composition: the jobs first, then a cluster and queues around them in which all that is allowed."""

    def __init__(self, seed: int, n_jobs: int, n_pools: int, n_queues: int, most_stages: int) -> None:
        self.dice = dice = Random(seed)
        self.n_queues = n_queues
        self.exclusive = [dice.choice((None, 40, 80)) for _ in range(n_pools)]
        self.spare, self.base, self.seconds, self.hold = dice.random() < 0.7, dice.choice((2, 10)), dice.choice((30, 60)), dice.choice((1, 2))
        self.use = [[0] * N for _ in range(n_pools)]
        self.taken = [[0] * N for _ in range(n_queues + 1)]
        self.asks: list[tuple[int, Sequence[Stage]]] = []
        self.n_queues = n_queues
        self.got = [[0] * N for _ in range(n_queues + 1)]
        self.jobs: list[Document] = []
        self.planned: list[Document] = []
        self.forecast: list[Document] = []
        self.facts: list[tuple[list[Stage], Document, Fraction, int]] = []
        for j in range(n_jobs):
            self.add_job(f"j{j}", [Stage(dice, n_pools, self.exclusive) for _ in range(dice.randint(1, most_stages))])

    def add_job(self, name: str, stages: list[Stage]) -> None:
        dice = self.dice
        resize = (dice.choice((5, 10, 15)), dice.choice((20, 30)))
        charges = [resize[0] * 1000, resize[1] * 1000, 0, 0, 0, 45000]
        q = dice.randrange(-1, self.n_queues)
        runs = dice.random() < 0.7
        service, cost = Fraction(0), 0
        if runs:
            wanted = min(stage.served(stage.top) for stage in stages) * Fraction(dice.randint(0, 8), 8)
            cost = sum(stage.settle(dice, wanted, charges, spare=self.spare) for stage in stages)
            runs = all(x <= h for stage in stages for x, h in zip(stage.held, stage.hi, strict=True))
        running = any(stage.current is not None for stage in stages)
        if runs:
            service = min(stage.served(stage.level()) for stage in stages)
        else:
            cost = 45000 if running else 0
        job = self.job_document(name, q, stages, resize)
        self.jobs.append(job)
        self.facts.append((stages, job, service, cost))
        self.forecast_one(job, stages)
        self.add_up(q, stages, service, runs=runs)
        placed = [{"name": f"s{i}", "pool": f"p{stage.pool}", "resources": written(stage.held)} for i, stage in enumerate(stages)] if runs else []
        self.planned.append({"id": name, "action": _action(stages, runs=runs, running=running), "service": float(service), "stages": placed})

    def forecast_one(self, job: Document, stages: Sequence[Stage]) -> None:
        """Let the first stage of some jobs bring a history instead of its demand, and the plan its forecast."""
        if len(stages) > 1 and self.dice.random() < 0.5:
            first = job["stages"][0]
            first["history"] = [{"gpu": 1}]
            expected = {field: first.pop(field) for field in ("demand", "need", "demand_intensity")}
            self.forecast.append({"job": job["id"], "stage": "s0", "method": "test", **expected})

    def add_up(self, q: int, stages: Sequence[Stage], service: Fraction, *, runs: bool) -> None:
        self.asks.append((q, stages))
        for stage in stages:
            least = stage.least(stage.pool, service) if runs else []
            for r in range(N):
                if runs:
                    self.use[stage.pool][r] += stage.held[r]
                    self.taken[q][r] += stage.held[r]
                    self.got[q][r] += least[r] if r in (CPU, NET) else stage.held[r]

    def job_document(self, name: str, q: int, stages: Sequence[Stage], resize: tuple[int, int]) -> Document:
        return {
            "id": name,
            "priority": self.dice.choice((0, 0, 1)),
            "weight": self.dice.choice((0, 1, 2.5)),
            "preemption_cost": {"resize_seconds": {"gpu": resize[0], "gpu_mem": resize[1]}},
            "stages": [stage.document(f"s{i}") for i, stage in enumerate(stages)],
            **({"queue": f"q{q}"} if q >= 0 else {}),
        }

    def finish(self) -> tuple[State, Plan]:
        dice = self.dice
        capacity = [[amount + dice.choice((0, 3)) for amount in row] for row in self.use]
        totals = [sum(row[r] for row in capacity) for r in range(N)]
        nominal = [[dice.choice((0, dice.randint(1, 40))) for _ in range(N)] for _ in range(self.n_queues)]
        cost = sum(cost for *_, cost in self.facts)
        document = {
            "period": {"seconds": self.seconds},
            "pools": [
                {"name": f"p{k}", "capacity": written(row), **({} if per_card is None else {"card_mem": f"{per_card}Gi"})}
                for k, (row, per_card) in enumerate(zip(capacity, self.exclusive, strict=True))
            ],
            "queues": [
                {
                    "name": f"q{q}",
                    "nominal_quota": written(quota),
                    "borrowing_limit": written([max(0, taken - most) + dice.choice((0, 2)) for taken, most in zip(self.taken[q], quota, strict=True)]),
                }
                for q, quota in enumerate(nominal)
            ],
            "jobs": self.jobs,
            "options": {
                "spare": self.spare,
                "priority_base": self.base,
                "hold_periods": self.hold,
                "preemption_budget_seconds": dice.choice((None, cost / 1000 + 1)),
            },
        }
        state = State.model_validate(document)
        losses = [(_worth(stages, job, self.base, totals), service, Fraction(ms, 1000 * self.seconds * self.hold)) for stages, job, service, ms in self.facts]
        value = float(sum(worth * (service - lost) for worth, service, lost in losses))
        asked_by = [[0] * N for _ in range(self.n_queues + 1)]
        for q, stages in self.asks:
            if all(stage.fits_some(capacity) for stage in stages):
                asked_by[q] = [sum(column) for column in zip(asked_by[q], *(stage.ask() for stage in stages), strict=True)]
        shares = [
            Fraction(max(0, min(most, asked) - got), most)
            for q, quota in enumerate(nominal)
            for most, asked, got in zip(quota, asked_by[q], self.got[q], strict=True)
            if most
        ]
        tiers = {"protected_lost": 0.0, "over_budget_seconds": 0.0, "guarantee_shortfall": float(sum(shares)), "value": value}
        return state, complete_plan(state, self.planned, value, tiers=tiers, forecast=self.forecast)


@cache
def compose_plan(seed: int, n_jobs: int = 6, n_pools: int = 3, n_queues: int = 2, most_stages: int = 3) -> tuple[State, Plan]:
    """Compose a state and a plan that obeys all its rules, with a true certificate."""
    return Composer(seed, n_jobs, n_pools, n_queues, most_stages).finish()


def _action(stages: Sequence[Stage], *, runs: bool, running: bool) -> str:
    if not running:
        return "admit" if runs else "queue"
    if not runs:
        return "evict"
    if any(stage.current is not None and stage.at != stage.pool for stage in stages):
        return "migrate"
    steps = [x - c for stage in stages for x, c in zip(stage.held, stage.current or [0] * N, strict=True)]
    up, down = any(step > 0 for step in steps), any(step < 0 for step in steps)
    return "reshape" if up and down else "grow" if up else "shrink" if down else "keep"


def _worth(stages: Sequence[Stage], job: Document, base: int, totals: Sequence[int]) -> Fraction:
    cards = Fraction(sum(stage.demand[GPU] for stage in stages))
    if not cards:
        for rows in ([[d + n for d, n in zip(s.demand, s.need, strict=True)] for s in stages], [s.lo for s in stages]):
            asks = [sum(row[r] for row in rows) for r in range(N)]
            if any(asks):
                cards = max((Fraction(a, t) for a, t in zip(asks, totals, strict=True) if t), default=Fraction(0)) * (totals[GPU] or 1)
                break
    return Fraction(str(job["weight"])) * base ** job["priority"] * cards
