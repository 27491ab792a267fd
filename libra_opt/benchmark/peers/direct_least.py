"""R14 in the direct form: what a stage holds is what it keeps, or the rounding up of a floor that is tight.

As in models/allocation.mod: of every resource one of the floors (minimum and need, pace, memory per card) is the tight one or the holding is kept, and
service is tied to its curve so that no pace is higher than the job's service asks.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from libra_opt.benchmark.peers.direct_data import DirectData
from libra_opt.benchmark.peers.direct_form import Columns
from libra_opt.benchmark.peers.direct_unknowns import Unknowns

__all__ = ["add_least"]

_Indices = npt.NDArray[np.intp]

_STRICT: Final = 0.005
"""">" is ">= this +": below the distance of two ticks."""


def add_least(data: DirectData, columns: Columns, unknowns: Unknowns, grain: float) -> None:
    """Add R14's rows to a form that has all others."""
    _tie_service(data, columns, unknowns, grain)
    n_stages, n = data.d.shape
    held = np.zeros((n_stages, n), dtype=np.bool_)
    pair, resource = np.nonzero(unknowns.x >= 0)
    held[data.stage[pair], resource] = True
    by_floor = columns.add((n_stages, n), 0, 1, held, whole=True)
    by_pace = columns.add((n_stages, n), 0, 1, held & (data.d > 0), whole=True)
    keep = columns.add((n_stages, n), 0, 1, unknowns.changed >= 0, whole=True)
    by_memory = np.full((n_stages, n), -1, dtype=np.intp)
    exclusive = np.zeros(n_stages, dtype=np.bool_)
    exclusive[data.stage[data.q[data.pool] > 0]] = True
    if data.card >= 0:
        by_memory[:, data.card] = columns.add((n_stages,), 0, 1, exclusive & held[:, data.card], whole=True)
    stage, resource = np.nonzero(held)
    row, run = np.arange(len(stage)), unknowns.run[data.job[stage]]
    reasons = [(row, number[stage, resource], 1) for number in (by_floor, by_pace, by_memory, keep)]
    columns.rows(len(row), 0, np.inf, *reasons, (row, run, -1))
    at = np.full((n_stages, n), -1, dtype=np.intp)
    at[stage, resource] = row
    _tight_floor(data, columns, unknowns, by_floor, at, len(row))
    _tight_pace(data, columns, unknowns, by_pace)
    if data.card >= 0:
        _tight_memory(data, columns, unknowns, by_memory[:, data.card])
    _keeping(data, columns, unknowns, keep)


def _tie_service(data: DirectData, columns: Columns, unknowns: Unknowns, grain: float) -> None:
    """R6: service and pace lie together on one piece of the curve."""
    alike: dict[tuple[tuple[float, float], ...], list[int]] = {}
    for s, own in enumerate(data.points):
        alike.setdefault(((0.0, 0.0), *own) if own[0][1] > 0 else own, []).append(s)
    for points, stages in alike.items():
        count, n_points = len(stages), len(points)
        level, service = np.array(points).T
        row, every = np.arange(count), np.arange(count)[:, None]
        y, run, pace = unknowns.y[data.job[stages]], unknowns.run[data.job[stages]], unknowns.pace[stages]
        part = columns.add((count, n_points), 0, 1, whole=False)
        columns.rows(count, -grain, grain, (every, part, service), (row, y, -1))
        columns.rows(count, -grain, grain, (every, part, level), (row, pace, -1))
        columns.rows(count, 0, 0, (every, part, 1), (row, run, -1))
        if n_points > 1:
            between = columns.add((count, n_points - 1), 0, 1, whole=True)
            columns.rows(count, 0, 0, (every, between, 1), (row, run, -1))
            ends = every * n_points + np.arange(n_points)
            columns.rows(count * n_points, -np.inf, 0, (ends, part, 1), (ends[:, 1:], between, -1), (ends[:, :-1], between, -1))


