"""The official definitions, where they lie beside the repository: structural schema by jsonschema, and their CEL rules by a CEL interpreter."""

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cel
import jsonschema
import yaml

CRDS = Path(__file__).parents[4] / "shared" / "ecosystem" / "crds"
FILES = {
    ("ray.io/v1", "RayCluster"): "kuberay_rayclusters.yaml",
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): "jobset.yaml",
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): "lws.yaml",
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): "kueue_clusterqueues.yaml",
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): "kueue_localqueues.yaml",
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): "kueue_resourceflavors.yaml",
    ("kueue.x-k8s.io/v1beta2", "Workload"): "kueue_workloads.yaml",
    ("scheduling.volcano.sh/v1beta1", "Queue"): "volcano_queues.yaml",
    ("scheduling.run.ai/v2", "Queue"): "kai_queues.yaml",
}
WHY_NOT = "the official definitions are not at hand beside the repository"


def faults(manifest: dict[str, Any]) -> list[str]:
    """Return what the official definition of its kind says against an object; kinds of Kubernetes itself are not looked at here."""
    name = FILES.get((manifest["apiVersion"], manifest["kind"]))
    if name is None:
        return []
    schema = _schema(name, manifest["apiVersion"].rpartition("/")[2])
    found = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in _validator(name, manifest["apiVersion"]).iter_errors(manifest)]
    return found + [f"{path}: {message}" for path, message in _broken_rules(schema, manifest, "")]


@cache
def _schema(name: str, version: str) -> dict[str, Any]:
    document = yaml.load((CRDS / name).read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader either way
    return next(each["schema"]["openAPIV3Schema"] for each in document["spec"]["versions"] if each["name"] == version)


@cache
def _validator(name: str, api_version: str) -> jsonschema.Draft202012Validator:
    schema = _schema(name, api_version.rpartition("/")[2])
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return jsonschema.Draft202012Validator(_plain({**schema, "properties": {**schema["properties"], "metadata": anything}}))


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a structural schema as JSON schema; fields that it does not name are refused, as a strict server does."""
    if schema.get("x-kubernetes-int-or-string"):
        pattern = {"pattern": schema["pattern"]} if "pattern" in schema else {}
        return {"anyOf": [{"type": "integer"}, {"type": "string", **pattern}]}
    plain = copy.copy(schema)
    if "properties" in plain:
        plain["properties"] = {name: _plain(each) for name, each in plain["properties"].items()}
        if "additionalProperties" not in plain and not plain.get("x-kubernetes-preserve-unknown-fields"):
            plain["additionalProperties"] = False
    for name in ("items", "additionalProperties"):
        if isinstance(plain.get(name), dict):
            plain[name] = _plain(plain[name])
    return plain


def _broken_rules(schema: dict[str, Any], value: Any, path: str) -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", []):
        if "oldSelf" not in rule["rule"] and cel.evaluate(rule["rule"], {"self": value}) is not True:
            yield path, rule.get("message", rule["rule"])
    if isinstance(value, dict):
        for name, each in value.items():
            inner = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if isinstance(inner, dict):
                yield from _broken_rules(inner, each, f"{path}.{name}")
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for i, each in enumerate(value):
            yield from _broken_rules(schema["items"], each, f"{path}[{i}]")
