"""Alibaba's GPU-sharing pods of 2023 (the "openb" node and pod lists) as states.

What the trace records stays as it is: requests of cards (in thousandths), cores and memory, models of nodes and of pods that ask for one, and when a
pod came, started and ended. What it does not record is assumed here, and every state lists both. Replayed in real time the pods fill a fraction of a
per cent of the fleet, so each scene takes a few nodes only, which makes them contend.

Source: Weng et al., *Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent* (USENIX ATC 2023).
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final, TypeVar

from libra_opt.domain import State
from libra_opt.errors import Fault, InputError

__all__ = ["CARD_GIB", "SCENES", "Scene", "convert"]

_Document = dict[str, object]

CARD_GIB: Final = {"P100": 16, "T4": 16, "V100M16": 16, "V100M32": 32, "A10": 24, "G2": 24, "G3": 32}
"""Memory of one card; that of G2 and G3 is not disclosed and assumed."""

_NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "creation_time", "deletion_time", "scheduled_time")
_STEADY: Final = frozenset({"LS", "Guaranteed"})
_FLOOR: Final = {"LS": 1.0, "Guaranteed": 1.0, "Burstable": 0.5, "BE": 0.25}
_QUEUE_SHARES: Final = {"LS": 0.3, "Guaranteed": 0.02, "Burstable": 0.02, "BE": 0.05}

_SOURCE: Final = (
    "openb_node_list_gpu_node.csv and openb_pod_list_gpuspec33.csv of hkust-adsl/kubernetes-scheduler-simulator (alibaba/clusterdata, cluster-trace-gpu-v2023)"
)
_RECORDED: Final = (
    "capacity: gpu, cpu and mem of the nodes that were taken (gpu, cpu_milli, memory_mib), one pool per model",
    "demand of a pod: num_gpu x gpu_milli, cpu_milli, memory_mib (its requests, which are its limits)",
    "pools a pod may use: gpu_spec, which the authors of the trace assigned; empty means any",
    "running_seconds and submitted: scheduled_time and creation_time; who runs: scheduled_time <= moment < deletion_time",
)
_ASSUMED: Final = (
    "gpu_mem of a pod: its share of cards x the smallest card among its pools; memory of G2 cards 24 GiB and of G3 32 GiB",
    "min_quota: the request for LS and Guaranteed, half of its cards for Burstable, a quarter for BE; max_quota: the request",
    "priority 1 for LS and Guaranteed, which are not preemptible while they run, 0 for the others; weight 1; preemption costs at their defaults",
    "where a running pod sits: the first of its pools with room, in order of start; one that finds none waits",
    "demand is constant, the request is used in full; cpu rounds up to 0.1 core, memory to 0.25 GiB; speed 1 in every pool",
    "network: recorded nowhere, so the states have no such resource",
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment of the trace on a few of its nodes.

    Attributes
    ----------
    title
        The point it makes.
    moment, arrivals
        Seconds of the trace: pods that run or wait at `moment`, and those that come within `arrivals` seconds after it, put together as if all waited at
        `moment`.
    nodes
        How many nodes of each model are taken, the first in the list.
    fewest_cores
        Take the nodes with the fewest cores per card instead.
    lost
        Nodes of each model that fail at `moment`, after the running pods were placed.
    whole_cards
        Only pods that ask for whole cards; then cards are exclusive (R8, R9).
    queues
        One queue per QoS class, with a guarantee.
    budget
        Seconds that moves may cost together, or None.
    """

    title: str
    moment: int
    arrivals: int
    nodes: Mapping[str, int]
    fewest_cores: bool = False
    lost: Mapping[str, int] = field(default_factory=dict)
    whole_cards: bool = False
    queues: bool = False
    budget: float | None = None


