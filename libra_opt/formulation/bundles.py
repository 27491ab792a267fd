"""Bundles: for every job the services at which some whole unit ticks, and for every such level the least each way of each stage needs (R5, R7, R8, R9).

Three nested layers, each sorted and contiguous in the one above: *levels* of a job, *slots* (one per stage) of a level, *cells* (one per way of the stage
that reaches the level) of a slot. Choosing a bundle is choosing one level and one cell in each of its slots, so pools are picked stage by stage and no product of
pool choices is ever formed.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import CARD_MEMORY, CARDS, Ledger
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.curves import ServiceCurves
from libra_opt.formulation.ways import Ways, cards_for

__all__ = ["SERVICE_TOLERANCE", "TICK_TOLERANCE", "Bundles", "enumerate_bundles", "least_amounts"]

SERVICE_TOLERANCE = 1e-12
"""Two services of a job that differ by less are one level."""

TICK_TOLERANCE = 1e-9
"""How far, relatively, a need may stick out above a whole unit before the next unit is taken."""

_BEYOND = 4.0e18
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
        Of every cell, what any level between the one below and this holds at least, shape ``(n_cells, n_resources)``: where every tick is a level
        it equals `amount`; where ticks were passed over it is the fraction that is really used.
    is_complete
        Whether every tick is a level.
    """

    job: _Indices
    service: _Floats
    first_level: _Indices
    first_slot: _Indices
    first_cell: _Indices
    way: _Indices
    amount: _Ints
    surely: _Floats
    is_complete: bool


def enumerate_bundles(ledger: Ledger, job_order: _Indices, curves: ServiceCurves, ways: Ways, most_ticks: int) -> Bundles:
    """Return the bundles of all jobs.

    Parameters
    ----------
    most_ticks
        Most levels one resource of one way may add; where it has more ticks an even share of them is taken, and `surely` says what lies between.
    """
    n_jobs = len(job_order)
    position = np.empty(n_jobs, dtype=np.intp)
    position[job_order] = np.arange(n_jobs)
    stage_job = _stage_jobs(ledger, position)
    way_job = stage_job[ways.stage] if len(ways.stage) else np.zeros(0, dtype=np.intp)
    demand = np.array(ledger.demand, dtype=np.float64).reshape(-1, ledger.n_resources)[ways.stage]
    unit = np.array(ledger.unit, dtype=np.int64).reshape(-1, ledger.n_resources)[ways.stage]
    job, service, passed = _levels(n_jobs, stage_job, way_job, curves, ways, demand, unit, most_ticks)
    return _cells(ledger, n_jobs, stage_job, way_job, curves, ways, demand, unit, job, service, passed)


def _stage_jobs(ledger: Ledger, position: _Indices) -> _Indices:
    counts = np.array([len(rows) for rows in ledger.stage_of], dtype=np.intp)
    return np.repeat(position, counts) if len(counts) else np.zeros(0, dtype=np.intp)


