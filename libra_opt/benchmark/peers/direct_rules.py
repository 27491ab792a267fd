"""The direct form: jobs x stages x pools x resources by the rules of models/allocation.md, no bundles (see also models/allocation.mod).

Tier 4 is the objective and tiers 1 to 3 are rows that hold them where our plan has them. Where nothing is guaranteed, holding more than the least allocation
of R14 gains nothing, and its rows are left out; a guarantee counts what is held, so there they are needed (see `direct_least`), and only a bound may do
without them.
"""

from itertools import pairwise

import numpy as np

from libra_opt.benchmark.peers.direct_data import DirectData
from libra_opt.benchmark.peers.direct_form import Columns, DirectForm
from libra_opt.benchmark.peers.direct_least import add_least
from libra_opt.benchmark.peers.direct_unknowns import Unknowns, make_unknowns
from libra_opt.benchmark.results import TierValues

__all__ = ["direct_form"]


_HAIR = 1e-6
"""Slack of the rows that hold a tier, of max(1, tier), as in the model: closer than their own tolerances, solvers err."""


def direct_form(data: DirectData, tiers: TierValues, *, with_least: bool, grain: float = 0.0) -> DirectForm:
    """Return the direct form of a state.

    Parameters
    ----------
    tiers
        What a plan may spend of tiers 1 to 3.
    with_least
        State R14's least allocations where something is guaranteed; without, the form is a relaxation there.
    grain
        By how much service and level may miss their curve where R14 ties them to it: the step of a solver that counts in whole numbers.
    """
    columns = Columns()
    unknowns = make_unknowns(data, columns)
    _placing(data, columns, unknowns)
    _levels(data, columns, unknowns)
    _services(data, columns, unknowns)
    _pools(data, columns, unknowns)
    _queues(data, columns, unknowns)
    _moves(data, columns, unknowns)
    _tiers(data, columns, unknowns, tiers)
    if with_least and (data.floor > 0).any():
        add_least(data, columns, unknowns, grain)
    gain = np.zeros(columns.n_columns)
    gain[unknowns.y] = data.a
    per_second = data.a / data.period_seconds
    runs = np.flatnonzero(data.running)
    gain[unknowns.run[runs]] += per_second[runs] * data.evict[runs]
    moves = np.flatnonzero(unknowns.charge >= 0)
    gain[unknowns.charge[moves]] = -per_second[data.job[moves]]
    return columns.form(gain, -float((per_second * data.evict)[runs].sum()))


def _placing(data: DirectData, columns: Columns, unknowns: Unknowns) -> None:
    """R2, R3, R4, R5's needs: exactly one pool for every stage of a job that runs, and there from the least to the most."""
    n_stages, (n_pairs, n) = len(data.job), unknowns.x.shape
    columns.rows(n_stages, 0, 0, (data.stage, unknowns.z, 1), (np.arange(n_stages), unknowns.run[data.job], -1))
    row = np.arange(n_pairs * n).reshape(n_pairs, n)
    columns.rows(n_pairs * n, -np.inf, 0, (row, unknowns.x, 1), (row, unknowns.z[:, None], -unknowns.reach))
    least = data.floor_units[data.stage]
    pair, resource = np.nonzero(least > 0)
    some = np.arange(len(pair))
    columns.rows(len(pair), 0, np.inf, (some, unknowns.x[pair, resource], 1), (some, unknowns.z[pair], -least[pair, resource]))


def _levels(data: DirectData, columns: Columns, unknowns: Unknowns) -> None:
    """R5: the pace level is at most what the scarcest resource allows."""
    stage, resource = np.nonzero(data.d > 0)
    row = np.full(data.d.shape, -1, dtype=np.intp)
    row[stage, resource] = np.arange(len(stage))
    wanted = row[data.stage]
    held = wanted >= 0
    power = data.v[:, None] * data.u[data.stage]
    pace = (np.arange(len(stage)), unknowns.pace[stage], -data.d[stage, resource])
    columns.rows(len(stage), 0, np.inf, (wanted[held], unknowns.x[held], power[held]), pace)


def _services(data: DirectData, columns: Columns, unknowns: Unknowns) -> None:
    """R6 and R7: below every piece of every stage's concave curve, scaled by whether the job runs."""
    pieces = [
        (s, before[1] - slope * before[0], slope)
        for s, points in enumerate(data.points)
        for before, after in pairwise(points)
        for slope in ((after[1] - before[1]) / (after[0] - before[0]),)
    ]
    pieces += [(s, points[-1][1], 0.0) for s, points in enumerate(data.points)]
    stage = np.array([s for s, _, _ in pieces], dtype=np.intp)
    flat, slope = np.array([piece[1] for piece in pieces]), np.array([piece[2] for piece in pieces])
    row, job = np.arange(len(pieces)), data.job[stage]
    columns.rows(len(pieces), -np.inf, 0, (row, unknowns.y[job], 1), (row, unknowns.run[job], -flat), (row, unknowns.pace[stage], -slope))


