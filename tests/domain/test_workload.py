"""The cluster of a workload is refused for whatever a state of it would be, when the document is read and not in the first period of a simulation."""

import json

import pytest

from libra_opt.domain import read_workload
from libra_opt.errors import InputError

WORKLOAD = {
    "format": "libra-opt/workload/1",
    "pools": [{"name": "p", "capacity": {"gpu": 8}}],
    "queues": [{"name": "q"}],
    "jobs": [{"id": "j", "steps": [{"parts": [{"seconds": 1}]}]}],
}


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"pools": [{"name": "p", "capacity": {"gpu": "much"}, "card_mem": "AAA"}]}, ["pools[0].capacity.gpu", "pools[0].card_mem"]),
        ({"pools": [{"name": "p", "capacity": {"tpu": 1}}, {"name": "p", "capacity": {}}]}, ["pools[0].capacity.tpu", "pools[1].name"]),
        (
            {"queues": [{"name": "q", "nominal_quota": {"gpu": "8x"}, "borrowing_limit": {"tpu": 1}}]},
            ["queues[0].borrowing_limit.tpu", "queues[0].nominal_quota.gpu"],
        ),
        ({"queues": [{"name": "q", "parent": "nobody"}]}, ["queues[0].parent"]),
        ({"resources": [{"name": "gpu"}, {"name": "gpu"}]}, ["resources[1].name"]),
        ({"resources": [], "pools": [{"name": "p", "capacity": {}}]}, ["resources"]),
        ({"pools": [], "jobs": []}, ["jobs", "pools"]),
        ({"jobs": WORKLOAD["jobs"] * 2}, ["jobs[1]"]),
    ],
)
def test_fault_of_the_cluster_is_named_by_its_path(changes, paths):
    assert read_workload(json.dumps(WORKLOAD)).queues[0].name == "q"
    with pytest.raises(InputError) as caught:
        read_workload(json.dumps({**WORKLOAD, **changes}))
    assert sorted(fault.path for fault in caught.value.faults) == paths


@pytest.mark.parametrize(
    ("request_in", "path", "part"),
    [
        ({"roll": {"gpu_mem": 1}}, "roll", "is no phase"),
        ({"rollout": {"tpu": 1}}, "rollout.tpu", "unknown resource"),
        ({"rollout": {"gpu_mem": "much"}}, "rollout.gpu_mem", "not a quantity"),
        ({"rollout": {"gpu": 1}}, "rollout.gpu", "is compressible"),
        ({"rollout": {"mem": 1}}, "rollout.mem", "is not in request"),
        ({"rollout": {"gpu_mem": "81Gi"}}, "rollout.gpu_mem", "above the request of 80"),
    ],
)
def test_what_is_asked_for_in_a_phase_is_memory_within_the_request_of_a_phase_there_is(request_in, path, part):
    def read(asked):
        stage = {"request": {"gpu": 1, "gpu_mem": 80}, "request_in": asked}
        job = {"id": "j", "stages": [stage], "steps": [{"parts": [{"seconds": 1, "phase": "rollout"}]}]}
        return read_workload(json.dumps({**WORKLOAD, "jobs": [job]}))

    assert read({"rollout": {"gpu_mem": "80Gi"}}).jobs[0].stages[0].request_in["rollout"] == {"gpu_mem": "80Gi"}
    with pytest.raises(InputError) as caught:
        read(request_in)
    (fault,) = caught.value.faults
    assert fault.path.endswith(f"request_in.{path}")
    assert part in fault.message
