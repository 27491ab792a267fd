"""The rows that routes share: R1 and R10 in every period, and in the first the budget and what tiers 1 and 3 may spend; each ``use <= high``.

Where a maximum stands in a rule (reserves, guarantees) a column of its own takes it: what a queue holds above its reserve, what it lacks of its guarantee.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.program import Program, Score
from libra_opt.formulation.shadow import Prices
from libra_opt.lookahead.routes import Journey, Route

__all__ = ["Shared", "route_use", "shared_rows_of"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Shared:
    """Rows in units of their limits, so that none is far larger than another.

    Attributes
    ----------
    period, pool, queue, resource
        What a row counts, -1 for no single one; a row of a pool counts all queues there, one of a queue all pools; shape ``(n_rows,)``.
    unit
        What one of the row's units is in quanta; the sign is that of the jobs' use, shape ``(n_rows,)``.
    high
        Shape ``(n_rows,)``.
    is_reserve
        Whether a row is one of R10's reserves, shape ``(n_rows,)``.
    ms, lost
        The rows of the budget and of tier 1, or -1.
    extra
        Triples (row, column, entry) of the columns of maxima.
    n_extra
        How many of these there are.
    """

    period: _Indices
    pool: _Indices
    queue: _Indices
    resource: _Indices
    unit: _Floats
    high: _Floats
    is_reserve: npt.NDArray[np.bool_]
    ms: int
    lost: int
    extra: tuple[tuple[int, int, float], ...]
    n_extra: int

    def prices(self, program: Program, t: int, duals: _Floats) -> Prices:
        """Return the prices of a period's shared rows, in the units of its program, that go with prices of these rows, shape ``(n_rows,)``."""
        shared, last = program.shared, len(program.shared.ceiling) - 1
        pool, (ceiling, guarantee, reserve) = np.zeros_like(shared.capacity), np.zeros((3, *shared.ceiling.shape))
        for row in np.flatnonzero((self.period == t) & (duals > 0)).tolist():
            k, q, r = int(self.pool[row]), int(self.queue[row]), int(self.resource[row])
            price = duals[row] / abs(self.unit[row]) * program.scale[r]
            if k >= 0:
                pool[k, r] = price
            elif self.unit[row] < 0:
                guarantee[q, r] = price
            elif self.is_reserve[row] or q == last:
                reserve[q, r] = price
            else:
                ceiling[q, r] = price
        ms, lost = ((duals[row] / self.unit[row] if row >= 0 and not t else 0.0) for row in (self.ms, self.lost))
        return Prices(pool, ceiling, guarantee, reserve, float(ms), float(lost))

    def use(self, program: Program, journey: Journey, t: int) -> _Floats:
        """Return what every way of a job in a period uses of every row, shape ``(n + 1, n_rows)``."""
        queue = int(program.queue[journey.job])
        use = np.zeros((len(journey.value[t]), len(self.high)))
        in_pool = np.flatnonzero((self.period == t) & (self.pool >= 0))
        use[:, in_pool] = journey.use[t][:, self.pool[in_pool], self.resource[in_pool]] / self.unit[in_pool]
        of_queue = np.flatnonzero((self.period == t) & (self.queue == queue) & (self.pool < 0))
        use[:, of_queue] = journey.queued[t][:, self.resource[of_queue]] / self.unit[of_queue]
        if t == 0:
            if self.ms >= 0:
                use[:, self.ms] = journey.ms / self.unit[self.ms]
            if self.lost >= 0:
                use[0, self.lost] = program.lost[journey.job] / self.unit[self.lost]
        return use


class _Rows:
    """Rows being gathered."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, float, float]] = []
        self.extra: list[tuple[int, int, float]] = []
        self.n_extra = 0
        self.reserves: set[int] = set()

    def add(self, t: int, k: int, q: int, r: int, unit: float, high: float) -> int:
        self.rows.append((t, k, q, r, unit, high))
        return len(self.rows) - 1

    def column(self, *entries: tuple[int, float]) -> None:
        self.extra += [(row, self.n_extra, entry) for row, entry in entries]
        self.n_extra += 1


def shared_rows_of(program: Program, journeys: Sequence[Journey], most: Score, n_periods: int) -> Shared:
    """Return the rows that some choice of routes can overrun.

    Parameters
    ----------
    most
        What the first period may spend of tiers 1 to 3.
    """
    rows, tables, limits = _Rows(), program.tables, program.limits
    for t in range(n_periods):
        highest = sum((journey.use[t].max(axis=0).astype(np.float64) for journey in journeys), np.zeros(tables.capacity.shape))
        for k, r in np.argwhere(highest > tables.capacity).tolist():
            unit = float(max(1, tables.capacity[k, r]))
            rows.add(t, k, -1, r, unit, float(tables.capacity[k, r]) / unit)
        for q, r in np.argwhere(tables.ceiling < UNLIMITED).tolist():
            unit = float(max(1, tables.ceiling[q, r]))
            rows.add(t, -1, q, r, unit, float(tables.ceiling[q, r]) / unit)
        for r in np.flatnonzero(limits.is_reserving).tolist():
            _reserve(rows, program, t, r)
    _guarantees(rows, program, most)
    budget = limits.most_ms(most.over_seconds)
    ms = rows.add(-1, -1, -1, -1, max(1.0, budget), budget / max(1.0, budget)) if np.isfinite(budget) else -1
    scale = max(1e-300, float(program.lost.sum()))
    lost = rows.add(-1, -1, -1, -1, scale, most.lost / scale * (1 + 1e-9)) if program.lost.any() else -1
    table = np.array(rows.rows, dtype=np.float64).reshape(-1, 6)
    period, pool, queue, resource = table[:, :4].astype(np.intp).T
    is_reserve = np.isin(np.arange(len(table)), sorted(rows.reserves))
    return Shared(period, pool, queue, resource, table[:, 4], table[:, 5], is_reserve, ms, lost, tuple(rows.extra), rows.n_extra)


def _reserve(rows: _Rows, program: Program, t: int, r: int) -> None:
    """R10: what queues hold above their reserves, and what is held outside every queue, fits into what is not reserved."""
    limits, n_queues = program.limits, len(program.limits.reserved) - 1
    unit = float(max(1.0, limits.total[r]))
    free = rows.add(t, -1, n_queues, r, unit, (limits.total[r] - limits.reserved[:, r].sum()) / unit)
    for q in range(n_queues):
        above = rows.add(t, -1, q, r, unit, limits.reserved[q, r] / unit)
        rows.column((above, -1.0), (free, 1.0))
        rows.reserves |= {above, free}


def _guarantees(rows: _Rows, program: Program, most: Score) -> None:
    """Tier 3: what queues lack of their guarantees in the first period comes to no more than it may."""
    limits = program.limits
    owed = np.argwhere(limits.floor > 0).tolist()
    if not owed:
        return
    whole = rows.add(-1, -1, -1, -1, 1.0, most.shortfall + 1e-9 * max(1e-6, most.shortfall))
    for q, r in owed:
        lacking = rows.add(0, -1, q, r, -float(limits.nominal[q, r]), -float(limits.floor[q, r] / limits.nominal[q, r]))
        rows.column((lacking, -1.0), (whole, 1.0))


def route_use(uses: Sequence[_Floats], route: Route) -> _Floats:
    """Return what a route uses of every row, given `Shared.use` of every period."""
    return np.asarray(sum(use[row] for use, row in zip(uses, route, strict=True)))
