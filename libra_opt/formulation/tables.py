"""The ledger's stage rows as arrays, made once, in canonical order: jobs by id, each job's stages as given."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, repeat
from operator import is_

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import CARD_MEMORY, CARDS, Ledger
from libra_opt.domain.profile import Profile
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.costs import Costs, costs_of
from libra_opt.formulation.runs import spans

__all__ = ["Tables", "tabulate"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Tables:
    """Arrays of one ledger.

    Attributes
    ----------
    job_order
        Of every position, the job's index in the state, shape ``(n_jobs,)``.
    stage
        Of every stage position, the stage's row in the ledger, shape ``(n_stages,)``.
    stage_job
        Of every stage position, the position of its job, shape ``(n_stages,)``.
    first_stage
        Where each job's stages begin, shape ``(n_jobs + 1,)``.
    lo, hi, unit, need, held
        Quanta, shape ``(n_stages, n_resources)``; `held` is 0 for a stage that holds nothing.
    demand
        Quanta, shape ``(n_stages, n_resources)``.
    wish
        What a stage would use in a fully served period: its demand, or what the fastest entry of its profile lists (R15), shape
        ``(n_stages, n_resources)``.
    holds, here
        Whether a stage holds something, and in which pool, shape ``(n_stages,)``.
    placing, placings
        Of every stage position, which of the distinct `placings` it has, shape ``(n_stages,)``; each is pairs of an allowed pool and its speed,
        and where a stage has a profile, one pair for every entry of it.
    profiles
        The profile of every one of `placings`, or None.
    resize_ms
        R11, shape ``(n_jobs, n_resources)``.
    evict_ms, migrate_ms
        R11, shape ``(n_jobs,)``.
    queue
        Of every job, the row of its queue; jobs outside every queue have the last, shape ``(n_jobs,)``.
    running, protected
        Shape ``(n_jobs,)``.
    capacity
        Shape ``(n_pools, n_resources)``.
    ceiling
        R10, shape ``(n_queues + 1, n_resources)``; `UNLIMITED` for none, as for jobs outside every queue.
    card_ratio
        (p, q) of R9, ``cards * p >= memory * q``; (1, 0) where cards are not exclusive; shape ``(n_pools, 2)``.
    compressible, costly
        Shape ``(n_resources,)``.
    is_demanded, has_units
        Of which resources some stage has a demand, or a unit of more than one quantum, shape ``(n_resources,)``.
    limited
        Of which resources some queue has a ceiling or a reserve, shape ``(n_resources,)``.
    card, memory
        Columns of the resources of R9, or -1.
    costs
        R16, None where the cost is not limited.
    """

    job_order: _Indices
    stage: _Indices
    stage_job: _Indices
    first_stage: _Indices
    lo: _Ints
    hi: _Ints
    unit: _Ints
    need: _Ints
    held: _Ints
    demand: _Floats
    wish: _Floats
    holds: _Flags
    here: _Indices
    placing: _Indices
    placings: tuple[tuple[tuple[int, Fraction], ...], ...]
    profiles: tuple[Profile | None, ...]
    resize_ms: _Ints
    evict_ms: _Floats
    migrate_ms: _Floats
    queue: _Indices
    running: _Flags
    protected: _Flags
    capacity: _Ints
    ceiling: _Ints
    card_ratio: _Ints
    compressible: _Flags
    costly: _Flags
    is_demanded: _Flags
    has_units: _Flags
    limited: _Flags
    card: int
    memory: int
    costs: Costs | None = None

    @property
    def n_jobs(self) -> int:
        """How many jobs there are."""
        return len(self.job_order)


def tabulate(ledger: Ledger) -> Tables:
    """Return the arrays of a ledger."""
    n = ledger.n_resources
    order = np.array(sorted(range(len(ledger.jobs)), key=ledger.jobs.__getitem__), dtype=np.intp)
    begins = np.array([rows.start for rows in ledger.stage_of], dtype=np.intp)
    counts = np.diff(np.append(begins, len(ledger.lo)))[order]
    stage = spans(begins[order], begins[order] + counts)[0]
    nothing = (0,) * n
    names = [resource.name for resource in ledger.resources]
    has_cards = CARDS in names and CARD_MEMORY in names
    queue = np.array(ledger.job_queue, dtype=np.intp)[order]
    placing, placings, profiles = _placings(ledger)
    demand, unit = _matrix(ledger.demand, n)[stage].astype(np.float64), _matrix(ledger.unit, n)[stage]
    return Tables(
        job_order=order,
        stage=stage,
        stage_job=np.repeat(np.arange(len(order)), counts),
        first_stage=np.append(0, np.cumsum(counts)).astype(np.intp),
        lo=_matrix(ledger.lo, n)[stage],
        hi=_matrix(ledger.hi, n)[stage],
        unit=unit,
        need=_matrix(ledger.need, n)[stage],
        held=_matrix([held or nothing for held in ledger.current], n)[stage],
        demand=demand,
        wish=_wish(ledger, demand, stage),
        holds=np.array([held is not None for held in ledger.current], dtype=np.bool_)[stage],
        here=np.array(ledger.current_pool, dtype=np.intp)[stage],
        placing=np.array(placing, dtype=np.intp)[stage],
        placings=placings,
        profiles=profiles,
        resize_ms=_matrix(ledger.resize_ms, n)[order],
        evict_ms=np.array(ledger.evict_ms, dtype=np.float64)[order],
        migrate_ms=np.array(ledger.migrate_ms, dtype=np.float64)[order],
        queue=np.where(queue >= 0, queue, len(ledger.queues)),
        running=np.array(ledger.running, dtype=np.bool_)[order],
        protected=np.array(ledger.protected, dtype=np.bool_)[order],
        capacity=_matrix(ledger.capacity, n),
        ceiling=_matrix([*ledger.ceiling, (UNLIMITED,) * n], n),
        card_ratio=np.array([(1, 0) if pair is None else pair for pair in ledger.card_ratio], dtype=np.int64).reshape(-1, 2),
        compressible=np.array([resource.compressible for resource in ledger.resources], dtype=np.bool_),
        costly=np.array([resource.costly for resource in ledger.resources], dtype=np.bool_),
        is_demanded=np.asarray(demand.any(axis=0)),
        has_units=np.asarray((unit > 1).any(axis=0)),
        limited=_limited(ledger),
        card=names.index(CARDS) if has_cards else -1,
        memory=names.index(CARD_MEMORY) if has_cards else -1,
        costs=costs_of(ledger),
    )


def _placings(ledger: Ledger) -> tuple[list[int], tuple[tuple[tuple[int, Fraction], ...], ...], tuple[Profile | None, ...]]:
    """R4, R15: return of every row of the ledger which of the distinct placings it has, these, and their profiles."""
    kinds: dict[int, int] = {}
    if not ledger.profiles and ledger.allowed and all(map(is_, ledger.allowed, repeat(ledger.allowed[0]))):
        return [0] * len(ledger.allowed), (ledger.allowed[0],), (None,)
    if not ledger.profiles:
        placing = [kinds.setdefault(id(allowed), len(kinds)) for allowed in ledger.allowed]
        known = {id(allowed): allowed for allowed in ledger.allowed}
        return placing, tuple(known[kind] for kind in kinds), (None,) * len(kinds)
    found: list[tuple[tuple[tuple[int, Fraction], ...], Profile | None]] = []
    placing = []
    for s, allowed in enumerate(ledger.allowed):
        profile = ledger.profiles.get(s)
        kind = id(allowed) if profile is None else id(profile)
        if kind not in kinds:
            kinds[kind] = len(found)
            found.append((allowed if profile is None else tuple((entry.pool, Fraction(1)) for entry in profile.entries), profile))
        placing.append(kinds[kind])
    return placing, tuple(pairs for pairs, _ in found), tuple(profile for _, profile in found)


def _wish(ledger: Ledger, demand: _Floats, stage: _Indices) -> _Floats:
    """R15: return what stages would use in a fully served period, given the demand of stages in canonical order."""
    if not ledger.profiles:
        return demand
    rows = np.array(sorted(ledger.profiles), dtype=np.intp)
    wish = np.empty_like(demand)
    wish[:] = demand
    where = np.empty(len(stage), dtype=np.intp)
    where[stage] = np.arange(len(stage))
    wish[where[rows]] = _matrix([ledger.profiles[s].wish for s in rows.tolist()], ledger.n_resources)
    return wish


def _matrix(rows: Sequence[tuple[int, ...]], width: int) -> _Ints:
    if rows and rows.count(rows[0]) == len(rows):  # units, what is held and what moving costs are mostly the same for all
        return np.broadcast_to(np.array(rows[0], dtype=np.int64), (len(rows), width))
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * width).reshape(-1, width)


def _limited(ledger: Ledger) -> _Flags:
    limited = np.zeros(ledger.n_resources, dtype=np.bool_)
    for ceiling, reserved in zip(ledger.ceiling, ledger.reserved, strict=True):
        limited |= [limit != UNLIMITED or kept > 0 for limit, kept in zip(ceiling, reserved, strict=True)]
    return limited
