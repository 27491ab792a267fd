"""From a state to the neutral program: the only place where the parts of the formulation meet."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.bundles import Bundles, enumerate_bundles
from libra_opt.formulation.curves import service_curves
from libra_opt.formulation.policy import weighted_throughput
from libra_opt.formulation.program import Program, freeze
from libra_opt.formulation.shared import SharedRows, shared_rows
from libra_opt.formulation.ways import Ways, placements

__all__ = ["encode"]

_EXACT = float(1 << 50)
"""Sums up to here are exact in floating point; larger amounts are counted in coarser units."""

_TICKS = ((50, 4096), (400, 256), (2_000, 64))
"""Most ticks per resource and way, by the number of stages; beyond the last, `_FEWEST_TICKS`."""

_FEWEST_TICKS = 24


def encode(state: State, ledger: Ledger) -> Program:
    """Return the program of one period.

    Parameters
    ----------
    state
        Jobs with worth, options with budget and hold.
    ledger
        The same state in whole quanta, forecasts entered.
    """
    order = np.array(sorted(range(len(ledger.jobs)), key=ledger.jobs.__getitem__), dtype=np.intp)
    curves = service_curves(ledger)
    ways = placements(ledger, order)
    n_stages = len(ledger.lo)
    most_ticks = next((ticks for stages, ticks in _TICKS if n_stages <= stages), _FEWEST_TICKS)
    bundles = enumerate_bundles(ledger, order, curves, ways, most_ticks)
    worth = weighted_throughput(state, ledger)[order]
    per_ms = worth / (1000.0 * state.period.seconds * state.options.hold_periods)
    queue = np.array(ledger.job_queue, dtype=np.intp)[order]
    running, protected = np.array(ledger.running, dtype=np.bool_)[order], np.array(ledger.protected, dtype=np.bool_)[order]
    holding = np.array([sum(ledger.current[s] is not None for s in ledger.stage_of[j]) for j in order], dtype=np.float64)
    first_stage = np.append(0, np.cumsum([len(ledger.stage_of[j]) for j in order])).astype(np.intp)
    cell_ms, cell_moved = _charges(ledger, order, ways, bundles)
    amount, surely, shared, scale = _scale(bundles, shared_rows(ledger, curves, state.options.preemption_budget_seconds))
    program = Program(
        bundles=bundles,
        ways=ways,
        shared=shared,
        job_order=order,
        queue=np.where(queue >= 0, queue, len(ledger.queues)),
        worth=worth,
        per_ms=per_ms,
        wait_ms=np.where(running, np.array(ledger.evict_ms, dtype=np.float64)[order], 0.0),
        lost=np.where(protected, worth, 0.0),
        n_wait_moves=holding,
        first_stage=first_stage,
        cell_ms=cell_ms,
        cell_moved=cell_moved,
        amount=amount,
        surely=surely,
        scale=scale,
    )
    freeze(program)
    return program


def _charges(ledger: Ledger, order: npt.NDArray[np.intp], ways: Ways, bundles: Bundles) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """R11: return the charge of every cell in milliseconds, and whether it changes what its stage holds now."""
    n = ledger.n_resources
    stage = ways.stage[bundles.way]
    nothing = (0,) * n
    has = np.array([held is not None for held in ledger.current], dtype=np.bool_)
    held = np.array([held or nothing for held in ledger.current], dtype=np.int64).reshape(-1, n)
    here = np.array(ledger.current_pool, dtype=np.intp)
    job_of = np.repeat(np.arange(len(ledger.jobs)), [len(rows) for rows in ledger.stage_of])
    migrate = np.array(ledger.migrate_ms, dtype=np.float64)[job_of]
    resize = np.array(ledger.resize_ms, dtype=np.float64).reshape(-1, n)[job_of]
    stays = ways.pool[bundles.way] == here[stage]
    differs = bundles.amount != held[stage]
    resized = (resize[stage] * differs).max(axis=1, initial=0.0)
    charge = np.where(has[stage], np.where(stays, resized, migrate[stage]), 0.0)
    costly = np.array([resource.costly or not resource.compressible for resource in ledger.resources])
    moved = has[stage] & (~stays | (differs & costly).any(axis=1))
    return charge, moved


def _scale(
    bundles: Bundles, shared: SharedRows
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], SharedRows, npt.NDArray[np.float64]]:
    """Count every resource in the coarsest unit that loses nothing, or, beyond 2^50, little: amounts round up, limits down."""
    amount = bundles.amount
    divisor = np.gcd.reduce(amount, axis=0) if len(amount) else np.ones(amount.shape[1], dtype=np.int64)
    rows = np.concatenate([shared.floor, shared.reserved, np.where(shared.is_reserving, shared.total, 0.0)[None, :]])
    divisor = np.maximum(1, np.gcd.reduce(np.concatenate([divisor[None, :], np.minimum(rows, _EXACT).astype(np.int64)]), axis=0))
    largest = amount.max(axis=0, initial=0).astype(np.float64) / divisor * max(1, len(bundles.first_level))
    coarser = np.maximum(0, np.ceil(np.log2(np.maximum(1.0, largest / _EXACT)))).astype(np.int64)
    scale = divisor * 2.0**coarser
    counted = np.ceil(amount / scale) if coarser.any() else (amount // divisor).astype(np.float64)
    scaled = replace(
        shared,
        capacity=np.floor(shared.capacity / scale),
        ceiling=np.floor(shared.ceiling / scale),
        reserved=shared.reserved / scale,
        floor=shared.floor / scale,
        nominal=shared.nominal / scale,
        total=shared.total / scale,
    )
    return counted, bundles.surely / scale, scaled, scale
