"""The ways a stage can be placed: one per allowed pool, and in the pool it sits in one more per amount of what it holds that it keeps.

A way fixes everything that does not depend on the level: pool and speed (R4), floors and ceilings of every resource (R2, R3, R5's needs, R8,
R9 as far as memory is fixed), and which resources stay exactly as they are (R14's keep).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.formulation.runs import ramp, spans
from libra_opt.formulation.tables import Tables

__all__ = ["Ways", "cards_for", "placements"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Ways:
    """All feasible ways, sorted by stage position, then pool name, kept before changed.

    Attributes
    ----------
    stage, pool
        Stage position and pool, shape ``(n_ways,)``.
    speed
        Shape ``(n_ways,)``.
    floor, ceiling
        Least and most amounts in quanta, whole units, shape ``(n_ways, n_resources)``; equal for a kept resource.
    """

    stage: _Indices
    pool: _Indices
    speed: _Floats
    floor: _Ints
    ceiling: _Ints


def placements(ledger: Ledger, tables: Tables) -> Ways:
    """Return the ways of all stages; a stage without any way keeps its job waiting."""
    stage, pool, speed, kept = _enumerate(ledger, tables)
    unit = tables.unit[stage]
    least = np.maximum(tables.lo, tables.need)[stage]
    most = np.minimum(tables.hi[stage], tables.capacity[pool])
    floor = least + (-least) % unit
    ceiling = most - most % unit
    rows = np.flatnonzero(kept.any(axis=1))
    if len(rows):
        held, mask = tables.held[stage[rows]], kept[rows]
        sound = (held >= least[rows]) & (held <= most[rows]) & (held % unit[rows] == 0)
        floor[rows] = np.where(mask, held, floor[rows])
        ceiling[rows] = np.where(mask, np.where(sound, held, -1), ceiling[rows])
    feasible = ((least <= ceiling) & (floor <= ceiling)).all(axis=1)
    if (tables.card_ratio[:, 1] > 0).any():
        wanted = cards_for(floor[:, tables.memory], tables.card_ratio[pool], unit[:, tables.card])
        floor[:, tables.card] = np.maximum(floor[:, tables.card], wanted)
        feasible &= (wanted >= 0) & (floor[:, tables.card] <= ceiling[:, tables.card])
    return Ways(stage[feasible], pool[feasible], speed[feasible], floor[feasible], ceiling[feasible])


def _enumerate(ledger: Ledger, tables: Tables) -> tuple[_Indices, _Indices, _Floats, npt.NDArray[np.bool_]]:
    """Return stage, pool, speed and which resources are kept, of all ways, feasible or not."""
    by_name = np.argsort(np.argsort(ledger.pools)).tolist() if ledger.pools else []
    options = [sorted(((k, float(v)) for k, v in allowed), key=lambda option: by_name[option[0]]) for allowed in tables.placings]
    ends = np.cumsum([len(some) for some in options], dtype=np.intp)
    begins = np.append(0, ends)[:-1]
    option = spans(begins[tables.placing], ends[tables.placing])[0]
    stage = np.repeat(np.arange(len(tables.stage)), (ends - begins)[tables.placing])
    pool = np.array([k for some in options for k, _ in some], dtype=np.intp)[option]
    speed = np.array([v for some in options for _, v in some], dtype=np.float64)[option]
    masks, first_mask, charge = _keeps(tables)
    job = tables.stage_job[stage]
    is_here = tables.holds[stage] & (pool == tables.here[stage])
    n_kept = np.where(is_here, np.diff(first_mask)[charge[job]], 0)
    row = np.repeat(np.arange(len(stage)), n_kept + 1)
    nth = ramp(n_kept + 1)
    mask = np.where(nth < n_kept[row], first_mask[charge[job[row]]] + nth, len(masks) - 1)
    return stage[row], pool[row], speed[row], masks[mask]


def _keeps(tables: Tables) -> tuple[npt.NDArray[np.bool_], _Indices, _Indices]:
    """R14: return which resources a stage may keep, for every distinct row of resize charges one mask per amount kept, and last the mask of nothing kept.

    Returns
    -------
    masks
        Shape ``(n_masks, n_resources)``.
    first_mask
        Where the masks of each kind of charges begin, shape ``(n_kinds + 1,)``.
    charge
        The kind of every job's charges, shape ``(n_jobs,)``.
    """
    kinds: dict[tuple[int, ...], int] = {}
    charge = [kinds.setdefault(tuple(charges), len(kinds)) for charges in tables.resize_ms.tolist()]
    modes = [_modes(charges) for charges in kinds]
    masks = np.array([*(mode for some in modes for mode in some), (False,) * tables.resize_ms.shape[1]], dtype=np.bool_)
    return masks, np.cumsum([0, *(len(some) for some in modes)], dtype=np.intp), np.array(charge, dtype=np.intp)


def _modes(resize_ms: tuple[int, ...]) -> tuple[tuple[bool, ...], ...]:
    thresholds = sorted({0, *resize_ms})[:-1]
    return tuple(tuple(charge > threshold for charge in resize_ms) for threshold in thresholds)


def cards_for(memory: _Ints, ratio: _Floats, unit: _Ints) -> _Ints:
    """Return the fewest cards, in whole units, that carry `memory` under R9; -1 where no number does.

    Parameters
    ----------
    memory, unit
        Quanta of memory and unit of cards, shape ``(n,)``.
    ratio
        (p, q) of R9, shape ``(n, 2)``.
    """
    p, q = ratio[:, 0], ratio[:, 1]
    impossible = (p == 0) & (memory > 0)
    units = np.ceil(np.divide(memory * q, np.where(p == 0, 1.0, p) * unit) * (1 - 1e-12))
    return np.where(impossible, -1, np.where(p == 0, 0, units)).astype(np.int64) * np.where(impossible, 1, unit)
