"""Why each job got what it got, read off the rules and the rows that are full.

What decides is looked up for all jobs at once, in arrays; per job there is only the sentence to write, and equal ones are written once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Action, Reason
from libra_opt.domain.queue_tree import way_up
from libra_opt.domain.trusted import trusted
from libra_opt.formulation.program import Choice, Program, Usage
from libra_opt.formulation.runs import first_least, spans
from libra_opt.formulation.written import Written

__all__ = ["explain"]

_Indices = npt.NDArray[np.intp]
_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
_Sentence = tuple[str, str]
"""Code and message of a reason."""

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


def explain(ledger: Ledger, program: Program, choice: Choice, actions: Sequence[Action], service: _Floats, written: Written) -> list[Reason]:
    """Return one reason per job, in canonical order.

    Parameters
    ----------
    actions, service
        What the plan does to each job and the service it reaches, both in canonical order; `service` has shape ``(n_jobs,)``.
    written
        Writes the amounts of the ledger's resources.
    """
    usage, runs = program.usage(choice), program.runs(choice)
    outcome = _Outcome(ledger, program, choice, actions, usage, program.shared.capacity - usage.pool, written)
    is_full, is_most = service >= _FULL, service >= program.peak - 1e-9
    held_down, waiting = np.flatnonzero(runs & ~is_full & ~is_most), np.flatnonzero(~runs)
    has_level = program.bundles.first_level[waiting] < program.bundles.first_level[waiting + 1]
    shares = [
        f"{_MOVED[action]}: {share:.0%} of its demand is served" if action in _MOVED else "" for action, share in zip(actions, service.tolist(), strict=True)
    ]
    sentences: list[_Sentence] = [
        ("fully_served", f"{_MOVED[action]}: served in full")
        if full
        else ("own_limit", f"{share}, the most that its max_quota, its curve and the size of the pools allow")
        for action, full, share in zip(actions, (runs & is_full).tolist(), shares, strict=True)
    ]
    for jobs, found in (
        (held_down, _held_down(outcome, held_down, shares)),
        (waiting[has_level], _crowded_out(outcome, waiting[has_level])),
        (waiting[~has_level], _too_large(outcome, waiting[~has_level])),
    ):
        for job, sentence in zip(jobs.tolist(), found, strict=True):
            sentences[job] = sentence
    reasons = {sentence: trusted(Reason, {"code": sentence[0], "message": sentence[1]}) for sentence in set(sentences)}
    return [reasons[sentence] for sentence in sentences]


def _held_down(outcome: _Outcome, jobs: _Indices, shares: Sequence[str]) -> Iterator[_Sentence]:
    """Say why jobs that run are not served better."""
    ledger, program = outcome.ledger, outcome.program
    capped = program.shared.ceiling <= outcome.usage.queue
    named = {q: f"queue {ledger.queues[q]!r} is at its ceiling of {', '.join(_names(ledger, capped[q]))}" for q in np.flatnonzero(capped.any(axis=1)).tolist()}
    at_ceiling = {q: named[above] for q in range(len(ledger.queues)) for above in reversed(way_up(ledger.parent, q)) if above in named}
    known: dict[tuple[int, ...], str] = {(): ""}
    for job, queue, rows in zip(jobs.tolist(), program.queue[jobs].tolist(), _full_rows(outcome, jobs), strict=True):
        full = known.get(rows)
        if full is None:
            full = known[rows] = _listed(ledger, rows)
        if full:
            yield "partly_served", f"{shares[job]}; more would need {full}, which others use better"
        elif queue in at_ceiling:
            yield "queue_ceiling", f"{shares[job]}; {at_ceiling[queue]}"
        else:
            yield "move_not_worth_it", f"{shares[job]}; the gain of changing what it holds does not beat the cost, or the budget of moves is spent"


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


def _crowded_out(outcome: _Outcome, jobs: _Indices) -> Iterator[_Sentence]:
    """Say why jobs wait that could run in an empty cluster: what the stage that fits worst lacks in the pool that comes closest."""
    ledger, program, bundles, left = outcome.ledger, outcome.program, outcome.program.bundles, outcome.left
    level = bundles.first_level[jobs]
    slots, first_slot = spans(bundles.first_slot[level], bundles.first_slot[level + 1])
    cells, first_cell = spans(bundles.first_cell[slots], bundles.first_cell[slots + 1])
    pool = program.cell_pool[cells]
    missing = np.maximum(0.0, program.amount[cells] - left[pool])
    short = (missing / np.where(program.shared.capacity > 0, program.shared.capacity, 1.0)[pool]).sum(axis=1)
    easiest = first_least(short, first_cell)
    cell = easiest[first_least(-short[easiest], first_slot)]
    least = np.minimum.reduceat(program.amount[cells], first_cell, axis=0) if len(cells) else program.amount[cells]
    asked = np.add.reduceat(least, first_slot, axis=0) if len(jobs) else least
    over = _first_over(outcome, program.queue[jobs], asked)
    pieces = _lacking(outcome, cells[cell], missing[cell] > 0)
    protected = (program.lost[jobs] > 0).tolist()
    for i, (job, is_protected, lacking, k) in enumerate(zip(jobs.tolist(), protected, pieces, pool[cell].tolist(), strict=True)):
        did = _refused(outcome.actions[job], is_protected=is_protected)
        if lacking:
            code = "shed" if is_protected else "evicted" if outcome.actions[job] == "evict" else "no_room"
            yield code, f"{did}: needs at least {lacking} in {ledger.pools[k]}, which others use better"
        elif over[i] >= 0:
            passed = outcome.usage.queue[over[i]] + asked[i] > program.shared.ceiling[over[i]]
            yield "queue_ceiling", f"{did}: queue {ledger.queues[over[i]]!r} would pass its ceiling of {', '.join(_names(ledger, passed))}"
        else:
            yield "no_gain", f"{did}: it would fit, but what is left is reserved for a queue's guarantee, or running it adds no value"


def _first_over(outcome: _Outcome, queue: _Indices, asked: _Floats) -> _Indices:
    """Return the lowest queue on each job's way up that would pass its ceiling by so much more, -1 where none would, shape ``(n,)``."""
    shared = outcome.program.shared
    parent, first, at = shared.forest.parent, np.full(len(queue), -1, dtype=np.intp), queue
    for _ in range(len(shared.forest.layers) + 1):
        over = (outcome.usage.queue[at] + asked > shared.ceiling[at]).any(axis=1)
        first = np.where((first < 0) & over, at, first)
        at = parent[at]
    return first


