"""A mixed-integer relaxation on a coarse grid: who runs and in which pool is decided whole, how much of it between two levels may be a fraction.

Between neighbouring levels value is concave and what is surely used is convex in the service, so mixtures of a way's levels stand for everything in
between (the lambda method); the optimum bounds every plan, and it misses only the rounding of resources with many small steps. HiGHS solves it (through
SciPy), limited in nodes, so that the outcome does not depend on the clock.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.formulation.program import Program
from libra_opt.solvers.relaxation import Relaxation, relax
from libra_opt.solvers.solution import Limits

__all__ = ["Mixture", "least_shortfall", "solve_mixed"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_NODES_PER_EFFORT = 400


@dataclass(frozen=True)
class Mixture:
    """An optimum of the relaxation.

    Attributes
    ----------
    bound
        No plan over the program's levels, and what lies between them, that keeps the limits is worth more.
    service
        Of every job, its service; negative where it waits, shape ``(n_jobs,)``.
    pool
        Of every stage position, its pool; negative where its job waits, shape ``(n_stages,)``.
    """

    bound: float
    service: _Floats
    pool: _Indices


def solve_mixed(program: Program, limits: Limits, effort: float, gap: float) -> Mixture | None:
    """Solve the mixed relaxation of a (restricted) program; None where HiGHS finds nothing within its nodes.

    Parameters
    ----------
    limits
        What plans may spend of tiers 1 to 3.
    effort
        Deterministic effort, as nodes of the search tree.
    gap
        Relative gap that ends the search.
    """
    return _solve(program, relax(program, limits=limits, is_bound=True), effort, gap)


def least_shortfall(program: Program, limits: Limits, effort: float) -> Mixture | None:
    """Solve the same for tier 3: the bound is minus the least shortfall of plans that keep the limits on tiers 1 and 2."""
    anything = float((program.shared.floor / program.shared.nominal).sum())
    relaxation = relax(program, limits=Limits(limits.lost, limits.over_seconds, anything), is_bound=True)
    first = relaxation.n_levels + len(relaxation.cells)
    owed = int((program.shared.floor > 0).sum())
    gain = np.zeros(len(relaxation.gain))
    last = len(gain) - int(np.isfinite(program.shared.budget_ms))
    gain[last - owed : last] = -1.0
    gain[:first] = 1e-6 * relaxation.gain[:first] / max(1e-300, float(np.abs(relaxation.gain[:first]).sum()))
    mixture = _solve(program, replace(relaxation, gain=gain, constant=0.0), effort, 1e-6)
    return None if mixture is None else replace(mixture, bound=min(0.0, mixture.bound - 1e-6))


def _solve(program: Program, relaxation: Relaxation, effort: float, gap: float) -> Mixture | None:
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

    links, n_ways, way_of = _ways(program, relaxation)
    n_columns = len(relaxation.gain)
    gain = np.concatenate([relaxation.gain, np.zeros(n_ways)])
    scale = max(1e-300, float(np.abs(gain).max(initial=0.0)))
    wide = sparse.csr_array((relaxation.matrix.shape[0], n_ways))
    constraints = [LinearConstraint(sparse.hstack([relaxation.matrix, wide]).tocsr(), -np.inf, relaxation.high)]
    if relaxation.equal.shape[0]:
        same = sparse.csr_array((relaxation.equal.shape[0], n_ways))
        constraints.append(LinearConstraint(sparse.hstack([relaxation.equal, same]).tocsr(), relaxation.target, relaxation.target))
    constraints.append(LinearConstraint(links, 0.0, 0.0))
    integrality = np.concatenate([np.zeros(n_columns), np.ones(n_ways)])
    found = milp(
        -gain / scale,
        integrality=integrality,
        bounds=Bounds(np.zeros(len(gain)), np.concatenate([relaxation.upper, np.ones(n_ways)])),
        constraints=constraints,
        options={"node_limit": max(1, int(_NODES_PER_EFFORT * effort)), "mip_rel_gap": gap},
    )
    if found.x is None or found.mip_dual_bound is None:
        return None
    columns = np.asarray(found.x)
    level_weight, cell_weight = relaxation.rounded(program, columns[:n_columns])
    return Mixture(
        -float(found.mip_dual_bound) * scale + relaxation.constant, _services(program, level_weight), _pools(program, level_weight, cell_weight, way_of)
    )


def _ways(program: Program, relaxation: Relaxation) -> tuple[sparse.csr_array, int, _Indices]:
    """Return rows that tie the weights of each (stage, way) to one yes or no, how many of these there are, and which one each cell has."""
    slot_size = np.diff(program.bundles.first_cell)[program.cell_slot]
    column = program.cell_level.copy()
    chosen = np.flatnonzero(slot_size > 1)
    column[chosen] = relaxation.n_levels + np.arange(len(chosen))
    key = program.cell_stage * (int(program.bundles.way.max(initial=0)) + 1) + program.bundles.way
    ways, way_of = np.unique(key, return_inverse=True)
    n_columns, n_ways = len(relaxation.gain), len(ways)
    rows = np.concatenate([way_of, np.arange(n_ways)])
    columns = np.concatenate([column, n_columns + np.arange(n_ways)])
    values = np.concatenate([np.ones(program.n_cells), -np.ones(n_ways)])
    return sparse.csr_array((values, (rows, columns)), shape=(n_ways, n_columns + n_ways)), n_ways, way_of


def _services(program: Program, level_weight: _Floats) -> _Floats:
    total, mixed = np.zeros(program.n_jobs), np.zeros(program.n_jobs)
    np.add.at(total, program.bundles.job, level_weight)
    np.add.at(mixed, program.bundles.job, level_weight * program.bundles.service)
    return np.where(total > 0.5, mixed / np.maximum(total, 1e-12), -1.0)


def _pools(program: Program, level_weight: _Floats, cell_weight: _Floats, way_of: _Indices) -> _Indices:
    weight = np.where(np.diff(program.bundles.first_cell)[program.cell_slot] > 1, cell_weight, level_weight[program.cell_level])
    per_way = np.bincount(way_of, weights=weight)
    pool = np.full(int(program.first_stage[-1]), -1, dtype=np.intp)
    order = np.argsort(per_way[way_of], kind="stable")
    likely = order[per_way[way_of[order]] > 0.5]
    pool[program.cell_stage[likely]] = program.cell_pool[likely]
    return pool
