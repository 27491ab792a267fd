"""`look_ahead`: from the first period solved by itself to a plan of several periods, and what is proven of it.

1. every period as a program of its own, with its prices (`spans`);
2. what every job can hold in each, and what the changes cost (`journeys`);
3. the first period's own plan, and the best that can follow it (`board`): the plan to beat;
4. where there are few routes altogether, the best choice among all of them; else routes by column generation, rounded, picked and improved (`master`).

Tiers 1 to 3 of the first period are never worse than they were without looking ahead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.program import TIE_TOLERANCE, Choice, Score
from libra_opt.lookahead.board import Board
from libra_opt.lookahead.journeys import WHOLE, journeys_of
from libra_opt.lookahead.master import Master, bound_whole, mix, near_routes, pick, rounded_down
from libra_opt.lookahead.routes import Journey, Route
from libra_opt.lookahead.rows import Shared, shared_rows_of
from libra_opt.lookahead.spans import Span, spans_of
from libra_opt.solvers.solution import Limits, Solution

__all__ = ["Outlook", "look_ahead"]

_FEW_CELLS: Final = 2_000
_FEW_ROUTES: Final = 20_000
"""Up to so many cells and routes all routes are looked at."""

_PAIRS: Final = 2_000_000
"""About how many pairs of ways, over jobs and periods, are compared per unit of effort."""

_NUMBERS: Final = 100_000_000
"""About how many numbers may be held of what ways use of the shared rows."""

_LEAST_WAYS, _MOST_WAYS = 8, 400
_SWEEPS, _NODES, _NEAR = 4, 50, 12
_ROUNDS, _LEAST_ROUNDS = 320, 8
"""Rounds of column generation: at most 40, and so many divided by the periods, as those of long horizons are dear; at least the second."""
_EXACT_NODES: Final = 100_000


@dataclass(frozen=True)
class Outlook:
    """A plan of several periods.

    Attributes
    ----------
    choice
        The first period, as a choice of the program it was solved with.
    spans, journeys
        The periods, and what every job can do in them.
    routes
        What every job does.
    bound
        No plan of all periods that is no worse in tiers 1 to 3 of the first is worth more.
    """

    choice: Choice
    spans: tuple[Span, ...]
    journeys: tuple[Journey, ...]
    routes: tuple[Route, ...]
    bound: float


def look_ahead(state: State, ledger: Ledger, solution: Solution) -> tuple[Outlook | None, str]:
    """Plan `options.lookahead` periods together.

    Parameters
    ----------
    ledger
        The state in whole quanta, forecasts entered.
    solution
        The first period, solved by itself.

    Returns
    -------
    tuple
        The plan, or None where the effort allows for one period only; and where fewer periods are planned than were asked for, a sentence that says so.
    """
    n, most = _affordable(state, solution)
    asked = state.options.lookahead
    told = "" if n == asked else f"{n} of {asked} periods are planned together, as the effort allows no more; raise options.effort or lower options.lookahead"
    if n < 2:
        return None, told
    spans = spans_of(state, ledger, solution, n)
    journeys, is_whole = _journeys(state, ledger, spans, solution.choice, most)
    first = [_row(journey, solution) for journey in journeys]
    begin = _followed(journeys, solution, first, n)
    bound = np.inf
    if is_whole and sum(journey.n_routes for journey in journeys) <= _FEW_ROUTES:
        routes, known = _best_of_all(journeys, solution, begin)
    else:
        routes, known, bound = _searched(journeys, spans, solution, begin, first, state.options.gap)
    bound = min(bound, sum(span.weight * span.bound for span in spans))
    bound = min(bound, known) if is_whole and _is_complete(journeys, spans) else bound
    choice = _choice(journeys, routes, solution)
    if not _is_kept(solution.program.score(choice), solution.score):
        choice, routes = solution.choice, begin.routes
    return Outlook(choice, spans, tuple(journeys), tuple(routes), bound), told


def _journeys(state: State, ledger: Ledger, spans: tuple[Span, ...], choice: Choice, most: int) -> tuple[list[Journey], bool]:
    """Return the journeys of all jobs, and whether nothing was left out of them."""
    programs = [span.program for span in spans]
    if all(program.bundles.is_whole for program in programs) and sum(program.n_cells for program in programs) <= _FEW_CELLS:
        journeys = journeys_of(state, ledger, spans, choice, WHOLE)
        if all(len(value) <= min(most, WHOLE) for journey in journeys for value in journey.value):
            return journeys, True
    return journeys_of(state, ledger, spans, choice, most), False


def _affordable(state: State, solution: Solution) -> tuple[int, int]:
    """Return how many periods and how many ways of a job in each the effort allows."""
    n_jobs, n = max(1, solution.program.n_jobs), state.options.lookahead
    n_limits = max(1, len(state.ledger.pools) + len(state.ledger.queues)) * state.ledger.n_resources

    def ways(periods: int) -> float:
        return float(min(np.sqrt(_PAIRS * state.options.effort / (n_jobs * periods)), _NUMBERS / (n_jobs * periods * periods * n_limits)))

    while n > 1 and ways(n) < _LEAST_WAYS:
        n -= 1
    return n, int(np.clip(ways(n), _LEAST_WAYS, _MOST_WAYS))


def _row(journey: Journey, solution: Solution) -> int:
    """Return the way of the first period that a job takes in the period's own plan."""
    program = solution.program
    cells = solution.choice[int(program.first_stage[journey.job]) : int(program.first_stage[journey.job + 1])]
    if (cells < 0).any():
        return 0
    ways = journey.holdings[0]
    same = (ways.pool == program.cell_pool[cells]).all(axis=1) & (ways.amount == program.bundles.amount[cells]).all(axis=(1, 2))
    return int(same.argmax()) + 1


