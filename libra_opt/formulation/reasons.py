"""Why each job got what it got, read off the rules and the rows that are full.

What decides is looked up for all jobs at once, in arrays; per job there is only the sentence to write, and equal ones are written once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Action, Binding, Reason
from libra_opt.domain.queue_tree import way_up
from libra_opt.domain.trusted import maker
from libra_opt.formulation import kueue
from libra_opt.formulation.limits import is_kept_back, own_limits
from libra_opt.formulation.money import AT_COST, Money
from libra_opt.formulation.program import Choice, Program, Usage
from libra_opt.formulation.room import Room
from libra_opt.formulation.runs import first_least, spans
from libra_opt.formulation.wanted import Valued, Wishes, wishes
from libra_opt.formulation.written import Written

__all__ = ["explain"]

_Indices = npt.NDArray[np.intp]
_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
_Binds = tuple[str, str | None, str | None, str | None]
"""Rule, pool, queue and resource of a binding."""


_Told = tuple[str, str, str | None, _Binds | None]
"""Code, message, Kueue's word and binding of a reason; equal ones are written once."""

_MOVED: dict[Action, str] = {
    "admit": "admitted",
    "keep": "keeps what it has",
    "grow": "grows",
    "shrink": "gives up what others use better or it cannot use",
    "reshape": "trades one resource for another",
    "migrate": "moves to a pool where it is served better",
}

_FULL = 1 - 1e-9
"""A job served so far is served in full."""

_ENOUGH = 1e300
"""What is left where nothing is limited."""

_HAIR = 1e-6

_NOTHING: _Told = ("", "", None, None)

AT_BUDGET: _Binds = ("R12", None, None, None)

_MOST_NAMED = 100
"""Of the rows that hold a job down so many are named."""


@dataclass(frozen=True)
class _Outcome:
    """What all reasons are read off: a choice, what it uses of the shared rows and leaves of the pools, and how amounts are written."""

    ledger: Ledger
    program: Program
    choice: Choice
    actions: Sequence[Action]
    usage: Usage
    left: _Floats
    written: Written
    wished_ms: _Floats
    is_worth_it: _Flags
    room: Room


def explain(
    ledger: Ledger, program: Program, choice: Choice, actions: Sequence[Action], service: _Floats, written: Written, valued: Valued | None = None
) -> list[Reason]:
    """Return one reason per job, in canonical order.

    Parameters
    ----------
    actions, service
        What the plan does to each job and the service it reaches, both in canonical order; `service` has shape ``(n_jobs,)``.
    written
        Writes the amounts of the ledger's resources.
    valued
        Shadow prices and levels at them; without them no reason says what a job would rather have.
    """
    usage, runs = program.usage(choice), program.runs(choice)
    is_full, is_most = service >= _FULL, service >= program.peak - 1e-9
    held_down, waiting = np.flatnonzero(runs & ~is_full & ~is_most), np.flatnonzero(~runs)
    has_level = program.bundles.first_level[waiting] < program.bundles.first_level[waiting + 1]
    wished = wishes(program, choice, service, valued, np.sort(np.concatenate([held_down, waiting[has_level]]))) if valued is not None else None
    outcome = _Outcome(
        ledger,
        program,
        choice,
        actions,
        usage,
        _left(program, usage),
        written,
        _wished_ms(program, wished),
        _is_worth_it(program, wished, valued),
        Room(program, choice, usage),
    )
    full: dict[Action, _Told] = {action: ("fully_served", f"{did}: served in full", None, None) for action, did in _MOVED.items()}
    told = [full.get(action, _NOTHING) for action in actions]
    at_most = np.flatnonzero(runs & ~is_full & is_most)
    for jobs, found in (
        (at_most, _at_own_limit(outcome, at_most, service)),
        (held_down, _held_down(outcome, held_down, service)),
        (waiting[has_level], _crowded_out(outcome, waiting[has_level])),
        (waiting[~has_level], _too_large(outcome, waiting[~has_level])),
    ):
        for job, one in zip(jobs.tolist(), found, strict=True):
            told[job] = one
    return _reasons(told, wished)


