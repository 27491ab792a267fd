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
    below
        Of every level, the service of the level before it where ticks were passed over between the two, else its own, shape ``(n_levels,)``.
    is_inside, is_ticked
        Whether a level lies inside the window, and of which resource and way no tick was passed over there, shapes ``(n_levels,)``,
        ``(n_resources, n_ways)``.
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
    below: _Floats
    is_inside: npt.NDArray[np.bool_]
    is_ticked: npt.NDArray[np.bool_]
    is_whole: bool
    is_complete: bool


def enumerate_bundles(
    tables: Tables, curves: ServiceCurves, ways: Ways, most_cells: int, window: Window | None = None, bends: tuple[_Indices, _Floats] | None = None
) -> Bundles:
    """Return the bundles of all jobs.

    Parameters
    ----------
    most_cells
        About how many cells there may be. Where all ticks inside the window would make more, only those of costly resources become levels; where
        there is no window, none do.
    window
        Where ticks become levels; everywhere unless given.
    bends
        Jobs and services that are levels whatever the grid, both of shape ``(n,)``: where the value of service bends.
    """
    grid = choose_levels(tables, curves, ways, most_cells, window, bends)
    cells = fill_levels(tables, curves, ways, grid)
    job, service, is_inside = grid.job[cells.is_reached], grid.service[cells.is_reached], grid.is_inside[cells.is_reached]
    return Bundles(
        job=job,
        service=service,
        first_level=np.searchsorted(job, np.arange(tables.n_jobs + 1)),
        first_slot=np.append(0, np.cumsum(np.diff(tables.first_stage)[job])),
        first_cell=np.append(np.flatnonzero(cells.is_first), len(cells.way)),
        way=cells.way,
        amount=cells.amount,
        surely=cells.surely,
        below=_below(job, service, is_inside & grid.is_complete),
        is_inside=is_inside,
        is_ticked=grid.is_ticked,
        is_whole=grid.is_whole,
        is_complete=grid.is_complete,
    )


def _below(job: _Indices, service: _Floats, is_next: npt.NDArray[np.bool_]) -> _Floats:
    """Return the service of the level before each, its own where there is none or nothing lies between."""
    follows = np.append(False, job[1:] == job[:-1])[: len(job)] & ~is_next
    return np.where(follows, np.append(0.0, service[:-1])[: len(job)], service)
