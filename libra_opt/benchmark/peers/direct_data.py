"""The data section of models/allocation.md as arrays, read from the state and its ledger and from nothing of the formulation."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from libra_opt.adapters.mathprog import service_points, worth
from libra_opt.benchmark.peers.peer import NotStatedError
from libra_opt.domain import Forecast, Ledger, State
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.quantity import UNLIMITED, exact

__all__ = ["DirectData", "read_direct_data"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]
_Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class DirectData:
    """The symbols of models/allocation.md; amounts in quanta.

    Attributes
    ----------
    job, lo, hi, u, d, n, cur, at
        Of every stage: its job ``(n_stages,)``, quotas, units, demand, need and holding ``(n_stages, n_resources)``, pool it sits in or -1 ``(n_stages,)``.
    stage, pool, v
        Of every pair of a stage and a pool it may use, shape ``(n_pairs,)``.
    points
        Of every stage, where the service bends, (level, service), from level 0 to its top.
    queue, a, protected, running, evict, migrate, resize
        Of every job; queue -1 for none; charges in seconds, `resize` of shape ``(n_jobs, n_resources)``.
    capacity, p, q
        Of every pool: capacity ``(n_pools, n_resources)``, and the two of R9, ``p * cards >= q * memory``; q is 0 where cards are not exclusive.
    nominal, ceiling, reserved, floor
        Of every queue and resource; `reserved` as cut to the cluster, `floor` is min(nominal, ask).
    card, memory
        The resources of R9, or -1.
    budget, period_seconds
        R12's budget, infinite without one, and what R11's charges are spread over, P * H; seconds.
    """

    job: _Indices
    lo: _Floats
    hi: _Floats
    u: _Floats
    d: _Floats
    n: _Floats
    cur: _Floats
    at: _Indices
    stage: _Indices
    pool: _Indices
    v: _Floats
    points: tuple[_Points, ...]
    queue: _Indices
    a: _Floats
    protected: _Flags
    running: _Flags
    evict: _Floats
    migrate: _Floats
    resize: _Floats
    capacity: _Floats
    p: _Floats
    q: _Floats
    nominal: _Floats
    ceiling: _Floats
    reserved: _Floats
    floor: _Floats
    card: int
    memory: int
    budget: float
    period_seconds: float

    @property
    def floor_units(self) -> _Floats:
        """R2 and R5: the fewest units of a stage that runs, shape ``(n_stages, n_resources)``."""
        return np.asarray(np.ceil(np.maximum(self.lo, self.n) / self.u))

    @property
    def top(self) -> _Floats:
        """The level at which each stage is served as well as can be, shape ``(n_stages,)``."""
        return np.array([points[-1][0] for points in self.points])


def read_direct_data(state: State, forecast: Forecast) -> DirectData:
    """Return the data of a state.

    Raises
    ------
    NotStatedError
        Some stage brings a profile (R15), some queue a parent, or the cost is limited (R16), which this direct form does not state.
    """
    if max(state.ledger.parent, default=-1) >= 0:
        raise NotStatedError("queues below others (R10) are not stated in this direct form")
    if state.ledger.profiles:
        raise NotStatedError("stages with profiles (R15) are not stated in this direct form")
    if state.ledger.cost is not None:
        raise NotStatedError("cost ceilings (R16) are not stated in this direct form")
    ledger = state.ledger.with_forecast(forecast)
    n = ledger.n_resources
    names = [resource.name for resource in ledger.resources]
    has_cards = CARDS in names and CARD_MEMORY in names
    n_stages, n_queues = len(ledger.lo), len(ledger.queues)
    pairs = [(s, k, float(speed)) for s in range(n_stages) for k, speed in ledger.allowed[s]]
    points = _all_points(ledger)
    options = state.options
    budget = options.preemption_budget_seconds
    ratio = [pair or (1, 0) for pair in ledger.card_ratio]
    capacity = _table(ledger.capacity, n)
    nominal = _table(ledger.nominal, n)
    return DirectData(
        job=np.array([j for j, rows in enumerate(ledger.stage_of) for _ in rows], dtype=np.intp),
        lo=_table(ledger.lo, n),
        hi=_table(ledger.hi, n),
        u=_table(ledger.unit, n),
        d=_table(ledger.demand, n),
        n=_table(ledger.need, n),
        cur=_table([held or (0,) * n for held in ledger.current], n),
        at=np.array(ledger.current_pool, dtype=np.intp),
        stage=np.array([s for s, _, _ in pairs], dtype=np.intp),
        pool=np.array([k for _, k, _ in pairs], dtype=np.intp),
        v=np.array([speed for _, _, speed in pairs]),
        points=points,
        queue=np.array(ledger.job_queue, dtype=np.intp),
        a=np.array([float(worth(state, ledger, j)) for j in range(len(ledger.jobs))]),
        protected=np.array(ledger.protected, dtype=np.bool_),
        running=np.array(ledger.running, dtype=np.bool_),
        evict=np.array(ledger.evict_ms) / 1000,
        migrate=np.array(ledger.migrate_ms) / 1000,
        resize=_table(ledger.resize_ms, n) / 1000,
        capacity=capacity,
        p=np.array([float(p) for p, _ in ratio]),
        q=np.array([float(q) for _, q in ratio]),
        nominal=nominal,
        ceiling=np.where((limit := _table(ledger.ceiling, n)) >= UNLIMITED, np.inf, limit),
        reserved=_cut(ledger, n_queues, n),
        floor=np.minimum(nominal, _asked(ledger, points, n)) if nominal.any() else np.zeros_like(nominal),
        card=names.index(CARDS) if has_cards else -1,
        memory=names.index(CARD_MEMORY) if has_cards else -1,
        budget=np.inf if budget is None else round(exact(budget) * 1000) / 1000,
        period_seconds=state.period.seconds * options.hold_periods,
    )


def _table(rows: list[tuple[int, ...]], n: int) -> _Floats:
    return np.array(rows, dtype=np.float64).reshape(-1, n)


def _all_points(ledger: Ledger) -> tuple[_Points, ...]:
    kinds: dict[object, _Points] = {}
    found: list[_Points] = []
    for curve, intensity, demand in zip(ledger.curve, ledger.intensity, ledger.demand, strict=True):
        key = (curve, intensity, any(demand))
        if key not in kinds:
            kinds[key] = tuple((float(level), float(service)) for level, service in service_points(curve, intensity, idle=not key[2]))
        found.append(kinds[key])
    return tuple(found)


def _asked(ledger: Ledger, points: tuple[_Points, ...], n: int) -> _Floats:
    """Return what the jobs of each queue ask, shape ``(n_queues, n_resources)``; jobs that fit no empty cluster ask nothing."""
    asked = np.zeros((len(ledger.queues), n))
    for queue, rows in zip(ledger.job_queue, ledger.stage_of, strict=True):
        if queue < 0 or not all(ledger.fits_alone(s) for s in rows):
            continue
        for s in rows:
            share = min(Fraction(1), Fraction(points[s][-1][0])) / max((speed for _, speed in ledger.allowed[s]), default=Fraction(1))
            for r in range(n):
                unit = ledger.unit[s][r]
                wanted = max(Fraction(ledger.lo[s][r]), Fraction(ledger.need[s][r]), ledger.demand[s][r] * share)
                asked[queue, r] += min(ledger.hi[s][r], unit * -(-wanted // unit))
    return asked


def _cut(ledger: Ledger, n_queues: int, n: int) -> _Floats:
    """R10: return what each queue reserves, cut to the cluster where all together reserve more than it has."""
    cut = np.zeros((n_queues, n))
    for r in range(n):
        total, promised = sum(row[r] for row in ledger.capacity), sum(row[r] for row in ledger.reserved)
        cut[:, r] = [row[r] * total // promised if promised > total else row[r] for row in ledger.reserved]
    return cut
