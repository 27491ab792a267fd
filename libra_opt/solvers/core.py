"""The core: jobs whose answer to the prices is not clear, with the bundles that come near their best."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Choice, Program, Usage
from libra_opt.formulation.restrict import Restricted, restrict
from libra_opt.formulation.runs import first_least, least, spans
from libra_opt.solvers.lagrangian import Priced

__all__ = ["Core", "split", "value_outside"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Core:
    """A core.

    Attributes
    ----------
    inner
        The smaller program.
    rest
        What the jobs outside it do; -1 for those inside.
    is_all
        Whether every bundle within the slack is in it.
    """

    inner: Restricted
    rest: Choice
    is_all: bool


def split(
    program: Program,
    priced: Priced,
    slack: _Floats,
    n_jobs: int,
    most_cells: int,
    keep: Choice | None = None,
    *,
    among: _Flags | None = None,
    with_neighbours: bool = False,
) -> Core | None:
    """Split a program at given prices.

    Parameters
    ----------
    slack
        How far below its job's best a bundle may be at all, shape ``(n_jobs,)``; scaled down until the core is small enough.
    n_jobs, most_cells
        How many jobs and cells the core may have.
    keep
        A feasible choice: the jobs outside the core do as it says, and its cells are in the core; the best answers to the prices unless given.
    among
        Jobs that may be in the core, shape ``(n_jobs,)``; all unless given.
    with_neighbours
        Keep the levels next to those within the slack too, so that mixtures reach all that lies between.

    Returns
    -------
    Core or None
        None where nothing is open, or where what the others do overruns a row by itself.
    """
    with np.errstate(over="ignore"):  # without slack whatever is not the best is infinitely far
        distance = _distances(program, priced, slack, keep, with_neighbours=with_neighbours)
    opens = distance.job if among is None else np.where(among, distance.job, np.inf)
    reach = min(1.0, _within(opens, n_jobs), _within(np.maximum(distance.cell, opens[program.cell_job]), most_cells))
    open_jobs = np.flatnonzero(opens <= reach)
    levels, cells = distance.level <= reach, distance.cell <= reach
    is_open = np.zeros(program.n_jobs, dtype=np.bool_)
    is_open[open_jobs] = True
    rest = (_answers(program, priced) if keep is None else keep).copy()
    rest[is_open[program.tables.stage_job]] = -1
    if not len(open_jobs):
        return None
    usage = program.usage(rest)
    usage = Usage(usage.pool, usage.queue, usage.ms - float(program.wait_ms[open_jobs].sum()))
    if not program.fits(usage):
        return None
    return Core(restrict(program, open_jobs, levels, usage, cells), rest, reach == 1.0 and among is None)


def value_outside(program: Program, core: Core) -> float:
    """Return the value of the jobs outside a core, at what they do there."""
    inside = float((program.per_ms[core.inner.jobs] * program.wait_ms[core.inner.jobs]).sum())
    return program.score(core.rest).value + inside


@dataclass(frozen=True)
class _Distances:
    """How far, in slacks, bundles are below their job's best: of a level, of a cell, and where a job has a second way.

    A cell is as far as its level at least, and infinitely far where that is beyond one slack.
    """

    level: _Floats
    cell: _Floats
    job: _Floats


def _within(distance: _Floats, most: int) -> float:
    """Return the largest distance found that at most `most` entries are within; below all of them where that many share the least."""
    near = np.sort(distance[distance <= 1.0])
    if len(near) <= most:
        return 1.0
    closer = near[:most][near[:most] < near[most]]
    return float(closer[-1]) if len(closer) else -1.0


def _distances(program: Program, priced: Priced, slack: _Floats, keep: Choice | None, *, with_neighbours: bool) -> _Distances:
    bundles = program.bundles
    unit = np.maximum(slack, 1e-300)
    level = (priced.job_value[bundles.job] - priced.level_value) / unit[bundles.job]
    if with_neighbours and len(level) > 1:
        same = bundles.job[1:] == bundles.job[:-1]
        before, after = np.append(np.inf, np.where(same, level[:-1], np.inf)), np.append(np.where(same, level[1:], np.inf), np.inf)
        level = np.minimum(level, np.minimum(before, after))
    wait = (priced.job_value - priced.wait_value) / unit
    if keep is not None:
        level[program.cell_level[keep[keep >= 0]]] = 0.0
        wait = np.where(program.runs(keep), wait, 0.0)
    near = np.flatnonzero(level <= 1.0)
    cells, starts = spans(bundles.first_cell[bundles.first_slot[near]], bundles.first_cell[bundles.first_slot[near + 1]])
    cell = np.full(program.n_cells, np.inf)
    cheapest = least(priced.cell_cost, bundles.first_cell[:-1])
    slot = program.cell_slot[cells]
    cell[cells] = (priced.cell_cost[cells] - cheapest[slot]) / unit[program.cell_job[cells]]
    if keep is not None:
        cell[keep[keep >= 0]] = 0.0
    cell[cells] = np.maximum(cell[cells], level[program.cell_level[cells]])
    able = np.flatnonzero(np.diff(bundles.first_level) > 0)
    job = np.full(program.n_jobs, np.inf)
    if len(able):
        first = bundles.first_level[able]
        best = np.minimum.reduceat(level, first)
        others = level.copy()
        others[first_least(level, first)] = np.inf
        second = np.minimum.reduceat(others, first)
        job[able] = np.minimum(np.maximum(best, wait[able]), second)
    if len(near):
        is_first = np.append(True, bundles.job[near[1:]] != bundles.job[near[:-1]])
        jobs, other = bundles.job[near[is_first]], cell[cells]
        other[first_least(other, np.flatnonzero(np.append(True, slot[1:] != slot[:-1])))] = np.inf
        job[jobs] = np.minimum(job[jobs], np.minimum.reduceat(other, starts[is_first]))
    return _Distances(level, cell, job)


def _answers(program: Program, priced: Priced) -> Choice:
    """Return every job's best answer to the prices, whether or not they fit together; the highest of its best levels, the first of the cheapest cells."""
    bundles = program.bundles
    choice = program.nothing
    jobs = np.flatnonzero(np.diff(bundles.first_level) > 0)
    if not len(jobs):
        return choice
    top = np.maximum.reduceat(priced.level_value, bundles.first_level[jobs])
    is_top = priced.level_value == np.repeat(top, np.diff(bundles.first_level)[jobs])
    best = np.maximum.reduceat(np.where(is_top, np.arange(len(is_top)), -1), bundles.first_level[jobs])
    runs = top >= priced.wait_value[jobs]
    best, jobs = best[runs], jobs[runs]
    counts = np.diff(program.first_stage)[jobs]
    ramp = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    slots = np.repeat(bundles.first_slot[best], counts) + ramp
    cells, starts = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    choice[np.repeat(program.first_stage[jobs], counts) + ramp] = cells[first_least(priced.cell_cost[cells], starts)]
    return choice