SCENES: Final[Mapping[str, Scene]] = {
    "fgd2023-an-hour": Scene("an hour of arrivals beside what runs", 11_237_400, 3_600, {"T4": 6, "G2": 2, "P100": 1, "V100M16": 2}),
    "fgd2023-a-day": Scene("a day of arrivals at once", 10_600_000, 86_400, {"T4": 8, "G2": 2, "P100": 2, "V100M16": 2, "V100M32": 1}),
    "fgd2023-queues": Scene(
        "a queue with a guarantee for every QoS class", 10_166_400, 14_400, {"T4": 6, "G2": 1, "V100M32": 1, "P100": 2}, queues=True, budget=600
    ),
    "fgd2023-lost-nodes": Scene(
        "half the nodes fail under what runs", 11_900_000, 1_800, {"T4": 8, "G2": 2, "V100M16": 2}, lost={"T4": 5, "G2": 1, "V100M16": 1}
    ),
    "fgd2023-tight-budget": Scene("moves may cost a minute together", 10_179_000, 7_200, {"T4": 6, "G2": 2, "V100M16": 2}, budget=60),
    "fgd2023-whole-cards": Scene(
        "pods of whole cards only, cards exclusive", 10_177_200, 43_200, {"T4": 4, "G2": 2, "V100M16": 2, "V100M32": 1}, whole_cards=True
    ),
    "fgd2023-cores-are-short": Scene(
        "the nodes with the fewest cores per card, so that cores bind", 10_300_000, 21_600, {"P100": 8, "V100M16": 4}, fewest_cores=True
    ),
    "fgd2023-two-hours": Scene("two busy hours on few cards", 10_200_000, 7_200, {"T4": 3, "G3": 1, "A10": 1}),
}
"""The states that `convert` makes, by name."""


@dataclass(frozen=True, slots=True)
class _Node:
    model: str
    cards: int
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class _Pod:
    name: str
    cpu_milli: int
    memory_mib: int
    card_milli: int
    whole: bool
    models: tuple[str, ...]
    qos: str
    created: int
    started: int | None
    ended: int


def convert(nodes: str, pods: str, sources: tuple[str, str] = ("nodes", "pods"), scenes: Mapping[str, Scene] = SCENES) -> dict[str, State]:
    """Make one state per scene.

    Parameters
    ----------
    nodes, pods
        The two lists, as CSV text with a header.
    sources
        How messages call them.
    scenes
        Which moments, on which nodes, by name.

    Raises
    ------
    InputError
        A column is missing or a value is not what it should be; every such line is named.
    """
    fleet = _read(nodes, _NODE_COLUMNS, sources[0], _node)
    arrivals = _read(pods, _POD_COLUMNS, sources[1], _pod)
    return {name: State.model_validate(_state(scene, fleet, arrivals)) for name, scene in scenes.items()}


def _state(scene: Scene, fleet: Sequence[_Node], arrivals: Sequence[_Pod]) -> _Document:
    taken = _first(sorted(fleet, key=_cores_per_card) if scene.fewest_cores else fleet, scene.nodes)
    pools = [model for model in CARD_GIB if scene.nodes.get(model)]
    before = {model: _supply(taken, model) for model in pools}
    left = {model: _supply(_without(taken, scene.lost), model) for model in pools}
    chosen = [pod for pod in arrivals if _is_there(pod, scene) and (pod.whole and pod.card_milli if scene.whole_cards else True)]
    placed = _place([pod for pod in chosen if _runs(pod, scene)], before)
    document: _Document = {
        "format": "libra-opt/state/1",
        "about": _about(scene, len(placed), sum(_runs(pod, scene) for pod in chosen)),
        "period": {"seconds": 60},
        "resources": _resources(scene),
        "pools": [{"name": model, "capacity": left[model], **({"card_mem": f"{CARD_GIB[model]}Gi"} if scene.whole_cards else {})} for model in pools],
        "jobs": [_job(pod, scene, pools, placed.get(pod.name)) for pod in chosen if _fitting(pod, pools)],
    }
    if scene.queues:
        document["queues"] = _queues(left)
    if scene.budget is not None:
        document["options"] = {"preemption_budget_seconds": scene.budget}
    return document


