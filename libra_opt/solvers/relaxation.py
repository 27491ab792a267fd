"""The linear relaxation of a program, as sparse matrices; whoever solves it, the rows and columns are these.

Columns, in this order: one per level, one per cell of a slot with a choice of cells, one per reserve part, one per shortfall, one for what is over the
budget. The inequality rows are the shared ones, then one per job: its levels add up to at most one. The equalities tie the cells of a slot to its level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.solution import Limits

__all__ = ["Penalties", "Relaxation", "penalties", "relax"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Row = tuple[str, int, int]

_DEAR = 10.0
"""Losing all of one guarantee, spending twice the budget, or losing all protected jobs costs this many times the value of all jobs."""

_HAIR = 1e-9
"""Slack of the rows that hold a tier, relative, for rounding."""


@dataclass(frozen=True)
class Penalties:
    """What a unit of tiers 1 to 3 costs where one objective stands for the strict order: per value lost, per share short, per millisecond over."""

    lost: float
    shortfall: float
    ms: float


def penalties(program: Program) -> Penalties:
    """Return penalties dear enough that the relaxation spends little of a tier that it need not spend."""
    value = program.most_value
    budget = program.shared.budget_ms
    lost = float(program.lost[program.lost > 0].min(initial=np.inf))
    return Penalties(_DEAR * value / lost if np.isfinite(lost) else 0.0, _DEAR * value, _DEAR * value / max(1000.0, budget) if np.isfinite(budget) else 0.0)


@dataclass(frozen=True)
class Relaxation:
    """``max gain @ x + constant`` under ``A x <= high`` (inequalities), ``E x = target`` and ``0 <= x <= upper``.

    Attributes
    ----------
    gain
        Value of every column, shape ``(n_columns,)``.
    constant
        Value of the plan in which every job waits, less the penalty of all that it loses.
    matrix, high
        Shapes ``(n_rows, n_columns)``, ``(n_rows,)``.
    equal, target
        Shapes ``(n_slots with a choice, n_columns)``, ``(n_slots with a choice,)``.
    upper
        Shape ``(n_columns,)``.
    n_levels
        How many columns are levels, the first ones.
    cells
        The cells of slots with a choice, in the order of the columns that follow.
    names
        Of every shared inequality row, its kind and indices; the rows of jobs behind them have none.
    """

    gain: _Floats
    constant: float
    matrix: sparse.csr_array
    high: _Floats
    equal: sparse.csr_array
    target: _Floats
    upper: _Floats
    n_levels: int
    cells: _Indices
    names: tuple[_Row, ...]

    def prices(self, program: Program, duals: _Floats) -> Prices:
        """Return the prices that the duals of the inequality rows (never negative) stand for."""
        shared = program.shared
        pool, tables = np.zeros_like(shared.capacity), {kind: np.zeros_like(shared.ceiling) for kind in ("ceiling", "guarantee", "reserve")}
        single = {"budget": 0.0}
        for (kind, i, r), dual in zip(self.names, np.maximum(0.0, duals), strict=False):
            if kind == "pool":
                pool[i, r] = dual
            elif kind in tables:
                tables[kind][i, r] = dual
            elif kind in single:
                single[kind] = float(dual)
        return Prices(pool, tables["ceiling"], tables["guarantee"], tables["reserve"], single["budget"], penalties(program).lost)

    def rounded(self, program: Program, solution: _Floats) -> tuple[_Floats, _Floats]:
        """Return the weight of every level and every cell, shapes ``(n_levels,)``, ``(n_cells,)``; zero for the only cell of a slot."""
        cell = np.zeros(program.n_cells)
        cell[self.cells] = solution[self.n_levels : self.n_levels + len(self.cells)]
        return solution[: self.n_levels].copy(), cell


class _Rows:
    """Inequality rows under construction, in coordinate form."""

    def __init__(self) -> None:
        self.row: list[_Indices] = []
        self.column: list[_Indices] = []
        self.value: list[_Floats] = []
        self.high: list[float] = []
        self.names: list[_Row] = []

    def add(self, name: _Row, column: Sequence[int] | _Indices, value: Sequence[float] | _Floats, high: float) -> None:
        self.row.append(np.full(len(column), len(self.high), dtype=np.intp))
        self.column.append(np.asarray(column, dtype=np.intp))
        self.value.append(np.asarray(value, dtype=np.float64))
        self.high.append(high)
        self.names.append(name)

    def matrix(self, n_columns: int) -> sparse.csr_array:
        if not self.high:
            return sparse.csr_array((0, n_columns))
        parts = np.concatenate(self.row), np.concatenate(self.column), np.concatenate(self.value)
        return sparse.csr_array((parts[2], (parts[0], parts[1])), shape=(len(self.high), n_columns))


def relax(program: Program, *, limits: Limits | None = None, is_bound: bool = False) -> Relaxation:
    """Return the relaxation of a program.

    Parameters
    ----------
    limits
        What plans may spend of tiers 1 to 3, as rows; without, these tiers enter the objective with penalties (see `penalties`).
    is_bound
        Charge the shared rows with what is surely used, and count what is gained at most, so that mixtures of levels cover all that was passed over
        between them.
    """
    bundles, shared = program.bundles, program.shared
    penalty = penalties(program) if limits is None else Penalties(0.0, 0.0, 0.0)
    job, slot, n_levels = bundles.job, program.cell_slot, len(bundles.job)
    has_choice = np.diff(bundles.first_cell)[slot] > 1
    cells = np.flatnonzero(has_choice)
    column = program.cell_level.copy()
    column[has_choice] = n_levels + np.arange(len(cells))
    gain = np.zeros(n_levels + len(cells))
    worth = program.most_gain if is_bound else program.gain
    gain[:n_levels] = worth + program.per_ms[job] * program.wait_ms[job] + penalty.lost * program.lost[job]
    np.subtract.at(gain, column, program.per_ms[program.cell_job] * program.cell_ms)
    rows = _Rows()
    whole = program.amount
    amount = program.surely if is_bound else whole
    pool, queue = program.cell_pool, program.queue[program.cell_job]
    for k, r in np.ndindex(*shared.capacity.shape):
        inside = np.flatnonzero((pool == k) & (amount[:, r] > 0))
        if len(inside):
            rows.add(("pool", k, r), column[inside], amount[inside, r], float(shared.capacity[k, r]))
    for q, r in zip(*np.nonzero(np.isfinite(shared.ceiling)), strict=True):
        if not shared.forest.is_flat and shared.is_reserving[r]:
            continue  # what is reserved below counts as well: see `_reserve_rows`
        inside = np.flatnonzero(shared.forest.under(queue, q) & (amount[:, r] > 0))
        if len(inside):
            rows.add(("ceiling", int(q), int(r)), column[inside], amount[inside, r], shared.ceiling[q, r])
    upper = [np.ones(len(gain))]
    extra = _reserve_rows(program, rows, len(gain), queue, amount, column, upper)
    losses = [np.zeros(extra)]
    extra += _guarantee_rows(program, rows, len(gain) + extra, queue, whole, column, upper, penalty.shortfall, losses)
    extra += _budget_row(program, rows, len(gain) + extra, column, upper, penalty.ms, losses)
    if limits is not None:
        _limit_rows(program, rows, len(gain) + extra, limits)
    n_columns = len(gain) + extra
    _convexity(program, rows)
    slots = np.unique(slot[has_choice])
    link = sparse.csr_array(
        (
            np.concatenate([np.ones(len(cells)), -np.ones(len(slots))]),
            (
                np.concatenate([np.searchsorted(slots, slot[has_choice]), np.arange(len(slots))]),
                np.concatenate([n_levels + np.arange(len(cells)), program.slot_level[slots]]),
            ),
        ),
        shape=(len(slots), n_columns),
    )
    return Relaxation(
        gain=np.concatenate([gain, *losses]),
        constant=-float((program.per_ms * program.wait_ms).sum() + penalty.lost * program.lost.sum()),
        matrix=rows.matrix(n_columns),
        high=np.array(rows.high),
        equal=link,
        target=np.zeros(len(slots)),
        upper=np.concatenate(upper),
        n_levels=n_levels,
        cells=cells,
        names=tuple(rows.names),
    )


def _reserve_rows(program: Program, rows: _Rows, first: int, queue: _Indices, amount: _Floats, column: _Indices, upper: list[_Floats]) -> int:
    """R10: ``use[q] <= part[q]``, ``sum of parts <= total``; the columns are what a part exceeds its reserve by, as shares of the total.

    In a tree the use of a queue is that of its own jobs and the parts of the queues right below it, and its ceiling is on both together.
    """
    shared, taken = program.shared, 0
    forest = shared.forest
    for r in np.flatnonzero(shared.is_reserving):
        n = len(shared.reserved)
        above = first + taken + np.arange(n)
        whole = max(1.0, float(shared.total[r]))
        for q in range(n):
            inside = np.flatnonzero((queue == q) & (amount[:, r] > 0))
            below = above[:0] if forest.is_flat or q == n - 1 else above[forest.parent == q]
            if len(inside) or len(below):
                used, amounts = [*column[inside], *below], [*amount[inside, r], *np.full(len(below), whole)]
                rows.add(("reserve", q, int(r)), [*used, above[q]], [*amounts, -whole], shared.net_reserved[q, r])
                if not forest.is_flat and np.isfinite(shared.ceiling[q, r]):
                    rows.add(("ceiling", q, int(r)), used, amounts, shared.net_ceiling[q, r])
        rows.add(("parts", 0, int(r)), above[forest.roots], np.full(len(forest.roots), whole), shared.unreserved[r])
        upper.append(np.ones(n))
        taken += n
    return taken


def _guarantee_rows(
    program: Program,
    rows: _Rows,
    first: int,
    queue: _Indices,
    amount: _Floats,
    column: _Indices,
    upper: list[_Floats],
    penalty: float,
    losses: list[_Floats],
) -> int:
    """Tier 3: ``use + short >= floor``, what is short charged as a share of the nominal quota."""
    shared = program.shared
    owed = list(zip(*np.nonzero(shared.floor > 0), strict=True))
    for i, (q, r) in enumerate(owed):
        inside = np.flatnonzero(shared.forest.under(queue, q) & (amount[:, r] > 0))
        rows.add(("guarantee", int(q), int(r)), [*column[inside], first + i], [*-amount[inside, r], -shared.nominal[q, r]], -shared.floor[q, r])
    upper.append(np.array([shared.floor[q, r] / shared.nominal[q, r] for q, r in owed]))
    losses.append(np.full(len(owed), -penalty))
    return len(owed)


def _budget_row(
    program: Program,
    rows: _Rows,
    first: int,
    column: _Indices,
    upper: list[_Floats],
    penalty: float,
    losses: list[_Floats],
) -> int:
    """R12: a sum over cells and over waiting jobs, and waiting is one less the levels' sum; what is over the budget is charged."""
    if not np.isfinite(program.shared.budget_ms):
        return 0
    spent = np.zeros(first)
    np.add.at(spent, column, program.cell_ms)
    spent[: len(program.bundles.job)] -= program.wait_ms[program.bundles.job]
    used = np.flatnonzero(spent)
    unit = max(1000.0, program.shared.budget_ms)
    most = float(program.wait_ms.sum() + program.cell_ms.sum())
    rows.add(("budget", 0, 0), [*used, first], [*spent[used], -unit], program.shared.budget_ms - float(program.wait_ms.sum()))
    upper.append(np.array([most / unit + 1.0]))
    losses.append(np.array([-penalty * unit]))
    return 1


