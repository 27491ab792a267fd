"""R14: what remains of resources that follow freely is shared out among running stages in proportion to demand, within R1, R3, R8, R10 and R16.

Memory that only cards can carry (R9) is not handed out: it would tie up cards.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import CARD_MEMORY, Ledger
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.domain.queue_tree import idle_below
from libra_opt.formulation.costs import Costs
from libra_opt.formulation.forest import Forest, plant
from libra_opt.formulation.levels import tick_slack
from libra_opt.formulation.tables import Tables

__all__ = ["share_spare"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_SAFE = 4e18
"""Sums below are exact in 64 bits."""

_HALVINGS = 32
"""How often the share that reserves leave of the spare is halved in looking for it."""


def share_spare(ledger: Ledger, tables: Tables, stage: _Indices, pool: _Indices, amount: _Ints) -> _Ints:
    """Return the amounts with the spare handed out.

    Parameters
    ----------
    tables
        The ledger's arrays.
    stage, pool
        Running stages in canonical order and where they sit, shape ``(n,)``.
    amount
        What they hold, in quanta, shape ``(n, n_resources)``.
    """
    if not len(stage):
        return amount
    amount = amount.copy()
    job = tables.stage_job[stage]
    queue = tables.queue[job]
    is_exclusive = np.array([ratio is not None for ratio in ledger.card_ratio], dtype=np.bool_)[pool]
    for r in np.flatnonzero(tables.compressible & ~tables.costly).tolist():
        follows = tables.resize_ms[job, r] == 0
        demand, unit = tables.demand[stage, r], tables.unit[stage, r]
        is_tied = is_exclusive & (ledger.resources[r].name == CARD_MEMORY)
        open_to = follows & (demand > 0) & ~is_tied
        room = np.where(open_to, np.maximum(0, _caps(ledger, tables, stage, r) - amount[:, r]), 0)
        used = np.zeros(len(ledger.pools), dtype=np.int64)
        np.add.at(used, pool, amount[:, r])
        extra = np.zeros(len(stage), dtype=np.int64)
        able = np.flatnonzero(room >= unit)
        for k in np.unique(pool).tolist():
            here = able[pool[able] == k]
            extra[here] = _fill(demand[here], room[here], unit[here], ledger.capacity[k][r] - int(used[k]))
        extra = _within_queues(ledger, r, queue, unit, amount[:, r], extra)
        amount[:, r] += extra if tables.costs is None else _within_cost(tables.costs, r, pool, unit, amount, extra)
    return amount


def _caps(ledger: Ledger, tables: Tables, stage: _Indices, r: int) -> _Ints:
    """R14: return the most of a resource each stage may hold, shape ``(n,)``."""
    caps = tables.hi[stage, r]
    free = np.flatnonzero(caps == UNLIMITED)
    demand, unit = tables.demand[stage[free], r], tables.unit[stage[free], r]
    highest = np.array([max(ledger.intensity[s], default=1.0) for s in tables.stage[stage[free]].tolist()])
    units = np.minimum(demand * highest / unit, 4e18 / unit)
    caps[free] = np.ceil(units - tick_slack(units)).astype(np.int64) * unit
    return np.asarray(caps)


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
        return _at_most(room - room % unit, unit, left)
    i = short[0]
    height = max(0.0, (left - filled[i]) / max(open_demand[i], 1e-300))
    extra = np.minimum(room, np.floor(np.minimum(height * demand, 4e18)).astype(np.int64))
    extra = _at_most(extra - extra % unit, unit, left)
    rest = left - _sum(extra)
    step = np.where(extra + unit <= room, unit, 0)
    reach = np.cumsum(step)
    return np.asarray(extra + np.where(reach <= rest, step, 0))


def _within_queues(ledger: Ledger, r: int, queue: _Indices, unit: _Ints, held: _Ints, extra: _Ints) -> _Ints:
    """R10: cut the extras of a queue to what its ceiling leaves, and all to what the reserves leave."""
    forest = plant(ledger.parent)
    used, wanted = _per_queue(forest, queue, held), _per_queue(forest, queue, extra)
    for q in [*(row for layer in reversed(forest.layers) for row in layer.tolist()), *forest.roots[:-1].tolist()]:
        ceiling, allowed = ledger.ceiling[q][r], ledger.ceiling[q][r] - used[q]
        if ceiling != UNLIMITED and wanted[q] > allowed:
            inside = forest.under(queue, q)
            extra[inside] = _at_most(_cut(extra[inside], unit[inside], max(0, allowed) / wanted[q]), unit[inside], max(0, allowed))
            wanted = wanted if forest.is_flat else _per_queue(forest, queue, extra)
    available, promised = sum(row[r] for row in ledger.capacity), ledger.booked_at_rest(r)
    if not promised:
        return extra
    reserved = [row[r] * available // promised if promised > available else row[r] for row in ledger.reserved]

    def holds(cut: _Ints) -> bool:
        together = _per_queue(forest, queue, held + cut)
        idle = idle_below(ledger.parent, together, reserved)
        booked = sum(together[q] + idle[q] for q in forest.roots[:-1].tolist()) + together[-1]
        below = [0] * len(reserved)
        for q, above in enumerate(ledger.parent):
            if above >= 0:
                below[above] += idle[q]
        keeps = all(ledger.ceiling[q][r] == UNLIMITED or together[q] + below[q] <= ledger.ceiling[q][r] for q in range(len(reserved)) if below[q])
        return booked <= available and keeps

    if holds(extra):
        return extra
    most = np.zeros_like(extra)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        cut = _cut(extra, unit, share)
        if holds(cut):
            low, most = share, cut
        else:
            high = share
    return most


def _within_cost(costs: Costs, r: int, pool: _Indices, unit: _Ints, held: _Ints, extra: _Ints) -> _Ints:
    """R16: cut the extras that cost something to what the cost ceiling leaves beside all that is held, shape ``(n, n_resources)``."""
    price = costs.price[pool, r]
    left, asked = costs.ceiling - int((held * costs.price[pool]).sum()), int((extra * price).sum())
    if asked <= left:
        return extra
    share = np.array([each * max(0, left) // asked for each in extra.tolist()], dtype=np.int64)
    return np.where(price > 0, share - share % unit, extra)


def _per_queue(forest: Forest, queue: _Indices, amount: _Ints) -> list[int]:
    """Return the amounts of the stages of each queue and all below it together, last those outside every queue."""
    together = np.zeros(len(forest.parent), dtype=np.int64)
    np.add.at(together, queue, amount)
    for layer in reversed(forest.layers):
        np.add.at(together, forest.parent[layer], together[layer])
    return together.tolist()


def _cut(extra: _Ints, unit: _Ints, share: float) -> _Ints:
    cut = np.minimum(extra, np.floor(extra * share).astype(np.int64))
    return np.asarray(cut - cut % unit)


def _at_most(extra: _Ints, unit: _Ints, most: int) -> _Ints:
    """Return extras that floating point cut to add up to `most`, less what they are above it by rounding: units of the last."""
    excess = _sum(extra) - most
    if excess <= 0:
        return extra
    extra = extra.copy()
    for i in reversed(np.flatnonzero(extra).tolist()):
        less = min(int(extra[i]), -(-excess // int(unit[i])) * int(unit[i]))
        extra[i] -= less
        excess -= less
        if excess <= 0:
            break
    return extra


def _sum(amounts: _Ints) -> int:
    """Return the exact sum, which may be above 2^63."""
    return int(amounts.sum()) if amounts.sum(dtype=np.float64) < _SAFE else sum(amounts.tolist())
