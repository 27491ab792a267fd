"""Diving: from the linear optimum to whole columns, large jobs first.

An optimum of the master program splits about as many jobs as rows are tight. The largest of them is given a whole column, all larger ones that are whole keep
theirs, and the program is solved again from where it stood; what rounding a job leaves or takes, smaller ones make up for. What remains in the end is
the rounding of small jobs. (Diving is folklore of mixed-integer programming; see Berthold, *Primal heuristics for mixed integer programs*, 2006.)
"""

import numpy as np
import numpy.typing as npt

from libra_opt.solvers.columns import Columns
from libra_opt.solvers.highs import Optimum

__all__ = ["dive"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_SPLIT = 1e-6
"""A weight this far from 0 and 1 is a fraction."""

_MOST_ROUNDS = 60


def dive(columns: Columns, optimum: Optimum, price: _Floats, batch: int, least: float, forced: _Indices | None = None) -> _Indices:
    """Return one column per job; rows may be overrun by what the last jobs' rounding takes.

    Parameters
    ----------
    optimum
        The master program, solved; its columns are held on the way.
    price
        Of every row of the columns, shape ``(n_rows,)``; jobs are as large as the dearest of their columns.
    batch
        How many split jobs become whole in a round.
    least
        Jobs smaller than this, in value, are rounded without looking back.
    """
    job, first, n = columns.job, columns.first, len(columns.job)
    size = np.zeros(columns.program.n_jobs)
    np.maximum.at(size, job, np.abs(columns.use) @ price)
    held = np.zeros(columns.program.n_jobs, dtype=np.bool_)
    left = columns.rows.high.copy()
    optimum.release()
    if forced is not None and len(forced):
        own = np.flatnonzero(np.isin(job, job[forced]))
        held[job[forced]] = True
        left -= columns.use[forced].sum(axis=0)
        optimum.fix(own, np.isin(own, forced).astype(np.float64))
    else:
        optimum.fix(np.zeros(0, dtype=np.intp), np.zeros(0))
    weight = optimum.columns[:n]
    for _ in range(_MOST_ROUNDS):
        is_split = (weight > _SPLIT) & (weight < 1 - _SPLIT)
        split = np.unique(job[is_split])
        split = split[~held[split]]
        split = split[np.argsort(-size[split], kind="stable")]
        if not len(split) or size[split[0]] < least:
            break
        turn = split[:batch]
        is_whole = ~held & (size >= size[turn[-1]])
        is_whole[split] = False
        fixed, values = [np.flatnonzero(is_whole[job])], [np.round(weight[is_whole[job]])]
        left -= columns.use[fixed[0][values[0] > 0]].sum(axis=0)
        for j in turn:
            own = np.arange(first[j], first[j + 1])
            taken = _whole(columns, own, weight[own], left)
            left -= columns.use[taken]
            fixed.append(own)
            values.append((own == taken).astype(np.float64))
        held |= is_whole
        held[turn] = True
        optimum.fix(np.concatenate(fixed), np.concatenate(values))
        if not optimum.is_optimal:
            weight[np.concatenate(fixed)] = np.concatenate(values)
            break
        weight = optimum.columns[:n]
    order = np.lexsort((-np.arange(n), weight, job))
    return order[first[1:] - 1]


def _whole(columns: Columns, own: _Indices, weight: _Floats, left: _Floats) -> int:
    """Return the column of most weight that fits what larger jobs leave; the last, waiting, if none does."""
    for c in own[np.argsort(-weight, kind="stable")]:
        taken = columns.use[c]
        if (taken[taken > 0] <= left[taken > 0]).all():
            return int(c)
    return int(own[-1])
