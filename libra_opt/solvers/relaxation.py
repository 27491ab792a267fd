"""The linear relaxation over a selection of bundles, as one sparse matrix; whoever solves it, the rows and columns are these.

Columns: one per selected level, one per cell of a slot with a choice of cells, one per reserve part and per shortfall. All rows are ``low <= A x <= high``.
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
    peak = np.zeros(program.n_jobs)
    np.maximum.at(peak, program.bundles.job, program.bundles.service)
    value = float((program.worth * peak).sum())
    budget = program.shared.budget_ms
    lost = float(program.lost[program.lost > 0].min(initial=np.inf))
    return Penalties(_DEAR * value / lost if np.isfinite(lost) else 0.0, _DEAR * value, _DEAR * value / max(1000.0, budget) if np.isfinite(budget) else 0.0)


@dataclass(frozen=True)
class Relaxation:
    """``max gain @ x + constant`` under ``A x <= high`` (inequalities), ``E x = target`` and ``0 <= x <= upper``.

    Attributes
    ----------
    levels, cells
        Selected levels, and selected cells of slots with a choice, in the order of the columns.
    names
        Of every shared inequality row, its kind and indices.
    """

    gain: _Floats
    constant: float
    matrix: sparse.csr_array
    high: _Floats
    equal: sparse.csr_array
    target: _Floats
    upper: _Floats
    levels: _Indices
    cells: _Indices
    names: tuple[_Row, ...]

    def prices(self, program: Program, duals: _Floats, scale: float = 1.0) -> Prices:
        """Return the prices that the duals of the inequality rows (never negative) stand for."""
        shared = program.shared
        pool, tables = np.zeros_like(shared.capacity), {kind: np.zeros_like(shared.ceiling) for kind in ("ceiling", "guarantee", "reserve")}
        single = {"budget": 0.0}
        for (kind, i, r), dual in zip(self.names, np.maximum(0.0, duals) * scale, strict=False):
            if kind == "pool":
                pool[i, r] = dual
            elif kind in tables:
                tables[kind][i, r] = dual
            elif kind in single:
                single[kind] = float(dual)
        return Prices(pool, tables["ceiling"], tables["guarantee"], tables["reserve"], single["budget"], penalties(program).lost)

    def rounded(self, program: Program, solution: _Floats) -> tuple[_Floats, _Floats]:
        """Return the weight of every level and every cell, zero for those outside the selection."""
        level, cell = np.zeros(len(program.bundles.job)), np.zeros(program.n_cells)
        level[self.levels] = solution[: len(self.levels)]
        cell[self.cells] = solution[len(self.levels) : len(self.levels) + len(self.cells)]
        return level, cell


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


def relax(program: Program, selected: npt.NDArray[np.bool_], *, limits: Limits | None = None, is_bound: bool = False) -> Relaxation:
    """Return the relaxation over the selected levels.

    Parameters
    ----------
    limits
        What plans may spend of tiers 1 to 3, as rows; without, these tiers enter the objective with penalties (see `penalties`).
    is_bound
        Charge the shared rows with what is surely used, so that mixtures of levels cover all that was passed over between them.
    """
    bundles, shared = program.bundles, program.shared
    penalty = penalties(program) if limits is None else Penalties(0.0, 0.0, 0.0)
    levels = np.flatnonzero(selected)
    position = np.full(len(bundles.job), -1, dtype=np.intp)
    position[levels] = np.arange(len(levels))
    cell = np.flatnonzero(selected[program.cell_level]) if program.n_cells else np.zeros(0, dtype=np.intp)
    slot = program.cell_slot[cell] if len(cell) else cell
    size = np.bincount(slot, minlength=max(1, len(bundles.first_cell) - 1))
    has_choice = size[slot] > 1
    cells = cell[has_choice]
    column = position[program.cell_level[cell]] if len(cell) else cell
    column[has_choice] = len(levels) + np.arange(len(cells))
    job = bundles.job[levels]
    gain = np.zeros(len(levels) + len(cells))
    gain[: len(levels)] = program.worth[job] * bundles.service[levels] + program.per_ms[job] * program.wait_ms[job] + penalty.lost * program.lost[job]
    charge = program.per_ms[program.cell_job[cell]] * program.cell_ms[cell] if len(cell) else np.zeros(0)
    np.subtract.at(gain, column, charge)
    rows = _Rows()
    whole = program.amount[cell]
    amount = program.surely[cell] if is_bound else whole
    pool = program.cell_pool[cell] if len(cell) else cell
    queue = program.queue[program.cell_job[cell]] if len(cell) else cell
    for k, r in np.ndindex(*shared.capacity.shape):
        inside = np.flatnonzero((pool == k) & (amount[:, r] > 0))
        if len(inside):
            rows.add(("pool", k, r), column[inside], amount[inside, r], shared.capacity[k, r])
    for q, r in zip(*np.nonzero(np.isfinite(shared.ceiling)), strict=True):
        inside = np.flatnonzero((queue == q) & (amount[:, r] > 0))
        if len(inside):
            rows.add(("ceiling", int(q), int(r)), column[inside], amount[inside, r], shared.ceiling[q, r])
    upper = [np.ones(len(gain))]
    extra = _reserve_rows(program, rows, len(gain), queue, amount, column, upper)
    losses = [np.zeros(extra)]
    extra += _guarantee_rows(program, rows, len(gain) + extra, queue, whole, column, upper, penalty.shortfall, losses)
    extra += _budget_row(program, rows, len(gain) + extra, levels, cell, column, upper, penalty.ms, losses)
    if limits is not None:
        _limit_rows(program, rows, len(gain) + extra, levels, limits)
    n_columns = len(gain) + extra
    _convexity(program, rows, levels)
    slots = np.unique(slot[has_choice])
    link = sparse.csr_array(
        (
            np.concatenate([np.ones(len(cells)), -np.ones(len(slots))]),
            (
                np.concatenate([np.searchsorted(slots, slot[has_choice]), np.arange(len(slots))]),
                np.concatenate([len(levels) + np.arange(len(cells)), position[program.slot_level[slots]]]),
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
        levels=levels,
        cells=cells,
        names=tuple(rows.names),
    )


def _reserve_rows(program: Program, rows: _Rows, first: int, queue: _Indices, amount: _Floats, column: _Indices, upper: list[_Floats]) -> int:
    """R10: ``use[q] <= part[q]``, ``sum of parts <= total``; the columns are what a part exceeds its reserve by, as shares of the total."""
    shared, taken = program.shared, 0
    for r in np.flatnonzero(shared.is_reserving):
        n = len(shared.reserved)
        above = first + taken + np.arange(n)
        whole = max(1.0, float(shared.total[r]))
        for q in range(n):
            inside = np.flatnonzero((queue == q) & (amount[:, r] > 0))
            if len(inside):
                rows.add(("reserve", q, int(r)), [*column[inside], above[q]], [*amount[inside, r], -whole], shared.reserved[q, r])
        rows.add(("parts", 0, int(r)), above, np.full(n, whole), shared.total[r] - shared.reserved[:, r].sum())
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
        inside = np.flatnonzero((queue == q) & (amount[:, r] > 0))
        rows.add(("guarantee", int(q), int(r)), [*column[inside], first + i], [*-amount[inside, r], -shared.nominal[q, r]], -shared.floor[q, r])
    upper.append(np.array([shared.floor[q, r] / shared.nominal[q, r] for q, r in owed]))
    losses.append(np.full(len(owed), -penalty))
    return len(owed)


def _budget_row(
    program: Program,
    rows: _Rows,
    first: int,
    levels: _Indices,
    cell: _Indices,
    column: _Indices,
    upper: list[_Floats],
    penalty: float,
    losses: list[_Floats],
) -> int:
    """R12: a sum over cells and over waiting jobs, and waiting is one less the levels' sum; what is over the budget is charged."""
    if not np.isfinite(program.shared.budget_ms):
        return 0
    spent = np.zeros(first)
    np.add.at(spent, column, program.cell_ms[cell])
    spent[: len(levels)] -= program.wait_ms[program.bundles.job[levels]]
    used = np.flatnonzero(spent)
    unit = max(1000.0, program.shared.budget_ms)
    most = float(program.wait_ms.sum() + program.cell_ms[cell].sum())
    rows.add(("budget", 0, 0), [*used, first], [*spent[used], -unit], program.shared.budget_ms - float(program.wait_ms.sum()))
    upper.append(np.array([most / unit + 1.0]))
    losses.append(np.array([-penalty * unit]))
    return 1


