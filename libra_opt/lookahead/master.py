"""Column generation over routes: the linear program that mixes routes, and the routes that its prices ask for.

The relaxation takes a mixture of routes per job under the shared rows: the configuration LP over whole horizons (Gilmore and Gomory 1961; Desaulniers,
Desrosiers and Solomon, *Column Generation*, 2005). Progress beyond what a job has left is worth nothing: there a column per period counts what is
credited, covered by the mixture and capped over the horizon, so that prices know what a period's progress is still worth. Any prices prove a bound: the
optimum of the mixtures so far, plus what each job's best route would still gain at them (Farley 1990).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from libra_opt.formulation.encode import revalue
from libra_opt.formulation.program import Program
from libra_opt.formulation.utility import linear_utility
from libra_opt.lookahead.finishing import best_finishing_route
from libra_opt.lookahead.routes import Journey, Route, best_route, best_routes, finished_route, worth_of
from libra_opt.lookahead.rows import Shared, route_use
from libra_opt.lookahead.spans import Span
from libra_opt.solvers.found import NOTHING_SPENT
from libra_opt.solvers.highs import Linear, solve_integer
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.solution import Limits

__all__ = ["Master", "Mixed", "bound_whole", "mix", "near_routes", "pick", "rounded_down"]

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Master:
    """What stays the same while routes are generated.

    Attributes
    ----------
    journeys
        Of all jobs.
    shared
        The rows.
    uses
        Of every job and period, what every way uses of every row (see `Shared.use`).
    """

    journeys: Sequence[Journey]
    shared: Shared
    uses: tuple[tuple[_Floats, ...], ...]

    @classmethod
    def of(cls, program: Program, journeys: Sequence[Journey], shared: Shared) -> "Master":
        """Return the master of these journeys."""
        return cls(journeys, shared, tuple(tuple(shared.use(program, journey, t) for t in range(len(journey.value))) for journey in journeys))


@dataclass(frozen=True)
class Mixed:
    """An optimal mixture of routes.

    Attributes
    ----------
    routes, shares
        Of every job, its routes and the share of each.
    bound
        No choice of routes is worth more.
    duals
        The prices that prove it, of the shared rows, shape ``(n_rows,)``.
    credit
        At these, what all of its progress that is left is worth in every period, of every job that can finish, shape ``(n_periods,)``.
    """

    routes: tuple[tuple[Route, ...], ...]
    shares: tuple[_Floats, ...]
    bound: float
    duals: _Floats
    credit: Mapping[int, _Floats]


def mix(master: Master, start: Sequence[set[Route]], gap: float, rounds: int) -> Mixed:
    """Generate routes until the mixture is within `gap` of its bound, relatively, or so many rounds are done.

    Parameters
    ----------
    start
        Routes of every job to begin with; some choice of them must be feasible.
    """
    routes = [sorted(some) for some in start]
    bound, shares = np.inf, [np.zeros(len(some)) for some in routes]
    duals, credit = np.zeros(len(master.shared.high)), dict[int, _Floats]()
    for _ in range(rounds):
        problem = _problem(master, routes)
        optimum = problem.linear.open()
        if not optimum.is_optimal:
            break
        shares = np.split(optimum.columns[: problem.n_routes], np.cumsum([len(some) for some in routes])[:-1])
        gained, found = _priced(master, problem, optimum.duals)
        if optimum.value + gained < bound:
            bound, duals = optimum.value + gained, np.maximum(0.0, optimum.duals[: len(master.shared.high)])
            credit = {j: np.maximum(0.0, optimum.duals[row : row + len(master.uses[j])]) for j, row in problem.capped.items()}
        if bound - optimum.value <= gap * max(abs(bound), 1e-12):
            break
        fresh = [route not in some for route, some in zip(found, routes, strict=True)]
        if not any(fresh):
            break
        for some, route, is_fresh in zip(routes, found, fresh, strict=True):
            if is_fresh:
                some.append(route)
        shares = [np.append(share, np.zeros(len(some) - len(share))) for share, some in zip(shares, routes, strict=True)]
    return Mixed(tuple(tuple(some) for some in routes), tuple(shares), bound, duals, credit)


def bound_whole(master: Master, mixed: Mixed, spans: Sequence[Span], limits: Limits) -> float:
    """Return what the prices of a mixture prove over all ways there are, those that are not among the journeys' included; later changes count as free.

    Parameters
    ----------
    limits
        What the first period may spend of tiers 1 to 3.
    """
    credited = np.array(
        [max(0.0, float((np.array(_rates(master.journeys[j])) * master.journeys[j].left - credit).max())) for j, credit in mixed.credit.items()]
    )
    total = float(credited.sum())
    for t, span in enumerate(spans):
        program, worth = span.program, span.weight * span.program.worth
        if not program.is_exact:
            return np.inf
        for j, credit in mixed.credit.items():
            worth[j] = credit[t] * span.progress[j] / master.journeys[j].left
        prices = master.shared.prices(program, t, mixed.duals)
        total += price_out(revalue(program, linear_utility(worth)), prices, limits if not t else NOTHING_SPENT).bound
    return total


@dataclass(frozen=True)
class _Problem:
    linear: Linear
    n_routes: int
    capped: dict[int, int]
    """Of every job that can finish, the first of its coverage rows; its cap follows them."""


def _problem(master: Master, routes: Sequence[Sequence[Route]]) -> _Problem:
    shared, journeys = master.shared, master.journeys
    n_rows, n_jobs = len(shared.high), len(journeys)
    n_routes = sum(map(len, routes))
    gain, entries = [], []
    capped: dict[int, int] = {}
    first = n_rows + n_jobs
    for j, journey in enumerate(journeys):
        if journey.can_finish:
            capped[j] = first
            first += len(journey.value) + 1
    column = 0
    for j, (journey, some) in enumerate(zip(journeys, routes, strict=True)):
        for route in some:
            use = route_use(master.uses[j], route)
            entries += [(row, column, use[row]) for row in np.flatnonzero(use).tolist()]
            entries.append((n_rows + j, column, 1.0))
            value = _charged(journey, route)
            if j in capped:
                entries += [(capped[j] + t, column, -float(journey.progress[t][row]) / journey.left) for t, row in enumerate(route) if journey.progress[t][row]]
            else:
                value += sum(float(value[row]) for value, row in zip(journey.value, route, strict=True))
            gain.append(value)
            column += 1
    for j, row in capped.items():
        for t, rate in enumerate(_rates(journeys[j])):
            entries += [(row + t, column, 1.0), (row + len(journeys[j].value), column, 1.0)]
            gain.append(rate * journeys[j].left)
            column += 1
    entries += [(row, column + extra, entry) for row, extra, entry in shared.extra]
    gain += [0.0] * shared.n_extra
    high = np.concatenate([shared.high, np.ones(n_jobs), *(np.append(np.zeros(len(journeys[j].value)), 1.0) for j in capped)])
    low = np.full(len(high), -np.inf)
    low[n_rows : n_rows + n_jobs] = 1.0
    table = np.array(entries, dtype=np.float64)
    matrix = sparse.csc_array((table[:, 2], table[:, :2].T.astype(np.int64)), shape=(len(high), len(gain)))
    return _Problem(Linear(np.array(gain), matrix, low, high, np.full(len(gain), np.inf)), n_routes, capped)


def _charged(journey: Journey, route: Route) -> float:
    """Return what the changes of a route cost, as a gain; a job that can finish may leave for nothing, as it does when it has finished."""
    before, cost = 0, 0.0
    for t, row in enumerate(route):
        if row or not (t and journey.can_finish):
            cost += float(journey.charge[t][before, row])
        before = row
    return -cost


def _rates(journey: Journey) -> list[float]:
    """Return the value of progress in every period."""
    rates = []
    for value, progress in zip(journey.value, journey.progress, strict=True):
        best = int(progress.argmax())
        rates.append(float(value[best] / progress[best]) if progress[best] > 0 else 0.0)
    return rates


def _priced(master: Master, problem: _Problem, duals: _Floats) -> tuple[float, list[Route]]:
    """Return what all jobs could still gain at some prices, and every job's best route."""
    n_rows = len(master.shared.high)
    gained, found = 0.0, []
    prices = np.maximum(0.0, duals[:n_rows])
    for j, journey in enumerate(master.journeys):
        first = problem.capped.get(j)
        credit = None if first is None else np.maximum(0.0, duals[first : first + len(journey.value)])
        route, value = best_route(*_at_prices(master, j, prices, credit))
        gained += max(0.0, value - float(duals[n_rows + j]))
        found.append(route)
    return gained, found