def _followed(journeys: Sequence[Journey], solution: Solution, first: Sequence[int], n: int) -> Board:
    """Return the first period's own plan with what follows it best, job by job."""
    board = Board(solution.program, journeys, [(row,) + (0,) * (n - 1) for row in first], solution.score)
    order = np.lexsort((np.arange(len(journeys)), -solution.program.worth)).tolist()
    for _ in range(2):
        for j in order:
            board.answer(j, first=first[j])
    return board


def _best_of_all(journeys: Sequence[Journey], solution: Solution, begin: Board) -> tuple[Sequence[Route], float]:
    """Return the best choice among all routes, and what none of them passes."""
    if not journeys:
        return (), 0.0
    every = [list(product(*(range(len(value)) for value in journey.value))) for journey in journeys]
    master = Master.of(solution.program, journeys, _rows(journeys, solution))
    routes, is_proven = pick(master, every, begin.routes, _EXACT_NODES, 0.0)
    return routes, Board(solution.program, journeys, routes, solution.score).value if is_proven else np.inf


def _rows(journeys: Sequence[Journey], solution: Solution) -> Shared:
    return shared_rows_of(solution.program, journeys, solution.score, len(journeys[0].value))


def _searched(
    journeys: Sequence[Journey], spans: Sequence[Span], solution: Solution, begin: Board, first: Sequence[int], gap: float
) -> tuple[Sequence[Route], float, float]:
    """Return the best choice of routes found by column generation, rounding and best answers, what no choice of them passes, and what no plan passes."""
    better = Board(solution.program, journeys, begin.routes, solution.score)
    better.improve(_SWEEPS)
    master = Master.of(solution.program, journeys, _rows(journeys, solution))
    mixed = mix(
        master, [{one, other} for one, other in zip(begin.routes, better.routes, strict=True)], gap / 2, min(40, max(_LEAST_ROUNDS, _ROUNDS // len(spans)))
    )
    best = max(begin, better, key=_value)
    for routes in (rounded_down(master, mixed), rounded_down(master, mixed, first)):
        best = max(best, _improved(journeys, solution, routes), key=_value)
    routes, _ = pick(master, near_routes(master, mixed, _NEAR), best.routes, _NODES, gap / 2)
    best = max(best, _improved(journeys, solution, routes), key=_value)
    return best.routes, mixed.bound, bound_whole(master, mixed, spans, Limits.of(solution.score))


def _improved(journeys: Sequence[Journey], solution: Solution, routes: Sequence[Route]) -> Board:
    board = Board(solution.program, journeys, routes, solution.score)
    if board.holds:
        board.improve(_SWEEPS)
    return board


def _value(board: Board) -> float:
    return board.value if board.holds else -np.inf


def _is_complete(journeys: Sequence[Journey], spans: Sequence[Span]) -> bool:
    """Tell whether no plan at all is better than the best choice of these routes: jobs of one stage, with one charge for whatever is costly to change.

    Between two changes such a job holds the most that one of the periods asks for of the one compressible resource that is costly to change, and of memory the
    most that any of them needs; both are among its ways.
    """
    tables = spans[0].program.tables
    if len(tables.stage) != len(journeys) or any(tables.profiles):
        return False
    charges = tables.resize_ms
    one_charge = (charges == np.where(charges > 0, charges.max(axis=1, keepdims=True), 0)).all()
    return bool(one_charge and ((charges > 0) & tables.compressible).sum(axis=1).max(initial=0) <= 1)


def _choice(journeys: Sequence[Journey], routes: Sequence[Route], solution: Solution) -> Choice:
    choice = solution.program.nothing.copy()
    first = solution.program.first_stage
    for journey, route in zip(journeys, routes, strict=True):
        if route[0]:
            choice[int(first[journey.job]) : int(first[journey.job + 1])] = journey.holdings[0].cells[route[0] - 1]
    return choice


def _is_kept(score: Score, limits: Score) -> bool:
    """Tell whether tiers 1 to 3 are no worse than they were."""
    pairs = ((score.lost, limits.lost), (score.over_seconds, limits.over_seconds), (score.shortfall, limits.shortfall))
    return all(number <= limit + TIE_TOLERANCE * max(1e-6, abs(limit)) for number, limit in pairs)
