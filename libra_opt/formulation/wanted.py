"""What jobs would rather have: the bundle that is best at the shadow prices among those that serve a job better, and what it would take from others.

A difference is told, not the bundle alone: beyond what the plan gives the job, in service, value and price. A job that waits is given nothing.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.bundles import SERVICE_TOLERANCE
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.runs import first_least, spans
from libra_opt.formulation.shadow import Prices

__all__ = ["Valued", "Wishes", "cell_prices", "wishes"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_DIGITS = 9
"""Significant digits that are kept; the others are rounding."""


@dataclass(frozen=True)
class Valued:
    """Shadow prices, and what every level is worth at them: the value of its service less the cheapest of what it takes, shape ``(n_levels,)``."""

    prices: Prices
    level_value: _Floats


@dataclass(frozen=True)
class Wishes:
    """The best bundle at the prices that serves a job better, of every job that has one.

    Attributes
    ----------
    job
        Position in canonical order, increasing, shape ``(n,)``.
    level
        Its level, shape ``(n,)``.
    cell, first_cell
        The cheapest cells of that level, one per stage, and where those of each job begin, shapes ``(n_cells_wanted,)``, ``(n,)``.
    service
        What the job is served at that level, 0..1, shape ``(n,)``.
    value, price
        What the bundle brings and what its parts of the shared rows cost beyond what the plan gives the job, shape ``(n,)``.
    ms
        Charges of R11 beyond those of the plan, in milliseconds, shape ``(n,)``.
    """

    job: _Indices
    level: _Indices
    cell: _Indices
    first_cell: _Indices
    service: _Floats
    value: _Floats
    price: _Floats
    ms: _Floats


def wishes(program: Program, choice: Choice, service: _Floats, valued: Valued, jobs: _Indices) -> Wishes:
    """Return what `jobs` would rather have.

    Parameters
    ----------
    choice, service
        What the plan gives, and the service that every job reaches with it, shape ``(n_jobs,)``.
    valued
        Prices of the shared rows, and what levels are worth at them.
    jobs
        Positions in canonical order, increasing, of jobs that have levels.
    """
    bundles, runs, prices = program.bundles, program.runs(choice), valued.prices
    levels, starts = spans(bundles.first_level[jobs], bundles.first_level[jobs + 1])
    owner = np.repeat(np.arange(len(jobs)), np.diff(np.append(starts, len(levels))))
    least = np.where(runs, service + SERVICE_TOLERANCE, -1.0)[jobs]
    loss = np.where(bundles.service[levels] > least[owner], -valued.level_value[levels], np.inf)
    best = first_least(loss, starts)
    is_any = loss[best] < np.inf
    job, level = jobs[is_any], levels[best[is_any]]
    slots, first_slot = spans(bundles.first_slot[level], bundles.first_slot[level + 1])
    cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    price, charge = cell_prices(program, prices, cells)
    cheapest = first_least(price + charge, first_cell)
    cell = cells[cheapest]
    held_value, held_price, held_ms = _given(program, prices, choice, job)
    value = program.gain[level] - _sums(charge[cheapest], first_slot)
    return Wishes(
        job=job,
        level=level,
        cell=cell,
        first_cell=first_slot,
        service=bundles.service[level],
        value=_significant(value - held_value),
        price=_significant(_sums(price[cheapest], first_slot) - held_price),
        ms=_sums(program.cell_ms[cell], first_slot) - held_ms,
    )


def cell_prices(program: Program, prices: Prices, cells: _Indices) -> tuple[_Floats, _Floats]:
    """Return the price of what every cell uses of the shared rows, and the value that its charge costs, both of the shape of `cells`."""
    net = (prices.pool[:, None, :] + prices.of_queues(program.shared)[None, :, :]).reshape(-1, prices.pool.shape[1])
    used = np.einsum("cr,cr->c", program.amount[cells], net.take(program.cell_pair[cells], axis=0))
    ms = program.cell_ms[cells]
    return used + prices.ms * ms, program.per_ms[program.cell_job[cells]] * ms


def _given(program: Program, prices: Prices, choice: Choice, jobs: _Indices) -> tuple[_Floats, _Floats, _Floats]:
    """Return value, price and milliseconds of what the plan gives jobs, shape ``(n,)`` each."""
    runs = program.runs(choice)[jobs]
    stages, starts = spans(program.first_stage[jobs[runs]], program.first_stage[jobs[runs] + 1])
    cells = choice[stages]
    price, ms = prices.ms * program.wait_ms[jobs], program.wait_ms[jobs].copy()
    value = -program.per_ms[jobs] * program.wait_ms[jobs]
    if len(cells):
        paid, charge = cell_prices(program, prices, cells)
        price[runs], ms[runs] = _sums(paid, starts), _sums(program.cell_ms[cells], starts)
        value[runs] = program.gain[program.cell_level[cells[starts]]] - _sums(charge, starts)
    return value, price, ms


def _sums(values: _Floats, starts: _Indices) -> _Floats:
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0)


def _significant(values: _Floats) -> _Floats:
    """Return values with the digits that count."""
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    scale = 10.0 ** np.clip(_DIGITS - 1 - size, -300, 300)
    rounded = np.rint(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values) + 0.0