def _at_prices(master: Master, j: int, prices: _Floats, credit: _Floats | None) -> tuple[list[_Floats], Sequence[_Floats]]:
    """Return gains and charges of a job at prices of the rows; `credit` is what all that is left is worth in each period, where the job can finish."""
    journey = master.journeys[j]
    worth = journey.value if credit is None else [share * progress / journey.left for share, progress in zip(credit, journey.progress, strict=True)]
    gains = [value - use @ prices for value, use in zip(worth, master.uses[j], strict=True)]
    return gains, journey.charge if credit is None else _free_to_leave(journey)


def near_routes(master: Master, mixed: Mixed, most: int) -> list[list[Route]]:
    """Return, for every job, the routes of a mixture and the best others at its prices, `most` of these."""
    near = []
    for j, known in enumerate(mixed.routes):
        near.append([*known, *best_routes(*_at_prices(master, j, mixed.duals, mixed.credit.get(j)), most)])
    return near


def _free_to_leave(journey: Journey) -> list[_Floats]:
    charges = [charge.copy() for charge in journey.charge]
    for charge in charges[1:]:
        charge[:, 0] = 0.0
    return charges


def pick(master: Master, routes: Sequence[Sequence[Route]], start: Sequence[Route], n_nodes: int, gap: float) -> tuple[list[Route], bool]:
    """Return one route per job, the best choice found, and whether none is better by more than `gap`; the start where nothing better was found."""
    shared, journeys = master.shared, master.journeys
    n_rows = len(shared.high)
    owner, every, gain, uses, begin = [], [], [], [], []
    for j, (journey, some) in enumerate(zip(journeys, routes, strict=True)):
        for route in dict.fromkeys((start[j], *(finished_route(journey, route) for route in some))):
            owner.append(j)
            every.append(route)
            gain.append(worth_of(journey, route))
            uses.append(route_use(master.uses[j], route))
            begin.append(route == start[j])
    n = len(every)
    use = np.array(uses).reshape(n, n_rows)
    chosen = use[np.array(begin)].sum(axis=0)
    column_of, row_of = np.nonzero(use)
    extra, maxima = np.zeros(shared.n_extra), np.array(shared.extra, dtype=np.float64).reshape(-1, 3)
    rows = np.concatenate([row_of, n_rows + np.array(owner), maxima[:, 0].astype(np.intp)])
    columns = np.concatenate([column_of, np.arange(n), n + maxima[:, 1].astype(np.intp)])
    entries = np.concatenate([use[column_of, row_of], np.ones(n), maxima[:, 2]])
    matrix = sparse.csc_array((entries, (rows, columns)), shape=(n_rows + len(journeys), n + shared.n_extra))
    for row, column, entry in shared.extra:
        if entry < 0:
            extra[column] = max(0.0, chosen[row] - shared.high[row])
    low = np.append(np.full(n_rows, -np.inf), np.ones(len(journeys)))
    high = np.append(shared.high, np.ones(len(journeys)))
    linear = Linear(np.append(gain, np.zeros(shared.n_extra)), matrix, low, high, np.append(np.ones(n), np.full(shared.n_extra, np.inf)))
    answer = solve_integer(linear, np.append(np.array(begin, dtype=np.float64), extra), n_nodes, gap, n)
    picked = {owner[i]: every[i] for i in np.flatnonzero(answer.columns).tolist()}
    return [picked.get(j, start[j]) for j in range(len(journeys))], answer.is_proven


def rounded_down(master: Master, mixed: Mixed, first: Sequence[int] | None = None) -> list[Route]:
    """Return one route per job that holds, in every period, at most the mean of the job's mixture: together they keep R1 and R10.

    Parameters
    ----------
    first
        Ways of the first period to take in place of the mixture's, one per job.
    """
    down = []
    for j, (journey, routes, shares) in enumerate(zip(master.journeys, mixed.routes, mixed.shares, strict=True)):
        allowed: list[npt.NDArray[np.bool_]] = []
        for t, use in enumerate(journey.use):
            mean = sum((share * use[route[t]] for route, share in zip(routes, shares, strict=True) if share > 0), np.zeros(use.shape[1:]))
            fits = np.asarray((use <= mean + 1e-6 + 1e-9 * mean).all(axis=(1, 2)))
            allowed.append(fits if t or first is None else np.arange(len(fits)) == first[j])
        if journey.can_finish:
            down.append(best_finishing_route(journey, allowed))
        else:
            down.append(best_route([np.where(ways, value, -np.inf) for ways, value in zip(allowed, journey.value, strict=True)], journey.charge)[0])
    return down
