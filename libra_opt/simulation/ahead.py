"""The true future of a job as a state would say it, for policies that are shown what no scheduler can know: an upper mark for forecasts.

Over a period at full service the demand is sampled at equal times; its mean is the demand, the samples over it are the intensities (R6), and the need is the most
that any part of the period needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from libra_opt.domain import Amounts
from libra_opt.domain.ledger import CARDS
from libra_opt.simulation.plant import Plant
from libra_opt.simulation.truth import Truth, Vector

__all__ = ["Future", "coming"]

_SAMPLES: Final = 10
_LARGEST: Final = 100.0


@dataclass(frozen=True, slots=True)
class Future:
    """What comes to the stages of one job.

    Attributes
    ----------
    demand
        ``[t][s][r]``: the mean demand in period t from now, in units; incompressible resources 0.
    need
        ``[t][s][r]``: the most that is needed; compressible resources 0.
    intensity
        ``[s]``: factors on the demand of the first period, equally likely; empty where it does not change.
    """

    demand: tuple[tuple[Vector, ...], ...]
    need: tuple[tuple[Vector, ...], ...]
    intensity: tuple[tuple[float, ...], ...]

    def stage(self, s: int, write: Callable[[Vector], Amounts]) -> dict[str, Any]:
        """Return the fields of one stage of a state."""
        told: dict[str, Any] = {"demand": _positive(write(self.demand[0][s])), "need": _positive(write(self.need[0][s]))}
        if self.intensity[s]:
            told["demand_intensity"] = self.intensity[s]
        if len(self.demand) > 1:
            later = zip(self.demand[1:], self.need[1:], strict=True)
            told["demand_ahead"] = tuple(Amounts({**_positive(write(d[s])), **_positive(write(n[s]))}) for d, n in later)
        return told


def coming(plant: Plant, j: int, seconds: float, periods: int = 1) -> Future:
    """Return the true future of a job over some periods, if it were served in full."""
    truth, job, state = plant.truths[j], plant.workload.jobs[j], plant.states[j]
    is_wall = job.clock == "wall"
    start = plant.now - job.submitted if is_wall else state.position
    if not is_wall and state.holding is None:
        was_away = None if state.stopped_at is None else plant.now - state.stopped_at
        is_warm = was_away is not None and was_away <= job.restart.warm_within_seconds
        pause = job.restart.warm_seconds if is_warm else job.restart.cold_seconds
    else:
        pause = 0.0 if is_wall else state.pause
    cards = next((r for r, resource in enumerate(plant.workload.resources) if resource.name == CARDS), None)
    demands, needs, intensity = [], [], ()
    for t in range(periods):
        lasting = max(seconds - pause, 0.1 * seconds) if t == 0 else seconds
        parts = [_part(truth, start + lasting * (i + 0.5) / _SAMPLES, repeats=job.repeats) for i in range(_SAMPLES)]
        rows = [_summed(truth, parts, s, cards) for s in range(len(job.stages))]
        demands.append(tuple(row[0] for row in rows))
        if t == 0:
            intensity = tuple(row[1] for row in rows)
        needs.append(tuple(_most(truth, start, start + lasting, s, repeats=job.repeats) for s in range(len(job.stages))))
        start += lasting
    return Future(tuple(demands), tuple(needs), intensity)


def _part(truth: Truth, position: float, *, repeats: bool) -> int | None:
    if repeats:
        return truth.part_at(position % truth.seconds)
    return truth.part_at(position) if position < truth.seconds else None


def _summed(truth: Truth, parts: list[int | None], s: int, cards: int | None) -> tuple[Vector, tuple[float, ...]]:
    rows = [truth.demand[p][s] if p is not None else (0.0,) * len(truth.demand[0][s]) for p in parts]
    n = len(rows[0])
    mean = [sum(row[r] for row in rows) / len(rows) for r in range(n)]
    if all(row == rows[0] for row in rows):
        return rows[0], ()
    if cards is not None and mean[cards] > 0:
        factors = [row[cards] / mean[cards] for row in rows]
    else:
        factors = [max((row[r] / mean[r] for r in range(n) if mean[r] > 0), default=0.0) for row in rows]
    demand = [max([mean[r], *(row[r] / f for row, f in zip(rows, factors, strict=True) if f > 0)]) if r != cards else mean[r] for r in range(n)]
    return tuple(demand), tuple(min(round(f, 4), _LARGEST) for f in factors)


def _most(truth: Truth, start: float, end: float, s: int, *, repeats: bool) -> Vector:
    n = len(truth.need[0][s])
    most = [0.0] * n
    if repeats:
        shift = start // truth.seconds * truth.seconds
        start, end = start - shift, end - shift
    if start >= truth.seconds:
        return tuple(most)
    first = truth.part_at(start)
    last = truth.part_at(min(end, truth.seconds))
    wrapped = range(truth.part_at(end - truth.seconds) + 1) if repeats and end > truth.seconds else range(0)
    for p in (*range(first, last + 1), *wrapped):
        most = [max(a, b) for a, b in zip(most, truth.need[p][s], strict=True)]
    return tuple(most)


def _positive(amounts: Amounts) -> Amounts:
    return Amounts({name: amount for name, amount in amounts.items() if amount})
