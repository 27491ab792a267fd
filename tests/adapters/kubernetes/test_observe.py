"""What the cluster says becomes a state: pools without what others hold, stages of whole replicas, and a note for all that is left alone."""

import pytest

from libra_opt import allocate
from libra_opt.adapters.kubernetes import Settings
from libra_opt.adapters.kubernetes.observe import see, vocabulary_of
from libra_opt.adapters.kubernetes.queues import flavor_pools, queue_of, with_cohorts
from libra_opt.adapters.kubernetes.snapshot import Snapshot
from libra_opt.domain import Amounts
from libra_opt.errors import InputError
from tests.adapters.kubernetes.made import (
    POOL,
    cluster_queue,
    flavor,
    job_set,
    leader_worker_set,
    local_queue,
    node,
    pod,
    ray_cluster,
    ray_group,
    ray_pods,
    workload,
)

SETTINGS = Settings(namespaces=("rl",), pool_label=POOL)


def seen(nodes=(), pods=(), jobs=(), settings=SETTINGS, **others):
    by_kind = {}
    for manifest in jobs:
        by_kind.setdefault(manifest["kind"], []).append(manifest)
    return see(Snapshot(nodes=tuple(nodes), pods=tuple(pods), jobs=by_kind, **others), settings)


def settings(**changes):
    return Settings.model_validate({"namespaces": ("rl",), "pool_label": POOL, **changes})


def test_pool_is_its_nodes_without_what_others_hold():
    pods = [
        pod("daemon", "n1", namespace="kube-system", gpu=0, cpu="500m", memory="1Gi", pool=None),
        {**pod("ended", "n1"), "status": {"phase": "Succeeded"}},
        pod("waits"),
        pod("elsewhere", "n9"),
    ]
    state = seen([node("n1"), node("n2"), node("a1", "a100", gpu=4), node("n9", "")], pods).observed.state
    assert {pool.name: dict(pool.capacity) for pool in state.pools} == {
        "h100": {"gpu": 16, "cpu": 127.5, "mem": "1023Gi"},
        "a100": {"gpu": 4, "cpu": 64, "mem": "512Gi"},
    }


def test_stage_holds_the_replicas_that_have_a_node():
    cluster = ray_cluster("ppo", ray_group("rollout", 3, most=6), ray_group("train", 1, least=1, most=1, gpu=4))
    pods = [*ray_pods("ppo", "rollout", ["n1", "n1", ""]), *ray_pods("ppo", "train", ["n2"], gpu=4)]
    found = seen([node("n1"), node("n2")], pods, [cluster])
    job = found.observed.state.jobs[0]
    rollout, train = job.all_stages
    assert job.id == "rl/ppo"
    assert rollout.allocation.pool == "h100"
    assert dict(rollout.allocation.resources) == {"gpu": 2, "cpu": 16, "mem": "128Gi"}
    assert [dict(each) for each in (rollout.min_quota, rollout.unit, rollout.max_quota, rollout.demand)] == [
        {"gpu": n, "cpu": 8 * n, "mem": f"{64 * n}Gi"} for n in (1, 1, 6, 6)
    ]
    assert dict(train.max_quota) == {"gpu": 4, "cpu": 8, "mem": "64Gi"}
    assert list(rollout.pools) == ["h100"]
    assert found.observed.notes == ("rl/ppo, stage rollout: 2 of 3 replicas have a node",)


def test_head_of_a_ray_cluster_counts_as_held_by_others():
    head = pod(
        "ppo-head", "n1", labels={"ray.io/node-type": "head", "ray.io/cluster": "ppo", "ray.io/group": "headgroup"}, gpu=0, cpu="4", memory="16Gi", pool=None
    )
    state = seen([node("n1")], [head], [ray_cluster("ppo", ray_group("rollout", 1))]).observed.state
    assert dict(state.pools[0].capacity) == {"gpu": 8, "cpu": 60, "mem": "496Gi"}


