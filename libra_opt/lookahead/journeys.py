"""The journeys of all jobs: their holdings in every period, found with the help of prices, and everything about them that a search reads."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.shadow import Prices
from libra_opt.formulation.ways import cards_for
from libra_opt.lookahead.holdings import Holdings, Served, held_on, one_of_each, priced_use
from libra_opt.lookahead.routes import Journey
from libra_opt.lookahead.spans import Span
from libra_opt.solvers.columns import near_best
from libra_opt.solvers.lagrangian import price_out
from libra_opt.solvers.solution import Limits

__all__ = ["WHOLE", "journeys_of"]

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]
_Indices = npt.NDArray[np.intp]

WHOLE = 3_000
"""Asked for so many ways of a job in a period, all there are are given, where they are fewer."""

_SCALES = (1.0, 0.5, 2.0)
"""The ways taken are the best at the period's own prices times each of these."""

_ANYTHING = 1e300
_LARGE = 1 << 62


def journeys_of(state: State, ledger: Ledger, spans: tuple[Span, ...], choice: Choice, most: int) -> list[Journey]:
    """Return the journeys of all jobs, in canonical order.

    Parameters
    ----------
    choice
        A choice of the first period whose ways are there in any case.
    most
        Most ways of a job in a period, `WHOLE` for all.
    """
    fresh = [_fresh(spans[0], choice, most)]
    for before, span in pairwise(spans):
        fresh.append(fresh[-1] if before.program is span.program else _fresh(span, None, most))
    return [_journey(state, ledger, spans, j, [ways[j] for ways in fresh], most) for j in range(spans[0].program.n_jobs)]