def _levels(
    n_jobs: int,
    stage_job: _Indices,
    way_job: _Indices,
    curves: ServiceCurves,
    ways: Ways,
    demand: _Floats,
    unit: _Ints,
    most_ticks: int,
) -> tuple[_Indices, _Floats, npt.NDArray[np.bool_]]:
    """Return job and service of every candidate level, sorted, and per way and resource whether ticks were passed over."""
    with np.errstate(divide="ignore", invalid="ignore"):
        per_level = np.where(demand > 0, ways.speed[:, None] / demand, np.inf)
        lowest = np.minimum(np.where(demand > 0, ways.floor * per_level, np.inf).min(axis=1, initial=np.inf), curves.top[ways.stage])
        highest = np.minimum(np.where(demand > 0, ways.ceiling * per_level, np.inf).min(axis=1, initial=np.inf), curves.top[ways.stage])
        tick = per_level * unit
        first = np.where(demand > 0, np.maximum(ways.floor // unit, np.ceil(lowest[:, None] / tick * (1 - TICK_TOLERANCE))), 1)
        last = np.where(demand > 0, np.minimum(ways.ceiling // unit, np.floor(highest[:, None] / tick * (1 + TICK_TOLERANCE))), 0)
    n_ticks = np.maximum(last - first + 1, 0)
    passed = n_ticks > most_ticks
    taken = np.minimum(n_ticks, most_ticks).astype(np.intp)
    row, column = np.divmod(np.repeat(np.arange(taken.size), taken.ravel()), max(1, taken.shape[1]))
    step = _ramp(taken.ravel())
    stretch = np.where(passed, (n_ticks - 1) / max(1, most_ticks - 1), 1.0)[row, column]
    level = (first[row, column] + np.round(step * stretch)) * tick[row, column]
    every = np.arange(len(ways.stage))
    row = np.concatenate([row, every, every])
    level = np.concatenate([level, lowest, highest])
    job = way_job[row]
    service = curves.at(ways.stage[row], level)
    bend_job, bend = _bends(stage_job, curves)
    least, most = _range(n_jobs, stage_job, ways, curves, lowest, highest)
    with_ways = np.flatnonzero(most >= 0)
    job = np.concatenate([job, with_ways, bend_job])
    service = np.concatenate([service, most[with_ways], bend])
    inside = (service >= least[job] - SERVICE_TOLERANCE) & (service <= most[job])
    job, service = job[inside], service[inside]
    order = np.lexsort((service, job))
    job, service = job[order], service[order]
    if len(job):
        last_of_run = np.append((job[1:] != job[:-1]) | (service[1:] - service[:-1] > SERVICE_TOLERANCE), True)  # noqa: FBT003
        job, service = job[last_of_run], service[last_of_run]
    return job, service, passed


def _bends(stage_job: _Indices, curves: ServiceCurves) -> tuple[_Indices, _Floats]:
    inner = curves.service[:, 1:-1]
    stage, _ = np.nonzero(np.isfinite(inner))
    return stage_job[stage], inner[np.isfinite(inner)]


def _range(n_jobs: int, stage_job: _Indices, ways: Ways, curves: ServiceCurves, lowest: _Floats, highest: _Floats) -> tuple[_Floats, _Floats]:
    """Return least and most service per job over its ways; a job with a stage without ways has most -1."""
    n_stages = len(stage_job)
    stage_least, stage_most = np.full(n_stages, np.inf), np.full(n_stages, -1.0)
    np.minimum.at(stage_least, ways.stage, curves.at(ways.stage, lowest))
    np.maximum.at(stage_most, ways.stage, curves.at(ways.stage, highest))
    least, most = np.full(n_jobs, np.inf), np.full(n_jobs, np.inf)
    np.minimum.at(least, stage_job, stage_least)
    np.minimum.at(most, stage_job, stage_most)
    return np.minimum(least, most), most


def _ramp(counts: _Indices) -> _Indices:
    """Return 0, 1, .., c - 1 for every count c, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def _cells(
    ledger: Ledger,
    n_jobs: int,
    stage_job: _Indices,
    way_job: _Indices,
    curves: ServiceCurves,
    ways: Ways,
    demand: _Floats,
    unit: _Ints,
    job: _Indices,
    service: _Floats,
    passed: npt.NDArray[np.bool_],
) -> Bundles:
    first_way = np.searchsorted(way_job, np.arange(n_jobs + 1))
    per_level = (first_way[1:] - first_way[:-1])[job]
    level = np.repeat(np.arange(len(job)), per_level)
    way = np.repeat(first_way[job], per_level) + _ramp(per_level)
    pace = curves.pace(ways.stage[way], service[level])
    amount, surely = _least(ledger, ways, demand, unit, passed, way, pace)
    fits = (amount <= ways.ceiling[way]).all(axis=1)
    level, way, amount, surely = level[fits], way[fits], amount[fits], surely[fits]
    level, way, amount, surely = _without_twins(ways, level, way, amount, surely)
    stages = np.bincount(stage_job, minlength=n_jobs)
    slot_starts = np.append(True, (level[1:] != level[:-1]) | (ways.stage[way[1:]] != ways.stage[way[:-1]])) if len(level) else np.zeros(0, dtype=np.bool_)  # noqa: FBT003
    slots_per_level = np.bincount(level[slot_starts], minlength=len(job))
    whole = slots_per_level == stages[job]
    counted = _counted(ledger, ways, way, amount)
    whole &= ~_outdone(job, level, way, amount[:, counted], whole)
    stays = whole[level]
    renumber = np.cumsum(whole) - 1
    level, way, amount, surely, slot_starts = renumber[level[stays]], way[stays], amount[stays], surely[stays], slot_starts[stays]
    job, service = job[whole], service[whole]
    first_cell = np.append(np.flatnonzero(slot_starts), len(level))
    first_slot = np.append(0, np.cumsum(stages[job]))
    first_level = np.searchsorted(job, np.arange(n_jobs + 1))
    return Bundles(job, service, first_level, first_slot, first_cell, way, amount, surely, is_complete=not passed.any())


def _least(
    ledger: Ledger, ways: Ways, demand: _Floats, unit: _Ints, passed: npt.NDArray[np.bool_], way: _Indices, pace: _Floats
) -> tuple[_Ints, _Floats]:
    """Return the least amounts of each way at each pace level, and what lies surely below them where ticks were passed over."""
    used = demand[way] * (pace / ways.speed[way])[:, None]
    amount = _rounded_up(ledger, ways, unit, way, used)
    if not passed.any():
        return amount, amount.astype(np.float64)
    return amount, np.where(passed[way], np.maximum(ways.floor[way], np.minimum(used, amount)), amount)


def least_amounts(ledger: Ledger, ways: Ways, way: _Indices, pace: _Floats) -> _Ints:
    """Return the least amounts, in quanta, of each way at each pace level, shape ``(n, n_resources)`` (R5, R8, R9)."""
    demand = np.array(ledger.demand, dtype=np.float64).reshape(-1, ledger.n_resources)[ways.stage[way]]
    unit = np.array(ledger.unit, dtype=np.int64).reshape(-1, ledger.n_resources)
    return _rounded_up(ledger, ways, unit[ways.stage], way, demand * (pace / ways.speed[way])[:, None])


def _rounded_up(ledger: Ledger, ways: Ways, unit: _Ints, way: _Indices, used: _Floats) -> _Ints:
    units = used / unit[way]
    whole = np.minimum(np.ceil(units - TICK_TOLERANCE * np.maximum(1.0, units)), _BEYOND / unit[way])
    amount = np.maximum(ways.floor[way], whole.astype(np.int64) * unit[way])
    names = [resource.name for resource in ledger.resources]
    if CARDS in names and CARD_MEMORY in names:
        card, memory = names.index(CARDS), names.index(CARD_MEMORY)
        if ledger.resources[memory].compressible:
            cards = cards_for(amount[:, memory], ways.card_ratio[way], unit[way, card])
            amount[:, card] = np.where(cards < 0, np.iinfo(np.int64).max, np.maximum(amount[:, card], cards))
    return amount


def _without_twins(ways: Ways, level: _Indices, way: _Indices, amount: _Ints, surely: _Floats) -> tuple[_Indices, _Indices, _Ints, _Floats]:
    """Drop a cell that holds the same in the same pool as the one before it."""
    if len(level) < 2:
        return level, way, amount, surely
    twin = (level[1:] == level[:-1]) & (ways.stage[way[1:]] == ways.stage[way[:-1]]) & (ways.pool[way[1:]] == ways.pool[way[:-1]])
    twin &= (amount[1:] == amount[:-1]).all(axis=1)
    stays = np.append(True, ~twin)  # noqa: FBT003
    return level[stays], way[stays], amount[stays], surely[stays]


def _counted(ledger: Ledger, ways: Ways, way: _Indices, amount: _Ints) -> npt.NDArray[np.bool_]:
    """Tell which resources count: those that can run short somewhere, or whose change is charged; of the others more is never worse."""
    n = ledger.n_resources
    counted = np.array([resource.costly for resource in ledger.resources]) | np.array(ledger.resize_ms, dtype=np.int64).reshape(-1, n).any(axis=0)
    for row in (*ledger.reserved, *(tuple(limit != UNLIMITED for limit in ceiling) for ceiling in ledger.ceiling)):
        counted |= np.array(row, dtype=np.bool_)
    key = ways.stage[way] * max(1, len(ledger.pools)) + ways.pool[way]
    most = np.zeros((len(ledger.lo) * max(1, len(ledger.pools)), n))
    np.maximum.at(most, key, amount)
    wanted = most.reshape(-1, max(1, len(ledger.pools)), n).sum(axis=0)
    return np.asarray(counted | (wanted[: len(ledger.pools)] > np.array(ledger.capacity, dtype=np.float64).reshape(-1, n)).any(axis=0))


def _outdone(job: _Indices, level: _Indices, way: _Indices, amount: _Ints, whole: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Tell which levels hold cell by cell, of what counts, what the next level of their job holds."""
    n_levels = len(job)
    if n_levels < 2:
        return np.zeros(n_levels, dtype=np.bool_)
    first = np.searchsorted(level, np.arange(n_levels + 1))
    count = first[1:] - first[:-1]
    candidate = np.append((job[1:] == job[:-1]) & (count[1:] == count[:-1]) & whole[1:], False)  # noqa: FBT003
    cell = np.flatnonzero(candidate[level])
    above = cell + count[level[cell]]
    same = (amount[cell] == amount[above]).all(axis=1) & (way[cell] == way[above])
    differing = np.bincount(level[cell[~same]], minlength=n_levels)
    return np.asarray(candidate & (differing == 0))