def _left(program: Program, usage: Usage) -> _Floats:
    """Return what is left of the pools, also what is too little for a whole unit of anybody; the column of the cost (R16) is nothing that a pool limits."""
    n = program.limits.capacity.shape[1]
    left = np.full_like(usage.pool, _ENOUGH)
    left[:, :n] = np.maximum(0.0, program.limits.capacity / program.scale[:n] - usage.pool[:, :n])
    return left


def _wished_ms(program: Program, wished: Wishes | None) -> _Floats:
    """Return the charges of what every job would rather have beyond those of the plan, 0 where that is not known, shape ``(n_jobs,)``."""
    ms = np.zeros(program.n_jobs)
    if wished is not None:
        ms[wished.job] = wished.ms
    return ms


def _is_worth_it(program: Program, wished: Wishes | None, valued: Valued | None) -> _Flags:
    """Return whether what a job would rather have brings more than it takes from others, were there no budget of moves, shape ``(n_jobs,)``."""
    is_so = np.zeros(program.n_jobs, dtype=np.bool_)
    if wished is not None and valued is not None:
        price = wished.price - valued.prices.ms * wished.ms
        is_so[wished.job] = wished.value > price + _HAIR * np.maximum(np.abs(wished.value), np.abs(price))
    return is_so


def _reasons(told: Sequence[_Told], wished: Wishes | None) -> list[Reason]:
    """Return the reasons; jobs of which the same is told share one, unless they would rather have something."""
    known: dict[_Binds | None, Binding] = {}
    shared: dict[tuple[str, str | None, _Binds | None], Reason] = {}
    none = (None, None, None)
    wants: list[tuple[float | None, float | None, float | None]] = [none] * len(told)
    bound, made = maker(Binding), maker(Reason)
    if wished is not None:
        wanted = zip(wished.service.tolist(), wished.value.tolist(), wished.price.tolist(), strict=True)
        for job, one in zip(wished.job.tolist(), wanted, strict=True):
            wants[job] = one
    reasons = []
    for (code, message, word, binds), want in zip(told, wants, strict=True):
        reason = shared.get((message, word, binds)) if want is none else None
        if reason is None:
            binding = known.get(binds)
            if binding is None and binds is not None:
                rule, pool, queue, resource = binds
                binding = known[binds] = bound({"rule": rule, "pool": pool, "queue": queue, "resource": resource})
            fields = {
                "code": code,
                "message": message,
                "kueue_reason": word,
                "binding": binding,
                "wanted_service": want[0],
                "wanted_value": want[1],
                "wanted_price": want[2],
            }
            reason = made(fields)
            if want is none:
                shared[message, word, binds] = reason
        reasons.append(reason)
    return reasons


def _shares(outcome: _Outcome, jobs: _Indices, service: _Floats) -> Iterator[str]:
    """Say what is done to jobs that run, and how far they are served."""
    return (f"{_MOVED[outcome.actions[job]]}: {share:.0%} of its demand is served" for job, share in zip(jobs.tolist(), service[jobs].tolist(), strict=True))


def _at_own_limit(outcome: _Outcome, jobs: _Indices, service: _Floats) -> Iterator[_Told]:
    """Say that jobs have the most that they can use, and which limit of their own that is."""
    ledger = outcome.ledger
    for share, (rule, k, r) in zip(_shares(outcome, jobs, service), own_limits(outcome.program, outcome.choice, jobs), strict=True):
        binds: _Binds = (rule, ledger.pools[k] if rule == "R1" else None, None, ledger.resources[r].name if rule in ("R1", "R3") else None)
        yield "own_limit", f"{share}, the most that its max_quota, its curve and the size of the pools allow", None, binds


