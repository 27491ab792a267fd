"""An emulated API of Kubernetes on loopback: enough of discovery, lists, label selectors, pages and patches for a real kubectl.

It stores what it is given and validates what it is told to. No controller and no scheduler runs in it but what a test plays itself: this is no Kubernetes.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonpatch

RESOURCES = [  # group, version, plural, kind, namespaced
    ("", "v1", "nodes", "Node", False),
    ("", "v1", "pods", "Pod", True),
    ("ray.io", "v1", "rayclusters", "RayCluster", True),
    ("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", True),
    ("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", True),
    ("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", False),
    ("kueue.x-k8s.io", "v1beta2", "cohorts", "Cohort", False),
    ("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", True),
    ("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", False),
    ("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", True),
    ("scheduling.volcano.sh", "v1beta1", "queues", "Queue", False),
    ("scheduling.run.ai", "v2", "queues", "Queue", False),
]

Key = tuple[str, str, str, str]
"""Group, plural, namespace, name."""


class Emulated:
    """The objects, the requests that were made, and what is installed."""

    def __init__(self, objects: list[dict[str, Any]], validate: Callable[[dict[str, Any]], list[str]] = lambda _: []) -> None:
        self.objects: dict[Key, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.patched: list[dict[str, Any]] = []
        self.installed = {(group, plural) for group, _, plural, _, _ in RESOURCES}
        self.validate = validate
        self.after_patch: Callable[[], None] = lambda: None
        self.failing = ""
        for each in objects:
            self.put(each)

    def put(self, manifest: dict[str, Any]) -> None:
        group = manifest["apiVersion"].rpartition("/")[0]
        plural = next(plural for g, _, plural, kind, _ in RESOURCES if (g, kind) == (group, manifest["kind"]))
        metadata = manifest["metadata"]
        self.objects[group, plural, metadata.get("namespace", ""), metadata["name"]] = manifest

    def of(self, plural: str) -> list[dict[str, Any]]:
        return [manifest for key, manifest in self.objects.items() if key[1] == plural]

    def get(self, path: str, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        parts = [part for part in path.split("/") if part]
        if parts in (["api"], ["apis"]):
            return 200, _discovery(parts[0])
        if parts[:1] not in (["api"], ["apis"]):
            return 404, _MISSING
        group, parts = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
        if not parts:
            return 200, self._resources(group, path)
        found = self._place(group, parts)
        if found is None:
            return 404, _MISSING
        plural, namespace, name = found
        if name:
            manifest = self.objects.get((group, plural, namespace, name))
            return (200, manifest) if manifest else (404, _status("NotFound", f'{plural} "{name}" not found', 404))
        chosen = [m for (g, p, n, _), m in self.objects.items() if (g, p) == (group, plural) and namespace in ("", n) and _is_chosen(m, query)]
        begin, limit = int(query.get("continue", ["0"])[0]), int(query.get("limit", ["500"])[0])
        more = {"continue": str(begin + limit)} if begin + limit < len(chosen) else {}
        return 200, {"kind": "List", "apiVersion": "v1", "metadata": more, "items": chosen[begin : begin + limit]}

    def patch(self, path: str, content_type: str, body: Any) -> tuple[int, dict[str, Any]]:
        code, manifest = self.get(path, {})
        if code != 200:
            return code, manifest
        try:
            changed = jsonpatch.apply_patch(manifest, body) if "json-patch" in content_type else _merged(manifest, body)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            return 422, _status("Invalid", f"the server rejected our request due to an error in our request: {error}", 422)
        if errors := self.validate(changed):
            return 422, _status("Invalid", "; ".join(errors), 422)
        self.put(changed)
        self.patched.append(changed)
        self.after_patch()
        return 200, changed

    def _resources(self, group: str, path: str) -> dict[str, Any]:
        version = path.rstrip("/").split("/")[-1]
        found = [
            {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": ["get", "list", "patch"]}
            for g, v, plural, kind, namespaced in RESOURCES
            if (g, v) == (group, version) and (g, plural) in self.installed
        ]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}".strip("/"), "resources": found}

    def _place(self, group: str, parts: list[str]) -> tuple[str, str, str] | None:
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2:
            namespace, parts = parts[1], parts[2:]
        if (group, parts[0]) not in self.installed:
            return None
        return parts[0], namespace, parts[1] if len(parts) > 1 else ""


def _is_chosen(manifest: dict[str, Any], query: dict[str, list[str]]) -> bool:
    labels = manifest["metadata"].get("labels", {})
    wanted = [term.partition("=") for term in query.get("labelSelector", [""])[0].split(",") if term]
    return all(labels.get(name) == value for name, _, value in wanted)


def _merged(target: Any, patch: Any) -> Any:
    """Return the result of a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def _status(reason: str, message: str, code: int) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "message": message, "code": code}


_MISSING = _status("NotFound", "the server could not find the requested resource", 404)


def _discovery(root: str) -> dict[str, Any]:
    if root == "api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    versions = {group: {"groupVersion": f"{group}/{version}", "version": version} for group, version, *_ in RESOURCES if group}
    groups = [{"name": group, "versions": [version], "preferredVersion": version} for group, version in versions.items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


@contextmanager
def served(api: Emulated, directory: Path) -> Iterator[list[str]]:
    """Yield the kubectl command that reaches the emulated API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(api.get)

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(lambda path, _: api.patch(path, self.headers["Content-Type"], body))

        def _answer(self, answer: Callable[[str, dict[str, list[str]]], tuple[int, dict[str, Any]]]) -> None:
            url = urlsplit(self.path)
            api.requests.append((self.command, self.path))
            if api.failing and api.failing in self.path:
                code, content = 503, _status("ServiceUnavailable", "the server is currently unable to handle the request", 503)
            else:
                code, content = answer(url.path, parse_qs(url.query))
            text = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    context = {"name": "k", "context": {"cluster": "k", "user": "u", "namespace": "default"}}
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "k", "contexts": [context]}
    config |= {"clusters": [{"name": "k", "cluster": {"server": address}}], "users": [{"name": "u", "user": {}}]}
    (directory / "kubeconfig").write_text(json.dumps(config))
    try:
        yield ["kubectl", "--kubeconfig", str(directory / "kubeconfig"), "--cache-dir", str(directory / "cache")]
    finally:
        server.shutdown()
        server.server_close()
