"""What one job can hold in every period of the horizon, what that serves, and what it costs to go from one to the other.

In each period a job may wait, hold the least at one of its levels, or hold on to the costly part of what it holds in another period and the least of the rest
at a level that this allows. More is never needed: between two changes a stage holds, of what is costly to change, the most that any period in between
asks of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from libra_opt.domain.profile import Profile
from libra_opt.formulation.bundles import least_amounts
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.formulation.tables import Tables
from libra_opt.lookahead.spans import Span

__all__ = ["Holdings", "Served", "held_on", "one_of_each", "priced_use", "unique_holdings"]

_LARGE = 1 << 62

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Holdings:
    """Ways one job can run in one period.

    Attributes
    ----------
    pool
        Of every way, where each stage sits, shape ``(n, n_stages)``.
    amount
        What each stage holds in quanta, shape ``(n, n_stages, n_resources)``.
    cells
        In the first period the cells of its program, shape ``(n, n_stages)``; -1 elsewhere.
    """

    pool: _Indices
    amount: _Ints
    cells: _Indices

    def __len__(self) -> int:
        return len(self.pool)

    def take(self, rows: _Indices) -> "Holdings":
        """Return some of the ways."""
        return Holdings(self.pool[rows], self.amount[rows], self.cells[rows])


@dataclass(frozen=True)
class Served:
    """One job in one period: its demand, curves and ways, and so what it is served by what it holds."""

    span: Span
    job: int

    @cached_property
    def stages(self) -> range:
        """Positions of the job's stages."""
        first = self.span.program.first_stage
        return range(int(first[self.job]), int(first[self.job + 1]))

    @cached_property
    def way(self) -> dict[tuple[int, int], int]:
        """Row of the way that keeps nothing, by stage position and pool."""
        ways = self.span.program.ways
        low, high = np.searchsorted(ways.stage, (self.stages.start, self.stages.stop))
        rows = range(int(low), int(high))
        return dict(zip(zip(ways.stage[low:high].tolist(), ways.pool[low:high].tolist(), strict=True), rows, strict=True))

    def service(self, holdings: Holdings) -> _Floats:
        """R5 to R7, R15: return the service of every way, shape ``(n,)``."""
        tables, curves = self.span.program.tables, self.span.program.curves
        service = np.full(len(holdings), np.inf)
        for i, s in enumerate(self.stages):
            profile = tables.profiles[tables.placing[s]]
            if profile is not None:
                service = np.minimum(service, _measured(profile, holdings.pool[:, i], holdings.amount[:, i]))
                continue
            speeds = {k: float(v) for k, v in tables.placings[tables.placing[s]]}
            speed = np.array([speeds.get(k, 0.0) for k in range(len(tables.capacity))])[holdings.pool[:, i]]
            demand = tables.demand[s]
            wanted = demand > 0
            level = (holdings.amount[:, i, wanted] * (speed[:, None] / demand[wanted])).min(axis=1, initial=np.inf)
            stage = np.full(len(level), s)
            service = np.minimum(service, curves.at(stage, np.minimum(level, curves.top[s])))
        return service


def _measured(profile: Profile, pool: _Indices, amount: _Ints) -> _Floats:
    """R15: return the service of what is held, 0 where it is no entry of the profile; shape ``(n,)``."""
    is_listed, service = np.array(profile.listed, dtype=np.bool_), np.zeros(len(pool))
    for entry in profile.entries:
        holds = (pool == entry.pool) & (amount[:, is_listed] == np.array(entry.amounts)[is_listed]).all(axis=1)
        service[holds] = float(entry.share)
    return service


def one_of_each(holdings: Sequence[Holdings]) -> Holdings:
    """Return every way once, the first of equal ones, in the order of pools and amounts."""
    return unique_holdings(Holdings(*(np.concatenate([getattr(one, name) for one in holdings]) for name in ("pool", "amount", "cells"))))


def unique_holdings(holdings: Holdings) -> Holdings:
    """Return every way once, sorted by pools and amounts."""
    n = len(holdings)
    if not n:
        return holdings
    key = np.concatenate([holdings.pool.astype(np.int64), holdings.amount.reshape(n, -1)], axis=1)
    return holdings.take(np.unique(key, axis=0, return_index=True)[1])


