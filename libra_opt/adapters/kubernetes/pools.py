"""Nodes become pools: what can be planned of each is what its nodes allow, without what the pods of others hold there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from libra_opt.adapters.kubernetes.manifest import Manifest, found, labels_of, listed, mapped, name_of, text
from libra_opt.adapters.kubernetes.members import Owner
from libra_opt.adapters.kubernetes.pods import is_gone, node_of, pod_requests
from libra_opt.adapters.kubernetes.quantities import Vector, Vocabulary

__all__ = ["Pools", "pools_of"]


@dataclass(frozen=True, slots=True)
class Pools:
    """What there is, and who is where.

    Attributes
    ----------
    capacity
        What can be planned, by pool.
    bound
        Pods by job and stage, then by pool.
    """

    capacity: Mapping[str, Vector]
    bound: Mapping[tuple[str, str], Mapping[str, int]]


def pools_of(nodes: tuple[Manifest, ...], pods: tuple[Manifest, ...], label: str, owner: Owner, vocabulary: Vocabulary, notes: list[str]) -> Pools:
    """Return the pools.

    A node that is not ready counts for nothing, and its pods for gone. One that takes no new pods (cordoned) counts for as much as the jobs hold on it.
    A stage whose pods lie in several pools is where most are; the others count as held by somebody else.
    """
    pool_of = {name_of(node): pool for node in nodes if (pool := labels_of(node).get(label))}
    ready = {name_of(node) for node in nodes if _is_ready(node)}
    closed = {name_of(node) for node in nodes if found(node, "spec", "unschedulable") is True}
    lost = sorted(pool_of.keys() - ready)
    if lost:
        notes.append(f"{len(lost)} nodes are not ready and count for nothing, such as {lost[0]}")
    there = [pod for pod in pods if node_of(pod) in pool_of and node_of(pod) in ready and not is_gone(pod)]
    stages = [owner.of(pod) for pod in there]
    where = _counted(there, stages, pool_of)
    home = {stage: max(sorted(counts), key=counts.__getitem__) for stage, counts in where.items()}
    for key, counts in where.items():
        if len(counts) > 1:
            notes.append(f"pods of {' '.join(key)} lie in {', '.join(sorted(counts))}; only those in {home[key]} are planned")
    free = {name: vocabulary.zero if name in closed else _allocatable(node, vocabulary) for node in nodes if (name := name_of(node)) in ready}
    for pod, stage in zip(there, stages, strict=True):
        node, asks = node_of(pod), pod_requests(mapped(pod, "spec"), vocabulary)
        is_ours = stage is not None and home[stage] == pool_of[node]
        if is_ours == (node in closed):
            sign = 1 if is_ours else -1
            free[node] = tuple(max(0, amount + sign * asked) for amount, asked in zip(free[node], asks, strict=True))
    capacity = dict.fromkeys(sorted(set(pool_of.values())), vocabulary.zero)
    for node in pool_of.keys() & ready:
        capacity[pool_of[node]] = tuple(map(sum, zip(capacity[pool_of[node]], free[node], strict=True)))
    return Pools(capacity, {key: {home[key]: counts[home[key]]} for key, counts in where.items()})


def _counted(pods: Sequence[Manifest], stages: Sequence[tuple[str, str] | None], pool_of: Mapping[str, str]) -> dict[tuple[str, str], dict[str, int]]:
    """Return how many pods of every stage lie in each pool."""
    where: dict[tuple[str, str], dict[str, int]] = {}
    for pod, stage in zip(pods, stages, strict=True):
        if stage is not None:
            counts = where.setdefault(stage, {})
            counts[pool_of[node_of(pod)]] = counts.get(pool_of[node_of(pod)], 0) + 1
    return where


def _is_ready(node: Manifest) -> bool:
    return any(text(condition, "type") == "Ready" and text(condition, "status") == "True" for condition in listed(node, "status", "conditions"))


def _allocatable(node: Manifest, vocabulary: Vocabulary) -> Vector:
    return vocabulary.read(mapped(node, "status", "allocatable"), round_up=False)
