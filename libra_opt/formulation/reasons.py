"""Why each job got what it got, read off the rules and the rows that are full.

What decides is looked up for all jobs at once, in arrays; per job there is only the sentence to write, and equal ones are written once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Action, Binding, Reason
from libra_opt.domain.queue_tree import way_up
from libra_opt.domain.trusted import maker
from libra_opt.formulation import kueue
from libra_opt.formulation.limits import is_kept_back, own_limits
from libra_opt.formulation.program import Choice, Program, Usage
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

_NOTHING: _Told = ("", "", None, None)

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
    left = np.maximum(0.0, program.limits.capacity / program.scale - usage.pool)  # also what is too little for a whole unit of anybody
    outcome = _Outcome(ledger, program, choice, actions, usage, left, written, _wished_ms(program, wished))
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


def _wished_ms(program: Program, wished: Wishes | None) -> _Floats:
    """Return the charges of what every job would rather have beyond those of the plan, 0 where that is not known, shape ``(n_jobs,)``."""
    ms = np.zeros(program.n_jobs)
    if wished is not None:
        ms[wished.job] = wished.ms
    return ms


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
    }
    at_ceiling = {q: named[above] for q in range(len(ledger.queues)) for above in reversed(way_up(ledger.parent, q)) if above in named}
    kept_back = is_kept_back(program.shared, outcome.usage.queue, np.zeros_like(outcome.usage.queue))
    known: dict[tuple[int, ...], tuple[str, _Binds | None]] = {(): ("", None)}
    for job, share, queue, rows in zip(jobs.tolist(), _shares(outcome, jobs, service), program.queue[jobs].tolist(), _full_rows(outcome, jobs), strict=True):
        full = known.get(rows)
        if full is None:
            row = min(rows)
            binds = ("R1", ledger.pools[row // ledger.n_resources], None, ledger.resources[row % ledger.n_resources].name)
            full = known[rows] = (_listed(ledger, rows), binds)
        if full[0]:
            yield "partly_served", f"{share}; more would need {full[0]}, which others use better", kueue.WAITING, full[1]
        elif queue in at_ceiling:
            ceiling, in_queue = at_ceiling[queue]
            yield "queue_ceiling", f"{share}; {ceiling}", kueue.WAITING, in_queue
        elif kept_back[queue].any():
            yield _reserved(ledger, f"{share}; what", kept_back[queue])
        else:
            why = f"{share}; the gain of changing what it holds does not beat the cost, or the budget of moves is spent"
            yield "move_not_worth_it", why, None, _moving(outcome, job)


def _reserved(ledger: Ledger, begin: str, is_kept: _Flags) -> _Told:
    names = _names(ledger, is_kept)
    return ("reserved", f"{begin} is left of {', '.join(names)} is kept by queues that do not lend it", kueue.WAITING, ("R10", None, None, names[0]))


def _moving(outcome: _Outcome, job: int) -> _Binds | None:
    """Return which rule keeps a job from moving: the budget where its wish would pass it, else the charge, where moving it costs anything."""
    ms, budget = float(outcome.wished_ms[job]), outcome.program.shared.budget_ms
    if ms > 0 and outcome.usage.ms + ms > budget:
        return ("R12", None, None, None)
    return ("R11", None, None, None) if ms > 0 else None


def _full_rows(outcome: _Outcome, jobs: _Indices) -> Iterator[tuple[int, ...]]:
    """Yield, per running job, the rows (pool x n_resources + resource) that its next level, in the pools it sits in, would overrun."""
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
    more = program.amount[best[grows]] - program.amount[cell[grows]]
    row, resource = np.nonzero(more > outcome.left[pool[grows]])
    of_job, rows = owner[grows[row]], pool[grows[row]] * more.shape[1] + resource
    ends = np.searchsorted(of_job, np.arange(len(jobs) + 1)).tolist()
    listed = rows.tolist()
    return (tuple(listed[begin:end]) for begin, end in pairwise(ends))


def _listed(ledger: Ledger, rows: tuple[int, ...]) -> str:
    n = ledger.n_resources
    full = sorted({f"{ledger.resources[row % n].name} in {ledger.pools[row // n]}" for row in rows})
    return ", ".join([*full[:_MOST_NAMED], *([f"{len(full) - _MOST_NAMED} more"] if len(full) > _MOST_NAMED else [])])


def _crowded_out(outcome: _Outcome, jobs: _Indices) -> Iterator[_Told]:
    """Say why jobs wait that could run in an empty cluster: what the stage that fits worst lacks in the pool that comes closest."""
    ledger, program, bundles, left = outcome.ledger, outcome.program, outcome.program.bundles, outcome.left
    level = bundles.first_level[jobs]
    slots, first_slot = spans(bundles.first_slot[level], bundles.first_slot[level + 1])
    cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    pool = program.cell_pool[cells]
    missing = np.maximum(0.0, program.amount[cells] - left[pool])
    share = missing / np.where(program.shared.capacity > 0, program.shared.capacity, 1.0)[pool]
    short = share.sum(axis=1)
    easiest = first_least(short, first_cell)
    worst = first_least(-short[easiest], first_slot)
    cell = easiest[worst]
    least = np.minimum.reduceat(program.amount[cells], first_cell, axis=0) if len(cells) else program.amount[cells]
    asked = np.add.reduceat(least, first_slot, axis=0) if len(jobs) else least
    queue = program.queue[jobs]
    above = _first_over(outcome, queue, asked)
    over = outcome.usage.queue[above] + asked > program.shared.ceiling[above]
    alone = asked > program.shared.ceiling[above]
    kept_back = is_kept_back(program.shared, outcome.usage.queue, asked, queue)
    is_fragmented = _is_fragmented(outcome, cells, first_cell, worst, program.amount[cells[cell]])
    takers = kueue.takers(program, outcome.usage) if "evict" in outcome.actions else None
    pieces = _lacking(outcome, cells[cell], missing[cell] > 0)
    scarcest = share[cell].argmax(axis=1).tolist() if len(jobs) else []
    protected = (program.lost[jobs] > 0).tolist()
    of_queue, of_ceiling, pools = queue.tolist(), above.tolist(), ledger.pools
    capped, is_kept = np.asarray(over.any(axis=1)).tolist(), np.asarray(kept_back.any(axis=1)).tolist()
    names_of, actions = [resource.name for resource in ledger.resources], outcome.actions
    for i, (job, is_protected, lacking, k) in enumerate(zip(jobs.tolist(), protected, pieces, pool[cell].tolist(), strict=True)):
        is_evicted = actions[job] == "evict"
        did = _refused(actions[job], is_protected=is_protected) if is_evicted or is_protected else "waits"
        if lacking:
            code = "shed" if is_protected else "evicted" if is_evicted else "no_room"
            resource = names_of[scarcest[i]]
            binds: _Binds = ("R1", pools[k], None, resource)
            word: str | None = kueue.FRAGMENTED if is_fragmented[i] else kueue.WAITING
            if is_evicted and takers is not None:
                word, owner = takers.word(of_queue[i], scarcest[i])
                binds = ("R10", None, ledger.queues[owner], resource) if owner >= 0 and not is_protected else binds
            yield code, f"{did}: needs at least {lacking} in {pools[k]}, which others use better", word, binds
        elif capped[i]:
            name, names = ledger.queues[of_ceiling[i]], _names(ledger, over[i])
            word = kueue.EXCEEDS if alone[i].any() else kueue.IN_QUEUE if is_evicted else kueue.WAITING
            yield "queue_ceiling", f"{did}: queue {name!r} would pass its ceiling of {', '.join(names)}", word, ("R10", None, name, names[0])
        elif is_kept[i]:
            yield _reserved(ledger, f"{did}: it would fit, but what", kept_back[i])
        else:
            yield (
                "no_gain",
                f"{did}: it would fit, but what is left is reserved for a queue's guarantee, or running it adds no value",
                None,
                _moving(outcome, job),
            )


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