def test_replica_of_several_hosts_is_one_unit():
    cluster = ray_cluster("ppo", {**ray_group("rollout", 2), "numOfHosts": 2})
    stage = seen([node("n1"), node("n2")], ray_pods("ppo", "rollout", ["n1", "n1", "n2"]), [cluster]).observed.state.jobs[0].all_stages[0]
    assert dict(stage.unit) == {"gpu": 2, "cpu": 16, "mem": "128Gi"}
    assert dict(stage.allocation.resources) == {"gpu": 4, "cpu": 32, "mem": "256Gi"}


def test_cluster_that_ray_scales_itself_is_left_alone():
    cluster = ray_cluster("ppo", ray_group("rollout", 3), enableInTreeAutoscaling=True)
    found = seen([node("n1")], ray_pods("ppo", "rollout", ["n1"]), [cluster])
    assert found.observed.state.jobs == ()
    assert "rl/ppo is left alone: enableInTreeAutoscaling is true" in found.observed.notes[0]
    assert dict(found.observed.state.pools[0].capacity) == {"gpu": 7, "cpu": 56, "mem": "448Gi"}


def test_lost_node_counts_for_nothing_and_a_closed_one_for_what_is_held_there():
    nodes = [node("n1"), node("n2", ready="False"), node("n3", cordoned=True)]
    cluster = ray_cluster("ppo", ray_group("rollout", 3))
    found = seen(nodes, [*ray_pods("ppo", "rollout", ["n1", "n2", "n3"]), pod("other", "n3")], [cluster]).observed
    assert dict(found.state.pools[0].capacity) == {"gpu": 9, "cpu": 72, "mem": "576Gi"}
    assert dict(found.state.jobs[0].all_stages[0].allocation.resources)["gpu"] == 2
    assert found.notes[0] == "1 nodes are not ready and count for nothing, such as n2"


def test_suspended_cluster_waits_with_the_replicas_it_asks_for():
    found = seen([node("n1")], [], [ray_cluster("ppo", ray_group("rollout", 3), suspend=True)])
    assert found.observed.state.jobs[0].all_stages[0].allocation is None
    assert not found.members["rl/ppo"].is_active


def test_job_set_goes_as_far_as_the_configuration_says():
    nodes = [node("n1")]
    assert dict(seen(nodes, [], [job_set("sft")]).observed.state.jobs[0].all_stages[0].min_quota)["gpu"] == 4
    told = settings(replicas={"rl/sft": {"train": {"min": 2, "max": 8}, "tain": {"max": 3}}})
    found = seen(nodes, [], [job_set("sft")], told).observed
    stage = found.state.jobs[0].all_stages[0]
    assert [dict(each)["gpu"] for each in (stage.min_quota, stage.unit, stage.max_quota)] == [2, 1, 8]
    assert "JobSet rl/sft has no stage 'tain', of which the configuration speaks" in found.notes
    by_job = settings(jobset_scales="replicas", replicas={"rl/sft": {"train": {"max": 2}}})
    stage = seen(nodes, [], [job_set("sft")], by_job).observed.state.jobs[0].all_stages[0]
    assert [dict(each)["gpu"] for each in (stage.min_quota, stage.unit, stage.max_quota)] == [4, 4, 8]


def test_leader_worker_set_that_was_stopped_keeps_how_many_replicas_it_had():
    stopped = leader_worker_set("serve", 0, annotations={"libra-opt/replicas": "3"})
    found = seen([node("n1")], [], [stopped])
    assert not found.members["rl/serve"].is_active
    stage = found.observed.state.jobs[0].all_stages[0]
    assert [dict(each)["gpu"] for each in (stage.unit, stage.min_quota, stage.demand)] == [2, 6, 6]


def kueue(*jobs, workloads=(), chosen=(), queues=None, pods=()):
    told = settings(queues="kueue")
    queues = queues if queues is not None else [cluster_queue("team-a", {"nominalQuota": 4, "borrowingLimit": 2, "lendingLimit": "3"})]
    return seen(
        [node("n1")], pods, jobs, told, workloads=tuple(workloads), chosen=tuple(chosen), local_queues=(local_queue("local-a", "team-a"),), queues=tuple(queues)
    )


