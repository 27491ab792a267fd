"""From a state to the neutral program: the only place where the parts of the formulation meet."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.bundles import Bundles, Window, enumerate_bundles
from libra_opt.formulation.cost_row import Counted, with_cost
from libra_opt.formulation.curves import ServiceCurves, service_curves
from libra_opt.formulation.policies import Valuation, valued
from libra_opt.formulation.program import Program, freeze
from libra_opt.formulation.shared import SharedRows, shared_rows
from libra_opt.formulation.tables import Tables, tabulate
from libra_opt.formulation.utility import Utility
from libra_opt.formulation.ways import Ways, placements

__all__ = ["bent", "encode", "refine", "revalue", "unbent"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_EXACT_BITS = 53
_EXACT = float(1 << _EXACT_BITS)
"""Whole numbers up to here are exact in floating point, and so are their sums; larger amounts are counted in coarser units."""

_MOST_CELLS_WHOLE = 200_000
_MOST_CELLS = 20_000
"""Up to about this many cells every tick is a level; beyond, the grid starts coarse and is refined where prices point."""

_FEW = 1000

_STEPS, _LEAST_STEP = 8, 0.02
"""How many steps the window of a curved utility has beside its ticks, and where they begin at least, relative to its end."""

_JUST_BELOW = 1e-7
"""The last step lies this far, relatively, below the window's end, at which ticks count as passed over."""


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
    policy = valued(state, ledger, tables)
    per_ms = policy.charge / (1000.0 * state.period.seconds * state.options.hold_periods)
    most = most_cells or (_MOST_CELLS_WHOLE if state.options.backend == "cp_sat" else _MOST_CELLS)
    bundles = enumerate_bundles(tables, curves, ways, most, None, policy.utility.bends)
    return _program(tables, curves, ways, shared, policy, per_ms, bundles)


def refine(program: Program, window: Window) -> Program:
    """Return the same program on a grid that is fine inside `window`."""
    bends = _with_steps(program.utility, window)
    bundles = enumerate_bundles(program.tables, program.curves, program.ways, _MOST_CELLS, window, bends)
    policy = Valuation(program.utility, program.stake, program.size, program.fairness)
    return _program(program.tables, program.curves, program.ways, program.limits, policy, program.per_ms, bundles)


def _with_steps(utility: Utility, window: Window) -> tuple[_Indices, _Floats]:
    """Return the bends of a utility and, where it is curved, steps of equal ratio in the window: between ticks of costly resources too some service is best."""
    job, service = utility.bends
    curved = np.flatnonzero((utility.log > 0) & (window.low < window.high))
    low, high = np.maximum(window.low[curved], _LEAST_STEP * window.high[curved]), window.high[curved]
    steps = low[:, None] * (high / low)[:, None] ** (np.arange(1, _STEPS + 1) / _STEPS) * (1 - _JUST_BELOW)
    return np.append(job, np.repeat(curved, _STEPS)), np.append(service, steps.ravel())


def bent(program: Program, utility: Utility, per_ms: _Floats) -> Program:
    """Return a program of the same jobs with another value of service and of moves, on a coarse grid that has a level wherever the first bends."""
    bundles = enumerate_bundles(program.tables, program.curves, program.ways, _MOST_CELLS, None, utility.bends)
    policy = Valuation(utility, utility.worth, program.size)
    return _program(program.tables, program.curves, program.ways, program.limits, policy, per_ms, bundles)


def unbent(bent_program: Program, program: Program) -> Program:
    """Return a program as `bent` made it, on whichever grid, with the values of `program` again."""
    valued_again = revalue(bent_program, program.utility)
    return replace(valued_again, per_ms=program.per_ms, lost=program.lost, size=program.size, stake=program.stake, fairness=program.fairness)


def revalue(program: Program, utility: Utility) -> Program:
    """Return the same program, bundles and all, with another value of service; what protected jobs lose and moves cost stays as it is."""
    bundles = program.bundles
    return replace(program, utility=utility, gain=utility.at(bundles.job, bundles.service), most_gain=_most_gain(utility, bundles), worth=utility.worth)


def _program(tables: Tables, curves: ServiceCurves, ways: Ways, shared: SharedRows, policy: Valuation, per_ms: _Floats, bundles: Bundles) -> Program:
    cell_ms, cell_moved = _charges(tables, ways, bundles)
    counted = _scale(tables, bundles, shared)
    if tables.costs is not None:
        counted = with_cost(tables.costs, counted, ways.pool[bundles.way], bundles.amount, bundles.surely, tables.capacity)
    utility = policy.utility
    worth = utility.worth
    program = Program(
        tables=tables,
        curves=curves,
        bundles=bundles,
        ways=ways,
        limits=shared,
        shared=counted.shared,
        utility=utility,
        gain=utility.at(bundles.job, bundles.service),
        most_gain=_most_gain(utility, bundles),
        worth=worth,
        size=policy.size,
        stake=np.minimum(worth, policy.charge),
        per_ms=per_ms,
        wait_ms=np.where(tables.running, tables.evict_ms, 0.0),
        lost=np.where(tables.protected, worth, 0.0),
        n_wait_moves=np.add.reduceat(tables.holds.astype(np.float64), tables.first_stage[:-1]) if tables.n_jobs else np.zeros(0),
        cell_ms=cell_ms,
        cell_moved=cell_moved,
        amount=counted.amount,
        surely=counted.surely,
        scale=counted.scale,
        is_rounded=counted.is_rounded,
        is_original=True,
        fairness=policy.fairness,
    )
    freeze(program)
    return program


def _most_gain(utility: Utility, bundles: Bundles) -> _Floats:
    """Return what bounds, at the line between a level and its neighbours, all that was passed over beside it."""
    job, n = bundles.job, len(bundles.job)
    rise = utility.rise(job, bundles.below, bundles.service)
    return np.asarray(
        utility.at(job, bundles.service) + np.maximum(rise, np.where(np.append(job[1:] == job[:-1], False)[:n], np.append(rise[1:], 0.0)[:n], 0.0))
    )


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


def _scale(tables: Tables, bundles: Bundles, shared: SharedRows) -> Counted:
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
        return Counted(amount.astype(np.float64), bundles.surely, scaled, scale, coarser > 0)
    return Counted((-(-amount // scale)).astype(np.float64), bundles.surely / scale, scaled, scale, coarser > 0)


def _common_divisor(column: npt.NDArray[np.int64]) -> int:
    """Return the greatest common divisor, 0 of nothing; a few amounts mostly show already that it is 1."""
    of_few = np.gcd.reduce(column[:_FEW], initial=0)
    return int(of_few if of_few == 1 else np.gcd.reduce(column, initial=0))
