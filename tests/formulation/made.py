"""Small states made from a seed, with everything in them that the rules speak of, and the parts of the formulation made from them.

Resources, pools, queues and jobs are listed out of their canonical order, so that an index taken for another shows.
"""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from libra_opt.domain import Ledger, State
from libra_opt.formulation.bundles import Bundles, enumerate_bundles
from libra_opt.formulation.curves import ServiceCurves, service_curves
from libra_opt.formulation.tables import Tables, tabulate
from libra_opt.formulation.ways import Ways, placements
from tests.formulation.reference import SlowReading

__all__ = ["EVERY_TICK", "SEEDS", "Parts", "cut", "document", "parts", "slow", "state"]

Document = dict[str, Any]

SEEDS = range(30)
EVERY_TICK = 10**6

GPU = {"name": "gpu", "unit": "cards", "compressible": True, "costly": True}
MEMORY = {"name": "gpu_mem", "unit": "GiB", "compressible": False, "costly": True}
CPU = {"name": "cpu", "unit": "cores", "quantum": 0.5, "compressible": True}
HOST = {"name": "mem", "unit": "GiB", "compressible": False}
LAYOUTS = (
    [CPU, GPU, HOST, MEMORY],
    [MEMORY, CPU, GPU],
    [GPU, {**MEMORY, "compressible": True, "costly": False}, CPU],
    [{**GPU, "quantum": 0.25}, MEMORY],
    [CPU, HOST],
)
CURVES = (None, None, None, [[0.5, 0.75], [1, 1]], [[0, 0.25], [0.5, 0.5], [1.5, 1]], [[0, 0.5]], [[0.25, 0.5], [1, 0.5]])
INTENSITIES: tuple[list[float], ...] = ([], [], [], [0.5, 1, 1.5], [0, 2], [0, 0], [0.3, 0.3, 1.2])


@dataclass(frozen=True)
class Parts:
    """A state and what the formulation makes of it, one part after the other."""

    state: State
    ledger: Ledger
    tables: Tables
    curves: ServiceCurves
    ways: Ways

    def bundles(self, most_cells: int = EVERY_TICK) -> Bundles:
        return enumerate_bundles(self.tables, self.curves, self.ways, most_cells)


def cut(state: State) -> Parts:
    """Return the parts of a state up to its ways."""
    ledger = state.ledger
    tables = tabulate(ledger)
    return Parts(state, ledger, tables, service_curves(ledger, tables), placements(ledger, tables))


def parts(seed: int) -> Parts:
    """Return the parts of the state of a seed, made anew."""
    return cut(state(seed))


@cache
def slow(seed: int) -> SlowReading:
    """Return the slow reading of the state of a seed."""
    return SlowReading(state(seed).ledger)


@cache
def state(seed: int) -> State:
    """Return the state of a seed."""
    return State.model_validate(document(seed))


def document(seed: int) -> Document:
    """Return the document of a seed's state."""
    dice = Random(seed)
    resources = LAYOUTS[seed % len(LAYOUTS)]
    names = [resource["name"] for resource in resources]
    pools = ["z", "m", "a"][: dice.randint(1, 3)]
    queues = ["r", "q"][: dice.randint(0, 2)]
    jobs = [_job(dice, name, resources, pools, queues) for name in ("d", "b", "c", "a")[: dice.randint(1, 4)]]
    return {
        "resources": resources,
        "period": {"seconds": dice.choice((30, 60))},
        "pools": [
            {"name": pool, "capacity": {name: dice.choice((dice.randint(0, 16), dice.randint(6, 14))) for name in names}}
            | ({"card_mem": dice.choice((0, 2, 3))} if "gpu_mem" in names and dice.random() < 0.4 else {})
            for pool in pools
        ],
        "queues": [_queue(dice, queue, names) for queue in queues],
        "jobs": jobs,
        "options": {
            "preemption_budget_seconds": dice.choice((None, 20)),
            "hold_periods": dice.choice((1, 2)),
            "priority_base": dice.choice((2, 10)),
            "spare": dice.random() < 0.7,
        },
    }


def _job(dice: Random, name: str, resources: list[Document], pools: list[str], queues: list[str]) -> Document:
    stages = [_stage(dice, f"s{i}", resources, pools) for i in range(dice.choice((1, 1, 2)))]
    job: Document = {
        "id": name,
        "weight": dice.choice((0, 1, 2.5)),
        "priority": dice.choice((0, 0, 1)),
        "preemptible": dice.random() < 0.7,
        "preemption_cost": {
            "evict_seconds": dice.choice((0, 5, 40)),
            "migrate_seconds": dice.choice((3, 30)),
            "resize_seconds": dice.choice((0, 15, {resource["name"]: dice.choice((0, 4, 9)) for resource in resources})),
        },
        "stages": stages,
    }
    if queues and dice.random() < 0.7:
        job["queue"] = dice.choice(queues)
    return job


def _stage(dice: Random, name: str, resources: list[Document], pools: list[str]) -> Document:
    unit = {resource["name"]: dice.choice((1, 1, 2)) for resource in resources if resource.get("quantum", 1) == 1}
    stage: Document = {"name": name, "unit": unit, "demand": {}, "need": {}, "min_quota": {}, "max_quota": {}}
    for resource in resources:
        r = resource["name"]
        step = unit.get(r, 1)
        stage["demand"][r] = dice.choice((0, dice.randint(1, 8), dice.randint(1, 8)))
        if not resource["compressible"]:
            stage["need"][r] = dice.choice((0, dice.randint(0, 8)))
        least = stage["min_quota"][r] = step * dice.choice((0, 0, 0, 1, 2))
        if dice.random() < 0.3:
            stage["max_quota"][r] = max(least, step * dice.randint(1, 5))
    stage["demand_intensity"] = dice.choice(INTENSITIES)
    curve = dice.choice(CURVES)
    if curve is not None:
        stage["curve"] = curve
    if dice.random() < 0.5:
        stage["pools"] = {pool: dice.choice((0.5, 1, 1.25)) for pool in dice.sample(pools, dice.randint(1, len(pools)))}
    if dice.random() < 0.6:
        step, most = dice.choice(((1, 8), (2, 5), (2, 5)))
        held = {r: max(stage["min_quota"][r], stage["need"].get(r, 0) * step, step * dice.randint(0, most)) for r in stage["demand"]}
        stage["allocation"] = {"pool": dice.choice(list(stage.get("pools", pools))) if dice.random() < 0.8 else dice.choice(pools), "resources": held}
    return stage


def _queue(dice: Random, name: str, names: list[str]) -> Document:
    nominal = {r: dice.choice((0, dice.randint(1, 9))) for r in names}
    queue: Document = {"name": name, "nominal_quota": nominal}
    if dice.random() < 0.5:
        queue["borrowing_limit"] = {r: dice.randint(0, 9) for r in names if dice.random() < 0.6}
    if dice.random() < 0.5:
        queue["lending_limit"] = {r: dice.randint(0, nominal[r]) for r in names if dice.random() < 0.6}
    return queue
