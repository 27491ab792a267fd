"""HiGHS on the bundles: every one of them, as whoever enumerates them gets them, or only those on the grid that ours ended with.

The second is a gift: that grid is fine just where our prices point, and making it is not counted. Its bound speaks of that grid alone.
"""

from functools import partial
from time import perf_counter
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.benchmark.peers.direct_form import DirectForm
from libra_opt.benchmark.peers.mixed import solve_mixed
from libra_opt.benchmark.peers.peer import Begin, NotStatedError, at_once
from libra_opt.benchmark.requests import PeerRequest
from libra_opt.benchmark.results import PeerMeasurement
from libra_opt.domain import State
from libra_opt.forecast import forecast
from libra_opt.formulation.encode import encode
from libra_opt.formulation.program import Program
from libra_opt.solvers import solve as solve_program
from libra_opt.solvers.relaxation import Relaxation, relax
from libra_opt.solvers.solution import Limits

__all__ = ["MOST_CELLS", "faults", "solve_all", "solve_grid"]

_Floats = npt.NDArray[np.float64]

_CHOSEN: Final = 0.5
MOST_CELLS: Final = 4_000_000
"""More cells than this are not enumerated."""


def solve_all(state: State, request: PeerRequest, begin: Begin = at_once) -> PeerMeasurement:
    """Solve over every bundle."""
    ledger = state.ledger.with_forecast(forecast(state))
    begin()
    start = perf_counter()
    program = encode(state, ledger, MOST_CELLS)
    if not program.bundles.is_whole:
        raise NotStatedError(f"more than {MOST_CELLS:,} cells of bundles, not enumerated")
    return _solve(program, request, start)


def solve_grid(state: State, request: PeerRequest, begin: Begin = at_once) -> PeerMeasurement:
    """Solve over the grid that ours ended with."""
    ledger = state.ledger.with_forecast(forecast(state))
    program = solve_program(encode(state, ledger), state.options).program
    begin()
    return _solve(program, request, perf_counter())


def _solve(program: Program, request: PeerRequest, start: float) -> PeerMeasurement:
    tiers = request.tiers
    limits = Limits(tiers.lost, tiers.over_seconds, tiers.shortfall)
    relaxation = relax(program, limits=limits)
    form = _whole_form(relaxation)
    build_seconds = perf_counter() - start
    return solve_mixed(form, request.gap, request.seconds - build_seconds, build_seconds, partial(faults, program, relaxation, limits))


def faults(program: Program, relaxation: Relaxation, limits: Limits, columns: _Floats) -> str:
    """Say which promise the plan of these columns breaks: solvers in floats may take a row for kept that is not."""
    level_weight, cell_weight = relaxation.rounded(program, columns)
    levels = np.flatnonzero(level_weight > _CHOSEN)
    choice, bundles = program.nothing, program.bundles
    for level in levels.tolist():
        first = int(program.first_stage[bundles.job[level]])
        for i, slot in enumerate(range(int(bundles.first_slot[level]), int(bundles.first_slot[level + 1]))):
            low, high = int(bundles.first_cell[slot]), int(bundles.first_cell[slot + 1])
            choice[first + i] = low + int(np.argmax(cell_weight[low:high]))
    score = program.score(choice)
    if not program.fits(program.usage(choice)):
        return "its plan overruns a row"
    spent = ((score.lost, limits.lost), (score.over_seconds, limits.over_seconds), (score.shortfall, limits.shortfall))
    return "its plan is worse in tiers 1 to 3" if any(one > most + 1e-6 * max(1.0, most) for one, most in spent) else ""


def _whole_form(relaxation: Relaxation) -> DirectForm:
    """Return the rows of a relaxation with levels and cells whole."""
    n_columns, n_rows = len(relaxation.gain), relaxation.matrix.shape[0]
    is_whole = np.arange(n_columns) < relaxation.n_levels + len(relaxation.cells)
    return DirectForm(
        gain=relaxation.gain,
        constant=relaxation.constant,
        lower=np.zeros(n_columns),
        upper=relaxation.upper,
        is_whole=is_whole,
        steps=is_whole.astype(np.float64),
        matrix=sparse.csr_array(sparse.vstack([relaxation.matrix, relaxation.equal])),
        low=np.concatenate([np.full(n_rows, -np.inf), relaxation.target]),
        high=np.concatenate([relaxation.high, relaxation.target]),
    )