def _about(scene: Scene, n_placed: int, n_running: int) -> _Document:
    which = "the nodes with the fewest cores per card" if scene.fewest_cores else "the first nodes"
    inventory = ", ".join(f"{count} x {model}" for model, count in scene.nodes.items())
    assumed = [
        f"inventory: {which} of each model in the list ({inventory}), so that the pods contend",
        f"moment: second {scene.moment:,} of the trace; pods of the {scene.arrivals:,} s after it are put as if they waited then",
        f"of {n_running} pods that ran, {n_placed} find room on these nodes and hold their request; the others wait",
        "pods that ask for models that were not taken are left out",
        *_ASSUMED,
    ]
    if scene.lost:
        assumed.append("lost: " + ", ".join(f"{count} x {model}" for model, count in scene.lost.items()) + " fail at the moment; the trace records no failures")
    if scene.whole_cards:
        assumed.append("only pods of whole cards; cards are exclusive, with their memory; BE pods grow and shrink card by card")
    if scene.queues:
        assumed.append("queues: one per QoS class, guaranteed " + ", ".join(f"{share:.0%} ({qos})" for qos, share in _QUEUE_SHARES.items()))
        assumed.append("BE borrows at most as much as it is guaranteed; Guaranteed lends nothing")
    if scene.budget is not None:
        assumed.append(f"preemption budget: {scene.budget:g} s")
    return {
        "title": scene.title,
        "source": _SOURCE,
        "licence": "Apache-2.0",
        "recorded": _RECORDED,
        "assumed": assumed,
    }


def _resources(scene: Scene) -> list[_Document]:
    return [
        {"name": "gpu", "unit": "cards", "quantum": 1 if scene.whole_cards else 0.001, "compressible": True, "costly": True},
        {"name": "gpu_mem", "unit": "GiB", "quantum": 0.25, "compressible": False, "costly": True},
        {"name": "cpu", "unit": "cores", "quantum": 0.1, "compressible": True, "costly": False},
        {"name": "mem", "unit": "GiB", "quantum": 0.25, "compressible": False, "costly": False},
    ]


def _job(pod: _Pod, scene: Scene, pools: Sequence[str], pool: str | None) -> _Document:
    request = _request(pod, _fitting(pod, pools))
    steady = pod.qos in _STEADY
    job: _Document = {"id": pod.name, "priority": int(steady), "preemptible": not steady, "submitted": pod.created}
    if scene.queues:
        job["queue"] = pod.qos
    job["min_quota"] = request if steady else _floor(pod)
    job["max_quota"] = request
    job["demand"] = request
    if pod.models:
        job["pools"] = _fitting(pod, pools)
    if pool is not None and pod.started is not None:
        job["running_seconds"] = scene.moment - pod.started
        job["allocation"] = {"pool": pool, "resources": request}
    return job


def _request(pod: _Pod, pools: Sequence[str]) -> dict[str, float | str]:
    amounts: dict[str, float | str] = {"cpu": ceil(pod.cpu_milli / 100) / 10, "mem": f"{ceil(pod.memory_mib / 256) * 256}Mi"}
    if pod.card_milli:
        card_gib = min(CARD_GIB[model] for model in pools)
        amounts |= {"gpu": _cards(pod.card_milli), "gpu_mem": f"{ceil(pod.card_milli * card_gib * 4 / 1000) * 256}Mi"}
    return amounts


def _floor(pod: _Pod) -> dict[str, float]:
    step = 1000 if pod.whole else 1
    return {"gpu": _cards(ceil(pod.card_milli * _FLOOR[pod.qos] / step) * step)} if pod.card_milli else {}


def _cards(milli: int) -> float:
    return milli // 1000 if milli % 1000 == 0 else milli / 1000


def _queues(supply: Mapping[str, Mapping[str, float]]) -> list[_Document]:
    names = ("gpu", "gpu_mem", "cpu", "mem")
    totals = {name: sum(amounts[name] for amounts in supply.values()) for name in names}
    queues: list[_Document] = []
    for qos, share in _QUEUE_SHARES.items():
        nominal = {name: int(share * total) for name, total in totals.items()}
        queue: _Document = {"name": qos, "nominal_quota": nominal}
        if qos == "BE":
            queue["borrowing_limit"] = nominal
        if qos == "Guaranteed":
            queue["lending_limit"] = dict.fromkeys(names, 0)
        queues.append(queue)
    return queues


def _is_there(pod: _Pod, scene: Scene) -> bool:
    return pod.created <= scene.moment + scene.arrivals and pod.ended > scene.moment


def _runs(pod: _Pod, scene: Scene) -> bool:
    return pod.started is not None and pod.started <= scene.moment < pod.ended