def _held_down(outcome: _Outcome, jobs: _Indices, service: _Floats) -> Iterator[_Told]:
    """Say why jobs that run are not served better."""
    ledger, program = outcome.ledger, outcome.program
    capped = program.shared.ceiling <= outcome.usage.queue
    named = {
        q: (
            f"queue {ledger.queues[q]!r} is at its ceiling of {', '.join(_names(ledger, capped[q]))}",
            ("R10", None, ledger.queues[q], _names(ledger, capped[q])[0]),
        )
        for q in np.flatnonzero(capped.any(axis=1)).tolist()
        if q < len(ledger.queues)
    }
    at_ceiling = {q: named[above] for q in range(len(ledger.queues)) for above in reversed(way_up(ledger.parent, q)) if above in named}
    kept_back = is_kept_back(program.shared, outcome.usage.queue, np.zeros_like(outcome.usage.queue))
    growth = _growth(outcome, jobs)
    dear = _dear(outcome, jobs, growth)
    known: dict[tuple[int, ...], tuple[str, _Binds | None]] = {(): ("", None)}
    rows_of, needed_ms = _full_rows(outcome, jobs, growth)
    of_jobs = zip(jobs.tolist(), _shares(outcome, jobs, service), program.queue[jobs].tolist(), rows_of, needed_ms, dear, strict=True)
    for job, share, queue, rows, needed, more in of_jobs:
        full = known.get(rows)
        if full is None:
            row = min(rows)
            binds = ("R1", ledger.pools[row // ledger.n_resources], None, ledger.resources[row % ledger.n_resources].name)
            full = known[rows] = (_listed(ledger, rows), binds)
        if full[0] and needed is not None:
            yield "preemption_budget", f"{share}; more would need {full[0]}; {_of_budget(outcome, needed)}", kueue.WAITING, AT_BUDGET
        elif full[0]:
            yield "partly_served", f"{share}; more would need {full[0]}, which others use better", kueue.WAITING, full[1]
        elif queue in at_ceiling:
            ceiling, in_queue = at_ceiling[queue]
            yield "queue_ceiling", f"{share}; {ceiling}", kueue.WAITING, in_queue
        elif more:
            yield "cost_ceiling", f"{share}; {more}", kueue.WAITING, AT_COST
        elif kept_back[queue].any():
            yield _reserved(ledger, f"{share}; what", kept_back[queue])
        else:
            spent = ", or the budget of moves is spent" if np.isfinite(outcome.room.left_ms) and not outcome.wished_ms[job] else ""
            yield _unmoved(outcome, job, f"{share}; ", "move_not_worth_it", f"the gain of changing what it holds does not beat the cost{spent}")


def _reserved(ledger: Ledger, begin: str, is_kept: _Flags) -> _Told:
    names = _names(ledger, is_kept)
    return ("reserved", f"{begin} is left of {', '.join(names)} is kept by queues that do not lend it", kueue.WAITING, ("R10", None, None, names[0]))


def _moving(outcome: _Outcome, job: int) -> _Binds | None:
    """Return which rule keeps a job from moving: the budget where its wish would pass it, else the charge, where moving it costs anything."""
    ms, budget = float(outcome.wished_ms[job]), outcome.program.shared.budget_ms
    if ms > 0 and outcome.usage.ms + ms > budget and outcome.is_worth_it[job]:
        return AT_BUDGET
    return ("R11", None, None, None) if ms > 0 else None


class _Growth(NamedTuple):
    """The next level of running jobs, stage by stage, in the pools they sit in: the job's place in a list, the cell that it holds and the one it would hold."""

    owner: _Indices
    held: _Indices
    wanted: _Indices


def _growth(outcome: _Outcome, jobs: _Indices) -> _Growth:
    """Return what growing to their next level takes of jobs; a stage without a way there in its pool is left out."""
    program, bundles = outcome.program, outcome.program.bundles
    first, last = program.first_stage[jobs], program.first_stage[jobs + 1]
    level = program.cell_level[outcome.choice[first]] + 1
    has_next = level < bundles.first_level[jobs + 1]
    stage, starts = spans(first, np.where(has_next, last, first))
    owner = np.repeat(np.arange(len(jobs)), np.where(has_next, last - first, 0))
    cell = outcome.choice[stage]
    pool = program.cell_pool[cell]
    slot = bundles.first_slot[level[owner]] + np.arange(len(stage)) - starts[owner]
    above, begins = spans(bundles.first_cell[slot], bundles.first_cell[slot + 1])
    is_here = program.cell_pool[above] == np.repeat(pool, bundles.first_cell[slot + 1] - bundles.first_cell[slot])
    best = np.maximum.reduceat(np.where(is_here, above, -1), begins) if len(begins) else above
    grows = np.flatnonzero(best >= 0)
    return _Growth(owner[grows], cell[grows], best[grows])


def _dear(outcome: _Outcome, jobs: _Indices, growth: _Growth) -> list[str]:
    """R16: say, per running job, what its next level costs that the ceiling does not leave; nothing where it does."""
    if not outcome.program.is_cost_limited:
        return [""] * len(jobs)
    amount, money = outcome.program.amount[:, -1], Money(outcome.ledger, outcome.program, outcome.usage)
    more = np.bincount(growth.owner, amount[growth.wanted] - amount[growth.held], len(jobs)).tolist()
    return [f"more would cost {money.written(each)} per hour, and {money.left_of_ceiling}" if each > money.left else "" for each in more]


def _full_rows(outcome: _Outcome, jobs: _Indices, growth: _Growth) -> tuple[list[tuple[int, ...]], list[float | None]]:
    """Return, per running job, the rows (pool x n_resources + resource) that its next level, in the pools it sits in, would overrun.

    With them, where only the budget stands against making room in the first of these rows, the milliseconds that this takes (see `Room`).
    """
    program, n = outcome.program, outcome.ledger.n_resources
    more, pool = program.amount[growth.wanted] - program.amount[growth.held], program.cell_pool[growth.held]
    row, resource = np.nonzero(more[:, :n] > outcome.left[pool, :n])
    of_job, rows = growth.owner[row], pool[row] * n + resource
    lacks = (more[:, :n] - outcome.left[pool, :n])[row, resource]
    level = program.level(outcome.choice)[jobs]
    gain = np.diff(np.append(program.gain, 0.0))[level] if len(program.gain) else np.zeros(len(jobs))
    own_ms = np.bincount(growth.owner, program.cell_ms[growth.wanted] - program.cell_ms[growth.held], len(jobs)).tolist()
    found: list[tuple[int, ...]] = []
    needed: list[float | None] = []
    listed, lacking = rows.tolist(), lacks.tolist()
    for j, (begin, end) in enumerate(pairwise(np.searchsorted(of_job, np.arange(len(jobs) + 1)).tolist())):
        found.append(tuple(listed[begin:end]))
        if begin == end:
            needed.append(None)
            continue
        first = min(range(begin, end), key=listed.__getitem__)
        needed.append(outcome.room.needed_ms(listed[first] // n, listed[first] % n, lacking[first], float(gain[j]), own_ms[j]))
    return found, needed


def _listed(ledger: Ledger, rows: tuple[int, ...]) -> str:
    n = ledger.n_resources
    full = sorted({f"{ledger.resources[row % n].name} in {ledger.pools[row // n]}" for row in rows})
    return ", ".join([*full[:_MOST_NAMED], *([f"{len(full) - _MOST_NAMED} more"] if len(full) > _MOST_NAMED else [])])


def _crowded_out(outcome: _Outcome, jobs: _Indices) -> Iterator[_Told]:
    """Say why jobs wait that could run in an empty cluster: what the stage that fits worst lacks in the pool that comes closest."""
    ledger, program, bundles, left = outcome.ledger, outcome.program, outcome.program.bundles, outcome.left
    level = _least_level(program, jobs)
    slots, first_slot = spans(bundles.first_slot[level], bundles.first_slot[level + 1])
    cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    pool = program.cell_pool[cells]
    missing = np.maximum(0.0, program.amount[cells] - left[pool])
    share = missing / np.where(program.shared.capacity > 0, program.shared.capacity, 1.0)[pool]
    short = share.sum(axis=1)
    easiest = first_least(short, first_cell)
    worst = first_least(-short[easiest], first_slot)
    cell = easiest[worst]
    use = _with_cost_where_there_is_room(program, cells, short)
    least = np.minimum.reduceat(use, first_cell, axis=0) if len(cells) else use
    asked = np.add.reduceat(least, first_slot, axis=0) if len(jobs) else least
    queue = program.queue[jobs]
    kept_back = is_kept_back(program.shared, outcome.usage.queue, asked, queue)
    scarcest = share[cell].argmax(axis=1) if len(jobs) else jobs
    lacks = missing[cell, scarcest]
    pressed = _Pressed(outcome, _is_fragmented(outcome, cells, first_cell, worst, program.amount[cells[cell]]))
    capped = _capped(outcome, queue, asked)
    pieces = _lacking(outcome, cells[cell], missing[cell] > 0)
    is_kept = np.asarray(kept_back.any(axis=1)).tolist()
    where = zip(pool[cell].tolist(), scarcest.tolist(), lacks.tolist(), strict=True)
    of_jobs = zip(jobs.tolist(), (program.lost[jobs] > 0).tolist(), pieces, where, program.gain[level].tolist(), capped, strict=True)
    for i, (job, is_protected, lacking, (k, r, lack), gain, over) in enumerate(of_jobs):
        is_evicted = outcome.actions[job] == "evict"
        did = _refused(outcome.actions[job], is_protected=is_protected) if is_evicted or is_protected else "waits"
        if lacking:
            yield pressed.told(i, job, f"{did}: needs at least {lacking} in {ledger.pools[k]}", (k, r, lack), gain)
        elif over is not None:
            code, why, word, binds = over
            instead = kueue.IN_QUEUE if code == "queue_ceiling" else None
            yield (
                "shed" if code == "cost_ceiling" and is_protected else code,
                f"{did}: {why}",
                instead if is_evicted and word == kueue.WAITING else word,
                binds,
            )
        elif is_kept[i]:
            yield _reserved(ledger, f"{did}: it would fit, but what", kept_back[i])
        else:
            why = "it would fit, but what is left is reserved for a queue's guarantee, or running it adds no value"
            yield _unmoved(outcome, job, f"{did}: ", "no_gain", why)


def _least_level(program: Program, jobs: _Indices) -> _Indices:
    """Return the lowest level of every job at which it holds something, its lowest where there is no other; shape ``(n,)``."""
    bundles = program.bundles
    level = bundles.first_level[jobs]
    slots, first_slot = spans(bundles.first_slot[level], bundles.first_slot[level + 1])
    cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    if not len(cells):
        return level
    held = np.add.reduceat(np.minimum.reduceat(program.amount[cells].sum(axis=1), first_cell), first_slot)
    return np.where((held == 0) & (level + 1 < bundles.first_level[jobs + 1]), level + 1, level)


class _Pressed:
    """Says why there is no room for a job: others use the pool better, or took it back, or may not be moved."""

    def __init__(self, outcome: _Outcome, is_fragmented: Sequence[bool]) -> None:
        self._outcome = outcome
        self._is_fragmented = is_fragmented
        self._takers = kueue.takers(outcome.program, outcome.usage) if "evict" in outcome.actions else None

    def told(self, i: int, job: int, begin: str, short: tuple[int, int, float], gain: float) -> _Told:
        """Say it of the `i`-th of the jobs that wait, given what is short (pool, resource, amount) and what its least would bring."""
        ledger, (k, r, _) = self._outcome.ledger, short
        is_protected, is_evicted = bool(self._outcome.program.lost[job] > 0), self._outcome.actions[job] == "evict"
        binds: _Binds = ("R1", ledger.pools[k], None, ledger.resources[r].name)
        word: str | None = kueue.FRAGMENTED if self._is_fragmented[i] else kueue.WAITING
        if is_evicted and self._takers is not None:
            word, owner = self._takers.word(int(self._outcome.program.queue[job]), r)
            binds = ("R10", None, ledger.queues[owner], ledger.resources[r].name) if owner >= 0 and not is_protected else binds
        elif not is_protected:
            needed = self._outcome.room.needed_ms(*short, np.inf if self._is_owed(job, r) else gain)
            if needed is not None:
                return "preemption_budget", f"{begin}; {_of_budget(self._outcome, needed)}", kueue.WAITING, AT_BUDGET
        code = "shed" if is_protected else "evicted" if is_evicted else "no_room"
        return code, f"{begin}, which others use better", word, binds

    def _is_owed(self, job: int, r: int) -> bool:
        """Return whether a job's queue, or one above it, is short of its guarantee of a resource (tier 3), which comes before all value."""
        shared = self._outcome.program.shared
        path = shared.forest.paths[self._outcome.program.queue[job]]
        return bool((self._outcome.usage.queue[path, r] < shared.floor[path, r]).any())


def _of_budget(outcome: _Outcome, needed_ms: float) -> str:
    left = outcome.room.left_ms / 1000
    return f"others bring less with it, but moving them costs about {needed_ms / 1000:g} s, and {left:g} s of the budget of moves are left"


def _unmoved(outcome: _Outcome, job: int, begin: str, code: str, why: str) -> _Told:
    """Say that a job is not moved, by `code` and `why` unless the budget is the reason."""
    binds = _moving(outcome, job)
    if binds != AT_BUDGET:
        return code, f"{begin}{why}", None, binds
    ms = float(outcome.wished_ms[job])
    why = f"moving it costs {ms / 1000:g} s, and {outcome.room.left_ms / 1000:g} s of the budget of moves are left"
    return "preemption_budget", f"{begin}{why}", None, binds


def _capped(outcome: _Outcome, queue: _Indices, asked: _Floats) -> Iterator[_Told | None]:
    """Yield, per waiting job of these queues that asks for so much more, which ceiling it would pass: of its queue, of one above, or of the cost (R10, R16)."""
    ledger, program = outcome.ledger, outcome.program
    money = Money(ledger, program, outcome.usage) if program.is_cost_limited else None
    above = _first_over(outcome, queue, asked)
    ceiling = program.shared.ceiling[above]
    over: _Flags = outcome.usage.queue[above] + asked > ceiling
    is_over, is_alone = (np.asarray(rows.any(axis=1)).tolist() for rows in (over, asked > ceiling))
    for i, q in enumerate(above.tolist()):
        word = kueue.EXCEEDS if is_alone[i] else kueue.WAITING
        if not is_over[i]:
            yield None
        elif money is not None and q == money.row:
            yield "cost_ceiling", f"it costs at least {money.written(asked[i, -1])} per hour, and {money.left_of_ceiling}", word, AT_COST
        else:
            name, names = ledger.queues[q], _names(ledger, over[i])
            yield "queue_ceiling", f"queue {name!r} would pass its ceiling of {', '.join(names)}", word, ("R10", None, name, names[0])


def _with_cost_where_there_is_room(program: Program, cells: _Indices, short: _Floats) -> _Floats:
    """Return what cells use; where the cost is limited (R16), of those for which there is no room nothing that would be the least cost."""
    use = program.amount[cells]
    if program.is_cost_limited:
        use[:, -1] = np.where(short > 0, _ENOUGH, use[:, -1])
    return use


def _is_fragmented(outcome: _Outcome, cells: _Indices, first_cell: _Indices, slot: _Indices, amount: _Floats) -> list[bool]:
    """Return, per job, whether the pools that its worst stage may use have together what no single one has left."""
    if not len(slot) or len(outcome.left) < 2:
        return [False] * len(slot)
    pool = outcome.program.cell_pool[cells]
    ends = np.append(first_cell, len(cells))
    inside, starts = spans(ends[slot], ends[slot + 1])
    is_first = np.diff(pool[inside], prepend=-1) != 0  # the ways of a stage are sorted by pool; two ways into one pool count once
    is_first[starts] = True
    total = np.add.reduceat(outcome.left[pool[inside]] * is_first[:, None], starts, axis=0)
    is_enough: _Flags = np.logical_and.reduce(total >= amount, axis=1)
    return [bool(each) for each in is_enough.tolist()]


def _first_over(outcome: _Outcome, queue: _Indices, asked: _Floats) -> _Indices:
    """Return the lowest queue on each job's way up that would pass its ceiling by so much more; the job's own where none would, shape ``(n,)``."""
    shared = outcome.program.shared
    parent, first, at = shared.forest.parent, np.full(len(queue), -1, dtype=np.intp), queue
    for _ in shared.forest.layers:
        over = (outcome.usage.queue[at] + asked > shared.ceiling[at]).any(axis=1)
        first = np.where((first < 0) & over, at, first)
        at = parent[at]
    over = (outcome.usage.queue[at] + asked > shared.ceiling[at]).any(axis=1)
    return np.where(first >= 0, first, np.where(over, at, queue))


def _lacking(outcome: _Outcome, cells: _Indices, is_short: _Flags) -> Iterator[str]:
    """Yield, per cell, what it needs and what is left of the resources that are short."""
    row, resource = np.nonzero(is_short)
    short, pool = cells[row], outcome.program.cell_pool[cells[row]]
    needed = zip(pool.tolist(), resource.tolist(), outcome.program.amount[short, resource].tolist(), strict=True)
    pieces = list(map(_Pieces(outcome).__getitem__, needed))
    ends = np.searchsorted(row, np.arange(len(cells) + 1)).tolist()
    return (", ".join(pieces[begin:end]) for begin, end in pairwise(ends))


class _Pieces(dict[tuple[int, int, float], str]):
    """What is needed and what is left, by pool, resource and amount needed, as far as it was written before."""

    def __init__(self, outcome: _Outcome) -> None:
        super().__init__()
        self._written, self._scale = outcome.written, outcome.program.scale.astype(np.float64).tolist()
        self._left, self._names = outcome.left.tolist(), [resource.name for resource in outcome.ledger.resources]

    def __missing__(self, key: tuple[int, int, float]) -> str:
        k, r, amount = key
        needed, rest = (self._written.one(r, round(quantity * self._scale[r])) for quantity in (amount, self._left[k][r]))
        piece = self[key] = f"{needed} {self._names[r]} ({rest} left)"
        return piece


def _too_large(outcome: _Outcome, jobs: _Indices) -> Iterator[_Told]:
    """Say why jobs wait that could not run in an empty cluster: name the first stage that fits nowhere, and what it lacks where it comes closest."""
    program = outcome.program
    for job, j, is_protected in zip(jobs.tolist(), program.job_order[jobs].tolist(), (program.lost[jobs] > 0).tolist(), strict=True):
        why, word, binds = _misfit(outcome.ledger, j)
        yield "never_fits", f"{_refused(outcome.actions[job], is_protected=is_protected)}: {why}", word, binds


def _misfit(ledger: Ledger, job: int) -> tuple[str, str, _Binds]:
    for s in ledger.stage_of[job]:
        if s in ledger.profiles:
            if not ledger.fits_alone(s):
                return "no entry of its profile fits into the pool it was measured in", kueue.EXCEEDS, ("R15", None, None, None)
            continue
        shortages = []
        for k, _ in ledger.allowed[s]:
            short = [r for r in range(ledger.n_resources) if max(ledger.lo[s][r], ledger.need[s][r]) > ledger.capacity[k][r]]
            shortages.append((len(short), k, short))
        if not shortages:
            return "there is no pool it may use", kueue.NO_FLAVOR, ("R4", None, None, None)
        count, k, short = min(shortages)
        if count:
            r = short[0]
            resource = ledger.resources[r]
            least = resource.write(max(ledger.lo[s][r], ledger.need[s][r]))
            rule = "R2" if ledger.lo[s][r] > ledger.capacity[k][r] else "R5"
            why = f"it needs at least {least} {resource.name}, and {ledger.pools[k]} has {resource.write(ledger.capacity[k][r])}"
            return why, kueue.EXCEEDS, (rule, ledger.pools[k], None, resource.name)
    rule = "R9" if any(ledger.card_ratio[k] for s in ledger.stage_of[job] for k, _ in ledger.allowed[s]) else "R8"
    return "its quotas, units and memory per card leave no way to run it in any pool it may use", kueue.NO_FLAVOR, (rule, None, None, None)


def _refused(action: Action, *, is_protected: bool) -> str:
    return "is shed though protected" if is_protected else "is evicted" if action == "evict" else "waits"


def _names(ledger: Ledger, is_named: _Flags) -> list[str]:
    return [ledger.resources[r].name for r in np.flatnonzero(is_named).tolist()]
