"""The neutral integer program: bundles, what they are worth and cost, and the rows they share; arrays only, no solver in sight.

The arrays are made read-only where a program is encoded (see `freeze`). A plan inside the program is a `Choice`: one cell per stage; what it uses of
the shared rows and which tiers it reaches are read off here.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.bundles import Bundles
from libra_opt.formulation.curves import ServiceCurves
from libra_opt.formulation.fairness import Fairness
from libra_opt.formulation.shared import SharedRows
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.utility import Utility
from libra_opt.formulation.ways import Ways

__all__ = ["TIE_TOLERANCE", "Choice", "Program", "Score", "Usage", "freeze"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

TIE_TOLERANCE = 1e-9
"""Two numbers of one tier that differ by less, relatively, are equal; numbers below 1e-6 are compared as if they were that large."""

Choice = _Indices
"""A plan inside the program: the chosen cell of every stage, in the order of `Program.first_stage`, or -1 where its job waits; shape ``(n_stages,)``."""


@dataclass(frozen=True)
class Score:
    """Tiers 1 to 6 of one choice; see "Objective" in `models/allocation.md`.

    Attributes
    ----------
    lost, over_seconds, shortfall
        Tiers 1 to 3 (`protected_lost` in value, `over_budget_seconds`, `guarantee_shortfall` in shares of nominal quotas), the less the better.
    value
        Tier 4 (`value`), the more the better.
    unevenness
        Tier 5, worth times the square of service over all jobs, the less the better.
    moves
        Tier 6: how many stages that hold something are changed, the less the better.
    borrowed
        Tier 5 of a tree of queues, before the unevenness of service: what queues borrow, squared (see `SharedRows.borrowed`); 0 without a tree.
    """

    lost: float
    over_seconds: float
    shortfall: float
    value: float
    unevenness: float
    moves: float
    borrowed: float = 0.0

    def beats(self, other: "Score") -> bool:
        """Return whether this score is better in the strict order; differences at the size of rounding do not count."""
        pairs = (
            (other.lost, self.lost),
            (other.over_seconds, self.over_seconds),
            (other.shortfall, self.shortfall),
            (self.value, other.value),
            (other.borrowed, self.borrowed),
            (other.unevenness, self.unevenness),
            (other.moves, self.moves),
        )
        for better, worse in pairs:
            if abs(better - worse) > TIE_TOLERANCE * max(1e-6, abs(better), abs(worse)):
                return better > worse
        return False


@dataclass(frozen=True)
class Usage:
    """What a choice uses of the shared rows, in their units (see `Program.scale`).

    Attributes
    ----------
    pool
        Shape ``(n_pools, n_resources)``.
    queue
        Of every queue and all below it, shape ``(n_queues + 1, n_resources)``; the last row is for jobs outside every queue.
    ms
        Charges of R11 in milliseconds.
    """

    pool: _Floats
    queue: _Floats
    ms: float


@dataclass(frozen=True)
class Program:
    """One period's program; jobs in canonical order (by id).

    Attributes
    ----------
    tables, curves, ways, bundles
        See their classes.
    limits, shared
        The shared rows in quanta, and in the units in which `amount` counts.
    utility
        Of every job, what service is worth.
    gain, most_gain
        Of every level, what its service is worth, and what bounds it and all that was passed over beside it (see `Utility.rise`), shape ``(n_levels,)``.
    worth
        Of every job, the value of one fully served period, shape ``(n_jobs,)``.
    size
        How much of the whole each job stands for in a sample (see `Valuation`), shape ``(n_jobs,)``.
    stake
        Of every job, the value that a fully served period adds or a period lost takes, the lesser: what margins are measured in, shape ``(n_jobs,)``.
    per_ms
        Of every job, the value one millisecond of R11 costs, shape ``(n_jobs,)``.
    wait_ms
        Of every job, the charge of waiting in milliseconds: `evict` where it runs now, else 0, shape ``(n_jobs,)``.
    lost
        Of every job, its worth where it is protected, else 0, shape ``(n_jobs,)``.
    n_wait_moves
        Of every job, how many of its stages hold something now, shape ``(n_jobs,)``.
    cell_ms
        Of every cell, its charge in milliseconds, shape ``(n_cells,)``.
    cell_moved
        Of every cell, whether its stage holds something now and is changed by it, shape ``(n_cells,)``.
    amount, surely
        Of every cell, what it uses and surely uses of the shared rows, scaled as the rows are, shape ``(n_cells, n_resources)``. Where the cost is limited
        (R16) it is the last of the columns, here and in all tables of shared rows, and the queue above all queues is the last row but one (see `cost_row`).
    scale
        Per resource, how many quanta one unit of the shared rows is, shape ``(n_resources,)``.
    is_rounded
        Per resource, whether amounts were rounded in counting; then plans are sound, but bounds taken from `amount` are not, shape ``(n_resources,)``.
    is_original
        Whether the shared rows are those of the state, not what some jobs leave of them.
    fairness
        What is divided fairly before value counts, or None; of the whole program only.
    """

    tables: Tables
    curves: ServiceCurves
    ways: Ways
    bundles: Bundles
    limits: SharedRows
    shared: SharedRows
    utility: Utility
    gain: _Floats
    most_gain: _Floats
    worth: _Floats
    size: _Floats
    stake: _Floats
    per_ms: _Floats
    wait_ms: _Floats
    lost: _Floats
    n_wait_moves: _Floats
    cell_ms: _Floats
    cell_moved: npt.NDArray[np.bool_]
    amount: _Floats
    surely: _Floats
    scale: npt.NDArray[np.int64]
    is_rounded: npt.NDArray[np.bool_]
    is_original: bool
    fairness: Fairness | None = None

    @property
    def n_jobs(self) -> int:
        """How many jobs there are."""
        return self.tables.n_jobs

    @property
    def job_order(self) -> _Indices:
        """Of every position, the job's index in the state, shape ``(n_jobs,)``."""
        return self.tables.job_order

    @property
    def queue(self) -> _Indices:
        """Of every job, the row of its queue in the shared rows, shape ``(n_jobs,)``."""
        return self.tables.queue

    @property
    def first_stage(self) -> _Indices:
        """Where each job's stages begin in a choice, shape ``(n_jobs + 1,)``."""
        return self.tables.first_stage

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.cell_ms)

    @cached_property
    def cell_slot(self) -> _Indices:
        """Slot of every cell, shape ``(n_cells,)``."""
        first = self.bundles.first_cell
        return np.repeat(np.arange(len(first) - 1), np.diff(first))

    @cached_property
    def slot_level(self) -> _Indices:
        """Level of every slot, shape ``(n_slots,)``."""
        first = self.bundles.first_slot
        return np.repeat(np.arange(len(first) - 1), np.diff(first))

    @cached_property
    def cell_level(self) -> _Indices:
        """Level of every cell, shape ``(n_cells,)``."""
        return self.slot_level[self.cell_slot]

    @cached_property
    def cell_job(self) -> _Indices:
        """Job of every cell, shape ``(n_cells,)``."""
        return self.bundles.job[self.cell_level]

    @cached_property
    def cell_stage(self) -> _Indices:
        """Stage position of every cell, shape ``(n_cells,)``."""
        within = self.cell_slot - self.bundles.first_slot[self.cell_level]
        return self.first_stage[self.cell_job] + within

    @cached_property
    def cell_pool(self) -> _Indices:
        """Pool of every cell, shape ``(n_cells,)``."""
        return self.ways.pool[self.bundles.way]

    @cached_property
    def cell_pair(self) -> _Indices:
        """Of every cell, its row in a table of pools by queues, shape ``(n_cells,)``."""
        return self.cell_pool * len(self.shared.ceiling) + self.queue[self.cell_job]

    @cached_property
    def peak(self) -> _Floats:
        """Service of every job at its highest level, 0 where it has none, shape ``(n_jobs,)``."""
        peak = np.zeros(self.n_jobs)
        np.maximum.at(peak, self.bundles.job, self.bundles.service)
        return peak

    @cached_property
    def passed_use(self) -> _Floats:
        """Of every cell, what one unit of service less saves of the resources whose ticks below it were passed over, shape ``(n_cells, n_resources)``."""
        bundles, level = self.bundles, self.cell_level
        stage, way = self.ways.stage[bundles.way], bundles.way
        above, below = bundles.service[level], bundles.below[level]
        drop = np.where(above > below, above - below, np.inf)
        pace = (self.curves.pace(stage, above) - self.curves.pace(stage, below)) / drop
        passed = ~(bundles.is_ticked.T[way] & bundles.is_inside[level][:, None])
        saved = np.where(passed, self.tables.demand[stage], 0.0) * (pace / self.ways.speed[way])[:, None]
        return np.asarray(self.with_cost(saved, self.cell_pool) / self.scale)

    def with_cost(self, quanta: _Floats, pool: _Indices | None = None) -> _Floats:
        """Return amounts in quanta with the column of what they cost (R16), where the cost is limited.

        Parameters
        ----------
        quanta
            Shape ``(n, n_resources)``.
        pool
            Where each row is, shape ``(n,)``; at the mean price of all pools unless given.
        """
        costs = self.tables.costs
        if costs is None:
            return quanta
        price = costs.price.mean(axis=0) if pool is None else costs.price[pool]
        return np.column_stack([quanta, (quanta * price).sum(axis=1)])

    @property
    def is_cost_limited(self) -> bool:
        """Whether the last column is a cost (R16)."""
        return self.tables.costs is not None

    @property
    def is_exact(self) -> bool:
        """Whether nothing was rounded in counting."""
        return not self.is_rounded.any()

    @property
    def most_value(self) -> float:
        """The value if every job had all it can use, free of charge: the simplest bound on tier 4."""
        return float(self.utility.at(np.arange(self.n_jobs), self.peak).sum())

    @property
    def nothing(self) -> Choice:
        """The choice in which every job waits."""
        return np.full(int(self.first_stage[-1]), -1, dtype=np.intp)

    def usage(self, choice: Choice) -> Usage:
        """Return what `choice` uses of the shared rows."""
        cells = choice[choice >= 0]
        shared = self.shared
        amount = self.amount.take(cells, axis=0)
        pool, queue = _added(self.cell_pool[cells], amount, len(shared.capacity)), _added(self.queue[self.cell_job[cells]], amount, len(shared.ceiling))
        return Usage(pool, shared.forest.gathered(queue), float(self.cell_ms[cells].sum() + self.wait_ms[~self.runs(choice)].sum()))

    def runs(self, choice: Choice) -> npt.NDArray[np.bool_]:
        """Return which jobs run, shape ``(n_jobs,)``."""
        return np.asarray(choice[self.first_stage[:-1]] >= 0)

    def level(self, choice: Choice) -> _Indices:
        """Return the chosen level of every job, -1 for waiting, shape ``(n_jobs,)``."""
        first = choice[self.first_stage[:-1]]
        return np.where(first >= 0, self.cell_level[first], -1) if self.n_cells else first

    def fits(self, usage: Usage) -> bool:
        """Return whether a usage keeps R1 and R10."""
        shared = self.shared
        return bool((usage.pool <= shared.capacity).all() and (usage.queue <= shared.ceiling).all() and shared.keeps_reserves(usage.queue))

    def score(self, choice: Choice) -> Score:
        """Return the tiers that `choice` reaches."""
        usage, level, runs = self.usage(choice), self.level(choice), self.runs(choice)
        service = np.where(runs, self.bundles.service[level] if len(self.bundles.service) else 0.0, 0.0)
        charge = np.where(runs, 0.0, self.wait_ms) * self.per_ms
        cells = choice[choice >= 0]
        moved = float(self.cell_moved[cells].sum() + self.n_wait_moves[~runs].sum())
        gain = np.where(runs, self.gain[level] if len(self.gain) else 0.0, 0.0)
        value = float((gain - charge).sum() - (self.per_ms[self.cell_job[cells]] * self.cell_ms[cells]).sum())
        shortfall = float((np.maximum(0.0, self.shared.floor - usage.queue) / self.shared.nominal).sum())
        over = max(0.0, usage.ms - self.shared.budget_ms) / 1000
        unevenness = float((self.worth * service**2).sum())
        return Score(float(self.lost[~runs].sum()), over, shortfall, value, unevenness, moved, self.shared.borrowed(usage.queue))


def _added(group: _Indices, amount: _Floats, n_groups: int) -> _Floats:
    """Return the sum of the rows of each group, shape ``(n_groups, n_columns)``."""
    columns = [np.bincount(group, column, n_groups) for column in amount.T]
    return np.ascontiguousarray(np.array(columns, dtype=np.float64).reshape(amount.shape[1], n_groups).T)


def freeze(value: object) -> None:
    """Make every array of a dataclass read-only, in depth."""
    for field in fields(value):  # type: ignore[arg-type]
        part = getattr(value, field.name)
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
        elif hasattr(part, "__dataclass_fields__"):
            freeze(part)
