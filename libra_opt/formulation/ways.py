"""The ways a stage can be placed: one per allowed pool (per entry of its profile), and in the pool it sits in one more per amount that it keeps.

A way fixes everything that does not depend on the level: pool and speed (R4), floors and ceilings of every resource (R2, R3, R5's needs, R8,
R9 as far as memory is fixed), which resources stay exactly as they are (R14's keep), and what a profile lists and how well that serves (R15).
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
        Least and most amounts in quanta, whole units, shape ``(n_ways, n_resources)``; equal for a kept resource and for one that a profile lists.
    serves
        R15: service of the stage in a way that is an entry of its profile, infinity in the others, shape ``(n_ways,)``; None where no stage has one.
    """

    stage: _Indices
    pool: _Indices
    speed: _Floats
    floor: _Ints
    ceiling: _Ints
    serves: _Floats | None = None


def placements(ledger: Ledger, tables: Tables) -> Ways:
    """Return the ways of all stages; a stage without any way keeps its job waiting."""
    stage, option, kept, options = _enumerate(ledger, tables)
    pool, speed = options.pool[option], options.speed[option]
    unit = tables.unit[stage]
    least = np.maximum(tables.lo, tables.need)[stage]
    most = np.minimum(tables.hi[stage], tables.capacity[pool])
    floor = least + (-least) % unit
    ceiling = most - most % unit
    if options.listed is not None:
        is_listed, listed = options.listed[option], options.amount[option]
        within = np.where(listed <= ceiling, listed, -1)
        floor, ceiling = np.where(is_listed, listed, floor), np.where(is_listed, within, ceiling)
        least, most = np.where(is_listed, listed, least), np.where(is_listed, within, most)
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
    serves = None if options.serves is None else options.serves[option][feasible]
    return Ways(stage[feasible], pool[feasible], speed[feasible], floor[feasible], ceiling[feasible], serves)


@dataclass(frozen=True)
class _Options:
    """What the distinct placings of all stages offer, one after the other, each sorted by pool name: pool and speed, shape ``(n,)``.

    Where some stage has a profile (R15) also which resources an option lists and how much of them, shape ``(n, n_resources)``, and its service.
    """

    first: _Indices
    pool: _Indices
    speed: _Floats
    listed: npt.NDArray[np.bool_] | None
    amount: _Ints
    serves: _Floats | None


def _options(ledger: Ledger, tables: Tables) -> _Options:
    by_name = np.argsort(np.argsort(ledger.pools)).tolist() if ledger.pools else []
    order = [sorted(range(len(allowed)), key=[by_name[k] for k, _ in allowed].__getitem__) for allowed in tables.placings]
    options = [allowed[i] for some, allowed in zip(order, tables.placings, strict=True) for i in some]
    n, width = len(options), ledger.n_resources
    first = np.cumsum([0, *(len(some) for some in order)], dtype=np.intp)
    pool = np.array([k for k, _ in options], dtype=np.intp)
    speed = np.array([float(v) for _, v in options], dtype=np.float64)
    if not any(tables.profiles):
        return _Options(first, pool, speed, None, np.zeros((0, width), dtype=np.int64), None)
    listed, amount, serves = np.zeros((n, width), dtype=np.bool_), np.zeros((n, width), dtype=np.int64), np.full(n, np.inf)
    for begin, some, profile in zip(first.tolist(), order, tables.profiles, strict=False):
        if profile is not None:
            rows = slice(begin, begin + len(some))
            listed[rows] = profile.listed
            amount[rows] = [profile.entries[i].amounts for i in some]
            serves[rows] = [float(profile.entries[i].share) for i in some]
    return _Options(first, pool, speed, listed, amount, serves)


def _enumerate(ledger: Ledger, tables: Tables) -> tuple[_Indices, _Indices, npt.NDArray[np.bool_], _Options]:
    """Return stage, option and which resources are kept, of all ways, feasible or not; and the options."""
    options = _options(ledger, tables)
    begins, ends = options.first[:-1], options.first[1:]
    option = spans(begins[tables.placing], ends[tables.placing])[0]
    stage = np.repeat(np.arange(len(tables.stage)), (ends - begins)[tables.placing])
    pool = options.pool[option]
    masks, first_mask, charge = _keeps(tables)
    job = tables.stage_job[stage]
    is_here = tables.holds[stage] & (pool == tables.here[stage])
    n_kept = np.where(is_here, np.diff(first_mask)[charge[job]], 0)
    row = np.repeat(np.arange(len(stage)), n_kept + 1)
    nth = ramp(n_kept + 1)
    mask = np.where(nth < n_kept[row], first_mask[charge[job[row]]] + nth, len(masks) - 1)
    return stage[row], option[row], masks[mask], options


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
    rows = tables.resize_ms
    if len(rows) and (rows == rows[0]).all():
        kinds[tuple(rows[0].tolist())], charge = 0, [0] * len(rows)
    else:
        charge = [kinds.setdefault(tuple(charges), len(kinds)) for charges in rows.tolist()]
    modes = [_modes(charges) for charges in kinds]
    masks = np.array([*(mode for some in modes for mode in some), (False,) * tables.resize_ms.shape[1]], dtype=np.bool_)
    return masks, np.cumsum([0, *(len(some) for some in modes)], dtype=np.intp), np.array(charge, dtype=np.intp)


def _modes(resize_ms: tuple[int, ...]) -> tuple[tuple[bool, ...], ...]:
    thresholds = sorted({0, *resize_ms})[:-1]
    return tuple(tuple(charge > threshold for charge in resize_ms) for threshold in thresholds)


def cards_for(memory: _Ints, ratio: _Ints, unit: _Ints) -> _Ints:
    """Return the fewest cards, in whole units, that carry `memory` under R9; -1 where no number below 2^63 does.

    Parameters
    ----------
    memory, unit
        Quanta of memory and unit of cards, shape ``(n,)``.
    ratio
        (p, q) of R9, whole numbers, shape ``(n, 2)``.
    """
    p, q = ratio[:, 0], ratio[:, 1]
    most = np.iinfo(np.int64).max
    if (memory.astype(np.float64) * q + p.astype(np.float64) * unit).max(initial=0.0) < most / 2:
        needed = -(-(memory * q) // (np.maximum(p, 1) * unit)) * unit
        return np.where(p > 0, needed, np.where(memory > 0, -1, 0))
    rows = zip(memory.tolist(), p.tolist(), q.tolist(), unit.tolist(), strict=True)
    whole = [-(-held * per // (cards * step)) * step if cards else -held for held, cards, per, step in rows]
    return np.array([max(-1, cards) if cards <= most else -1 for cards in whole], dtype=np.int64)
