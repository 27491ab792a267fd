"""`LibraPolicy`: speedup functions become profiles (R15), `allocate` chooses replicas, and whole replicas are placed on nodes.

The objective is Pollux's (Qiao et al., OSDI 2021; adaptdl-sched): the sum over jobs of speedup x dominant share of one replica, a tenth less for a job
that is changed. `allocate` sees the nodes as one pool and each job on the fewest nodes that its replicas could have; where placing shows that to be too
hopeful, what could not be had is struck out and planned again, a few times, and the best of the placed answers is given. Among these is, in clusters
that are not very large, what giving one replica after the other comes to.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from libra_opt.adapters.adaptdl.shapes import JobInfo, Key, NodeInfo, Room
from libra_opt.allocation import allocate
from libra_opt.domain import Options, State
from libra_opt.domain.profile import LONGEST_PROFILE

__all__ = ["LibraPolicy"]

RESTART_PENALTY: Final = 0.1
_ROUNDS: Final = 4
_MOST_TRIES: Final = 2_000_000
_Allocations = dict[Key, list[Key]]
_Struck = set[tuple[Key, int]]


class LibraPolicy:
    """Stands in for PolluxPolicy; it keeps nothing from call to call, and the same call gives the same answer.

    Parameters
    ----------
    options
        How `allocate` plans; its gap and effort count.
    """

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()

    def allocate_job(self, job_info: JobInfo, nodes: Mapping[Key, NodeInfo]) -> list[Key]:
        """Return the first node, those that stay before preemptible ones, on which the least replicas of a new job fit, once per replica; or nothing."""
        room, replicas = _room(nodes), max(1, job_info.min_replicas)
        found = next((node for node in room.left if room.fitting(node, job_info.resources) >= replicas), None)
        return [] if found is None else [found] * replicas

    def optimize(
        self, jobs: Mapping[Key, JobInfo], nodes: Mapping[Key, NodeInfo], base_allocations: Mapping[Key, Iterable[Key]], node_template: NodeInfo
    ) -> tuple[_Allocations, int]:
        """Allocate nodes to the replicas of all jobs.

        Parameters
        ----------
        jobs, nodes
            By key. Of nodes, what AdaptDL's own jobs may use.
        base_allocations
            Of every job, the node of each of its replicas now.
        node_template
            A node that could be had; it only tells whether a cluster of none should ask for one. Sizing a cluster is not done here.

        Returns
        -------
        allocations
            Of every job the node of each replica, empty for one that waits.
        desired_nodes
            How many nodes there are, and 1 for none when a replica would fit the template.
        """
        base = {key: list(base_allocations.get(key, ())) for key in jobs}
        room = _room(nodes)
        pinned = {key: base[key] for key in _ordered(jobs) if not jobs[key].preemptible and base[key] and room.left.keys() >= set(base[key])}
        for key, held in pinned.items():
            room.take(held, jobs[key].resources)
        free = {key: jobs[key] for key in _ordered(jobs) if key not in pinned}
        worth = _dominant_shares(free, nodes)

        def value(answer: _Allocations) -> float:
            return sum(worth[key] * _gained(job, answer[key], base[key]) for key, job in free.items())

        best = max(
            _placed(free, base, room, {key: len(base[key]) for key in free}, worth),
            _placed(free, base, room, dict.fromkeys(free, 0), worth, _one_by_one(free, room.copy(), worth)),
            key=value,
        )
        struck: _Struck = set()
        for _ in range(_ROUNDS if room.left and free else 0):
            wanted = self._replicas(free, base, room, worth, struck)
            placed = _placed(free, base, room, wanted, worth)
            best = max(best, placed, key=value)
            missed = {
                (key, wanted[key])
                for key, job in free.items()
                if wanted[key] and placed[key] is not base[key] and _speedup(job, placed[key]) < _hoped(job, room, wanted[key])
            }
            if missed <= struck:
                break
            struck |= missed
        any_fits = any(_room({0: node_template}).fitting(0, job.resources) > 0 for job in jobs.values()) if node_template is not None else False
        return {key: pinned.get(key, best.get(key, [])) for key in jobs}, len(nodes) or int(any_fits)

    def _replicas(self, jobs: Mapping[Key, JobInfo], base: _Allocations, room: Room, worth: Mapping[Key, float], struck: _Struck) -> dict[Key, int]:
        """Return how many replicas `allocate` gives every job, none of those struck out."""
        posed: list[dict[str, Any]] = []
        named: dict[str, tuple[Key, dict[int, int]]] = {}
        for i, (key, job) in enumerate(jobs.items()):
            entries: list[dict[str, Any]] = []
            kept = room.holds(base[key], job.resources)
            wanted = {name: amount for name, amount in job.resources.items() if amount > 0}
            for replicas in _range(job, room):
                is_kept = kept and replicas == len(base[key])
                moved = 0.0 if (key, replicas) in struck else (1 - RESTART_PENALTY) * _hoped(job, room, replicas)
                rate = max(_speedup(job, base[key]), moved) if is_kept else moved
                if rate > 0:
                    entries.append({"pool": "nodes", "resources": {name: replicas * amount for name, amount in wanted.items()}, "rate": rate})
            if entries and worth[key] > 0:
                full = max(entry["rate"] for entry in entries)
                posed.append({"id": f"{i:06}", "weight": worth[key], "profile": entries, "rates": {"steps": full}})
                resource = next(iter(wanted))
                named[f"{i:06}"] = key, {int(entry["resources"][resource]): int(entry["resources"][resource]) // wanted[resource] for entry in entries}
        names = sorted({name for job in jobs.values() for name, amount in job.resources.items() if amount > 0})
        if not posed:
            return dict.fromkeys(jobs, 0)
        plan = allocate(
            State.model_validate(
                {
                    "resources": [{"name": name} for name in names],
                    "pools": [{"name": "nodes", "capacity": _capacity(jobs, room, names)}],
                    "jobs": posed,
                    "options": self._options.replace({"throughput": "steps", "spare": False, "lookahead": 1}),
                }
            )
        )
        chosen = dict.fromkeys(jobs, 0)
        for planned in plan.jobs:
            key, replicas_of = named[planned.id]
            if planned.stages:
                first = next(name for name, amount in jobs[key].resources.items() if amount > 0)
                chosen[key] = replicas_of[int(planned.stages[0].resources[first])]
        return chosen


def _ordered(jobs: Mapping[Key, JobInfo]) -> list[Key]:
    return sorted(jobs, key=lambda key: (type(key).__name__, str(key)))


def _room(nodes: Mapping[Key, NodeInfo]) -> Room:
    """Return the room of all nodes, those that stay first."""
    order = sorted(nodes, key=lambda key: (bool(nodes[key].preemptible), type(key).__name__, str(key)))
    return Room({key: dict(nodes[key].resources) for key in order})


def _dominant_shares(jobs: Mapping[Key, JobInfo], nodes: Mapping[Key, NodeInfo]) -> dict[Key, float]:
    """Return of every job the largest share of the cluster that one replica takes, times the nodes: 1 for a whole node."""
    total: dict[str, int] = {}
    for node in nodes.values():
        for name, amount in node.resources.items():
            total[name] = total.get(name, 0) + amount
    return {
        key: len(nodes) * max((amount / total[name] for name, amount in job.resources.items() if total.get(name, 0) > 0), default=0.0)
        for key, job in jobs.items()
    }


def _capacity(jobs: Mapping[Key, JobInfo], room: Room, names: list[str]) -> dict[str, int]:
    """Return what nodes have left together; where all replicas are alike, only what whole replicas can use of each node."""
    kinds = {tuple(sorted(job.resources.items())) for job in jobs.values()}
    if len(kinds) == 1:
        resources: dict[str, int] = dict(*kinds)
        slots = sum(room.fitting(node, resources) for node in room.left)
        return {name: slots * resources[name] for name in names}
    return {name: sum(max(0, left.get(name, 0)) for left in room.left.values()) for name in names}


def _range(job: JobInfo, room: Room) -> range:
    """Return the numbers of replicas a job may have."""
    most = min(job.max_replicas, sum(room.fitting(node, job.resources) for node in room.left))
    least = max(1, job.min_replicas)
    return range(least, min(most, least + LONGEST_PROFILE - 1) + 1)


def _speedup(job: JobInfo, held: list[Key]) -> float:
    """Return the speedup of replicas on their nodes."""
    return float(job.speedup_fn(len(set(held)), len(held))) if held else 0.0


def _gained(job: JobInfo, held: list[Key], base: list[Key]) -> float:
    """Return the speedup of replicas on their nodes, less the penalty where they are not where they were."""
    return _speedup(job, held) * (1 if Counter(held) == Counter(base) else 1 - RESTART_PENALTY)


def _hoped(job: JobInfo, room: Room, replicas: int) -> float:
    """Return the speedup of so many replicas on the fewest nodes they could have by themselves."""
    by_room = sorted((room.fitting(node, job.resources) for node in room.left), reverse=True)
    n_nodes, held = 0, 0
    while held < replicas:
        held += by_room[n_nodes]
        n_nodes += 1
    return float(job.speedup_fn(n_nodes, replicas))


def _keeps(job: JobInfo, room: Room, base: list[Key], wanted: int) -> bool:
    """Return whether a job may have the replicas it is to have where they are."""
    return 0 < wanted == len(base) and job.min_replicas <= wanted <= job.max_replicas and room.holds(base, job.resources)


def _placed(
    jobs: Mapping[Key, JobInfo],
    base: _Allocations,
    room: Room,
    wanted: Mapping[Key, int],
    worth: Mapping[Key, float],
    begin: Mapping[Key, list[Key]] | None = None,
) -> _Allocations:
    """Place so many replicas of every job: what stays first, then the largest; then what is left is given where it gains most.

    A job for which there is no room gets the number of replicas, and so the nodes, that serve it best of those that fit. What `begin` gives is placed already.
    """
    room = room.copy()
    placed: _Allocations = {key: list((begin or {}).get(key, ())) for key in jobs}
    for key, held in placed.items():
        room.take(held, jobs[key].resources)
    for key, job in jobs.items():
        if _keeps(job, room, base[key], wanted[key]) and _speedup(job, base[key]) >= (1 - RESTART_PENALTY) * _hoped(job, room, wanted[key]):
            placed[key] = base[key]
            room.take(base[key], job.resources)
    for key in sorted((key for key in jobs if wanted[key] and not placed[key]), key=lambda key: -wanted[key]):
        job = jobs[key]
        fitting = [packed for n in range(max(1, job.min_replicas), min(wanted[key], job.max_replicas) + 1) if (packed := room.pack(n, job.resources))]
        if _keeps(job, room, base[key], wanted[key]):
            fitting.append(base[key])
        placed[key] = max(fitting, key=lambda held: (_gained(job, held, base[key]), -len(held)), default=[])
        if _speedup(job, placed[key]) <= 0:
            placed[key] = []
        room.take(placed[key], job.resources)
    _fill(jobs, base, room, placed, worth)
    return placed


def _one_by_one(jobs: Mapping[Key, JobInfo], room: Room, worth: Mapping[Key, float]) -> _Allocations:
    """Give one replica after the other where it gains most, a job's first ones together on one node; nothing where that is too much to try."""
    held: _Allocations = {key: [] for key in jobs}
    slots = sum(max((room.fitting(node, job.resources) for job in jobs.values()), default=0) for node in room.left)
    if slots * len(jobs) * len(room.left) > _MOST_TRIES:
        return held
    while True:
        best_gain, best_key, best_node, best_step = 1e-12, None, None, 0
        for key, job in jobs.items():
            step = 1 if held[key] else max(1, job.min_replicas)
            if len(held[key]) + step > job.max_replicas:
                continue
            now = _speedup(job, held[key])
            room.give(held[key], job.resources)
            tried: set[int] = set()
            for node in room.left:
                more = [*held[key], *[node] * step]
                if len(set(more)) not in tried and room.holds(more, job.resources):
                    tried.add(len(set(more)))
                    gain = worth[key] * (_speedup(job, more) - now)
                    if gain > best_gain:
                        best_gain, best_key, best_node, best_step = gain, key, node, step
            room.take(held[key], job.resources)
        if best_key is None:
            return held
        room.take([best_node] * best_step, jobs[best_key].resources)
        held[best_key] += [best_node] * best_step
        if len(set(held[best_key])) > 1:
            room.distributed |= set(held[best_key])


def _fill(jobs: Mapping[Key, JobInfo], base: _Allocations, room: Room, placed: _Allocations, worth: Mapping[Key, float]) -> None:
    """Give what is left to the job that gains most by more replicas, until none does."""
    while True:
        best_gain, best_key, best_held = 1e-12, None, []
        for key, job in jobs.items():
            if not any(room.fitting(node, job.resources) for node in room.left):
                continue
            now = _gained(job, placed[key], base[key])
            room.give(placed[key], job.resources)
            for replicas in _range(job, room):
                packed = room.pack(replicas, job.resources) if replicas > len(placed[key]) else None
                gain = worth[key] * (_gained(job, packed, base[key]) - now) if packed else 0.0
                if packed and gain > best_gain:
                    best_gain, best_key, best_held = gain, key, packed
            room.take(placed[key], job.resources)
        if best_key is None:
            return
        room.give(placed[best_key], jobs[best_key].resources)
        room.take(best_held, jobs[best_key].resources)
        placed[best_key] = best_held