def _tight_floor(data: DirectData, columns: Columns, unknowns: Unknowns, by_floor: _Indices, at: _Indices, count: int) -> None:
    most = np.zeros(data.d.shape)
    np.maximum.at(most, data.stage, unknowns.reach)
    least = data.floor_units
    stage, resource = np.nonzero(at >= 0)
    row = at[stage, resource]
    most, least = np.maximum(most, least)[stage, resource], least[stage, resource]
    limit = np.empty(count)
    limit[row] = most
    columns.rows(count, -np.inf, limit, (at[data.stage], unknowns.x, 1), (row, by_floor[stage, resource], most - least))


def _tight_pace(data: DirectData, columns: Columns, unknowns: Unknowns, by_pace: _Indices) -> None:
    """One unit less would be too little for the pace."""
    stage, resource = np.nonzero(by_pace >= 0)
    row = np.arange(len(stage))
    at = np.full(data.d.shape, -1, dtype=np.intp)
    at[stage, resource] = row
    power = data.v[:, None] * data.u[data.stage]
    big = np.zeros(data.d.shape)
    np.maximum.at(big, data.stage, power * unknowns.reach)
    big = big[stage, resource] + _STRICT
    mine = at[data.stage]
    used = mine >= 0
    z = np.broadcast_to(unknowns.z[:, None], mine.shape)
    columns.rows(
        len(row),
        -np.inf,
        big - _STRICT,
        (mine[used], unknowns.x[used], power[used]),
        (mine[used], z[used], -power[used]),
        (row, unknowns.pace[stage], -data.d[stage, resource]),
        (row, by_pace[stage, resource], big),
    )


def _tight_memory(data: DirectData, columns: Columns, unknowns: Unknowns, by_memory: _Indices) -> None:
    """One unit of cards less would have too little memory; only where cards are exclusive."""
    stage = np.flatnonzero(by_memory >= 0)
    row = np.arange(len(stage))
    at = np.full(len(by_memory), -1, dtype=np.intp)
    at[stage] = row
    pair = np.flatnonzero((data.q[data.pool] > 0) & (at[data.stage] >= 0))
    mine, owner = at[data.stage[pair]], data.stage[pair]
    ratio = data.p[data.pool[pair]] / data.q[data.pool[pair]]
    cards = ratio * data.u[owner, data.card]
    big = np.zeros(len(stage))
    np.maximum.at(big, mine, cards * unknowns.reach[pair, data.card])
    big += _STRICT
    x, z = unknowns.x[pair], unknowns.z[pair]
    columns.rows(
        len(row),
        -np.inf,
        big - _STRICT,
        (mine, x[:, data.card], cards),
        (mine, z, -cards),
        (mine, x[:, data.memory], -data.u[owner, data.memory]),
        (row, by_memory[stage], big),
    )
    columns.rows(len(row), -np.inf, 0, (row, by_memory[stage], 1), (mine, z, -1))


def _keeping(data: DirectData, columns: Columns, unknowns: Unknowns, keep: _Indices) -> None:
    """Keep only in the own pool, exactly what it has, and everything dearer with it."""
    stage, resource = np.nonzero(keep >= 0)
    row, kept = np.arange(len(stage)), keep[stage, resource]
    columns.rows(len(row), -np.inf, 0, (row, kept, 1), (row, unknowns.z[unknowns.here[stage]], -1))
    columns.rows(len(row), -np.inf, 1, (row, kept, 1), (row, unknowns.changed[stage, resource], 1))
    charge = data.resize[data.job]
    for r in range(keep.shape[1]):
        for other in range(keep.shape[1]):
            both = np.flatnonzero((keep[:, r] >= 0) & (unknowns.changed[:, other] >= 0) & (charge[:, other] >= charge[:, r])) if other != r else ()
            some = np.arange(len(both))
            if len(both):
                columns.rows(len(both), -np.inf, 0, (some, keep[both, r], 1), (some, keep[both, other], -1))
