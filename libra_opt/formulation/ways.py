"""The ways a stage can be placed: one per allowed pool, and in the pool it sits in one more per amount of what it holds that it keeps.

A way fixes everything that does not depend on the level: pool and speed (R4), floors and ceilings of every resource (R2, R3, R5's needs, R8,
R9 as far as memory is fixed), and which resources stay exactly as they are (R14's keep).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import CARD_MEMORY, CARDS, Ledger

__all__ = ["Ways", "placements"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ways:
    """All feasible ways, sorted by job (in canonical order), stage and pool.

    Attributes
    ----------
    stage, pool
        Indices into the ledger, shape ``(n_ways,)``.
    speed
        Shape ``(n_ways,)``.
    floor, ceiling
        Least and most amounts in quanta, whole units, shape ``(n_ways, n_resources)``; equal for a kept resource.
    card_ratio
        (p, q) of R9, ``gpu * p >= memory * q``; (1, 0) where cards are not exclusive; shape ``(n_ways, 2)``.
    """

    stage: npt.NDArray[np.intp]
    pool: npt.NDArray[np.intp]
    speed: _Floats
    floor: _Ints
    ceiling: _Ints
    card_ratio: _Floats


def placements(ledger: Ledger, job_order: npt.NDArray[np.intp]) -> Ways:
    """Return the ways of all stages; a stage without any way keeps its job waiting.

    Parameters
    ----------
    ledger
        The state in whole quanta.
    job_order
        The canonical order of the jobs, shape ``(n_jobs,)``.
    """
    stage, pool, speed, kept = _enumerate(ledger, job_order)
    n_resources = ledger.n_resources
    if not len(stage):
        empty = np.zeros((0, n_resources), dtype=np.int64)
        return Ways(stage, pool, speed, empty, empty, np.zeros((0, 2)))
    unit = np.array(ledger.unit, dtype=np.int64)[stage]
    least = np.maximum(np.array(ledger.lo, dtype=np.int64), np.array(ledger.need, dtype=np.int64))[stage]
    capacity = np.array(ledger.capacity, dtype=np.int64).reshape(-1, n_resources)[pool]
    most = np.minimum(np.array(ledger.hi, dtype=np.int64)[stage], capacity)
    floor = least + (-least) % unit
    ceiling = most - most % unit
    _keep(ledger, stage, pool, kept, least, floor, ceiling)
    ratio = np.array([(1, 0) if pair is None else pair for pair in ledger.card_ratio], dtype=np.float64)[pool]
    feasible = np.asarray(((least <= ceiling) | kept).all(axis=1) & (floor <= ceiling).all(axis=1))
    if any(pair is not None for pair in ledger.card_ratio):
        _raise_cards(ledger, ratio, unit, floor, feasible)
        feasible &= (floor <= ceiling).all(axis=1)
    return Ways(stage[feasible], pool[feasible], speed[feasible], floor[feasible], ceiling[feasible], ratio[feasible])


def _enumerate(
    ledger: Ledger, job_order: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], _Floats, npt.NDArray[np.bool_]]:
    by_name = np.argsort(np.argsort(ledger.pools)) if ledger.pools else []
    speeds: dict[object, list[tuple[int, float]]] = {}
    stages: list[int] = []
    pools: list[int] = []
    factors: list[float] = []
    masks: list[tuple[bool, ...]] = []
    nothing = (False,) * ledger.n_resources
    for j in job_order:
        modes = _modes(ledger.resize_ms[j])
        for s in ledger.stage_of[j]:
            allowed = ledger.allowed[s]
            options = speeds.get(allowed)
            if options is None:
                options = sorted(((k, float(v)) for k, v in allowed), key=lambda option: by_name[option[0]])
                speeds[allowed] = options
            here = ledger.current_pool[s]
            for k, v in options:
                for mask in (*modes, nothing) if k == here else (nothing,):
                    stages.append(s)
                    pools.append(k)
                    factors.append(v)
                    masks.append(mask)
    mask = np.array(masks, dtype=np.bool_).reshape(len(masks), ledger.n_resources)
    return np.array(stages, dtype=np.intp), np.array(pools, dtype=np.intp), np.array(factors, dtype=np.float64), mask


@lru_cache(maxsize=1024)
def _modes(resize_ms: tuple[int, ...]) -> tuple[tuple[bool, ...], ...]:
    thresholds = sorted({0, *resize_ms})[:-1]
    return tuple(tuple(charge > threshold for charge in resize_ms) for threshold in thresholds)


def _keep(ledger: Ledger, stage: npt.NDArray[np.intp], pool: npt.NDArray[np.intp], kept: npt.NDArray[np.bool_], least: _Ints, floor: _Ints, ceiling: _Ints) -> None:
    rows = kept.any(axis=1).nonzero()[0]
    if not len(rows):
        return
    nothing = (0,) * ledger.n_resources
    held = np.array([ledger.current[s] or nothing for s in stage[rows]], dtype=np.int64)
    unit = np.array([ledger.unit[s] for s in stage[rows]], dtype=np.int64)
    most = np.minimum(np.array([ledger.hi[s] for s in stage[rows]], dtype=np.int64), np.array(ledger.capacity, dtype=np.int64)[pool[rows]])
    sound = (held >= least[rows]) & (held <= most) & (held % unit == 0)
    mask = kept[rows]
    floor[rows] = np.where(mask, held, floor[rows])
    ceiling[rows] = np.where(mask, np.where(sound, held, -1), ceiling[rows])


def _raise_cards(ledger: Ledger, ratio: _Floats, unit: _Ints, floor: _Ints, feasible: npt.NDArray[np.bool_]) -> None:
    names = [resource.name for resource in ledger.resources]
    card, memory = names.index(CARDS), names.index(CARD_MEMORY)
    wanted = cards_for(floor[:, memory], ratio, unit[:, card])
    feasible &= wanted >= 0
    floor[:, card] = np.maximum(floor[:, card], wanted)


def cards_for(memory: _Ints, ratio: _Floats, unit: _Ints) -> _Ints:
    """Return the fewest cards, in whole units, that carry `memory` under R9; -1 where no number does."""
    p, q = ratio[:, 0], ratio[:, 1]
    impossible = (p == 0) & (memory > 0)
    units = np.ceil(np.divide(memory * q, np.where(p == 0, 1.0, p) * unit) * (1 - 1e-12))
    return np.where(impossible, -1, np.where(p == 0, 0, units)).astype(np.int64) * np.where(impossible, 1, unit)
