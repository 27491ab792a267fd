"""Fixed quotas of one job that are worth trying: never below what its gang firmly needs, never more of anything than its own pace can use.

A quota is what every stage holds, in quanta. It is *trimmed*: of every resource a stage holds the most it uses at the job's pace, rounded up to whole
units, so that a trimmed quota takes no longer than the one it came from. Memory is the true peak, in hindsight, of what the job can come to by the horizon;
or, where that pays, only of its first steps, after which it is killed and stays down.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from libra_opt.domain import Ledger, WorkloadJob
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.vectors import Vector as Quanta
from libra_opt.simulation.static.course import Demand

__all__ = ["Quota", "Shaper"]

_ALMOST: Final = 1e-9
_RUNGS: Final = 24
"""Most sizes of a job that the ladder has."""

_CAPS: Final = 4
"""Most amounts of memory, by how many steps they suffice for."""

_FACTORS: Final = (0.5, 0.8, 1.25, 2.0)
"""By what a single amount is changed, besides by one unit."""

_Ints: TypeAlias = npt.NDArray[np.int64]
_Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Quota:
    """What the stages of a job hold for all its life; a shaper makes equal ones only once, so they are compared by identity.

    Attributes
    ----------
    stages
        Per stage, quanta.
    cap
        Which of the job's amounts of memory it holds; the last suffices for all that the job can come to.
    share
        Its dominant share of the cluster.
    """

    stages: tuple[Quanta, ...]
    cap: int
    share: float


class Shaper:
    """Makes the quotas of one job.

    Parameters
    ----------
    ledger
        What is declared, and the pools.
    j, job, demand
        The job and its truth.
    reach
        Seconds of full service it can come to by the horizon; infinite without one.
    """

    def __init__(self, ledger: Ledger, j: int, job: WorkloadJob, demand: Demand, reach: float) -> None:
        self.job, self.demand = job, demand
        rows = list(ledger.stage_of[j])
        step = np.array([float(resource.step) for resource in ledger.resources])
        self._step = step
        self._lo: _Ints = np.array([ledger.lo[s] for s in rows], dtype=np.int64)
        self._hi: _Ints = np.array([ledger.hi[s] for s in rows], dtype=np.int64)
        self._unit: _Ints = np.array([ledger.unit[s] for s in rows], dtype=np.int64)
        self.speeds = tuple(float(max((speed for _, speed in ledger.allowed[s]), default=1)) for s in rows)
        self._demand: _Floats = demand.demand / step / np.array(self.speeds)[:, None]
        self._need: _Ints = np.ceil(demand.need / step - _ALMOST).astype(np.int64)
        self._ratios = [[ledger.card_ratio[k] for k, _ in ledger.allowed[s]] for s in rows]
        names = [resource.name for resource in ledger.resources]
        self._cards = names.index(CARDS) if CARDS in names else -1
        self._memory = names.index(CARD_MEMORY) if CARD_MEMORY in names else -1
        total = np.array([sum(row) for row in zip(*ledger.capacity, strict=True)], dtype=np.float64)
        self._per_total: _Floats = np.where(total > 0, 1 / np.maximum(total, 1), 0.0)
        largest = np.array([[max((ledger.capacity[k][r] for k, _ in ledger.allowed[s]), default=0) for r in range(len(names))] for s in rows], dtype=np.int64)
        self._most: _Ints = np.minimum(self._hi, largest) // self._unit * self._unit
        self._is_compressible = np.array([resource.compressible for resource in ledger.resources])
        begins = np.array([0.0, *demand.truth.ends[:-1]])
        reached = begins < max(reach, 1e-9) if not job.repeats and job.clock == "progress" else np.ones(len(begins), dtype=np.bool_)
        self._peak: _Floats = self._demand[reached].max(axis=0)
        weights = demand.seconds[reached, None, None]
        self._mean: _Floats = (self._demand[reached] * weights).sum(axis=0) / weights.sum()
        self.caps = self._memory_caps(reached)
        self._made: dict[tuple[tuple[Quanta, ...], int], Quota] = {}

    def _memory_caps(self, reached: npt.NDArray[np.bool_]) -> list[_Ints]:
        """Return amounts of memory, ascending: the peaks of the first steps at which it grows, and last of all that is reached and can be held at all."""
        running = np.maximum.accumulate(self._need[reached], axis=0)
        if self.job.clock == "wall" or self.job.repeats:
            return [running[-1]] if self._can_hold(running[-1]) else []
        steps = np.array(self.demand.truth.step)[reached]
        found: list[_Ints] = []
        for i in range(len(running)):
            is_last = i + 1 == len(running) or steps[i + 1] != steps[i]
            grows = i + 1 == len(running) or bool((running[-1] > running[i]).any())
            if is_last and grows and self._can_hold(running[i]) and (not found or bool((running[i] > found[-1]).any())):
                found.append(running[i])
        if len(found) > _CAPS:
            found = [found[round(i * (len(found) - 1) / (_CAPS - 1))] for i in range(_CAPS)]
        return found

    def _can_hold(self, memory: _Ints) -> bool:
        return self._floor(memory) is not None

    def _floor(self, memory: _Ints) -> _Ints | None:
        """Return the least that the stages hold with so much memory: minima, whole units, the cards that carry it (R9); None if some maximum is below."""
        held = np.maximum(self._lo, memory)
        held = -(-held // self._unit) * self._unit
        for s, ratios in enumerate(self._ratios):
            if not ratios:
                return None
            if self._cards >= 0 and self._memory >= 0 and all(ratio is not None for ratio in ratios):
                needed = min((-(-int(held[s, self._memory]) * q // p) if p else (1 << 62 if held[s, self._memory] else 0)) for p, q in filter(None, ratios))
                unit = int(self._unit[s, self._cards])
                held[s, self._cards] = max(held[s, self._cards], -(-needed // unit) * unit)
        return held if bool((held <= self._most).all()) else None

    def _with_card_memory(self, held: _Ints) -> _Ints:
        """Return what is really had of so much: all the memory of the cards, where those of every pool are exclusive."""
        has = held.copy()
        for s, ratios in enumerate(self._ratios):
            known = [ratio for ratio in ratios if ratio is not None]
            if known and len(known) == len(ratios):
                has[s, self._memory] = max(has[s, self._memory], min(int(held[s, self._cards]) * p // q for p, q in known))
        return has

    def quota(self, amounts: _Floats, cap: int) -> Quota | None:
        """Return the trimmed quota of stages that are to hold these amounts and so much memory; None where it cannot run."""
        least = self._floor(self.caps[cap])
        if least is None:
            return None
        held = np.maximum(least, np.ceil(np.minimum(amounts, self._most) / self._unit - _ALMOST).astype(np.int64) * self._unit)
        held = np.where(self._is_compressible, np.minimum(held, self._most), least)
        pace = self.demand.pace(self._with_card_memory(held) * self._step, self.speeds)
        wanted = (self._demand * pace[:, None, None]).max(axis=0)
        used = np.ceil(wanted / self._unit - 1e-6 / self._unit).astype(np.int64) * self._unit
        trimmed = np.where(self._is_compressible, np.maximum(least, np.minimum(used, held)), held)
        if not pace.any():
            return None
        if not trimmed.any():  # who holds nothing does not run: an idle job holds one unit of what there is most of
            able = (self._per_total > 0) & (self._most[0] >= self._unit[0]) & self._is_compressible
            r = int(np.argmin(np.where(able, self._per_total * self._unit[0], np.inf)))
            trimmed[0, r] = self._unit[0, r] if able[r] else 0
        if not trimmed.any():
            return None
        stages = tuple(tuple(row) for row in trimmed.tolist())
        share = float((trimmed.sum(axis=0) * self._per_total).max())
        return self._made.setdefault((stages, cap), Quota(stages, cap, share))

    def fraction_of_peak(self, share: float, cap: int = -1) -> Quota | None:
        """Return the quota of a share of the peak demand."""
        return self.quota(share * self._peak, cap % len(self.caps)) if self.caps else None

    def fraction_of_maximum(self, share: float) -> Quota | None:
        """Return the quota of a share of the maximum quota, or of the peak demand where there is none."""
        unlimited = self._hi >= (1 << 62)
        return self.quota(share * np.where(unlimited, self._peak, self._hi), len(self.caps) - 1) if self.caps else None

    def times_mean(self, factor: float) -> Quota | None:
        """Return the quota of the mean demand times a factor, or of the peak demand where that is less."""
        return self.quota(np.minimum(factor * self._mean, self._peak), len(self.caps) - 1) if self.caps else None

    def ladder(self) -> list[Quota]:
        """Return the quotas of growing shares of the peak demand: one per unit of the largest amount where these are few."""
        if not self.caps:
            return []
        units = float((np.where(self._is_compressible, self._peak, 0) / self._unit).max(initial=1.0))
        cards = float((self._peak[:, self._cards] / self._unit[:, self._cards]).max(initial=0.0)) if self._cards >= 0 else 0.0
        n = max(1, min(_RUNGS, round(cards if cards > 1 else units)))
        rungs = (self.fraction_of_peak(i / n) for i in range(1, n + 1))
        return list(dict.fromkeys(rung for rung in rungs if rung is not None))

    def moves(self, quota: Quota) -> Iterator[Quota]:
        """Yield the quotas next to one: a single amount of a stage up or down, all amounts up or down, more or less memory."""
        held = np.array(quota.stages, dtype=np.float64)
        found: dict[Quota, None] = {}

        def keep(amounts: _Floats, cap: int) -> None:
            other = self.quota(amounts, cap)
            if other is not None and other.stages != quota.stages:
                found.setdefault(other)

        for factor in _FACTORS:
            keep(held * factor, quota.cap)
        wanted = np.argwhere(self._is_compressible & (self._peak > 0))
        for s, r in wanted.tolist():
            for to in (held[s, r] - self._unit[s, r], held[s, r] + self._unit[s, r], *(held[s, r] * factor for factor in _FACTORS)):
                changed = held.copy()
                changed[s, r] = max(0.0, to)
                keep(changed, quota.cap)
                if to > held[s, r]:  # the others were trimmed to the pace that this one allowed
                    keep(np.minimum(self._peak, np.maximum(changed, held * (to / max(1.0, held[s, r])))), quota.cap)
        for cap in (quota.cap - 1, quota.cap + 1):
            if 0 <= cap < len(self.caps):
                keep(held, cap)
        yield from found
