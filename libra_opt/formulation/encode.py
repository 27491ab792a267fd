"""From a state to the neutral program: the only place where the parts of the formulation meet."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.bundles import Bundles, Window, enumerate_bundles
from libra_opt.formulation.curves import ServiceCurves, service_curves
from libra_opt.formulation.policy import weighted_throughput
from libra_opt.formulation.program import Program, freeze
from libra_opt.formulation.shared import SharedRows, shared_rows
from libra_opt.formulation.tables import Tables, tabulate
from libra_opt.formulation.ways import Ways, placements

__all__ = ["encode", "refine"]

_Floats = npt.NDArray[np.float64]

_EXACT_BITS = 53
_EXACT = float(1 << _EXACT_BITS)
"""Whole numbers up to here are exact in floating point, and so are their sums; larger amounts are counted in coarser units."""

_MOST_CELLS_WHOLE = 200_000
_MOST_CELLS = 20_000
"""Up to about this many cells every tick is a level; beyond, the grid starts coarse and is refined where prices point."""

_FEW = 1000


def encode(state: State, ledger: Ledger, most_cells: int | None = None) -> Program:
    """Return the program of one period.

    Parameters
    ----------
    state
        Jobs with worth, options with budget and hold.
    ledger
        The same state in whole quanta, forecasts entered.
    most_cells
        Up to about this many cells every tick is a level; more of them for the back-end that can only prove what is on the grid.
    """
    tables = tabulate(ledger)
    curves = service_curves(ledger, tables)
    ways = placements(ledger, tables)
    weights = [float(queue.weight) for queue in state.queues]
    shared = shared_rows(ledger, tables, curves, ways, state.options.preemption_budget_seconds, weights)
    worth = weighted_throughput(state, ledger, tables)
    per_ms = worth / (1000.0 * state.period.seconds * state.options.hold_periods)
    bundles = enumerate_bundles(tables, curves, ways, most_cells or (_MOST_CELLS_WHOLE if state.options.backend == "cp_sat" else _MOST_CELLS))
    return _program(tables, curves, ways, shared, worth, per_ms, bundles)


def refine(program: Program, window: Window) -> Program:
    """Return the same program on a grid that is fine inside `window`."""
    bundles = enumerate_bundles(program.tables, program.curves, program.ways, _MOST_CELLS, window)
    return _program(program.tables, program.curves, program.ways, program.limits, program.worth, program.per_ms, bundles)


def _program(tables: Tables, curves: ServiceCurves, ways: Ways, shared: SharedRows, worth: _Floats, per_ms: _Floats, bundles: Bundles) -> Program:
    cell_ms, cell_moved = _charges(tables, ways, bundles)
    amount, surely, scaled, scale, is_rounded = _scale(tables, bundles, shared)
    program = Program(
        tables=tables,
        curves=curves,
        bundles=bundles,
        ways=ways,
        limits=shared,
        shared=scaled,
        worth=worth,
        per_ms=per_ms,
        wait_ms=np.where(tables.running, tables.evict_ms, 0.0),
        lost=np.where(tables.protected, worth, 0.0),
        n_wait_moves=np.add.reduceat(tables.holds.astype(np.float64), tables.first_stage[:-1]) if tables.n_jobs else np.zeros(0),
        cell_ms=cell_ms,
        cell_moved=cell_moved,
        amount=amount,
        surely=surely,
        scale=scale,
        is_rounded=is_rounded,
        is_original=True,
    )
    freeze(program)
    return program


def _charges(tables: Tables, ways: Ways, bundles: Bundles) -> tuple[_Floats, npt.NDArray[np.bool_]]:
    """R11: return the charge of every cell in milliseconds, and whether it changes what its stage holds now."""
    charge, moved = np.zeros(len(bundles.way)), np.zeros(len(bundles.way), dtype=np.bool_)
    held = np.flatnonzero(tables.holds[ways.stage[bundles.way]])
    if len(held):
        way = bundles.way[held]
        stage = ways.stage[way]
        job = tables.stage_job[stage]
        stays = ways.pool[way] == tables.here[stage]
        resized, changed = np.zeros(len(held), dtype=np.int64), ~stays
        for r, counts in enumerate((tables.costly | ~tables.compressible).tolist()):
            charges = tables.resize_ms[:, r]
            if counts or charges.any():
                differs = bundles.amount[:, r][held] != tables.held[:, r][stage]
                np.maximum(resized, charges[job] * differs, out=resized)
                changed |= differs & counts
        charge[held] = np.where(stays, resized, tables.migrate_ms[job])
        moved[held] = changed
    return charge, moved


def _scale(tables: Tables, bundles: Bundles, shared: SharedRows) -> tuple[_Floats, _Floats, SharedRows, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Count every resource in the coarsest unit that loses nothing, or, where a cluster has 2^53 of these, in a coarser one: amounts round up, limits down.

    Sums that stay within a capacity are then exact in floating point, and sums beyond it stay beyond it.
    """
    amount = bundles.amount
    divisor = np.array([_common_divisor(column) for column in amount.T], dtype=np.int64)
    rows = np.concatenate([shared.floor, shared.reserved, np.where(shared.is_reserving, shared.total, 0.0)[None, :]])
    if not shared.forest.is_flat:
        rows = np.concatenate([rows, shared.quota])
    divisor = np.maximum(1, np.gcd.reduce(np.concatenate([divisor[None, :], np.minimum(rows, _EXACT).astype(np.int64)]), axis=0))
    total = [sum(column) for column in zip(*tables.capacity.tolist(), strict=True)] or [0] * amount.shape[1]
    coarser = np.array([max(0, (whole // unit).bit_length() - _EXACT_BITS) for whole, unit in zip(total, divisor.tolist(), strict=True)], dtype=np.int64)
    scale = divisor << coarser
    ceiling = np.where(np.isfinite(shared.ceiling), (tables.ceiling // scale).astype(np.float64), np.inf)
    scaled = replace(
        shared,
        capacity=(tables.capacity // scale).astype(np.float64),
        ceiling=ceiling,
        reserved=shared.reserved / scale,
        floor=shared.floor / scale,
        nominal=shared.nominal / scale,
        quota=shared.quota / scale,
        per_square=shared.per_square * scale.astype(np.float64) ** 2,
        total=np.array([whole / unit for whole, unit in zip(total, scale.tolist(), strict=True)]),
    )
    if (scale == 1).all():
        return amount.astype(np.float64), bundles.surely, scaled, scale, coarser > 0
    return (-(-amount // scale)).astype(np.float64), bundles.surely / scale, scaled, scale, coarser > 0


def _common_divisor(column: npt.NDArray[np.int64]) -> int:
    """Return the greatest common divisor, 0 of nothing; a few amounts mostly show already that it is 1."""
    of_few = np.gcd.reduce(column[:_FEW], initial=0)
    return int(of_few if of_few == 1 else np.gcd.reduce(column, initial=0))
