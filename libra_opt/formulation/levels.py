"""The services at which some whole unit of a job ticks (R5, R7, R8), as many of them as there is room for, and those of its profiles: its bundles' levels."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.curves import ServiceCurves
from libra_opt.formulation.runs import ramp
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.ways import Ways

__all__ = ["SAME", "SERVICE_TOLERANCE", "TICK_TOLERANCE", "Grid", "Window", "choose_levels", "tick_slack"]

SERVICE_TOLERANCE = 1e-12
"""Two services of a job that differ by less, as a share of them, are one level: where demand is 2^60 quanta, one card more serves 1e-18 more."""

SAME = 1 + 1e-15
"""Services within this ratio differ by rounding alone."""

TICK_TOLERANCE = 1e-9
"""How far, relatively, a need may stick out above a whole unit before the next unit is taken."""

_MOST_SLACK, _PRECISE = 1e-3, 1e-12
"""A need is known to better than this part of a unit or, where that is more, this part of itself: `TICK_TOLERANCE` alone would forgive whole units."""

_MOST_COSTLY_TICKS = 128
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Window:
    """Where a grid is fine: services of each job between which ticks become levels, shape ``(n_jobs,)``.

    Attributes
    ----------
    low, high
        Ends of the window; empty where `low` is above `high`.
    anchor
        One service of each job that is a level whatever the grid; negative for none.
    """

    low: _Floats
    high: _Floats
    anchor: _Floats


@dataclass(frozen=True)
class Grid:
    """Candidate levels, sorted, and of which ways and resources every tick inside the window is among them.

    Attributes
    ----------
    job, service
        Of every level, shape ``(n_levels,)``.
    is_inside
        Whether a level lies inside the window, shape ``(n_levels,)``.
    is_ticked
        Of which resource and way no tick inside the window was passed over, shape ``(n_resources, n_ways)``.
    is_whole
        Whether every tick is a level.
    is_complete
        Whether every tick inside the window is.
    """

    job: _Indices
    service: _Floats
    is_inside: _Flags
    is_ticked: _Flags
    is_whole: bool
    is_complete: bool


def tick_slack(units: _Floats) -> _Floats:
    """Return how far needs, in units, may stick out above a whole unit before the next one is taken, shape of `units`."""
    slack = np.maximum(1.0, units)
    slack *= TICK_TOLERANCE
    if units.max(initial=0.0) * TICK_TOLERANCE > _MOST_SLACK:
        np.minimum(slack, np.maximum(_MOST_SLACK, units * _PRECISE), out=slack)
    return slack


def choose_levels(
    tables: Tables, curves: ServiceCurves, ways: Ways, most_cells: int, window: Window | None, bends: tuple[_Indices, _Floats] | None = None
) -> Grid:
    """Return the levels of all jobs; see `enumerate_bundles`."""
    stage, job = ways.stage, tables.stage_job[ways.stage]
    demand, unit = tables.demand.T.take(stage, axis=1), tables.unit.T.take(stage, axis=1)
    wanted = demand > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        per_level = np.where(wanted, ways.speed / demand, np.inf)
        at_floor = np.where(wanted, ways.floor.T * per_level, np.inf)
        at_ceiling = np.where(wanted, ways.ceiling.T * per_level, np.inf)
    lowest = np.minimum(at_floor.min(axis=0, initial=np.inf), curves.top[stage])
    highest = np.minimum(at_ceiling.min(axis=0, initial=np.inf), curves.top[stage])
    low, high = curves.at(stage, lowest), curves.at(stage, highest)
    if ways.serves is not None:
        low, high = np.minimum(low, ways.serves), np.minimum(high, ways.serves)
    least, most = _range(tables, ways, low, high)
    row, level, is_ticked = _ticks(tables, curves, ways, per_level * unit, wanted, unit, lowest, highest, most_cells, window)
    is_complete = bool((is_ticked | ~wanted).all())
    is_whole = window is None and is_complete
    kink_resource, kink_way = np.nonzero(wanted & (ways.floor.T > 0) & (at_floor > lowest) & (at_floor < highest))
    every = np.arange(len(stage))
    row = np.concatenate([row, every, every, kink_way])
    level = np.concatenate([level, lowest, highest, at_floor[kink_resource, kink_way]])
    bend_stage, bend = _bends(curves)
    able = np.flatnonzero(most >= 0)
    jobs = [job[row], able, tables.stage_job[bend_stage]]
    services = [curves.at(stage[row], level), most[able], bend]
    if ways.serves is not None:
        profiled = np.flatnonzero(np.isfinite(ways.serves))
        jobs.append(job[profiled])
        services.append(ways.serves[profiled])
    if bends is not None:
        jobs.append(bends[0])
        services.append(bends[1])
    if window is not None:
        edged, anchored = able[window.low[able] <= window.high[able]], able[window.anchor[able] >= 0]
        jobs += [edged, edged, anchored]
        services += [
            np.clip(window.low[edged], least[edged], most[edged]),
            np.clip(window.high[edged], least[edged], most[edged]),
            np.minimum(window.anchor[anchored], most[anchored]),
        ]
    level_job, service = _distinct(np.concatenate(jobs), np.concatenate(services), least, most)
    inside = np.full(len(level_job), is_whole)
    if window is not None:
        is_last = np.append(level_job[1:] != level_job[:-1], True)[: len(level_job)]
        high = window.high[level_job] + np.where(is_last, SERVICE_TOLERANCE, -SERVICE_TOLERANCE)  # above an end that is not the last, ticks are passed over
        inside = (service > window.low[level_job] + SERVICE_TOLERANCE) & (service <= high)
    return Grid(level_job, service, inside, is_ticked, is_whole, is_complete)


def _ticks(
    tables: Tables,
    curves: ServiceCurves,
    ways: Ways,
    tick: _Floats,
    wanted: _Flags,
    unit: npt.NDArray[np.int64],
    lowest: _Floats,
    highest: _Floats,
    most_cells: int,
    window: Window | None,
) -> tuple[_Indices, _Floats, _Flags]:
    """Return way and level of the ticks, and of which resource and way none inside the window was passed over."""
    job = tables.stage_job[ways.stage]
    if window is not None:
        lowest = np.maximum(lowest, curves.pace(ways.stage, np.maximum(0.0, window.low[job])))
        highest = np.minimum(highest, np.where(window.high[job] < 0, -1.0, curves.pace(ways.stage, np.maximum(0.0, window.high[job]))))
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(wanted, np.maximum(ways.floor.T // unit, np.ceil(lowest / tick * (1 - TICK_TOLERANCE))), 1)
        last = np.where(wanted, np.minimum(ways.ceiling.T // unit, np.floor(highest / tick * (1 + TICK_TOLERANCE))), 0)
    n_ticks = np.maximum(last - first + 1, 0)
    ways_of_job = np.bincount(job, minlength=tables.n_jobs)[job]
    taken = wanted & (n_ticks <= most_cells)
    if float((n_ticks * ways_of_job).sum()) > most_cells:
        taken &= (n_ticks <= _MOST_COSTLY_TICKS) & _matters(tables, wanted)
        if window is None:
            taken[:] = False
    counts = np.where(taken, n_ticks, 0).astype(np.intp)
    resource, row = np.divmod(np.repeat(np.arange(counts.size), counts.ravel()), max(1, counts.shape[1]))
    level = (first[resource, row] + ramp(counts.ravel())) * tick[resource, row]
    return row, level, taken


def _matters(tables: Tables, wanted: _Flags) -> _Flags:
    """Tell which resources' ticks come first: the costly ones a way wants, or all it wants where none is costly; shape ``(n_resources, n_ways)``."""
    costly = wanted & tables.costly[:, None]
    return np.where(costly.any(axis=0), costly, wanted)