def _limit_rows(program: Program, rows: _Rows, n_columns: int, limits: Limits) -> None:
    """Hold tiers 1 to 3 at what may be spent of each: protected value lost, shares short, milliseconds over."""
    owed = int((program.shared.floor > 0).sum())
    has_budget = bool(np.isfinite(program.shared.budget_ms))
    shorts, over = n_columns - owed - has_budget + np.arange(owed), n_columns - 1
    job = program.bundles.job
    used = np.flatnonzero(program.lost[job])
    if program.lost.any():
        rows.add(("lost", 0, 0), used, -program.lost[job[used]], limits.lost * (1 + _HAIR) - float(program.lost.sum()))
    if owed:
        rows.add(("shortfall", 0, 0), shorts, np.ones(owed), limits.shortfall * (1 + _HAIR))
    if has_budget:
        rows.add(("over", 0, 0), [over], [max(1000.0, program.shared.budget_ms)], 1000 * limits.over_seconds * (1 + _HAIR))


def _convexity(program: Program, rows: _Rows) -> None:
    """Add ``sum of levels <= 1`` per job, behind the shared rows."""
    job = program.bundles.job
    jobs = np.unique(job)
    if len(jobs):
        rows.row.append(len(rows.high) + np.searchsorted(jobs, job))
        rows.column.append(np.arange(len(job)))
        rows.value.append(np.ones(len(job)))
        rows.high.extend([1.0] * len(jobs))