def _fresh(span: Span, choice: Choice | None, most: int) -> list[Holdings]:
    """Return the ways of every job at the levels of a period's program."""
    program = span.program
    slack = np.full(program.n_jobs, np.inf)
    scales = (1.0,) if most == WHOLE else _SCALES
    share = -(-most // len(scales)) if most == WHOLE else max(2, most // (2 * len(scales)))
    found = []
    for scale in scales:
        priced = price_out(program, _scaled(span.prices, scale), Limits(_ANYTHING, _ANYTHING, 0.0))
        columns = near_best(program, priced, slack, choice, share)
        runs = columns.cells[:, 0] >= 0
        found.append((columns.job[runs], columns.cells[runs]))
    job, cells = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(job, kind="stable")
    first = np.searchsorted(job[order], np.arange(program.n_jobs + 1))
    n_stages = np.diff(program.first_stage)
    ways = []
    for j in range(program.n_jobs):
        of_job = cells[order[first[j] : first[j + 1]], : n_stages[j]]
        pool, amount = program.cell_pool[of_job], program.bundles.amount[of_job]
        ways.append(one_of_each([Holdings(pool, amount, of_job if choice is not None else np.full_like(of_job, -1))]))
    return ways


def _scaled(prices: Prices, scale: float) -> Prices:
    return Prices(prices.pool * scale, prices.ceiling * scale, prices.guarantee * scale, prices.reserve * scale, prices.ms * scale, 0.0)


def _journey(state: State, ledger: Ledger, spans: tuple[Span, ...], j: int, fresh: list[Holdings], most: int) -> Journey:
    program = spans[0].program
    held = one_of_each([*fresh, *_holds_now(program, j)])
    if most == WHOLE:
        held = _joined(spans, j, held)
    ways = [fresh[0]]
    for t, (span, own) in enumerate(zip(spans[1:], fresh[1:], strict=True), 1):
        if span.program is spans[t - 1].program:
            ways.append(ways[-1])
            continue
        served = Served(span, j)
        price = span.program.worth[j] * served.service(own) - _use(span, j, own)
        every = one_of_each([own, held_on(served, own, replace_cells(held), price, is_whole=most == WHOLE)])
        ways.append(_best(span, j, every, most))
    asked = state.jobs[int(program.job_order[j])]
    left = asked.remaining_work or asked.remaining or np.inf
    service = [Served(span, j).service(own) for span, own in zip(spans, ways, strict=True)]
    use = [_use_by_pool(own, len(ledger.pools)) for own in ways]
    return Journey(
        job=j,
        holdings=tuple(ways),
        service=tuple(_waiting(share) for share in service),
        value=tuple(_waiting(span.weight * span.program.worth[j] * share) for span, share in zip(spans, service, strict=True)),
        progress=tuple(_waiting(float(span.progress[j]) * share) for span, share in zip(spans, service, strict=True)),
        charge=tuple(_charges(state, spans, j, ways)),
        ms=np.append(program.wait_ms[j], program.cell_ms[ways[0].cells].sum(axis=1)),
        use=tuple(use),
        queued=tuple(used.sum(axis=1) for used in use),
        left=float(left),
    )


def replace_cells(holdings: Holdings) -> Holdings:
    """Return the ways without the cells they came from."""
    return replace(holdings, cells=np.full_like(holdings.cells, -1))


def _waiting(numbers: _Floats) -> _Floats:
    return np.append(0.0, numbers)


def _holds_now(program: Program, j: int) -> list[Holdings]:
    """Return what a job holds now, if it runs."""
    tables, stages = program.tables, slice(int(program.first_stage[j]), int(program.first_stage[j + 1]))
    if not tables.holds[stages].all():
        return []
    pool = tables.here[stages][None, :]
    return [Holdings(pool, tables.held[stages][None], np.full_like(pool, -1))]


def _joined(spans: tuple[Span, ...], j: int, held: Holdings) -> Holdings:
    """Add what is held with as much memory as the needs of other periods ask for, on the cards that carry it (R9)."""
    tables = spans[0].program.tables
    stages = slice(int(tables.first_stage[j]), int(tables.first_stage[j + 1]))
    found = [held]
    for need in {span.program.tables.need[stages].tobytes(): span.program.tables.need[stages] for span in spans}.values():
        unit = tables.unit[stages]
        amount = np.maximum(held.amount, need + (-need) % unit)
        if tables.memory >= 0:
            for i in range(amount.shape[1]):
                cards = cards_for(amount[:, i, tables.memory], tables.card_ratio[held.pool[:, i]], np.full(len(amount), unit[i, tables.card]))
                amount[:, i, tables.card] = np.where(cards < 0, _LARGE, np.maximum(amount[:, i, tables.card], cards))
        found.append(Holdings(held.pool, amount, held.cells))
    return one_of_each(found)


def _best(span: Span, j: int, ways: Holdings, most: int) -> Holdings:
    """Return the best of too many ways: half of them at the period's own prices, the others evenly among the rest."""
    if len(ways) <= most:
        return ways
    gain = span.program.worth[j] * Served(span, j).service(ways) - _use(span, j, ways)
    order = np.argsort(-gain, kind="stable")
    half = most - most // 2
    rest = order[half:]
    return ways.take(np.sort(np.append(order[:half], rest[:: -(-len(rest) // (most - half))])))


def _use(span: Span, j: int, ways: Holdings) -> _Floats:
    program = span.program
    return priced_use(span.prices, program, int(program.queue[j]), ways)


def _use_by_pool(ways: Holdings, n_pools: int) -> _Ints:
    n, n_stages, n_resources = ways.amount.shape
    use = np.zeros((n + 1, n_pools, n_resources), dtype=np.int64)
    row = np.arange(1, n + 1)
    for i in range(n_stages):
        np.add.at(use, (row, ways.pool[:, i]), ways.amount[:, i])
    return use


def _charges(state: State, spans: tuple[Span, ...], j: int, ways: list[Holdings]) -> list[_Floats]:
    """R11: return what going from one way to the next costs, in discounted value."""
    program, asked = spans[0].program, state.jobs[int(spans[0].program.job_order[j])]
    first = np.append(program.wait_ms[j], program.cell_ms[ways[0].cells].sum(axis=1))
    charges = [program.per_ms[j] * first[None, :]]
    tables = program.tables
    stay_ms = 0.0 if asked.preemptible else 1000.0 * state.period.seconds * state.options.hold_periods * len(spans)
    for t in range(1, len(spans)):
        before, after = ways[t - 1], ways[t]
        ms = np.zeros((len(before) + 1, len(after) + 1))
        runs = before.amount.any(axis=(1, 2))
        ms[1:, 0] = np.where(runs, tables.evict_ms[j] + stay_ms, 0.0)
        for i in range(before.pool.shape[1]):
            holds = np.logical_or.reduce(before.amount[:, i] > 0, axis=1)[:, None]
            stays = before.pool[:, i, None] == after.pool[None, :, i]
            resized = np.zeros(stays.shape)
            for r in np.flatnonzero(tables.resize_ms[j]).tolist():
                differs = before.amount[:, i, r, None] != after.amount[None, :, i, r]
                np.maximum(resized, tables.resize_ms[j, r] * differs, out=resized)
            ms[1:, 1:] += holds * np.where(stays, resized, tables.migrate_ms[j])
        charges.append(spans[t].weight * spans[t].program.per_ms[j] * ms)
    return charges