def held_on(served: Served, fresh: Holdings, held: Holdings, price: _Floats, *, is_whole: bool) -> Holdings:
    """Return the ways to hold on to the charged part of what was held in other periods, with the least of the rest.

    A job with a profile (R15) has none: what it may hold of the listed resources is among its own ways in every period.

    Parameters
    ----------
    fresh
        The ways of this period that keep nothing, whose levels are held at.
    held
        What is held in other periods.
    price
        Per way of `fresh`, its value less what it uses at the period's own prices, shape ``(n_fresh,)``: how the ways that are taken are chosen.
    is_whole
        Whether every combination is taken, stage by stage; else for each that is held the best served and the best priced, all stages holding on.
    """
    program = served.span.program
    charged = program.tables.resize_ms[served.job] > 0
    is_measured = any(program.tables.profiles[program.tables.placing[s]] is not None for s in served.stages)
    if is_measured or not charged.any() or not len(fresh) or not len(held):
        return fresh.take(np.zeros(0, dtype=np.intp))
    service = served.service(fresh)
    keeps = np.zeros((len(held), len(fresh), len(served.stages)), dtype=np.bool_)
    amount = np.empty((len(held), len(fresh), *fresh.amount.shape[1:]), dtype=np.int64)
    for i, s in enumerate(served.stages):
        for k in np.unique(held.pool[:, i]).tolist():
            row = served.way.get((s, k))
            if row is None:
                continue
            rows = np.flatnonzero(held.pool[:, i] == k)
            now = held.amount[rows, i]
            bounds = program.ways.floor[row], program.ways.ceiling[row], program.tables.unit[s]
            sound = ((now >= bounds[0]) & (now <= bounds[1]) & (now % bounds[2] == 0) | ~charged).all(axis=1)
            stage = np.full(len(fresh), s)
            least = least_amounts(program.tables, program.ways, np.full(len(fresh), row), program.curves.pace(stage, service))
            enough = (now[:, None, charged] >= least[None, :, charged]).all(axis=2)
            inside = (least <= bounds[1]).all(axis=1) if not charged.all() else True
            mixed = np.where(charged, now[:, None, :], least[None, :, :])
            keeps[rows, :, i] = sound[:, None] & enough & inside & _carried(program.tables, k, mixed)
            amount[rows, :, i] = mixed
    b, f = _taken(keeps, service, price, is_whole=is_whole)
    kept = keeps[b, f]
    pool = np.where(kept, held.pool[b], fresh.pool[f])
    return Holdings(pool, np.where(kept[:, :, None], amount[b, f], fresh.amount[f]), np.full_like(pool, -1))


def _carried(tables: Tables, k: int, amount: _Ints) -> _Flags:
    """R9: tell whether cards carry the memory held with them."""
    p, q = tables.card_ratio[k].tolist()
    cards, memory = amount[..., tables.card], amount[..., tables.memory]
    if float(cards.max(initial=0)) * p + float(memory.max(initial=0)) * q > _LARGE:
        cards, memory = cards.astype(object), memory.astype(object)
    return np.asarray(cards * p >= memory * q, dtype=np.bool_) if q > 0 else np.ones(amount.shape[:-1], dtype=np.bool_)


def _taken(keeps: _Flags, service: _Floats, price: _Floats, *, is_whole: bool) -> tuple[_Indices, _Indices]:
    if is_whole:
        b, f = np.nonzero(np.logical_or.reduce(keeps, axis=2))
        return b, f
    able = np.logical_and.reduce(keeps, axis=2)
    rows = np.flatnonzero(np.logical_or.reduce(able, axis=1))
    best = [np.where(able[rows], number, -np.inf).argmax(axis=1) for number in (service, price)]
    return np.concatenate([rows, rows]), np.concatenate(best)


def priced_use(prices: Prices, program: Program, queue: int, holdings: Holdings) -> _Floats:
    """Return what every way uses at prices of the shared rows, shape ``(n,)``."""
    price = (prices.pool + prices.of_queues(program.shared)[queue]) / program.scale
    return np.asarray((holdings.amount * price[holdings.pool]).sum(axis=(1, 2)))
