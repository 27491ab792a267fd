"""Nearby: the columns of least loss of all jobs at once, as one small program in whole numbers.

A better plan seldom needs a column far below its job's best, but it may need many jobs to change together; so few columns of many jobs are worth more than many
columns of few. HiGHS searches, from the plan at hand, within a number of nodes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.solvers.columns import Columns
from libra_opt.solvers.exchange import exchange, keeps_reserves, limits_at
from libra_opt.solvers.highs import Linear, solve_integer

__all__ = ["Nearby", "search_among", "search_nearby"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]

_EFFORT_PER_ITERATION = 2e-4
"""Effort that one simplex iteration counts as, about seconds of an idle core."""


@dataclass(frozen=True)
class Nearby:
    """A selection at least as good as the one begun with, and the effort it took."""

    selected: _Indices
    effort_used: float


def search_nearby(columns: Columns, loss: _Floats, nearness: _Floats, selected: _Indices, n_columns: int, n_nodes: int, gap: float) -> Nearby:
    """Search among the columns of least loss.

    Parameters
    ----------
    loss
        How far each column is below its job's best at the prices at hand, shape ``(n_columns,)``; a better plan has none beyond what the selected ones lose
        together.
    nearness
        By how much the losses of each job are multiplied in choosing those of least loss, shape ``(n_jobs,)``.
    n_columns, n_nodes
        Most columns, and nodes of the search tree.
    gap
        Gap, relative to the value of these columns, that ends the search.
    """
    return search_among(columns, _nearest(columns, loss, nearness, selected, n_columns), selected, n_nodes, gap)


def search_among(columns: Columns, is_near: _Flags, selected: _Indices, n_nodes: int, gap: float, *, restarts: bool = True) -> Nearby:
    """Search among some columns, the selected ones in any case.

    Parameters
    ----------
    is_near
        Which columns, shape ``(n_columns,)``.
    n_nodes, gap
        As in `search_nearby`.
    restarts
        As in `solve_integer`.
    """
    limits = limits_at(columns, selected)
    is_open = (np.bincount(columns.job[is_near], minlength=columns.program.n_jobs) > 1) & ~_is_bound_by_reserves(columns, selected)
    jobs, picked = np.flatnonzero(is_open), np.flatnonzero(is_near & is_open[columns.job])
    if not len(jobs):
        return Nearby(selected, 0.0)
    answer = solve_integer(_program(columns, selected, jobs, picked, limits), selected[columns.job[picked]] == picked, n_nodes, gap, restarts=restarts)
    taken, better = picked[answer.columns], selected.copy()
    better[columns.job[taken]] = taken
    keeps = len(taken) == len(jobs) and bool((columns.use[better].sum(axis=0) <= limits).all()) and keeps_reserves(columns, better)
    return Nearby(exchange(columns, better if keeps else selected), answer.iterations * _EFFORT_PER_ITERATION)


def _nearest(columns: Columns, loss: _Floats, nearness: _Floats, selected: _Indices, n_columns: int) -> _Flags:
    possible = (loss <= float(loss[selected].sum())) & (columns.lost <= columns.lost[selected][columns.job])
    possible[selected] = False
    order = np.flatnonzero(possible)
    order = order[np.argsort((loss * nearness[columns.job])[order], kind="stable")][:n_columns]
    is_near = np.zeros(len(loss), dtype=np.bool_)
    is_near[order] = True
    is_near[selected] = True
    return is_near


def _is_bound_by_reserves(columns: Columns, selected: _Indices) -> _Flags:
    """Tell which jobs stay as they are, shape ``(n_jobs,)``: what a queue that uses less than it keeps to itself may add is no sum over columns (R10)."""
    program = columns.program
    is_below = np.asarray((columns.queue_use(selected) < program.shared.reserved).any(axis=1), dtype=np.float64)
    return np.asarray(program.shared.forest.inherited(is_below) > 0)[program.queue]


def _program(columns: Columns, selected: _Indices, jobs: _Indices, picked: _Indices, limits: _Floats) -> Linear:
    """Return the program over the picked columns, what all other jobs use taken off the limits."""
    is_open = np.zeros(columns.program.n_jobs, dtype=np.bool_)
    is_open[jobs] = True
    left = limits - columns.use[selected[~is_open]].sum(axis=0)
    rows, room = [sparse.csc_array(columns.use[picked].T)], [left]
    shared, used = columns.program.shared, columns.queue_use(selected)
    idle = np.maximum(0.0, shared.reserved - used) if shared.forest.is_flat else shared.forest.idle(used, shared.reserved)
    if not shared.forest.is_flat and shared.is_reserving.any():
        of_rows = columns.rows.of("ceiling")
        room[0][of_rows] -= shared.forest.of_children(idle)[tuple(columns.rows.index[of_rows].T)]
    for r in np.flatnonzero(shared.is_reserving):
        above = float(shared.forest.over_roots(used[:, r] + idle[:, r])) - float(columns.held[selected[is_open], r].sum())
        rows.append(sparse.csc_array(columns.held[picked, r][None, :]))
        room.append(np.array([shared.total[r] - above]))
    position = np.searchsorted(jobs, columns.job[picked])
    rows.append(sparse.csc_array((np.ones(len(picked)), (position, np.arange(len(picked)))), shape=(len(jobs), len(picked))))
    high = np.concatenate([*room, np.ones(len(jobs))])
    low = np.concatenate([np.full(len(high) - len(jobs), -np.inf), np.ones(len(jobs))])
    return Linear(columns.value[picked], sparse.vstack(rows).tocsc(), low, high, np.ones(len(picked)))
