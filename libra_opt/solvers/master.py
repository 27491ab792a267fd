"""The master program: which columns to take, as a linear program over the shared rows.

Dantzig and Wolfe's master (1960) with one convexity row per job. Tiers 1 to 3 enter the objective with penalties, as in `relaxation`; reserves (R10) are
parts of the total that queues divide among them, in a tree level by level.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.formulation.forest import Forest
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.columns import Columns
from libra_opt.solvers.highs import Guess, Linear
from libra_opt.solvers.relaxation import penalties

__all__ = ["Master", "master"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Master:
    """The program, its first columns those of `Columns`.

    Attributes
    ----------
    linear
        The program as HiGHS takes it; its first rows are `Columns.rows`, then one per queue and reserved resource, then one per reserved resource, then
        one per job.
    reserving
        Resources of which queues reserve.
    """

    columns: Columns
    linear: Linear
    reserving: _Indices

    def prices(self, duals: _Floats) -> Prices:
        """Return the prices that the duals of the rows stand for."""
        program, rows = self.columns.program, self.columns.rows
        shared, at = program.shared, rows.index
        pool, ceiling, guarantee, reserve = np.zeros_like(shared.capacity), *(np.zeros_like(shared.floor) for _ in range(3))
        dual = np.maximum(0.0, duals)
        for kind, table in (("pool", pool), ("ceiling", ceiling), ("guarantee", guarantee)):
            of = rows.of(kind)
            table[at[of, 0], at[of, 1]] = dual[of]
        n_queues = len(shared.reserved)
        start = len(rows.high)
        for i, r in enumerate(self.reserving):
            reserve[:, r] = dual[start + i * n_queues : start + (i + 1) * n_queues]
        budget = rows.of("budget")
        return Prices(pool, ceiling, guarantee, reserve, float(dual[budget].sum()), penalties(program).lost)

    def guess(self, prices: Prices) -> Guess:
        """Return where to begin if the optimum is thought to be near prices: of every job the best column at them."""
        columns, linear = self.columns, self.linear
        n, reserve = len(columns.job), prices.reserve[:, self.reserving]
        roots = columns.program.shared.forest.roots
        shared = [columns.rows.prices(prices), reserve.T.ravel(), reserve[roots].max(axis=0, initial=0.0)]
        duals = np.concatenate([*shared, np.zeros(columns.program.n_jobs)])
        reduced = (linear.gain - linear.matrix.T @ duals)[:n]
        return Guess(duals, np.lexsort((-reduced, columns.job))[columns.first[:-1]])


def master(columns: Columns, most: Prices | None = None) -> Master:
    """Return the master program of some columns.

    Parameters
    ----------
    most
        Prices that the soft rows, guarantees and the budget, do not pass: where the jobs without columns overrun one, it costs no more than this. The full
        penalties unless given.
    """
    program, rows = columns.program, columns.rows
    shared, penalty = program.shared, penalties(program)
    n, n_jobs, n_rows = len(columns.job), program.n_jobs, len(rows.high)
    guarantee, budget = rows.of("guarantee"), rows.of("budget")
    reserving = np.flatnonzero(shared.is_reserving)
    n_queues, n_reserves = len(shared.reserved), len(reserving)
    queue = program.queue[columns.job]
    use, forest = columns.use, shared.forest
    booked = rows.of("ceiling")
    booked = booked[shared.is_reserving[rows.index[booked, 1]]] if not forest.is_flat else booked[:0]
    if len(booked):
        use = use.copy()
        use[:, booked] = columns.held[:, rows.index[booked, 1]] * (queue[:, None] == rows.index[booked, 0])
    n_owed, n_parts = len(guarantee), n_reserves * n_queues
    nominal = shared.nominal[rows.index[guarantee, 0], rows.index[guarantee, 1]]
    unit = max(1000.0, shared.budget_ms) if len(budget) else 1.0
    whole = np.repeat(np.maximum(1.0, shared.total[reserving]), n_queues)
    part, every, held = np.arange(n_parts), np.arange(n), columns.held[:, reserving]
    taken_from, taken = _taken_from(forest, columns, booked, reserving)
    used = np.nonzero(use)
    extra = n + n_owed + len(budget) + part
    blocks = (
        (used[1], used[0], use[used]),
        (np.tile(n_rows + queue, n_reserves) + np.repeat(np.arange(n_reserves) * n_queues, n), np.tile(every, n_reserves), held.ravel("F")),
        (n_rows + n_parts + n_reserves + columns.job, every, np.ones(n)),
        (guarantee, n + np.arange(n_owed), -nominal),
        (budget, n + n_owed + np.arange(len(budget)), np.full(len(budget), -unit)),
        (n_rows + part, extra, -whole),
        (taken_from, extra[taken], whole[taken]),
    )
    row, column, value = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    matrix = sparse.csc_array((value, (row, column)), shape=(n_rows + n_parts + n_reserves + n_jobs, n + n_owed + len(budget) + n_parts))
    most_used = rows.high.copy()
    most_used[booked] = shared.net_ceiling[rows.index[booked, 0], rows.index[booked, 1]]
    high = np.concatenate([most_used, shared.net_reserved[:, reserving].T.ravel(), shared.unreserved[reserving], np.ones(n_jobs)])
    low = np.concatenate([np.full(len(high) - n_jobs, -np.inf), np.ones(n_jobs)])
    lost = np.where(columns.lost > 0, penalty.lost * columns.lost, 0.0)
    for_short, for_ms = np.full(len(guarantee), penalty.shortfall), penalty.ms
    if most is not None:
        for_short = np.minimum(for_short, most.guarantee[rows.index[guarantee, 0], rows.index[guarantee, 1]] * nominal)
        for_ms = min(for_ms, most.ms)
    gain = np.concatenate([columns.value - lost, -for_short, np.full(len(budget), -for_ms * unit), np.zeros(len(part))])
    upper = np.concatenate([np.ones(n + len(guarantee)), np.full(len(budget), np.inf), np.ones(len(part))])
    return Master(columns, Linear(gain, matrix, low, high, upper), reserving)


def _taken_from(forest: Forest, columns: Columns, booked: _Indices, reserving: _Indices) -> tuple[_Indices, _Indices]:
    """Return the rows that parts are taken from, and the parts: of a root the cluster's, of another queue the part and the ceiling of the queue above it.

    Parameters
    ----------
    booked
        Rows of the ceilings that parts count against.
    """
    n_queues, n_rows = len(forest.parent), len(columns.rows.high)
    part = np.arange(len(reserving) * n_queues)
    if forest.is_flat:
        return n_rows + len(part) + part // max(1, n_queues), part
    which, queue = part // n_queues, part % n_queues
    is_root = forest.parent[queue] == n_queues - 1
    row = np.where(is_root, n_rows + len(part) + which, n_rows + which * n_queues + forest.parent[queue])
    ceiling_of = np.full((n_queues, len(columns.program.shared.total)), -1, dtype=np.intp)
    ceiling_of[columns.rows.index[booked, 0], columns.rows.index[booked, 1]] = booked
    capped = np.flatnonzero(~is_root & (ceiling_of[forest.parent[queue], reserving[which]] >= 0))
    return np.append(row, ceiling_of[forest.parent[queue[capped]], reserving[which[capped]]]), np.append(part, capped)
