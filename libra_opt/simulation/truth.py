"""A workload's truth as plain numbers: what every job can use and must hold, part by part.

Amounts are floats in the units of the resources. A part lasts `seconds` at full service (or of wall time), and the work of a second at full service is the
cards that the job's stages can use in it; of a job that never uses cards, its dominant share of the cluster in cards.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from libra_opt.domain import Amounts, Resource, Workload, WorkloadJob
from libra_opt.domain.ledger import CARDS
from libra_opt.domain.quantity import parse

__all__ = ["Truth", "Vector", "cluster_total", "truth_of", "vector"]

Vector = tuple[float, ...]
"""Amounts in the order of the resources, in their units."""

_ALMOST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Truth:
    """The parts of one job, in order; one entry per part unless stated.

    Attributes
    ----------
    ends
        Seconds from the job's beginning to the end of the part.
    demand, need
        Per stage: what it can use of compressible resources, and what it must hold of the others; zero elsewhere.
    rate
        Work per second at full service.
    phase, step
        Name of the phase, and index of the step.
    phase_begins, phase_ends
        Seconds at which the phase of the part begins and ends.
    waits
        Whether the part begins a phase that waits until its memory is there.
    step_ends
        Per step: seconds at which it ends.
    step_work
        Per step: its work.
    """

    ends: tuple[float, ...]
    demand: tuple[tuple[Vector, ...], ...]
    need: tuple[tuple[Vector, ...], ...]
    rate: tuple[float, ...]
    phase: tuple[str, ...]
    step: tuple[int, ...]
    phase_begins: tuple[float, ...]
    phase_ends: tuple[float, ...]
    waits: tuple[bool, ...]
    step_ends: tuple[float, ...]
    step_work: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """How long all parts take."""
        return self.ends[-1]

    @property
    def work(self) -> float:
        """Work of all parts."""
        return sum(self.step_work)

    def part_at(self, position: float) -> int:
        """Return the part that is under way at a position in seconds; the last one at the end."""
        return min(bisect_right(self.ends, position + _ALMOST), len(self.ends) - 1)


def truth_of(workload: Workload, job: WorkloadJob) -> Truth:
    """Return the truth of one job of a workload."""
    resources = workload.resources
    parts = [(i, part) for i, step in enumerate(job.steps) for part in step.parts]
    cache: dict[Amounts, tuple[Vector, Vector]] = {}
    nothing = vector(Amounts(), resources)
    for _, part in parts:
        for amounts in part.use.values():
            if amounts not in cache:
                used = vector(amounts, resources)
                cache[amounts] = (_of_kind(used, resources, compressible=True), _of_kind(used, resources, compressible=False))
    rows = [[cache[part.use[stage.name]] if stage.name in part.use else (nothing, nothing) for stage in job.stages] for _, part in parts]
    demand = tuple(tuple(row[0] for row in stages) for stages in rows)
    need = tuple(tuple(row[1] for row in stages) for stages in rows)
    ends = tuple(accumulate(part.seconds for _, part in parts))
    rate = _rates(demand, need, workload)
    begins, stops = _phases(parts_phase := [(i, part.phase) for i, part in parts], ends)
    starts = [p == 0 or parts_phase[p] != parts_phase[p - 1] for p in range(len(parts))]
    last = list(accumulate(len(step.parts) for step in job.steps))
    before = (0.0, *ends)
    worth = [r * (ends[p] - before[p]) for p, r in enumerate(rate)]
    return Truth(
        ends=ends,
        demand=demand,
        need=need,
        rate=rate,
        phase=tuple(part.phase for _, part in parts),
        step=tuple(i for i, _ in parts),
        phase_begins=begins,
        phase_ends=stops,
        waits=tuple(begins_now and part.waits_for_memory for begins_now, (_, part) in zip(starts, parts, strict=True)),
        step_ends=tuple(ends[end - 1] for end in last),
        step_work=tuple(sum(worth[end - len(step.parts) : end]) for end, step in zip(last, job.steps, strict=True)),
    )


def vector(amounts: Amounts, resources: Sequence[Resource], missing: float = 0.0) -> Vector:
    """Return amounts as floats in the units of the resources."""
    return tuple(float(parse(amounts[resource.name], resource.unit)) if resource.name in amounts else missing for resource in resources)


def cluster_total(workload: Workload) -> Vector:
    """Return the capacity of all pools together."""
    rows = [vector(pool.capacity, workload.resources) for pool in workload.pools]
    return tuple(map(sum, zip(*rows, strict=True)))


def _of_kind(used: Vector, resources: Sequence[Resource], *, compressible: bool) -> Vector:
    return tuple(amount if resource.compressible is compressible else 0.0 for amount, resource in zip(used, resources, strict=True))


def _rates(demand: tuple[tuple[Vector, ...], ...], need: tuple[tuple[Vector, ...], ...], workload: Workload) -> tuple[float, ...]:
    names = [resource.name for resource in workload.resources]
    cards = names.index(CARDS) if CARDS in names else None
    if cards is not None and any(stage[cards] for stages in demand for stage in stages):
        return tuple(sum(stage[cards] for stage in stages) for stages in demand)
    total = cluster_total(workload)
    scale = (total[cards] if cards is not None else 0) or 1.0
    return tuple(_dominant(d, n, total) * scale for d, n in zip(demand, need, strict=True))


def _dominant(demand: tuple[Vector, ...], need: tuple[Vector, ...], total: Vector) -> float:
    asked = [sum(stage[r] for stage in (*demand, *need)) for r in range(len(total))]
    return max((amount / most for amount, most in zip(asked, total, strict=True) if most), default=0.0)


def _phases(phases: Sequence[tuple[int, str]], ends: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    begins, stops = [0.0] * len(ends), [0.0] * len(ends)
    for p in range(len(ends)):
        same = p > 0 and phases[p] == phases[p - 1]
        begins[p] = begins[p - 1] if same else (ends[p - 1] if p else 0.0)
    for p in reversed(range(len(ends))):
        same = p + 1 < len(ends) and phases[p] == phases[p + 1]
        stops[p] = stops[p + 1] if same else ends[p]
    return tuple(begins), tuple(stops)
