"""The ledger's stage rows as arrays, made once, in canonical order: jobs by id, each job's stages as given."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import CARD_MEMORY, CARDS, Ledger
from libra_opt.domain.quantity import UNLIMITED

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
    holds, here
        Whether a stage holds something, and in which pool, shape ``(n_stages,)``.
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
    limited
        Of which resources some queue has a ceiling or a reserve, shape ``(n_resources,)``.
    card, memory
        Columns of the resources of R9, or -1.
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
    holds: _Flags
    here: _Indices
    resize_ms: _Ints
    evict_ms: _Floats
    migrate_ms: _Floats
    queue: _Indices
    running: _Flags
    protected: _Flags
    capacity: _Ints
    ceiling: _Ints
    card_ratio: _Floats
    compressible: _Flags
    costly: _Flags
    limited: _Flags
    card: int
    memory: int

    @property
    def n_jobs(self) -> int:
        """How many jobs there are."""
        return len(self.job_order)


def tabulate(ledger: Ledger) -> Tables:
    """Return the arrays of a ledger."""
    n = ledger.n_resources
    order = sorted(range(len(ledger.jobs)), key=ledger.jobs.__getitem__)
    stage = np.array([s for j in order for s in ledger.stage_of[j]], dtype=np.intp)
    counts = np.array([len(ledger.stage_of[j]) for j in order], dtype=np.intp)
    nothing = (0,) * n
    names = [resource.name for resource in ledger.resources]
    has_cards = CARDS in names and CARD_MEMORY in names
    queue = np.array([ledger.job_queue[j] for j in order], dtype=np.intp)

    def rows(values: list[tuple[int, ...]]) -> _Ints:
        return np.array(values, dtype=np.int64).reshape(-1, n)[stage] if len(stage) else np.zeros((0, n), dtype=np.int64)

    return Tables(
        job_order=np.array(order, dtype=np.intp),
        stage=stage,
        stage_job=np.repeat(np.arange(len(order)), counts),
        first_stage=np.append(0, np.cumsum(counts)).astype(np.intp),
        lo=rows(ledger.lo),
        hi=rows(ledger.hi),
        unit=rows(ledger.unit),
        need=rows(ledger.need),
        held=rows([held or nothing for held in ledger.current]),
        demand=rows(ledger.demand).astype(np.float64),
        holds=np.array([ledger.current[s] is not None for s in stage], dtype=np.bool_),
        here=np.array([ledger.current_pool[s] for s in stage], dtype=np.intp),
        resize_ms=np.array([ledger.resize_ms[j] for j in order], dtype=np.int64).reshape(-1, n),
        evict_ms=np.array([ledger.evict_ms[j] for j in order], dtype=np.float64),
        migrate_ms=np.array([ledger.migrate_ms[j] for j in order], dtype=np.float64),
        queue=np.where(queue >= 0, queue, len(ledger.queues)),
        running=np.array([ledger.running[j] for j in order], dtype=np.bool_),
        protected=np.array([ledger.protected[j] for j in order], dtype=np.bool_),
        capacity=np.array(ledger.capacity, dtype=np.int64).reshape(-1, n),
        ceiling=np.array([*ledger.ceiling, (UNLIMITED,) * n], dtype=np.int64),
        card_ratio=np.array([(1, 0) if pair is None else pair for pair in ledger.card_ratio], dtype=np.float64).reshape(-1, 2),
        compressible=np.array([resource.compressible for resource in ledger.resources], dtype=np.bool_),
        costly=np.array([resource.costly for resource in ledger.resources], dtype=np.bool_),
        limited=_limited(ledger),
        card=names.index(CARDS) if has_cards else -1,
        memory=names.index(CARD_MEMORY) if has_cards else -1,
    )


def _limited(ledger: Ledger) -> _Flags:
    limited = np.zeros(ledger.n_resources, dtype=np.bool_)
    for ceiling, reserved in zip(ledger.ceiling, ledger.reserved, strict=True):
        limited |= [limit != UNLIMITED or kept > 0 for limit, kept in zip(ceiling, reserved, strict=True)]
    return limited
