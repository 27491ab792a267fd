"""Which protected jobs can run together: a small search of its own, by trying every pool for every stage."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from libra_opt.domain import Ledger

__all__ = ["fit_together", "least_lost"]

Vector = tuple[int, ...]


def least(ledger: Ledger, s: int, k: int) -> Vector | None:
    """Return the least a stage can hold in a pool to run at all, or None where it cannot."""
    held = [unit * -(-max(lo, need) // unit) for lo, need, unit in zip(ledger.lo[s], ledger.need[s], ledger.unit[s], strict=True)]
    ratio = ledger.card_ratio[k]
    if ratio is not None:
        names = [resource.name for resource in ledger.resources]
        cards, memory = names.index("gpu"), names.index("gpu_mem")
        unit = ledger.unit[s][cards]
        held[cards] = max(held[cards], unit * -(-held[memory] * ratio[1] // (ratio[0] * unit)))
    return tuple(held) if all(amount <= most for amount, most in zip(held, ledger.hi[s], strict=True)) else None


def fit_together(ledger: Ledger, jobs: Sequence[int]) -> bool:
    """Tell whether these jobs can run side by side, if all others wait."""
    stages = [s for j in jobs for s in ledger.stage_of[j]]
    queue_of = {s: ledger.job_queue[j] for j in jobs for s in ledger.stage_of[j]}
    seen: set[tuple[int, tuple[Vector, ...], tuple[Vector, ...]]] = set()

    def place(i: int, pools: tuple[Vector, ...], queues: tuple[Vector, ...]) -> bool:
        if (i, pools, queues) in seen:
            return False
        seen.add((i, pools, queues))
        if i == len(stages):
            return _reserves_hold(ledger, queues)
        return any(place(i + 1, *grown) for grown in _placements(ledger, stages[i], queue_of[stages[i]], pools, queues))

    nothing = (0,) * ledger.n_resources
    return place(0, (nothing,) * len(ledger.pools), (nothing,) * (len(ledger.queues) + 1))


def _placements(
    ledger: Ledger, s: int, q: int, pools: tuple[Vector, ...], queues: tuple[Vector, ...]
) -> Iterator[tuple[tuple[Vector, ...], tuple[Vector, ...]]]:
    for k, _ in ledger.allowed[s]:
        held = least(ledger, s, k)
        if held is None:
            continue
        pool = tuple(a + b for a, b in zip(pools[k], held, strict=True))
        queue = tuple(a + b for a, b in zip(queues[q], held, strict=True))
        fits_queue = q < 0 or all(a <= b for a, b in zip(queue, ledger.ceiling[q], strict=True))
        if fits_queue and all(a <= b for a, b in zip(pool, ledger.capacity[k], strict=True)):
            row = q % len(queues)
            yield (*pools[:k], pool, *pools[k + 1 :]), (*queues[:row], queue, *queues[row + 1 :])


def _reserves_hold(ledger: Ledger, queues: tuple[Vector, ...]) -> bool:
    for r in range(ledger.n_resources):
        reserved, capacity = [row[r] for row in ledger.reserved], sum(row[r] for row in ledger.capacity)
        promised = sum(reserved)
        if promised > capacity:
            reserved = [amount * capacity // promised for amount in reserved]
        if promised and sum(max(use[r], kept) for use, kept in zip(queues, reserved, strict=False)) + queues[-1][r] > capacity:
            return False
    return True


def least_lost(ledger: Ledger, worth: Sequence[float]) -> float:
    """Return the least worth of protected jobs that must wait."""
    protected = [j for j, holds in enumerate(ledger.protected) if holds]
    total = sum(worth[j] for j in protected)
    for n in range(len(protected), -1, -1):
        kept = [sum(worth[j] for j in jobs) for jobs in combinations(protected, n) if fit_together(ledger, jobs)]
        if n == len(protected) and kept:
            return 0.0
        if kept:
            smaller = [sum(worth[j] for j in jobs) for m in range(n) for jobs in combinations(protected, m) if fit_together(ledger, jobs)]
            return total - max(kept + smaller)
    return total
