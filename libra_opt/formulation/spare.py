"""R14: what remains of resources that follow freely is shared out among running stages in proportion to demand, within R1, R3, R8 and R10.

Memory that only cards can carry (R9) is not handed out: it would tie up cards.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import CARD_MEMORY, Ledger
from libra_opt.domain.quantity import UNLIMITED

__all__ = ["share_spare"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


def share_spare(ledger: Ledger, stage: _Indices, pool: _Indices, amount: _Ints) -> _Ints:
    """Return the amounts with the spare handed out.

    Parameters
    ----------
    stage, pool
        Running stages in canonical order and where they sit, shape ``(n,)``.
    amount
        What they hold, in quanta, shape ``(n, n_resources)``.
    """
    amount = amount.copy()
    job = np.repeat(np.arange(len(ledger.jobs)), [len(rows) for rows in ledger.stage_of])[stage] if len(stage) else stage
    queue = np.array(ledger.job_queue, dtype=np.intp)[job] if len(stage) else stage
    for r, resource in enumerate(ledger.resources):
        if not len(stage) or not resource.compressible or resource.costly:
            continue
        follows = np.array([ledger.resize_ms[j][r] == 0 for j in job])
        demand = np.array([ledger.demand[s][r] for s in stage], dtype=np.float64)
        unit = np.array([ledger.unit[s][r] for s in stage], dtype=np.int64)
        caps = _caps(ledger, stage, r, demand, unit)
        is_tied = np.array([resource.name == CARD_MEMORY and ledger.card_ratio[k] is not None for k in pool])
        room = np.where(follows & (demand > 0) & ~is_tied, np.maximum(0, caps - amount[:, r]), 0)
        extra = np.zeros(len(stage), dtype=np.int64)
        for k in np.unique(pool):
            here = np.flatnonzero((pool == k) & (room >= unit))
            left = ledger.capacity[k][r] - int(amount[pool == k, r].sum())
            extra[here] = _fill(demand[here], room[here], unit[here], left)
        amount[:, r] += _within_queues(ledger, r, queue, unit, amount[:, r], extra)
    return amount


def _caps(ledger: Ledger, stage: _Indices, r: int, demand: _Floats, unit: _Ints) -> _Ints:
    highest = np.array([max(ledger.intensity[s], default=1.0) for s in stage])
    units = np.minimum(demand * highest / unit, 4e18 / unit)
    peak = np.ceil(units - 1e-9 * np.maximum(1.0, units)).astype(np.int64) * unit
    stated = np.array([ledger.hi[s][r] for s in stage], dtype=np.int64)
    return np.where(stated == UNLIMITED, peak, stated)


def _fill(demand: _Floats, room: _Ints, unit: _Ints, left: int) -> _Ints:
    """Return extras that add up to at most `left`: in proportion to demand, none above its room, whole units; what rounding leaves goes in order."""
    if not len(demand) or left <= 0:
        return np.zeros(len(demand), dtype=np.int64)
    full = room / demand
    order = np.argsort(full, kind="stable")
    filled = np.concatenate([[0.0], np.cumsum(room[order].astype(np.float64))])[:-1]
    open_demand = demand.sum() - np.concatenate([[0.0], np.cumsum(demand[order])])[:-1]
    needed = filled + full[order] * open_demand
    short = np.flatnonzero(needed > left)
    if not len(short):
        return np.asarray(room - room % unit)
    i = short[0]
    height = max(0.0, (left - filled[i]) / max(open_demand[i], 1e-300))
    extra = np.minimum(room, np.floor(np.minimum(height * demand, 4e18)).astype(np.int64))
    extra -= extra % unit
    rest = left - int(extra.sum())
    if rest < 0:
        return np.zeros(len(demand), dtype=np.int64)
    step = np.where(extra + unit <= room, unit, 0)
    reach = np.cumsum(step)
    return np.asarray(extra + np.where(reach <= rest, step, 0))


def _within_queues(ledger: Ledger, r: int, queue: _Indices, unit: _Ints, held: _Ints, extra: _Ints) -> _Ints:
    """R10: cut the extras of a queue to what its ceiling leaves, and all to what the reserves leave."""
    used = [0] * (len(ledger.queues) + 1)
    for q in range(-1, len(ledger.queues)):
        inside = queue == q
        used[q] = int(held[inside].sum())
        if q >= 0 and ledger.ceiling[q][r] != UNLIMITED:
            allowed, wanted = ledger.ceiling[q][r] - used[q], int(extra[inside].sum())
            if wanted > allowed:
                extra[inside] = _cut(extra[inside], unit[inside], max(0, allowed) / wanted)
    if not any(row[r] for row in ledger.reserved):
        return extra
    share, step = 1.0, 0.5
    cut = extra
    for _ in range(32):
        if _reserves_hold(ledger, r, queue, held + cut):
            if share == 1.0:
                break
            share += step
        else:
            share -= step
        step /= 2
        cut = _cut(extra, unit, share)
    return cut if _reserves_hold(ledger, r, queue, held + cut) else np.zeros_like(extra)


def _cut(extra: _Ints, unit: _Ints, share: float) -> _Ints:
    cut = np.floor(extra * share).astype(np.int64)
    return np.asarray(cut - cut % unit)


def _reserves_hold(ledger: Ledger, r: int, queue: _Indices, held: _Ints) -> bool:
    available, promised = sum(row[r] for row in ledger.capacity), sum(row[r] for row in ledger.reserved)
    total = int(held[queue == -1].sum())
    for q, row in enumerate(ledger.reserved):
        kept = row[r] * available // promised if promised > available else row[r]
        total += max(int(held[queue == q].sum()), kept)
    return total <= available
