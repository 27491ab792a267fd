"""Limits that reasons name beside full pools and ceilings: what queues keep from being lent (R10), and what a job sets itself (R3, R6)."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.runs import first_least, spans
from libra_opt.formulation.shared import SharedRows

__all__ = ["is_kept_back", "own_limits"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]

_FULL = 1 - 1e-9
"""A stage served so far is served in full."""


def is_kept_back(shared: SharedRows, used: _Floats, asked: _Floats, queue: _Indices | None = None) -> _Flags:
    """Return of which resources more is kept by other queues than leaves room for what is asked (R10), shape of `asked`.

    Parameters
    ----------
    used
        By every queue, shape ``(n_queues + 1, n_resources)``.
    asked
        In addition, by a job of each row's queue; 0 asks for any more at all.
    queue
        Of every row of `asked`; without, one row per queue.
    """
    rows = slice(None) if queue is None else queue
    mine, kept = used[rows], shared.reserved[rows]
    forest = shared.forest
    whole = np.maximum(used, shared.reserved).sum(axis=0) if forest.is_flat else forest.over_roots(used + forest.idle(used, shared.reserved))
    more = np.maximum(mine + asked, kept) - np.maximum(mine, kept)
    is_full = (whole + more > shared.total) | ((asked == 0) & (queue is None) & (mine >= kept) & (whole >= shared.total))
    return np.asarray(is_full & shared.is_reserving & (forest.over_roots(used) < shared.total))


def own_limits(program: Program, choice: Choice, jobs: _Indices) -> Iterator[tuple[str, int, int]]:
    """Yield, per running job that has the most it can use, the rule that its lowest stage ends at, the pool it sits in, and the resource.

    R15 where it has a profile, R3 where its maximum is in the way, R6 where its curve ends below full service, else R1: the pool is too small for it.
    """
    tables, curves = program.tables, program.curves
    stages, starts = spans(program.first_stage[jobs], program.first_stage[jobs + 1])
    if not len(stages):
        return
    pool = program.cell_pool[choice[stages]]
    demand, speed = tables.demand[stages], program.ways.speed[program.bundles.way[choice[stages]]]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = [
            np.where(demand > 0, speed[:, None] * most / demand, np.inf) for most in (tables.hi[stages], np.minimum(tables.hi[stages], tables.capacity[pool]))
        ]
    serves = np.full(len(stages), np.inf) if program.ways.serves is None else program.ways.serves[program.bundles.way[choice[stages]]]
    own, whole = (curves.at(stages, np.minimum(levels.min(axis=1), curves.top[stages])) for levels in reach)
    lowest = first_least(np.where(np.isfinite(serves), serves, np.minimum(own, whole)), starts)
    peak, by_own, by_all = curves.peak[stages[lowest]], reach[0][lowest].argmin(axis=1), reach[1][lowest].argmin(axis=1)
    is_capped = (tables.hi[stages[lowest], by_own] < UNLIMITED) & (own[lowest] < peak - (1 - _FULL))
    rules = np.where(np.isfinite(serves[lowest]), "R15", np.where(is_capped, "R3", np.where(peak < _FULL, "R6", "R1"))).tolist()
    yield from zip(rules, pool[lowest].tolist(), np.where(is_capped, by_own, by_all).tolist(), strict=True)