def _fitting(pod: _Pod, pools: Sequence[str]) -> list[str]:
    return [model for model in pools if not pod.models or model in pod.models]


def _place(running: Sequence[_Pod], supply: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """Put the pods that run into pools, first come first served, and return the pool of each that finds room."""
    free = {model: {name: round(1000 * amount) for name, amount in amounts.items()} for model, amounts in supply.items()}
    placed: dict[str, str] = {}
    for pod in sorted(running, key=lambda pod: (pod.started or 0, pod.name)):
        pools = _fitting(pod, tuple(supply))
        if not pools:
            continue
        asked = {name: _thousandths(amount) for name, amount in _request(pod, pools).items()}
        home = next((model for model in pools if all(free[model][name] >= amount for name, amount in asked.items())), None)
        if home is not None:
            placed[pod.name] = home
            for name, amount in asked.items():
                free[home][name] -= amount
    return placed


def _thousandths(amount: float | str) -> int:
    return int(amount.removesuffix("Mi")) * 1000 // 1024 + 1 if isinstance(amount, str) else round(1000 * amount)


def _first(fleet: Sequence[_Node], counts: Mapping[str, int]) -> list[_Node]:
    return [node for model, count in counts.items() for node in [node for node in fleet if node.model == model][:count]]


def _cores_per_card(node: _Node) -> float:
    return node.cpu_milli / max(1, node.cards)


def _without(nodes: Sequence[_Node], lost: Mapping[str, int]) -> list[_Node]:
    failing = _first(nodes, lost)
    left = list(nodes)
    for node in failing:
        left.remove(node)
    return left


def _supply(nodes: Sequence[_Node], model: str) -> dict[str, float]:
    own = [node for node in nodes if node.model == model]
    cards = sum(node.cards for node in own)
    memory_mib = sum(node.memory_mib for node in own)
    return {"gpu": cards, "gpu_mem": cards * CARD_GIB[model], "cpu": sum(node.cpu_milli for node in own) / 1000, "mem": memory_mib // 256 / 4}


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a list; what it cannot give is noted among `faults`, and something harmless is returned instead."""

    line: int
    cells: Mapping[str, str]
    faults: list[Fault]

    def fault(self, column: str, message: str) -> None:
        self.faults.append(Fault(f"line {self.line}, {column}", message))

    def whole(self, column: str) -> int:
        cell = self.cells[column]
        if not (cell.isascii() and cell.isdigit() and len(cell) < 16):
            self.fault(column, f"{cell!r} is not a whole number of 0 or more")
            return 0
        return int(cell)

    def known(self, column: str, names: Mapping[str, float]) -> str:
        cell = self.cells[column]
        if cell not in names:
            self.fault(column, f"{cell!r} is unknown; this converter knows {', '.join(names)}")
        return cell


def _node(row: _Row) -> _Node:
    return _Node(row.known("model", CARD_GIB), row.whole("gpu"), row.whole("cpu_milli"), row.whole("memory_mib"))


def _pod(row: _Row) -> _Pod:
    cards, milli = row.whole("num_gpu"), row.whole("gpu_milli")
    if milli > 1000:
        row.fault("gpu_milli", f"{milli} is more than one card, 1000; whole cards are counted in num_gpu")
    models = tuple(dict.fromkeys(filter(None, row.cells["gpu_spec"].split("|"))))
    started = row.whole("scheduled_time") if row.cells["scheduled_time"] else None
    qos, created, ended = row.known("qos", _FLOOR), row.whole("creation_time"), row.whole("deletion_time")
    return _Pod(row.cells["name"], row.whole("cpu_milli"), row.whole("memory_mib"), cards * milli, milli == 1000, models, qos, created, started, ended)


_Read = TypeVar("_Read")


def _read(text: str, columns: Sequence[str], source: str, make: Callable[[_Row], _Read]) -> list[_Read]:
    reader = csv.DictReader(io.StringIO(text), restval="")
    faults = [Fault("line 1", f"the column {column!r} is missing") for column in columns if column not in (reader.fieldnames or ())]
    values = [] if faults else [make(_Row(line, cells, faults)) for line, cells in enumerate(reader, start=2)]
    if faults:
        raise InputError(source, tuple(faults))
    return values
