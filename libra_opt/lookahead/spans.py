"""The periods of a horizon, each as the program it would be by itself: the first as it was solved, the later ones with nothing held yet."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import DISCOUNT
from libra_opt.domain.state import State
from libra_opt.formulation.encode import encode
from libra_opt.formulation.policy import work
from libra_opt.formulation.program import Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.prices import dual_prices
from libra_opt.solvers.solution import Solution

__all__ = ["Span", "later_ledger", "spans_of"]

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Span:
    """One period of the horizon.

    Attributes
    ----------
    program
        Its bundles, worths and shared rows.
    prices
        Prices of its shared rows if it were alone.
    bound
        No plan has more value in it.
    progress
        Of every job, how far one fully served period takes it towards the end that it states (work, or seconds of full service), shape ``(n_jobs,)``.
    weight
        What value in it counts for, `DISCOUNT` to the power of the periods before it.
    """

    program: Program
    prices: Prices
    bound: float
    progress: _Floats
    weight: float


def spans_of(state: State, ledger: Ledger, solution: Solution, n: int) -> tuple[Span, ...]:
    """Return the periods of a horizon of `n`; equal demands make equal programs, which are encoded once.

    Parameters
    ----------
    ledger
        The state in whole quanta, forecasts entered.
    solution
        The first period, solved by itself.
    """
    program = solution.program
    spans = [Span(program, solution.prices or dual_prices(program), solution.bounds.value, _progress(state, ledger, program), 1.0)]
    for step in range(1, n):
        demands = later_ledger(ledger, step)
        if step > 1 and demands == later_ledger(ledger, step - 1):
            spans.append(replace(spans[-1], weight=DISCOUNT**step))
            continue
        program = encode(state, demands)
        prices = dual_prices(program)
        bound = price_out(program, prices, NOTHING_SPENT).bound if program.is_exact else program.most_value
        spans.append(Span(program, prices, min(bound, program.most_value), _progress(state, demands, program), DISCOUNT**step))
    return tuple(spans)


def later_ledger(ledger: Ledger, step: int) -> Ledger:
    """Return the ledger of a later period: nothing is held, nothing protected, no quota guaranteed (R1 to R10 bind, see `models/lookahead.md`)."""
    n_jobs, n_stages = len(ledger.jobs), len(ledger.lo)
    return replace(
        ledger.later(step),
        current=[None] * n_stages,
        current_pool=[-1] * n_stages,
        running=[False] * n_jobs,
        protected=[False] * n_jobs,
        nominal=[(0,) * ledger.n_resources for _ in ledger.queues],
        warnings=[],
    )


def _progress(state: State, ledger: Ledger, program: Program) -> _Floats:
    """Return progress per fully served period: of work where `remaining_work` is stated, else of seconds."""
    counts_work = np.array([bool(state.jobs[j].remaining_work) for j in program.job_order.tolist()], dtype=np.bool_)
    return np.where(counts_work, work(state, ledger, program.tables), state.period.seconds)
