"""The core: jobs whose answer to the prices is not clear, with the bundles that come near their best."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Choice, Program, Usage
from libra_opt.formulation.restrict import Restricted, restrict
from libra_opt.solvers.lagrangian import Priced

__all__ = ["Core", "split"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]

_HALVINGS = 14
"""How often the share of the slack that makes a core small enough is halved in on."""


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
    low, high = 0.0, 2.0
    for halving in range(_HALVINGS):
        middle = 1.0 if halving == 0 else (low + high) / 2
        levels, cells, open_jobs = _near(program, priced, middle * slack, keep, with_neighbours=with_neighbours)
        open_jobs = open_jobs if among is None else open_jobs[among[open_jobs]]
        if len(open_jobs) > n_jobs or int((cells & _inside(program, open_jobs)).sum()) > most_cells:
            high = middle
        else:
            low = middle
        if low == 1.0:
            break
    levels, cells, open_jobs = _near(program, priced, low * slack, keep, with_neighbours=with_neighbours)
    open_jobs = open_jobs if among is None else open_jobs[among[open_jobs]]
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
    return Core(restrict(program, open_jobs, levels, usage, cells), rest, low == 1.0 and among is None)


def _inside(program: Program, jobs: _Indices) -> _Flags:
    is_open = np.zeros(program.n_jobs, dtype=np.bool_)
    is_open[jobs] = True
    return is_open[program.cell_job]


def _near(program: Program, priced: Priced, slack: _Floats, keep: Choice | None, *, with_neighbours: bool) -> tuple[_Flags, _Flags, _Indices]:
    """Return levels and cells within `slack` of their job's best, and the jobs with more than one way to take them."""
    bundles = program.bundles
    levels = priced.level_value >= (priced.job_value - slack)[bundles.job]
    if with_neighbours and len(levels) > 1:
        same = bundles.job[1:] == bundles.job[:-1]
        levels = levels | np.append(False, levels[:-1] & same) | np.append(levels[1:] & same, False)
    cheapest = np.minimum.reduceat(priced.cell_cost, bundles.first_cell[:-1])
    cells = priced.cell_cost <= np.repeat(cheapest, np.diff(bundles.first_cell)) + slack[program.cell_job]
    cells &= levels[program.cell_level]
    if keep is not None:
        chosen = keep[keep >= 0]
        levels[program.cell_level[chosen]] = True
        cells[chosen] = True
    options = np.bincount(bundles.job[levels], minlength=program.n_jobs)
    waits = priced.wait_value >= priced.job_value - slack
    if keep is not None:
        waits |= ~program.runs(keep)
    options += waits
    spare_cells = np.bincount(program.cell_job[cells], minlength=program.n_jobs) - np.bincount(bundles.job[levels], minlength=program.n_jobs) * np.diff(
        program.first_stage
    )
    return levels, cells, np.flatnonzero((options > 1) | (spare_cells > 0))


def _answers(program: Program, priced: Priced) -> Choice:
    """Return every job's best answer to the prices, whether or not they fit together."""
    bundles = program.bundles
    choice = program.nothing
    order = np.lexsort((bundles.service, priced.level_value, bundles.job))
    has = np.diff(bundles.first_level) > 0
    best = order[bundles.first_level[1:][has] - 1]
    jobs = np.flatnonzero(has)
    runs = priced.level_value[best] >= priced.wait_value[jobs]
    best, jobs = best[runs], jobs[runs]
    cheapest = np.lexsort((-np.arange(program.n_cells), -priced.cell_cost, program.cell_slot))[bundles.first_cell[1:] - 1]
    counts = np.diff(program.first_stage)[jobs]
    ramp = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    choice[np.repeat(program.first_stage[jobs], counts) + ramp] = cheapest[np.repeat(bundles.first_slot[best], counts) + ramp]
    return choice
