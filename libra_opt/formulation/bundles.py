"""Bundles: for every job the services at which some whole unit ticks, and for every such level the least each way of each stage needs (R5, R7, R8, R9).

Three nested layers, each sorted and contiguous in the one above: *levels* of a job, *slots* (one per stage) of a level, *cells* (one per way of the
stage that reaches the level) of a slot. Choosing a bundle is choosing one level and one cell in each of its slots, so pools are picked stage by stage
and no product of pool choices is ever formed.

A grid need not hold every tick. Between two neighbouring levels a bundle's value is linear in its service, what it uses of passed-over resources grows at
least linearly and of the others not at all; so what is used *surely* at the levels themselves bounds all that lies between (see `surely` in `Bundles`).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.cells import fill_levels, least_amounts
from libra_opt.formulation.curves import ServiceCurves
from libra_opt.formulation.levels import SERVICE_TOLERANCE, TICK_TOLERANCE, Window, choose_levels
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.ways import Ways

__all__ = ["SERVICE_TOLERANCE", "TICK_TOLERANCE", "Bundles", "Window", "enumerate_bundles", "least_amounts"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Bundles:
    """Levels, slots and cells.

    Attributes
    ----------
    job, service
        Of every level: position of its job in canonical order, and the job's service, shape ``(n_levels,)``, increasing within a job.
    first_level
        Where each job's levels begin, shape ``(n_jobs + 1,)``.
    first_slot
        Where each level's slots begin, shape ``(n_levels + 1,)``.
    first_cell
        Where each slot's cells begin, shape ``(n_slots + 1,)``.
    way
        Of every cell, its row in the ways, shape ``(n_cells,)``.
    amount
        Of every cell, what the stage holds in quanta, shape ``(n_cells, n_resources)``.
    surely
        Of every cell, what it uses at least where ticks below it were passed over; the same as `amount` where none were,
        shape ``(n_cells, n_resources)``.
    is_whole
        Whether every tick is a level.
    is_complete
        Whether every tick inside the window is a level.
    """

    job: _Indices
    service: _Floats
    first_level: _Indices
    first_slot: _Indices
    first_cell: _Indices
    way: _Indices
    amount: _Ints
    surely: _Floats
    is_whole: bool
    is_complete: bool


def enumerate_bundles(tables: Tables, curves: ServiceCurves, ways: Ways, most_cells: int, window: Window | None = None) -> Bundles:
    """Return the bundles of all jobs.

    Parameters
    ----------
    most_cells
        About how many cells there may be. Where all ticks inside the window would make more, only those of costly resources become levels; where
        there is no window, none do.
    window
        Where ticks become levels; everywhere unless given.
    """
    grid = choose_levels(tables, curves, ways, most_cells, window)
    cells = fill_levels(tables, curves, ways, grid)
    job, service = grid.job[cells.is_reached], grid.service[cells.is_reached]
    return Bundles(
        job=job,
        service=service,
        first_level=np.searchsorted(job, np.arange(tables.n_jobs + 1)),
        first_slot=np.append(0, np.cumsum(np.diff(tables.first_stage)[job])),
        first_cell=np.append(np.flatnonzero(cells.is_first), len(cells.way)),
        way=cells.way,
        amount=cells.amount,
        surely=cells.surely,
        is_whole=grid.is_whole,
        is_complete=grid.is_complete,
    )
