"""Recombining: several dives into the same linear optimum, and the best plan that can be put together from what they took.

Dives that round in different order agree on most jobs; where they differ, and where the optimum itself is split, a choice is open that matters. As a program in
whole numbers these columns are few (the crossover of Rothberg, *An evolutionary algorithm for polishing mixed integer programming solutions*, 2007).
"""

from libra_opt.domain.options import Options
from libra_opt.solvers.columns import near_best
from libra_opt.solvers.core import split
from libra_opt.solvers.diving import dive
from libra_opt.solvers.exchange import exchange, mend
from libra_opt.solvers.found import Found, accept
from libra_opt.solvers.greedy import settle
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.master import master
from libra_opt.solvers.nearby import search_among
from libra_opt.solvers.rounding import fill
from libra_opt.solvers.solution import Limits
from libra_opt.solvers.steps import reach

__all__ = ["DIVES", "recombine"]

DIVES = (((4, 0.5), (8, 0.3), (5, 0.2), (2, 0.3)), ((3, 0.2), (7, 0.1), (1, 0.5), (10, 0.1)))
"""Manners of diving as in `start`, by turn."""

_MARGIN, _MOST_JOBS, _MOST_CELLS = 0.1, 1_500, 9_000
"""How far below its best a column may be, relative to its job's worth, and most jobs and cells of the core."""


_SUPPORT = 1e-6
"""A column of more weight in the linear optimum is open."""

_NODES, _EFFORT_PER_DIVE = 30, 0.02


def recombine(found: Found, options: Options, dives: tuple[tuple[int, float], ...]) -> tuple[Found, float]:
    """Return the better of the plan at hand and one put together from it and some dives, and the effort used.

    Parameters
    ----------
    dives
        In a round of each, how many split jobs become whole, and below how many gaps of the whole value jobs are rounded at once.
    """
    program, limits = found.program, Limits.of(found.score)
    priced = price_out(program, found.prices, limits)
    slack = _MARGIN * program.stake
    core = split(program, priced, slack, _MOST_JOBS, _MOST_CELLS, keep=found.choice)
    if core is None:
        return found, 0.0
    inner, chosen = core.inner.program, core.inner.shrink(found.choice)
    columns = near_best(inner, price_out(inner, found.prices, limits), slack[core.inner.jobs], keep=chosen)
    over = master(columns, reach(program, found.prices))
    optimum = over.linear.open(over.guess(found.prices))
    start = columns.select(chosen)
    if not optimum.is_optimal:
        return found, 0.0
    is_open = optimum.columns[: len(columns.job)] > _SUPPORT
    is_open[start] = True
    price = columns.rows.prices(over.prices(optimum.duals))
    for batch, share in dives:
        selected = mend(columns, dive(columns, optimum, price, batch, share * options.gap * abs(found.bound)))
        if selected is not None:
            is_open[selected] = is_open[exchange(columns, selected)] = True
    room = options.gap * abs(found.bound) / max(1e-12, abs(float(columns.value[start].sum())))
    put = search_among(columns, is_open, start, _NODES, min(0.5, max(1e-7, room / 4)), restarts=False)
    choice = settle(program, core.inner.widen(columns.choice(put.selected), core.rest))
    better = accept(found, program, fill(program, choice, priced.level_value, priced.cell_cost))
    return better, put.effort_used + _EFFORT_PER_DIVE * len(dives)