def _bends(curves: ServiceCurves) -> tuple[_Indices, _Floats]:
    inner = curves.service[:, 1:-1]
    stage, point = np.nonzero(np.isfinite(inner))
    return stage, inner[stage, point]


def _range(tables: Tables, ways: Ways, low: _Floats, high: _Floats) -> tuple[_Floats, _Floats]:
    """Return least and most service per job over its ways; a job with a stage without ways has most -1."""
    n_stages = len(tables.stage)
    least, most = np.full(n_stages, -1.0), np.full(n_stages, -1.0)
    starts = np.flatnonzero(np.append(True, ways.stage[1:] != ways.stage[:-1])) if len(ways.stage) else np.zeros(0, dtype=np.intp)
    if len(starts):
        least[ways.stage[starts]] = np.minimum.reduceat(low, starts)
        most[ways.stage[starts]] = np.maximum.reduceat(high, starts)
    if not n_stages:
        return least, most
    job_least, job_most = np.minimum.reduceat(least, tables.first_stage[:-1]), np.minimum.reduceat(most, tables.first_stage[:-1])
    return np.minimum(job_least, job_most), job_most


def _distinct(job: _Indices, service: _Floats, least: _Floats, most: _Floats) -> tuple[_Indices, _Floats]:
    """Return levels within their job's range, sorted, each once; the least of a job, at which it fits wherever it fits at all, always is one."""
    inside = (service >= least[job] * (1 - SERVICE_TOLERANCE)) & (service <= most[job])
    job, service = job[inside], service[inside]
    order = np.lexsort((service, job))
    job, service = job[order], service[order]
    if len(job):
        is_new = job[1:] != job[:-1]
        stays = np.append(is_new | (service[1:] - service[:-1] > SERVICE_TOLERANCE * service[1:]), True)
        begins = np.flatnonzero(np.append(True, is_new))
        last = np.flatnonzero(stays)
        of_first = last[np.searchsorted(last, begins)]
        stays[begins[service[of_first] > service[begins] * SAME]] = True
        job, service = job[stays], service[stays]
    return job, service
