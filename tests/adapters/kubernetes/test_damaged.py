"""Objects that are not what they should be are left alone or refused; nothing else happens."""

import copy
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from libra_opt.adapters.kubernetes import Settings
from libra_opt.adapters.kubernetes.observe import see
from libra_opt.adapters.kubernetes.snapshot import Snapshot
from libra_opt.errors import InputError
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

JUNK = st.sampled_from([None, True, -1, 0, 10**30, 1.5, "", "x", "1e99", "80Gi", [], {}, [None], [[1]], {"name": 1}, {"": None}])


def objects(system):
    own = workload("w", ("Job", "x"), managed=True)
    queues = {
        "kueue": cluster_queue("team-a", {"nominalQuota": 4}),
        "volcano": volcano_queue("q", capability={"cpu": 1}),
        "kai": kai_queue("q", gpu={"quota": 1}),
    }
    return {
        "nodes": [node("n1"), node("n2", cordoned=True)],
        "pods": [pod("p", "n1"), *ray_pods("ppo", "rollout", ["n1", "n2", ""])],
        "jobs": {
            "RayCluster": [ray_cluster("ppo", ray_group("rollout", 3), labels={"kueue.x-k8s.io/queue-name": "local-a"})],
            "JobSet": [job_set("sft")],
            "LeaderWorkerSet": [leader_worker_set("serve")],
        },
        "workloads": [own, workload("v", ("RayCluster", "ppo"))],
        "chosen": [own],
        "local_queues": [local_queue("local-a", "team-a")],
        "flavors": [flavor("h100", "h100")],
        "queues": [queues[system]],
    }


def places(value, path=()):
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


@given(st.data(), st.sampled_from(["kueue", "volcano", "kai"]))
def test_damage_in_one_place_never_ends_in_anything_but_a_state_or_a_refusal(data, system):
    whole = copy.deepcopy(objects(system))
    path = data.draw(st.sampled_from([place for place in places(whole) if len(place) > 2 and not (place[0] == "jobs" and len(place) < 4)]))
    holder = whole
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = data.draw(JUNK)
    told = Settings.model_validate({"namespaces": ["rl"], "pool_label": POOL, "queues": system})
    snapshot = Snapshot(**{name: {kind: tuple(each) for kind, each in found.items()} if name == "jobs" else tuple(found) for name, found in whole.items()})
    with suppress(InputError):
        assert see(snapshot, told).observed.state.pools is not None