def _limit_rows(program: Program, rows: _Rows, n_columns: int, levels: _Indices, limits: Limits) -> None:
    """Hold tiers 1 to 3 at what may be spent of each: protected value lost, shares short, milliseconds over."""
    owed = int((program.shared.floor > 0).sum())
    has_budget = bool(np.isfinite(program.shared.budget_ms))
    shorts, over = n_columns - owed - has_budget + np.arange(owed), n_columns - 1
    job = program.bundles.job[levels]
    used = np.flatnonzero(program.lost[job])
    if program.lost.any():
        rows.add(("lost", 0, 0), used, -program.lost[job[used]], limits.lost * (1 + _HAIR) - float(program.lost.sum()))
    if owed:
        rows.add(("shortfall", 0, 0), shorts, np.ones(owed), limits.shortfall * (1 + _HAIR))
    if has_budget:
        rows.add(("over", 0, 0), [over], [max(1000.0, program.shared.budget_ms)], 1000 * limits.over_seconds * (1 + _HAIR))


def _convexity(program: Program, rows: _Rows, levels: _Indices) -> None:
    """Add ``sum of levels <= 1`` per job, behind the shared rows."""
    job = program.bundles.job[levels]
    jobs = np.unique(job)
    if len(jobs):
        rows.row.append(len(rows.high) + np.searchsorted(jobs, job))
        rows.column.append(np.arange(len(levels)))
        rows.value.append(np.ones(len(levels)))
        rows.high.extend([1.0] * len(jobs))