def test_queues_of_kueue_are_queues_of_the_state():
    found = kueue(ray_cluster("ppo", ray_group("rollout", 2), labels={"kueue.x-k8s.io/queue-name": "local-a"}))
    queue = found.observed.state.queues[0]
    assert (queue.name, dict(queue.nominal_quota), dict(queue.borrowing_limit), dict(queue.lending_limit)) == ("team-a", {"gpu": 4}, {"gpu": 2}, {"gpu": 3})
    assert found.observed.state.jobs[0].queue == "team-a"


def test_queue_without_a_cohort_borrows_and_lends_nothing():
    found = kueue(queues=[cluster_queue("team-a", {"nominalQuota": 4}, cohort=None)])
    queue = found.observed.state.queues[0]
    assert dict(queue.borrowing_limit) == dict(queue.lending_limit) == {"gpu": 0}


def test_queue_of_several_flavors_has_their_sum_and_no_limit_where_one_has_none():
    flavors = [
        {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 2, **limit}]} for name, limit in (("a", {"borrowingLimit": 1}), ("b", {}))
    ]
    queue = cluster_queue("team-a", {"nominalQuota": 0})
    queue["spec"]["resourceGroups"][0]["flavors"] = flavors
    state = kueue(queues=[queue]).observed.state
    assert (dict(state.queues[0].nominal_quota), state.queues[0].borrowing_limit) == ({"gpu": 4}, None)
    flavors[1]["resources"][0]["borrowingLimit"] = 2
    assert dict(kueue(queues=[queue]).observed.state.queues[0].borrowing_limit) == {"gpu": 3}


def test_cohorts_are_queues_above_their_queues():
    told = settings(queues="kueue")
    queues = [cluster_queue(name, {"nominalQuota": 4}, cohort=cohort) for name, cohort in (("a", "research"), ("b", "other"), ("c", None))]
    cohort = {"metadata": {"name": "research"}, "spec": {"parentName": "all", **cluster_queue("x", {"nominalQuota": 2, "borrowingLimit": 3})["spec"]}}
    vocabulary = vocabulary_of(told)
    found = with_cohorts([queue_of("kueue", each, vocabulary, []) for each in queues], queues, [cohort], vocabulary)
    nothing = {"gpu": 0}
    assert [(queue.name, queue.parent, dict(queue.nominal_quota), queue.borrowing_limit) for queue in found] == [
        ("cohort/all", None, {}, nothing),
        ("cohort/other", None, {}, nothing),
        ("cohort/research", "cohort/all", {"gpu": 2}, {"gpu": 3}),
        ("a", "cohort/research", {"gpu": 4}, None),
        ("b", "cohort/other", {"gpu": 4}, None),
        ("c", None, {"gpu": 4}, nothing),
    ]


def test_nothing_is_shared_between_cohorts():
    """Each of two teams asks for the whole node and has half of it: alone in its cohort it borrows nothing, in one cohort with the other all that is idle."""
    told = settings(queues="kueue", cohorts=True)
    labels, elastic = {"kueue.x-k8s.io/queue-name": "local-a"}, {"kueue.x-k8s.io/elastic-job": "true"}
    cluster = ray_cluster("ppo", ray_group("rollout", 2), labels=labels, annotations=elastic)
    given = {}
    for cohort in ("one", "other"):
        queues = (cluster_queue("team-a", {"nominalQuota": 4}, cohort="one"), cluster_queue("team-b", {"nominalQuota": 4}, cohort=cohort))
        others = {"workloads": (workload("w", ("RayCluster", "ppo")),), "local_queues": (local_queue("local-a", "team-a"),), "queues": queues}
        try:
            state = seen([node("n1")], [], [cluster], told, **others).observed.state
        except InputError:
            pytest.skip("trees of queues are not planned by this version")
        given[cohort] = allocate(state).jobs[0].stages[0].resources["gpu"]
    assert given == {"one": 8, "other": 4}


def test_limit_that_the_plan_wrote_is_not_taken_for_its_owners():
    queue = cluster_queue("team-a", {"nominalQuota": 4, "borrowingLimit": "0"})
    queue["metadata"]["annotations"] = {"libra-opt/limits": '{"h100/nvidia.com/gpu": null}'}
    assert kueue(queues=[queue]).observed.state.queues[0].borrowing_limit is None
    queue["metadata"]["annotations"] = {"libra-opt/limits": '{"h100/nvidia.com/gpu": 6}'}
    assert dict(kueue(queues=[queue]).observed.state.queues[0].borrowing_limit) == {"gpu": 6}


