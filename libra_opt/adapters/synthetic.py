"""Synthetic, contended states: made up, labelled so, and the same for the same generator.

Amounts are drawn as arrays, one row per stage and one column per default resource, in quanta; only the last step writes them out as a state.
Whatever runs already fits its pool by construction, so that a state is never contradictory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain import DEFAULT_RESOURCES, State

__all__ = ["FAMILIES", "generate"]

_Quanta = NDArray[np.int64]
_Document = dict[str, object]

_NAMES: Final = tuple(resource.name for resource in DEFAULT_RESOURCES)
_COMPRESSIBLE: Final = np.array([resource.compressible for resource in DEFAULT_RESOURCES])
_PER_UNIT: Final = np.array([round(1 / resource.quantum) for resource in DEFAULT_RESOURCES])
_LEAST_PER_CARD: Final = np.array([1, 16, 30, 32, 2])
_MOST_PER_CARD: Final = np.array([1, 76, 240, 192, 30])
_SLACK: Final = np.array([1.0, 1.15, 0.95, 1.15, 1.05])
_GANG_SIZES: Final = np.array([1, 2, 4, 8, 16, 32, 64])
_POOLS: Final = {"h100": 2.0, "a100": 1.0, "l40s": 0.5}
_STAGES: Final = ("rollout", "reward", "train")
_RIGID_CARDS: Final = 512
_N_QUEUES: Final = 8

_ASSUMED: Final = (
    "everything: drawn from a seeded generator, nothing was measured",
    "cards of a demand: 1 to 32, small ones more often; per card 16 to 76 GiB of its memory, 3 to 24 cores, 32 to 192 GiB of host memory, 0.2 to 3 GB/s",
    "capacity: the demand divided by the contention, with 5 % less to 15 % more of the single resources",
)
_ASSUMED_FIVE: Final = (
    _ASSUMED[0],
    "cards of a demand: 1 to 32, small ones more often",
    "of the resource a job leans on, per card 38 to 76 GiB of its memory, 12 to 24 cores, 96 to 192 GiB of host memory or 1.5 to 3 GB/s",
    "of the others, per card 4 to 8 GiB, 0.8 to 1.5 cores, 8 to 16 GiB and 0.1 GB/s; jobs that lean on cards weigh half",
    "capacity: the demand divided by the contention",
)


def generate(family: str, n_jobs: int, generator: np.random.Generator, *, contention: float = 3.0, title: str = "") -> State:
    """Make one synthetic state.

    Parameters
    ----------
    family
        One of `FAMILIES`. ``plain``: one pool, one stage. ``full``: three pools with speeds, eight queues, a third of the jobs with three stages, 60 %
        running, a preemption budget, uncertain demand. ``templates``: ten kinds of identical jobs. ``rigid``: jobs of 1 to 64 cards, all or nothing, on
        at most 512 cards. ``five``: one pool, one stage, and every job leans on one of the five resources, so that all five are short at once.
    n_jobs
        How many jobs; 0 gives an empty cluster.
    generator
        Where every random number comes from.
    contention
        Demand over supply; below 1 everything fits.
    title
        What `about` adds to "synthetic".

    Raises
    ------
    ValueError
        The family is unknown.
    """
    if family not in FAMILIES:
        raise ValueError(f"unknown family {family!r}; choose one of {', '.join(FAMILIES)}")
    assumed = _ASSUMED_FIVE if family == "five" else _ASSUMED
    about = {"title": f"synthetic: {title or f'{n_jobs} jobs, family {family}'}", "licence": "Apache-2.0", "assumed": assumed, "synthetic": True}
    return State.model_validate({"format": "libra-opt/state/1", "about": about, **FAMILIES[family](n_jobs, generator, contention)})


def _plain(n_jobs: int, generator: np.random.Generator, contention: float) -> _Document:
    demand = _draw(generator, _cards(generator, n_jobs))
    weights = np.round(generator.uniform(0.5, 2.0, n_jobs), 2)
    jobs = [
        {"id": f"job-{j:05d}", "weight": weight, **_elastic(cards), "demand": amounts}
        for j, (weight, cards, amounts) in enumerate(zip(weights.tolist(), demand[:, 0].tolist(), _written(demand), strict=True))
    ]
    return {"pools": [{"name": "a100", "capacity": _capacity(demand, contention)}], "jobs": jobs}


def _templates(n_jobs: int, generator: np.random.Generator, contention: float) -> _Document:
    n_kinds = 10
    kinds = _draw(generator, _cards(generator, n_kinds))
    weights = np.round(generator.uniform(0.5, 2.0, n_kinds), 2).tolist()
    kind_of = generator.integers(n_kinds, size=n_jobs)
    amounts = _written(kinds)
    asked = [{"weight": weights[kind], **_elastic(int(kinds[kind, 0])), "demand": amounts[kind]} for kind in range(n_kinds)]
    jobs = [{"id": f"kind-{kind}-{j:05d}", **asked[kind]} for j, kind in enumerate(kind_of.tolist())]
    return {"pools": [{"name": "a100", "capacity": _capacity(kinds[kind_of], contention)}], "jobs": jobs}


def _five(n_jobs: int, generator: np.random.Generator, contention: float) -> _Document:
    """Draw jobs that lean on one resource each: of it they ask half to all of the most per card, of the others a quarter to half of the least.

    Those that lean on cards alone would buy all of them; they weigh half, so that the others still pay for what they lean on.
    """
    cards = _cards(generator, n_jobs)
    leaning = generator.integers(len(_NAMES), size=n_jobs)[:, None] == np.arange(len(_NAMES))
    little, some, much = -(-_LEAST_PER_CARD // 4), -(-_LEAST_PER_CARD // 2), -(-_MOST_PER_CARD // 2)
    per_card = generator.integers(np.where(leaning, much, little), np.where(leaning, _MOST_PER_CARD, some), endpoint=True)
    demand = per_card * cards[:, None]
    weights = np.round(generator.uniform(0.5, 2.0, n_jobs) * np.where(leaning[:, 0], 0.5, 1.0), 2)
    jobs = [
        {"id": f"job-{j:05d}", "weight": weight, **_elastic(n), "demand": amounts}
        for j, (weight, n, amounts) in enumerate(zip(weights.tolist(), cards.tolist(), _written(demand), strict=True))
    ]
    supply = np.ceil(demand.sum(axis=0) / contention).astype(np.int64)
    return {"pools": [{"name": "a100", "capacity": _written(supply[None, :])[0]}], "jobs": jobs}


def _rigid(n_jobs: int, generator: np.random.Generator, contention: float) -> _Document:
    demand = _draw(generator, _GANG_SIZES[generator.integers(len(_GANG_SIZES), size=n_jobs)])
    weights = np.round(generator.uniform(0.5, 2.0, n_jobs), 2)
    jobs = [
        {"id": f"job-{j:05d}", "weight": weight, "min_quota": {"gpu": cards}, "max_quota": {"gpu": cards}, "unit": cards, "demand": amounts}
        for j, (weight, cards, amounts) in enumerate(zip(weights.tolist(), demand[:, 0].tolist(), _written(demand), strict=True))
    ]
    least = max(contention, int(demand[:, 0].sum()) / _RIGID_CARDS)
    return {"pools": [{"name": "h100", "capacity": _capacity(demand, least)}], "jobs": jobs}


def _full(n_jobs: int, generator: np.random.Generator, contention: float) -> _Document:
    fleet = _Fleet.draw(n_jobs, generator)
    held, place = fleet.holdings(generator, contention)
    pools = _pools(fleet, held, place, contention)
    queue_of = generator.integers(_N_QUEUES, size=n_jobs)
    cards = np.add.reduceat(held[:, 0], fleet.first[:-1]) if n_jobs else held[:0, 0]
    used = np.bincount(queue_of, weights=cards, minlength=_N_QUEUES).astype(int).tolist()
    wished = np.add.reduceat(fleet.demand[:, 0], fleet.first[:-1]) if n_jobs else held[:0, 0]
    wishes = np.bincount(queue_of, weights=wished, minlength=_N_QUEUES)
    totals = {name: sum(pool[name] for pool in pools.values()) for name in _NAMES}
    return {
        "pools": [{"name": name, "capacity": capacity} for name, capacity in pools.items()],
        "queues": _queues(generator, totals, used, wishes / max(1.0, wishes.sum())),
        "jobs": _full_jobs(generator, fleet, held, place, queue_of),
        "options": {"preemption_budget_seconds": 2 * n_jobs},
    }


FAMILIES: Final[Mapping[str, Callable[[int, np.random.Generator, float], _Document]]] = {
    "plain": _plain,
    "full": _full,
    "templates": _templates,
    "rigid": _rigid,
    "five": _five,
}
"""The kinds of synthetic states, by name."""


@dataclass(frozen=True, slots=True)
class _Fleet:
    """The stages of the full family, stages of a job side by side.

    Attributes
    ----------
    first
        ``(n_jobs + 1,)``: first row of every job, and the number of rows.
    demand
        ``(n_stages, n_resources)`` in quanta.
    unit
        ``(n_stages,)`` cards; divides the cards of the demand.
    allowed
        ``(n_stages, n_pools)``.
    running
        ``(n_stages,)``.
    """

    first: _Quanta
    demand: _Quanta
    unit: _Quanta
    allowed: NDArray[np.bool_]
    running: NDArray[np.bool_]

    @classmethod
    def draw(cls, n_jobs: int, generator: np.random.Generator) -> "_Fleet":
        n_stages_of = np.where(generator.random(n_jobs) < 1 / 3, len(_STAGES), 1)
        first = np.concatenate([[0], np.cumsum(n_stages_of)])
        cards = _cards(generator, int(first[-1]))
        unit = np.where(cards % 4 == 0, generator.choice([1, 2, 4], size=len(cards)), 1)
        allowed = generator.random((len(cards), len(_POOLS))) < 0.6
        allowed[~allowed.any(axis=1)] = True
        running = np.repeat(generator.random(n_jobs) < 0.6, n_stages_of)
        return cls(first, _draw(generator, cards), unit, allowed, running)

    def floor(self) -> _Quanta:
        """Return the minimum of cards of every stage: a quarter of its demand, in whole units."""
        return -(-self.demand[:, 0] // (4 * self.unit)) * self.unit

    def holdings(self, generator: np.random.Generator, contention: float) -> tuple[_Quanta, _Quanta]:
        """Return what running stages hold, ``(n_stages, n_resources)`` in quanta, and the pool of every stage, ``(n_stages,)``."""
        place = np.argmax(generator.random(self.allowed.shape) * self.allowed, axis=1)
        share = np.minimum(1.0, generator.uniform(0.5, 1.5, len(self.demand)) / contention)
        cards = np.maximum(self.floor(), (self.demand[:, 0] * share).astype(np.int64) // self.unit * self.unit)
        held = np.where(_COMPRESSIBLE, np.ceil(self.demand * (cards / np.maximum(1, self.demand[:, 0]))[:, None]).astype(np.int64), self.demand)
        held[:, 0] = cards
        return held * self.running[:, None], place


def _pools(fleet: _Fleet, held: _Quanta, place: _Quanta, contention: float) -> dict[str, dict[str, float]]:
    pools = {}
    for k, (name, share) in enumerate(zip(_POOLS, (0.3, 0.5, 0.2), strict=True)):
        supply = np.ceil(fleet.demand.sum(axis=0) * _SLACK * share / contention).astype(np.int64)
        pools[name] = _written(np.maximum(supply, held[place == k].sum(axis=0))[None, :])[0]
    return pools


def _queues(generator: np.random.Generator, totals: Mapping[str, float], used: Sequence[int], wishes: NDArray[np.float64]) -> list[_Document]:
    """Draw a queue for each entry of `used`, the cards it holds now: never above its ceiling, and never less than it reserves.

    Half of all capacity is guaranteed, half of that by the shares of the cluster that the queues wish for, half at random.
    """
    shares = (0.5 * wishes + 0.5 * generator.dirichlet(np.full(_N_QUEUES, 4.0))).tolist()
    queues: list[_Document] = []
    for q, (share, held) in enumerate(zip(shares, used, strict=True)):
        nominal = {name: int(0.5 * share * total) for name, total in totals.items()}
        queue: _Document = {"name": f"team-{q}", "nominal_quota": nominal}
        if q % 2:
            queue["borrowing_limit"] = {"gpu": max(nominal["gpu"] // 2, held - nominal["gpu"])}
        if q % 4 == 0:
            queue["lending_limit"] = {"gpu": nominal["gpu"] - min(nominal["gpu"] // 4, held)}
        queues.append(queue)
    return queues


def _full_jobs(generator: np.random.Generator, fleet: _Fleet, held: _Quanta, place: _Quanta, queue_of: _Quanta) -> list[_Document]:
    n_jobs = len(fleet.first) - 1
    weights = np.round(generator.uniform(0.5, 2.0, n_jobs), 2).tolist()
    priorities = (generator.random(n_jobs) < 0.1).astype(int).tolist()
    queues = queue_of.tolist()
    preemptible = (generator.random(n_jobs) < 0.95).tolist()
    elapsed = generator.integers(60, 86_400, size=n_jobs).tolist()
    stages = _full_stages(fleet, held, place)
    first = fleet.first.tolist()
    jobs: list[_Document] = []
    for j in range(n_jobs):
        job: _Document = {"id": f"job-{j:05d}", "queue": f"team-{queues[j]}", "priority": priorities[j], "weight": weights[j], "preemptible": preemptible[j]}
        if "allocation" in stages[first[j]]:
            job["running_seconds"] = elapsed[j]
        own = stages[first[j] : first[j + 1]]
        if len(own) == 1:
            job |= own[0]
        else:
            own[0]["demand_intensity"] = [0.5, 0.8, 1.0, 1.2, 1.5]
            job["stages"] = [{"name": name, **stage} for name, stage in zip(_STAGES, own, strict=True)]
        jobs.append(job)
    return jobs


def _full_stages(fleet: _Fleet, held: _Quanta, place: _Quanta) -> list[_Document]:
    names, speeds = tuple(_POOLS), tuple(_POOLS.values())
    rows = zip(
        fleet.floor().tolist(),
        fleet.demand[:, 0].tolist(),
        fleet.unit.tolist(),
        _written(fleet.demand),
        fleet.allowed.tolist(),
        fleet.running.tolist(),
        place.tolist(),
        _written(held),
        strict=True,
    )
    stages: list[_Document] = []
    for least, cards, unit, demand, allowed, running, pool, holding in rows:
        stage: _Document = {"min_quota": {"gpu": least}, "max_quota": {"gpu": 2 * cards}, "unit": unit, "demand": demand}
        stage["pools"] = {name: speed for name, speed, may in zip(names, speeds, allowed, strict=True) if may}
        if running:
            stage["allocation"] = {"pool": names[pool], "resources": holding}
        stages.append(stage)
    return stages


def _cards(generator: np.random.Generator, n_stages: int) -> _Quanta:
    return _GANG_SIZES[generator.choice(6, size=n_stages, p=[0.3, 0.2, 0.2, 0.2, 0.07, 0.03])]


def _draw(generator: np.random.Generator, cards: _Quanta) -> _Quanta:
    per_card = generator.integers(_LEAST_PER_CARD, _MOST_PER_CARD, size=(len(cards), len(_NAMES)), endpoint=True)
    return per_card * cards[:, None]


def _elastic(cards: int) -> _Document:
    return {"min_quota": {"gpu": ceil(cards / 4)}, "max_quota": {"gpu": cards}}


def _capacity(demand: _Quanta, contention: float) -> dict[str, float]:
    return _written(np.ceil(demand.sum(axis=0) * _SLACK / contention).astype(np.int64)[None, :])[0]


def _written(quanta: _Quanta) -> list[dict[str, float]]:
    """Return one mapping of amounts per row, whole numbers where the quantum is whole, else tenths as a person writes them."""
    columns = [column.tolist() if per_unit == 1 else (column / per_unit).tolist() for column, per_unit in zip(quanta.T, _PER_UNIT.tolist(), strict=True)]
    return [dict(zip(_NAMES, row, strict=True)) for row in zip(*columns, strict=True)]
