"""Why each job got what it got, read off the rules and the rows that are full."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Action, Reason
from libra_opt.formulation.program import Choice, Program, Usage

__all__ = ["explain"]

_MOVED: dict[Action, str] = {
    "admit": "admitted",
    "keep": "keeps what it has",
    "grow": "grows",
    "shrink": "gives up what others use better or it cannot use",
    "reshape": "trades one resource for another",
    "migrate": "moves to a pool where it is served better",
}


def explain(ledger: Ledger, program: Program, choice: Choice, actions: Sequence[Action], service: npt.NDArray[np.float64]) -> list[Reason]:
    """Return one reason per job, in canonical order.

    Parameters
    ----------
    actions, service
        What the plan does to each job and the service it reaches, both in canonical order; `service` has shape ``(n_jobs,)``.
    """
    usage, peak = program.usage(choice), program.peak
    return [
        _running(ledger, program, usage, job, action, float(service[job]), float(peak[job]), choice)
        if action in _MOVED
        else _waiting(ledger, program, usage, job, action)
        for job, action in enumerate(actions)
    ]


def _running(ledger: Ledger, program: Program, usage: Usage, job: int, action: Action, service: float, peak: float, choice: Choice) -> Reason:
    did = _MOVED[action]
    if service >= 1 - 1e-9:
        return Reason(code="fully_served", message=f"{did}: served in full")
    share = f"{did}: {service:.0%} of its demand is served"
    if service >= peak - 1e-9:
        return Reason(code="own_limit", message=f"{share}, the most that its max_quota, its curve and the size of the pools allow")
    cells = choice[program.first_stage[job] : program.first_stage[job + 1]]
    left = program.shared.capacity - usage.pool
    held = _held_rows(program, left, cells)
    full = sorted({f"{ledger.resources[r].name} in {ledger.pools[k]}" for k, r in held})
    if full:
        return Reason(code="partly_served", message=f"{share}; more would need {', '.join(full)}, which others use better")
    queue = int(program.queue[job])
    capped = [ledger.resources[r].name for r in np.flatnonzero(usage.queue[queue] >= program.shared.ceiling[queue])]
    if capped:
        return Reason(code="queue_ceiling", message=f"{share}; queue {ledger.queues[queue]!r} is at its ceiling of {', '.join(capped)}")
    return Reason(code="move_not_worth_it", message=f"{share}; the gain of changing what it holds does not beat the cost, or the budget of moves is spent")


def _held_rows(program: Program, left: npt.NDArray[np.float64], cells: npt.NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return the rows (pool, resource) that the next level of a job, in the pools it sits in, would overrun."""
    level = int(program.cell_level[cells[0]]) + 1
    if level >= program.bundles.first_level[program.cell_job[cells[0]] + 1]:
        return []
    slots = range(program.bundles.first_slot[level], program.bundles.first_slot[level + 1])
    rows = []
    for slot, cell in zip(slots, cells, strict=True):
        pool = program.cell_pool[cell]
        above = np.arange(program.bundles.first_cell[slot], program.bundles.first_cell[slot + 1])
        above = above[program.cell_pool[above] == pool]
        if len(above):
            more = program.amount[above[-1]] - program.amount[cell]
            rows += [(int(pool), int(r)) for r in np.flatnonzero(more > left[pool])]
    return rows


def _waiting(ledger: Ledger, program: Program, usage: Usage, job: int, action: Action) -> Reason:
    protected = program.lost[job] > 0
    did = "is shed though protected" if protected else "is evicted" if action == "evict" else "waits"
    first, last = int(program.bundles.first_level[job]), int(program.bundles.first_level[job + 1])
    if first == last:
        return Reason(code="never_fits", message=f"{did}: {_too_large(ledger, int(program.job_order[job]))}")
    left = program.shared.capacity - usage.pool
    slots = program.bundles.first_cell[program.bundles.first_slot[first] : program.bundles.first_slot[first + 1] + 1]
    cells = np.arange(slots[0], slots[-1])
    pool = program.cell_pool[cells]
    missing = np.maximum(0.0, program.amount[cells] - left[pool])
    capacity = np.where(program.shared.capacity > 0, program.shared.capacity, 1.0)[pool]
    easiest = np.minimum.reduceat((missing / capacity).sum(axis=1), slots[:-1] - slots[0])
    worst = int(np.argmax(easiest))
    here = np.arange(slots[worst], slots[worst + 1]) - slots[0]
    cell = int(here[np.argmin((missing[here] / capacity[here]).sum(axis=1))])
    if missing[cell].any():
        lacking = ", ".join(
            f"{_write(ledger, program, r, program.amount[cells[cell], r])} {ledger.resources[r].name} ({_write(ledger, program, r, left[pool[cell], r])} left)"
            for r in np.flatnonzero(missing[cell]).tolist()
        )
        code = "shed" if protected else "evicted" if action == "evict" else "no_room"
        return Reason(code=code, message=f"{did}: needs at least {lacking} in {ledger.pools[pool[cell]]}, which others use better")
    queue = int(program.queue[job])
    least = np.add.reduceat(program.amount[cells], slots[:-1] - slots[0]).min(axis=0) if len(slots) == 2 else program.amount[cells].min(axis=0)
    over = np.flatnonzero(usage.queue[queue] + least > program.shared.ceiling[queue])
    if len(over):
        names = ", ".join(ledger.resources[r].name for r in over)
        return Reason(code="queue_ceiling", message=f"{did}: queue {ledger.queues[queue]!r} would pass its ceiling of {names}")
    return Reason(code="no_gain", message=f"{did}: it would fit, but what is left is reserved for a queue's guarantee, or running it adds no value")


def _too_large(ledger: Ledger, job: int) -> str:
    """Name the first stage that fits nowhere, and what it lacks in the pool that comes closest."""
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


def _write(ledger: Ledger, program: Program, r: int, amount: float) -> str:
    return str(ledger.resources[r].write(round(float(amount) * float(program.scale[r]))))
