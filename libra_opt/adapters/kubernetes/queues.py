"""Queues of Kueue, Volcano and KAI as the state's queues, and the patches that limit them to what a plan gives.

| state           | Kueue ClusterQueue         | Volcano Queue              | KAI Queue        |
|---|---|---|---|
| nominal_quota   | nominalQuota               | deserved, else guarantee   | quota            |
| borrowing_limit | borrowingLimit             | capability less that       | limit less quota |
| lending_limit   | lendingLimit               | deserved less guarantee    | nothing is kept  |
| weight          | fairSharing.weight         | weight                     | overQuotaWeight of the first resource |

A limit that the plan has written is not what its owner meant, so what was there before is kept in an annotation and read from it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

from libra_opt.adapters.kubernetes.kinds import Operation
from libra_opt.adapters.kubernetes.manifest import Manifest, annotations_of, found, listed, mapped, name_of, text
from libra_opt.adapters.kubernetes.quantities import Vector, Vocabulary
from libra_opt.domain.cluster import Queue
from libra_opt.domain.quantity import parse, unit_factor

__all__ = ["LIMITS", "Quotas", "flavor_pools", "limit_patch", "queue_of", "with_cohorts"]

LIMITS: Final = "libra-opt/limits"
"""The annotation that keeps the limits a queue had before the plan wrote any, as JSON: a quantity, or null where there was none."""

_COHORT: Final = "cohort/"

Quotas: TypeAlias = Mapping[str, Vector]
"""By pool."""

_KAI: Final = {
    "nvidia.com/gpu": ("gpu", Fraction(1)),
    "amd.com/gpu": ("gpu", Fraction(1)),
    "cpu": ("cpu", Fraction(1000)),
    "memory": ("memory", Fraction(1, 10**6)),
}
"""What KAI calls a resource, and how much of its unit one core, card or byte is."""


def flavor_pools(flavors: Sequence[Manifest], label: str) -> dict[str, str]:
    """Return the pool of every ResourceFlavor that speaks of one."""
    return {name_of(flavor): str(pool) for flavor in flavors if (pool := mapped(flavor, "spec", "nodeLabels").get(label)) is not None}


def queue_of(system: str, manifest: Manifest, vocabulary: Vocabulary, notes: list[str]) -> Queue:
    """Return a queue as the state has it, without what stands above it."""
    if system != "kueue":
        return _volcano(manifest, vocabulary) if system == "volcano" else _kai(manifest, vocabulary)
    stopped = text(manifest, "spec", "stopPolicy")
    if stopped not in ("", "None"):
        notes.append(f"ClusterQueue {name_of(manifest)} has the stop policy {stopped}: Kueue lets none of its jobs in, whatever is planned")
    covered = {r for _, _, r in _quotas(manifest, vocabulary)}
    return _kueue(name_of(manifest), text(manifest, "spec", "cohortName"), manifest, vocabulary, covered)


def with_cohorts(queues: Sequence[Queue], manifests: Sequence[Manifest], cohorts: Sequence[Manifest], vocabulary: Vocabulary) -> tuple[Queue, ...]:
    """Return the queues below their cohorts, which are queues too, called ``cohort/NAME``.

    A cohort at the top borrows from nobody and lends to nobody, as nothing is shared between cohorts; one that has no object is there all the same. A resource
    that no queue has a quota of is not Kueue's to limit.
    """
    covered = {r for manifest in (*manifests, *cohorts) for _, _, r in _quotas(manifest, vocabulary)}
    above = {name_of(manifest): text(manifest, "spec", "cohortName") for manifest in manifests}
    stated = {name_of(cohort): cohort for cohort in cohorts}
    parents = {name: text(cohort, "spec", "parentName") for name, cohort in stated.items()}
    wanted = {name for name in (*above.values(), *stated, *parents.values()) if name}
    tops = [_kueue(f"{_COHORT}{name}", parents.get(name, ""), stated.get(name, {}), vocabulary, covered) for name in sorted(wanted)]
    tops = [_below(top, parents.get(top.name.removeprefix(_COHORT), "")) for top in tops]
    return (*tops, *(_below(queue, above.get(queue.name, "")) for queue in queues))


def limit_patch(system: str, manifest: Manifest, planned: Quotas, pools: Mapping[str, str], vocabulary: Vocabulary) -> tuple[str, Any]:
    """Return the type and the body of the patch that limits a queue to what is planned for it.

    Never below what is guaranteed. An empty body: nothing is to be changed.
    """
    if system == "kueue":
        return "json", _limit_kueue(manifest, planned, pools, vocabulary)
    total = tuple(map(sum, zip(*planned.values(), strict=True))) if planned else vocabulary.zero
    return "merge", _limit_volcano(manifest, total, vocabulary) if system == "volcano" else _limit_kai(manifest, total, vocabulary)


def _below(queue: Queue, cohort: str) -> Queue:
    return queue.replace({"parent": f"{_COHORT}{cohort}"}) if cohort else queue


def _kueue(name: str, parent: str, manifest: Manifest, vocabulary: Vocabulary, covered: set[int]) -> Queue:
    """Return a ClusterQueue or a Cohort; without one above it, it neither borrows nor lends of the resources that are covered."""
    kept = _kept(manifest)
    everything = range(len(vocabulary.keys))
    nominal, borrowing, lending = list(vocabulary.zero), dict.fromkeys(everything, 0), dict.fromkeys(everything, 0)
    borrows_freely, lends_all = set(everything), set(everything)
    for flavor, resource, r in _quotas(manifest, vocabulary):
        key = vocabulary.keys[r]
        nominal[r] += vocabulary.read({key: found(resource, "nominalQuota")}, round_up=False)[r]
        borrow = kept.get(f"{flavor}/{key}", found(resource, "borrowingLimit"))
        for limit, total, unlimited in ((borrow, borrowing, borrows_freely), (found(resource, "lendingLimit"), lending, lends_all)):
            if limit is None:
                total.pop(r, None)
            elif r in total:
                total[r] += vocabulary.read({key: limit}, round_up=False)[r]
                unlimited.discard(r)
    if not parent:
        borrowing, lending, borrows_freely, lends_all = dict.fromkeys(covered, 0), dict.fromkeys(covered, 0), set(), set()
    return Queue(
        name=name,
        nominal_quota=vocabulary.amounts(nominal),
        borrowing_limit=_but(vocabulary, borrowing, borrows_freely),
        lending_limit=_but(vocabulary, lending, lends_all),
        weight=_weight(found(manifest, "spec", "fairSharing", "weight")),
    )


def _quotas(manifest: Manifest, vocabulary: Vocabulary) -> Iterator[tuple[str, Manifest, int]]:
    """Yield the name of the flavor, the quota, and the number of every resource of a ClusterQueue or a Cohort that is planned."""
    for group in listed(manifest, "spec", "resourceGroups"):
        for flavor in listed(group, "flavors"):
            for resource in listed(flavor, "resources"):
                if text(resource, "name") in vocabulary.keys:
                    yield text(flavor, "name"), resource, vocabulary.keys.index(text(resource, "name"))


def _volcano(manifest: Manifest, vocabulary: Vocabulary) -> Queue:
    spec = mapped(manifest, "spec")
    guarantee = mapped(spec, "guarantee", "resource")
    nominal = {**guarantee, **mapped(spec, "deserved")}
    cap = {key: kept for key, kept in {**mapped(spec, "capability"), **_kept(manifest)}.items() if kept is not None}
    quota = vocabulary.read(nominal, round_up=False)
    borrowing = [max(0, most - own) for most, own in zip(vocabulary.read(cap, round_up=False), quota, strict=True)]
    lending = [max(0, own - reserved) for own, reserved in zip(quota, vocabulary.read(guarantee, round_up=True), strict=True)]
    return Queue(
        name=name_of(manifest),
        nominal_quota=vocabulary.amounts(quota),
        borrowing_limit=_but(vocabulary, dict(enumerate(borrowing)), {r for r, key in enumerate(vocabulary.keys) if key not in cap}),
        lending_limit=_but(vocabulary, dict(enumerate(lending)), {r for r, key in enumerate(vocabulary.keys) if key not in guarantee}),
        weight=_weight(found(spec, "weight")),
    )


def _kai(manifest: Manifest, vocabulary: Vocabulary) -> Queue:
    kept, nominal, borrowing, free, weights = _kept(manifest), list(vocabulary.zero), list(vocabulary.zero), set(), []
    for r, key in enumerate(vocabulary.keys):
        name = _KAI[key][0] if key in _KAI else ""
        told = mapped(manifest, "spec", "resources", name)
        quota, limit = _of_kai(found(told, "quota"), r, vocabulary), _of_kai(kept.get(name, found(told, "limit")), r, vocabulary)
        nominal[r] = quota or 0
        borrowing[r] = max(0, (limit or 0) - nominal[r])
        if limit is None:
            free.add(r)
        weights.append(found(told, "overQuotaWeight"))
    stated = [weight for weight in weights if weight is not None]
    return Queue(
        name=name_of(manifest),
        nominal_quota=vocabulary.amounts(nominal),
        borrowing_limit=_but(vocabulary, dict(enumerate(borrowing)), free),
        weight=_weight(stated[0] if stated else None),
    )


def _of_kai(amount: object, r: int, vocabulary: Vocabulary) -> int | None:
    """Return an amount of a KAI queue in quanta; None for one without end (-1) or none at all."""
    if not isinstance(amount, (int, float)) or amount < 0 or vocabulary.keys[r] not in _KAI:
        return None
    resource = vocabulary.resources[r]
    absolute = Fraction(str(amount)) / _KAI[vocabulary.keys[r]][1]
    return int(absolute / (unit_factor(resource.unit) or 1) / resource.step)


def _limit_kueue(manifest: Manifest, planned: Quotas, pools: Mapping[str, str], vocabulary: Vocabulary) -> list[dict[str, object]]:
    if not text(manifest, "spec", "cohortName"):
        return []
    operations: list[Operation] = []
    kept = dict(_kept(manifest))
    for g, group in enumerate(listed(manifest, "spec", "resourceGroups")):
        for f, flavor in enumerate(listed(group, "flavors")):
            name = text(flavor, "name")
            given = planned.get(pools[name], vocabulary.zero) if name in pools else None
            for i, resource in enumerate(listed(flavor, "resources")):
                key = text(resource, "name")
                if given is None or key not in vocabulary.keys:
                    continue
                r = vocabulary.keys.index(key)
                nominal = vocabulary.read({key: found(resource, "nominalQuota")}, round_up=False)[r]
                limit, had = max(0, given[r] - nominal), found(resource, "borrowingLimit")
                has = None if had is None else vocabulary.read({key: had}, round_up=False)[r]
                if has == limit:
                    continue
                kept.setdefault(f"{name}/{key}", had)
                path = f"/spec/resourceGroups/{g}/flavors/{f}"
                operations += [
                    Operation("test", f"{path}/name", name),
                    Operation("test", f"{path}/resources/{i}/name", key),
                    Operation("add", f"{path}/resources/{i}/borrowingLimit", vocabulary.quantity(r, limit)),
                ]
    if operations:
        if found(manifest, "metadata", "annotations") is None:
            operations.append(Operation("add", "/metadata/annotations", {}))
        operations.append(Operation("add", f"/metadata/annotations/{LIMITS.replace('/', '~1')}", json.dumps(kept)))
    return [operation.written() for operation in operations]


def _limit_volcano(manifest: Manifest, planned: Vector, vocabulary: Vocabulary) -> dict[str, object]:
    spec = mapped(manifest, "spec")
    nominal = vocabulary.read({**mapped(spec, "guarantee", "resource"), **mapped(spec, "deserved")}, round_up=True)
    had = mapped(spec, "capability")
    has = {key: amount for key, amount in zip(vocabulary.keys, vocabulary.read(had, round_up=False), strict=True) if key in had}
    limits = {key: max(given, own) for key, given, own in zip(vocabulary.keys, planned, nominal, strict=True)}
    changed = {key: limit for key, limit in limits.items() if has.get(key) != limit}
    if not changed:
        return {}
    written = {key: vocabulary.quantity(vocabulary.keys.index(key), limit) for key, limit in changed.items()}
    kept = {**{key: had.get(key) for key in changed}, **_kept(manifest)}
    return _annotated(kept, {"capability": written})


def _limit_kai(manifest: Manifest, planned: Vector, vocabulary: Vocabulary) -> dict[str, object]:
    written: dict[str, object] = {}
    had: dict[str, object] = {}
    for r, key in enumerate(vocabulary.keys):
        if key not in _KAI:
            continue
        name, per = _KAI[key]
        told = mapped(manifest, "spec", "resources", name)
        limit, now = max(planned[r], _of_kai(found(told, "quota"), r, vocabulary) or 0), _of_kai(found(told, "limit"), r, vocabulary)
        if now != limit:
            resource = vocabulary.resources[r]
            amount = limit * resource.step * (unit_factor(resource.unit) or 1) * per
            had[name] = found(told, "limit")
            written[name] = {"limit": int(amount) if amount.denominator == 1 else float(amount)}
    if not written:
        return {}
    return _annotated({**had, **_kept(manifest)}, {"resources": written})


def _annotated(kept: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, object]:
    return {"metadata": {"annotations": {LIMITS: json.dumps(kept)}}, "spec": dict(spec)}


def _kept(manifest: Manifest) -> Mapping[str, object]:
    try:
        kept = json.loads(annotations_of(manifest).get(LIMITS, "{}"))
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}


def _but(vocabulary: Vocabulary, limits: Mapping[int, int], unlimited: set[int]) -> dict[str, Any] | None:
    """Return limits as the state writes them; a resource that is not there, or is said to be unlimited, has none."""
    stated = {resource.name: resource.write(limits[r]) for r, resource in enumerate(vocabulary.resources) if r in limits and r not in unlimited}
    return stated or None


def _weight(weight: object) -> float:
    try:
        return min(1e15, max(1e-9, float(parse(str(weight), "")))) if weight is not None else 1.0
    except ValueError:
        return 1.0