def _lacking(outcome: _Outcome, cells: _Indices, is_short: _Flags) -> Iterator[str]:
    """Yield, per cell, what it needs and what is left of the resources that are short."""
    pools, amounts, flags = outcome.program.cell_pool[cells].tolist(), outcome.program.amount[cells].tolist(), is_short.tolist()
    left, scale = outcome.left.tolist(), outcome.program.scale.astype(np.float64).tolist()
    names = [resource.name for resource in outcome.ledger.resources]
    known: dict[tuple[int, int, float], str] = {}
    for k, row, flag in zip(pools, amounts, flags, strict=True):
        pieces = []
        for r, (amount, is_lacking) in enumerate(zip(row, flag, strict=True)):
            if is_lacking:
                piece = known.get((k, r, amount))
                if piece is None:
                    needed, rest = (outcome.written.one(r, round(quantity * scale[r])) for quantity in (amount, left[k][r]))
                    piece = known[k, r, amount] = f"{needed} {names[r]} ({rest} left)"
                pieces.append(piece)
        yield ", ".join(pieces)


def _too_large(outcome: _Outcome, jobs: _Indices) -> Iterator[_Sentence]:
    """Say why jobs wait that could not run in an empty cluster: name the first stage that fits nowhere, and what it lacks where it comes closest."""
    program = outcome.program
    for job, j, is_protected in zip(jobs.tolist(), program.job_order[jobs].tolist(), (program.lost[jobs] > 0).tolist(), strict=True):
        yield "never_fits", f"{_refused(outcome.actions[job], is_protected=is_protected)}: {_misfit(outcome.ledger, j)}"


def _misfit(ledger: Ledger, job: int) -> str:
    for s in ledger.stage_of[job]:
        shortages = []
        for k, _ in ledger.allowed[s]:
            short = [r for r in range(ledger.n_resources) if max(ledger.lo[s][r], ledger.need[s][r]) > ledger.capacity[k][r]]
            shortages.append((len(short), k, short))
        if not shortages:
            return "there is no pool it may use"
        count, k, short = min(shortages)
        if count:
            resource = ledger.resources[short[0]]
            least = resource.write(max(ledger.lo[s][short[0]], ledger.need[s][short[0]]))
            return f"it needs at least {least} {resource.name}, and {ledger.pools[k]} has {resource.write(ledger.capacity[k][short[0]])}"
    return "its quotas, units and memory per card leave no way to run it in any pool it may use"


def _refused(action: Action, *, is_protected: bool) -> str:
    return "is shed though protected" if is_protected else "is evicted" if action == "evict" else "waits"


def _names(ledger: Ledger, is_named: _Flags) -> list[str]:
    return [ledger.resources[r].name for r in np.flatnonzero(is_named).tolist()]
