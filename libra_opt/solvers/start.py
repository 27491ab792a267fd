"""From prices to a first plan: the linear program over the core's columns, dives into it, exchanges.

The grid is made fine where the prices point and split at them; jobs whose answer is clear take it. The others, the core, are decided by the master program:
its duals are the prices from then on, and prove the bound over all jobs and the full grid; its optimum is dived into and mended.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.encode import refine
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.shadow import Prices
from libra_opt.solvers.columns import Columns, near_best
from libra_opt.solvers.core import Core, split, value_outside
from libra_opt.solvers.curved import follow
from libra_opt.solvers.diving import dive
from libra_opt.solvers.exchange import exchange, mend
from libra_opt.solvers.found import NOTHING_SPENT, Found
from libra_opt.solvers.greedy import greedy_choice, settle
from libra_opt.solvers.guarantees import honour
from libra_opt.solvers.highs import Optimum
from libra_opt.solvers.lagrangian import Priced, price_out
from libra_opt.solvers.master import master
from libra_opt.solvers.prices import n_rows, sharpened
from libra_opt.solvers.rounding import fill
from libra_opt.solvers.solution import Limits
from libra_opt.solvers.steps import reach, step
from libra_opt.solvers.windows import promising_window

__all__ = ["first_plan"]

_Indices = npt.NDArray[np.intp]

_MARGIN = 0.1
"""How far below its best a bundle may be, relative to its job's worth, to be on the fine grid."""

_CORES = ((0.1, 1_500, 9_000), (0.2, 1_500, 9_000), (0.3, 3_000, 18_000), (0.3, 6_000, 36_000))
"""The same for the core, and its most jobs and cells; one after the other, while the jobs outside it spoil the linear optimum and no plan comes within
the gap."""

_CURVED_CORE = (0.3, 60_000, 200_000)
"""The same where the value is curved."""

_PER_ROW = 40
"""The first core has so many jobs for every shared row at most: as many are split as rows are tight."""

_PER_CORE = 50
"""One job in so many is in the core on top, with half a dozen cells."""

_CLOSE = 0.1
"""Parts of the gap asked for by which the jobs outside the core may spoil the linear optimum without a larger core being tried; up to one of them it is first
seen whether a dive comes within the gap all the same."""

_DIVES = ((6, 0.5), (3, 0.2), (1, 2.0), (2, 1.0))
"""Split jobs that become whole in a round, and the size, in gaps of the whole value, below which jobs are rounded at once; one after the other while the gap
is open."""


@dataclass(frozen=True)
class _Opened:
    """A core, its columns, the master program at its optimum, the prices that its duals stand for, and what the jobs outside the core are worth."""

    core: Core
    columns: Columns
    optimum: Optimum
    prices: Prices
    outside: float


def first_plan(program: Program, prices: Prices, options: Options) -> Found:
    """Return a plan, always feasible, and what the prices found on the way prove of it.

    Parameters
    ----------
    prices
        Where to begin.
    options
        The gap that is good enough, and the effort that bounds what is done by hand.
    """
    fine, gap = program, options.gap
    is_spread = program.utility.is_curved
    if is_spread and not program.bundles.is_whole:
        fine, prices, priced = follow(program, prices, gap)
    else:
        if not program.bundles.is_whole:
            fine = refine(program, promising_window(program, prices, price_out(program, prices, NOTHING_SPENT), _MARGIN * program.stake))
        prices, priced = sharpened(fine, prices, price_out(fine, prices, NOTHING_SPENT))
    choice, undived = None, None
    for margin, n_jobs, n_cells in _cores(program, is_curved=is_spread):
        opened = _open(fine, prices, priced, margin, n_jobs, n_cells)
        if opened is None:
            continue
        undived = opened
        prices, priced = step(fine, prices, priced, opened.prices)
        spoilt = (priced.bound - opened.optimum.value - opened.outside) / max(1e-300, gap * abs(priced.bound))
        if spoilt <= 1:
            undived, (choice, is_close) = None, _dive(fine, opened, choice, priced.bound, gap)
            if is_close or spoilt <= _CLOSE:
                break
    if undived is not None:
        choice, _ = _dive(fine, undived, choice, priced.bound, gap)
    return _found(fine, greedy_choice(fine) if choice is None else choice, prices, options.effort)


def _cores(program: Program, *, is_curved: bool) -> Iterator[tuple[float, int, int]]:
    """Yield margin, most jobs and most cells of the cores; one of nearly all jobs where the value is curved, as the answer of hardly any is clear then."""
    if is_curved:
        yield _CURVED_CORE
        return
    fewest = _PER_ROW * n_rows(program)
    for margin, n_jobs, n_cells in ((_CORES[0][0], min(fewest, _CORES[0][1]), min(6 * fewest, _CORES[0][2])), *_CORES[1:]):
        yield margin, n_jobs + program.n_jobs // _PER_CORE, n_cells + 6 * program.n_jobs // _PER_CORE


def _open(program: Program, prices: Prices, priced: Priced, margin: float, n_jobs: int, n_cells: int) -> _Opened | None:
    """Return the core at given prices and its linear optimum; None where no job is open or the others overrun a row."""
    slack = margin * program.stake
    core = split(program, priced, slack, n_jobs, n_cells)
    if core is None:
        return None
    inner = core.inner.program
    columns = near_best(inner, price_out(inner, prices, NOTHING_SPENT), slack[core.inner.jobs])
    program_of_columns = master(columns, reach(program, prices))
    optimum = program_of_columns.linear.open(program_of_columns.guess(prices))
    if not optimum.is_optimal:
        return None
    return _Opened(core, columns, optimum, program_of_columns.prices(optimum.duals), value_outside(program, core))


def _dive(program: Program, opened: _Opened, best: Choice | None, bound: float, gap: float) -> tuple[Choice | None, bool]:
    """Dive, each time in another manner, until a plan comes within the gap asked for of the bound; return the best, if any, and whether one did."""
    columns, row_prices = opened.columns, opened.columns.rows.prices(opened.prices)
    for batch, share in _DIVES:
        selected = mend(columns, dive(columns, opened.optimum, row_prices, batch, share * gap * abs(bound)))
        if selected is None:
            continue
        is_close = _is_close(columns, selected, opened.outside, bound, gap)
        if not is_close:
            selected = exchange(columns, selected)
            is_close = _is_close(columns, selected, opened.outside, bound, gap)
        choice = opened.core.inner.widen(columns.choice(selected), opened.core.rest)
        if best is None or program.score(choice).beats(program.score(best)):
            best = choice
        if is_close:
            return best, True
    return best, False


def _is_close(columns: Columns, selected: _Indices, outside: float, bound: float, gap: float) -> bool:
    """Return whether a selection spends nothing of tiers 2 and 3 and comes within the gap of the bound."""
    is_met = bool((columns.use[selected].sum(axis=0) <= columns.rows.high).all()) and not columns.lost[selected].any()
    return is_met and bound - (float(columns.value[selected].sum()) + outside) <= gap * abs(bound)


def _found(program: Program, choice: Choice, prices: Prices, effort: float) -> Found:
    """Return a choice with guarantees seen to and what is left handed out, and what prices prove of it."""
    priced = price_out(program, prices, NOTHING_SPENT)
    choice = honour(program, settle(program, choice), priced.job_value, priced.cell_cost, effort)
    choice = settle(program, fill(program, choice, priced.level_value, priced.cell_cost))
    score = program.score(choice)
    return Found(program, choice, score, price_out(program, prices, Limits.of(score)).bound, prices)
