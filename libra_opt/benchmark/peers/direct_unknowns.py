"""The unknowns of the direct form, and how many units a stage can hold at most."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.benchmark.peers.direct_data import DirectData
from libra_opt.benchmark.peers.direct_form import Columns

__all__ = ["Unknowns", "make_unknowns"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_BEYOND_TICK = 0.001
"""Counts of units are rounded up with so much to spare, as in the model: these are only limits that nobody reaches."""


@dataclass(frozen=True)
class Unknowns:
    """Numbers of the columns, -1 for one that does not exist.

    Attributes
    ----------
    run, y
        Of every job, shape ``(n_jobs,)``.
    z, x
        Of every pair: it sits there; units it holds there; shapes ``(n_pairs,)``, ``(n_pairs, n_resources)``.
    pace
        Of every stage, its pace level, shape ``(n_stages,)``.
    changed, charge
        R11 of every stage: shapes ``(n_stages, n_resources)``, ``(n_stages,)``.
    reach
        Most units of every pair, shape ``(n_pairs, n_resources)``.
    here
        Of every stage, its pair in the pool where it sits, or -1, shape ``(n_stages,)``.
    """

    run: _Indices
    y: _Indices
    z: _Indices
    x: _Indices
    pace: _Indices
    changed: _Indices
    charge: _Indices
    reach: _Floats
    here: _Indices


def make_unknowns(data: DirectData, columns: Columns) -> Unknowns:
    """Add the columns that every direct form has."""
    n_jobs, n_stages, n_pairs, n = len(data.a), len(data.job), len(data.stage), data.capacity.shape[1]
    here = np.full(n_stages, -1, dtype=np.intp)
    stays = data.pool == data.at[data.stage]
    here[data.stage[stays]] = np.flatnonzero(stays)
    reach = _reach(data)
    may_move = (here >= 0)[:, None] & (data.resize[data.job] > 0)
    most_charge = np.maximum(data.migrate, data.resize.max(axis=1, initial=0.0))[data.job]
    return Unknowns(
        run=columns.add((n_jobs,), 0, 1, whole=True),
        y=columns.add((n_jobs,), 0, 1, whole=False),
        z=columns.add((n_pairs,), 0, 1, whole=True),
        x=columns.add((n_pairs, n), 0, reach, reach > 0, whole=True),
        pace=columns.add((n_stages,), 0, data.top, whole=False),
        changed=columns.add((n_stages, n), 0, 1, may_move, whole=True),
        charge=columns.add((n_stages,), 0, most_charge, data.at >= 0, whole=False, steps=1000),
        reach=reach,
        here=here,
    )


def _reach(data: DirectData) -> _Floats:
    """Return the most units that a stage holds in a pool: at the top level, or what it has, within R1 and R3."""
    u, stage = data.u[data.stage], data.stage
    at_top = np.ceil(data.d[stage] * data.top[stage][:, None] / (data.v[:, None] * u) + np.where(data.d[stage] > 0, _BEYOND_TICK, 0.0))
    reach = np.maximum(np.maximum(data.floor_units[stage], np.ceil(data.cur[stage] / u)), at_top)
    if data.card >= 0:
        p, q = data.p[data.pool], data.q[data.pool]
        memory = reach[:, data.memory] * u[:, data.memory]
        cards = np.ceil(np.divide(memory * q, p * u[:, data.card], out=np.zeros_like(memory), where=p > 0) + np.where(q > 0, _BEYOND_TICK, 0.0))
        reach[:, data.card] = np.maximum(reach[:, data.card], cards)
    return np.asarray(np.minimum(reach, np.minimum(data.hi[stage], data.capacity[data.pool]) // u))
