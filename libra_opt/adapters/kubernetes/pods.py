"""Pods: what one asks for, where it is, and whose it is."""

from collections.abc import Iterable, Mapping

from libra_opt.adapters.kubernetes.manifest import Manifest, found, listed, mapped, text
from libra_opt.adapters.kubernetes.quantities import Vector, Vocabulary

__all__ = ["is_gone", "node_of", "pod_requests"]


def pod_requests(spec: Manifest, vocabulary: Vocabulary) -> Vector:
    """Return what the scheduler reserves for a pod of that spec.

    As Kubernetes counts (KEP-753): the sum of its containers and of the init containers that keep running, or what an init container needs beside those started
    before it where that is more; what the pod states as a whole instead; and the overhead. A missing request is the limit.
    """
    running = vocabulary.zero
    most = vocabulary.zero
    for container in listed(spec, "initContainers"):
        asks = _requests(container, vocabulary)
        if text(container, "restartPolicy") == "Always":
            running = _sum((running, asks))
            most = _larger(most, running)
        else:
            most = _larger(most, _sum((running, asks)))
    total = _larger(most, _sum((running, *(_requests(container, vocabulary) for container in listed(spec, "containers")))))
    stated = _asked(spec)
    whole = vocabulary.read(stated, round_up=True)
    total = tuple(own if key in stated else summed for key, own, summed in zip(vocabulary.keys, whole, total, strict=True))
    return _sum((total, vocabulary.read(mapped(spec, "overhead"), round_up=True)))


def node_of(pod: Manifest) -> str:
    """Return the node it is bound to; empty where none."""
    return text(pod, "spec", "nodeName")


def is_gone(pod: Manifest) -> bool:
    """Return whether it holds nothing any more, or is about to let go."""
    return text(pod, "status", "phase") in ("Succeeded", "Failed") or found(pod, "metadata", "deletionTimestamp") is not None


def _requests(container: Manifest, vocabulary: Vocabulary) -> Vector:
    return vocabulary.read(_asked(container), round_up=True)


def _asked(holder: Manifest) -> Mapping[str, object]:
    return {**mapped(holder, "resources", "limits"), **mapped(holder, "resources", "requests")}


def _sum(vectors: Iterable[Vector]) -> Vector:
    return tuple(map(sum, zip(*vectors, strict=True)))


def _larger(one: Vector, other: Vector) -> Vector:
    return tuple(map(max, one, other))