def test_job_that_kueue_would_stop_to_resize_is_planned_as_it_is():
    labels = {"kueue.x-k8s.io/queue-name": "local-a"}
    found = kueue(ray_cluster("ppo", ray_group("rollout", 2), labels=labels), workloads=[workload("w", ("RayCluster", "ppo"))])
    assert dict(found.observed.state.jobs[0].all_stages[0].max_quota)["gpu"] == 2
    assert "annotate it kueue.x-k8s.io/elastic-job: 'true'" in found.observed.notes[0]
    elastic = ray_cluster("ppo", ray_group("rollout", 2), labels=labels, annotations={"kueue.x-k8s.io/elastic-job": "true"})
    found = kueue(elastic, workloads=[workload("w", ("RayCluster", "ppo"), active=False)])
    assert dict(found.observed.state.jobs[0].all_stages[0].max_quota)["gpu"] == 8
    assert (found.members["rl/ppo"].workload, found.members["rl/ppo"].is_active) == ("w", False)


def test_job_that_kueue_has_not_let_in_is_told_with_its_reason():
    waits = workload("w", ("RayCluster", "ppo"))
    waits["status"] = {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient unused quota"}]}
    labels, elastic = {"kueue.x-k8s.io/queue-name": "local-a"}, {"kueue.x-k8s.io/elastic-job": "true"}
    found = kueue(ray_cluster("ppo", ray_group("rollout", 2), labels=labels, annotations=elastic), workloads=[waits])
    assert found.observed.notes == ("rl/ppo, stage rollout: 0 of 2 replicas have a node (insufficient unused quota)",)


def test_workload_of_another_kind_is_let_in_or_put_out_as_it_is():
    own = workload("job-x", ("Job", "x"), count=3, managed=True)
    pods = [pod(f"x-{i}", "n1", labels={"batch.kubernetes.io/job-name": "x"}) for i in range(3)]
    found = kueue(workloads=[own], chosen=[own], pods=pods).observed.state
    stage = found.jobs[0].all_stages[0]
    assert [dict(each)["gpu"] for each in (stage.min_quota, stage.max_quota, stage.allocation.resources)] == [3, 3, 3]
    assert found.jobs[0].queue == "team-a"
    assert found.pools[0].capacity == Amounts({"gpu": 8, "cpu": 64, "mem": "512Gi"})


def test_what_is_over_or_asks_for_nothing_is_no_job():
    over = job_set("sft")
    over["status"] = {"conditions": [{"type": "Completed", "status": "True"}]}
    empty = ray_cluster("idle", ray_group("rollout", 1, gpu=0, cpu="0", memory="0"))
    found = seen([node("n1")], [], [over, empty]).observed
    assert found.state.jobs == ()
    assert "RayCluster rl/idle is left alone: none of its pods asks for anything that is planned" in found.notes[0]


def test_pool_of_a_stage_is_the_one_its_pods_are_pinned_to_or_lie_in():
    pinned = ray_cluster("a", ray_group("rollout", 1, pool="gone"))
    free = ray_cluster("b", ray_group("rollout", 1, pool=None))
    found = seen([node("n1"), node("a1", "a100")], ray_pods("b", "rollout", ["a1"], pool=None), [pinned, free]).observed
    assert [list(job.all_stages[0].pools) for job in found.state.jobs] == [["gone"], ["a100"]]
    assert {pool.name: dict(pool.capacity) for pool in found.state.pools}["gone"] == {}


def test_flavor_says_which_pool_it_is():
    assert flavor_pools([flavor("f", "h100"), {"metadata": {"name": "none"}, "spec": {}}], POOL) == {"f": "h100"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"namespaces": ()}, "names no namespace"),
        ({"kubectl": ()}, "empty command"),
        ({"resources": {}}, "plans no resource"),
        ({"limit_queues": ("a",)}, "write kueue, volcano or kai"),
        ({"replicas": {"a": {"b": {"min": 2, "max": 1}}}}, "are more than the most"),
    ],
)
def test_settings_that_contradict_themselves_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        settings(**changes)