def _pools(data: DirectData, columns: Columns, unknowns: Unknowns) -> None:
    """R1 and R9."""
    n_pools, n = data.capacity.shape
    columns.rows(n_pools * n, -np.inf, data.capacity.ravel(), (data.pool[:, None] * n + np.arange(n), unknowns.x, data.u[data.stage]))
    if data.card >= 0:
        pair = np.flatnonzero(data.q[data.pool] > 0)
        row, pool, stage = np.arange(len(pair)), data.pool[pair], data.stage[pair]
        memory = (row, unknowns.x[pair, data.memory], data.q[pool] * data.u[stage, data.memory])
        columns.rows(len(pair), -np.inf, 0, memory, (row, unknowns.x[pair, data.card], -data.p[pool] * data.u[stage, data.card]))


def _queues(data: DirectData, columns: Columns, unknowns: Unknowns) -> None:
    """R10: ceilings, and what is reserved and never lent."""
    n_queues, n = data.ceiling.shape
    queue = data.queue[data.job[data.stage]]
    u = data.u[data.stage]
    inside = queue >= 0
    row = queue[inside, None] * n + np.arange(n)
    if np.isfinite(data.ceiling).any():
        columns.rows(n_queues * n, -np.inf, data.ceiling.ravel(), (row, unknowns.x[inside], u[inside]))
    reserving = data.reserved.any(axis=0)
    if not reserving.any():
        return
    total = data.capacity.sum(axis=0)
    booked = columns.add((n_queues, n), data.reserved, total, reserving, whole=False, steps=1)
    every = np.arange(n_queues * n)
    columns.rows(n_queues * n, -np.inf, np.where(np.tile(reserving, n_queues), 0.0, np.inf), (row, unknowns.x[inside], u[inside]), (every, booked.ravel(), -1))
    outside = np.where(reserving, unknowns.x[~inside], -1)
    columns.rows(n, -np.inf, np.where(reserving, total, np.inf), (every % n, booked.ravel(), 1), (np.arange(n)[None, :], outside, u[~inside]))


def _moves(data: DirectData, columns: Columns, unknowns: Unknowns) -> None:
    """R11: what a stage is charged for changing what it has, or for leaving its pool."""
    stage, resource = np.nonzero(unknowns.changed >= 0)
    row, pair = np.arange(len(stage)), unknowns.here[stage]
    u, cur = data.u[stage, resource], data.cur[stage, resource]
    x, z, changed = unknowns.x[pair, resource], unknowns.z[pair], unknowns.changed[stage, resource]
    most = np.maximum(0.0, u * unknowns.reach[pair, resource] - cur)
    columns.rows(len(row), -np.inf, 0, (row, x, u), (row, z, -cur), (row, changed, -most))
    columns.rows(len(row), -np.inf, 0, (row, z, cur), (row, x, -u), (row, changed, -cur))
    columns.rows(len(row), 0, np.inf, (row, unknowns.charge[stage], 1), (row, changed, -data.resize[data.job[stage], resource]))
    holding = np.flatnonzero(data.at >= 0)
    row, job, here = np.arange(len(holding)), data.job[holding], unknowns.here[holding]
    stays = np.where(here >= 0, unknowns.z[here], -1) if len(unknowns.z) else here
    charge = (row, unknowns.charge[holding], 1)
    columns.rows(len(row), 0, np.inf, charge, (row, unknowns.run[job], -data.migrate[job]), (row, stays, data.migrate[job]))


def _tiers(data: DirectData, columns: Columns, unknowns: Unknowns, tiers: TierValues) -> None:
    """R12, R13 and tier 3: no worse than what was reached."""
    protected, runs = np.flatnonzero(data.protected), np.flatnonzero(data.running)
    zero = np.zeros(1, dtype=np.intp)
    if len(protected):
        lost = tiers.lost + _HAIR * max(1.0, tiers.lost)
        columns.rows(1, float(data.a[protected].sum()) - lost, np.inf, (zero, unknowns.run[protected], data.a[protected]))
    if np.isfinite(data.budget):
        limit = data.budget + tiers.over_seconds + _HAIR * max(1.0, tiers.over_seconds) - float(data.evict[runs].sum())
        columns.rows(1, -np.inf, limit, (zero, unknowns.charge, 1), (zero, unknowns.run[runs], -data.evict[runs]))
    queue, resource = np.nonzero(data.floor > 0)
    if not len(queue):
        return
    n = data.floor.shape[1]
    row = np.full(data.floor.shape, -1, dtype=np.intp)
    row[queue, resource] = np.arange(len(queue))
    of_pair = data.queue[data.job[data.stage]]
    inside = of_pair >= 0
    target = row[of_pair[inside]]
    owed = target >= 0
    floor, nominal = data.floor[queue, resource], data.nominal[queue, resource]
    short = columns.add((len(queue),), 0, floor, whole=False, steps=1)
    got = (target[owed], unknowns.x[inside][owed], np.broadcast_to(data.u[data.stage], (len(inside), n))[inside][owed])
    columns.rows(len(queue), floor, np.inf, got, (np.arange(len(queue)), short, 1))
    columns.rows(1, -np.inf, tiers.shortfall + _HAIR * max(1.0, tiers.shortfall), (zero, short, 1 / nominal))
