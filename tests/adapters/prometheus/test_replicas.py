"""A stage of whole replicas asks for replicas, whatever of them is scarce; its memory tells nothing."""

import numpy as np

from libra_opt import allocate
from libra_opt.adapters.prometheus.history import measured_job
from libra_opt.adapters.prometheus.replicas import replica_of, tied
from libra_opt.domain import Job, Resource, State

RESOURCES = (
    Resource(name="gpu", unit="cards", quantum=0.01, costly=True),
    Resource(name="cpu", unit="cores", quantum=0.001, costly=True),
    Resource(name="mem", unit="GiB", quantum=1 / 1024, costly=True),
)
BY_NAME = {resource.name: resource for resource in RESOURCES}
REPLICA = {"gpu": 2.0, "cpu": 16.0, "mem": 100.0}


def values(**fields):
    return {("usage", name): np.array(each, float) for name, each in fields.items()}


def test_scarcest_of_what_paces_counts():
    found = tied(values(gpu=[2, 5, np.nan], cpu=[40, 8, 8], mem=[400, 400, 400]), REPLICA, ("gpu", "cpu"))
    assert np.allclose(found["usage", "gpu"], [5, 5, np.nan], equal_nan=True)
    assert np.allclose(found["usage", "mem"], [249.75, 249.75, np.nan], equal_nan=True)


def test_memory_alone_tells_nothing():
    assert tied(values(mem=[400.0]), REPLICA, ("gpu", "cpu")) == {}


def test_what_was_held_is_held_in_replicas():
    found = tied({**values(gpu=[3.0]), ("allocation", "gpu"): np.array([8.0]), ("allocation", "mem"): np.array([1.0])}, REPLICA, ("gpu", "cpu"))
    assert {name: float(found["allocation", name][0]) for name in REPLICA} == {"gpu": 8, "cpu": 64, "mem": 400}


def test_only_a_unit_of_several_resources_is_a_replica():
    stage = {"unit": {"gpu": 2, "cpu": "16", "mem": "100Gi"}}
    assert replica_of(Job.model_validate({"id": "a", **stage}), BY_NAME) == REPLICA
    assert replica_of(Job.model_validate({"id": "a", "unit": 2}), BY_NAME) == {}
    assert replica_of(Job.model_validate({"id": "a", "unit": {"gpu": 2}}), BY_NAME) == {}


def test_plan_from_what_was_measured_is_whole_replicas_of_every_resource():
    """Random use of 7 to 13 of 20 replicas, with memory that is always full: the plan never gives one resource more replicas than another."""
    generator = np.random.default_rng(8)
    unit = {"gpu": 2, "cpu": "16", "mem": "100Gi"}
    jobs = []
    for name in ("a", "b", "c"):
        most = {"gpu": 40, "cpu": 320, "mem": "2000Gi"}
        job = Job.model_validate({"id": name, "min_quota": unit, "max_quota": most, "unit": unit, "demand": most})
        needed = generator.uniform(7, 13, 24)
        measured = tied(values(gpu=2 * needed, cpu=9 * needed, mem=np.full(24, 2000.0)), replica_of(job, BY_NAME), ("gpu", "cpu"))
        jobs.append(measured_job(job, {(name, "main"): measured}, BY_NAME, 0, {}))
    pools = [{"name": "p", "capacity": {"gpu": 46, "cpu": 512, "mem": "4Ti"}}]
    plan = allocate(State.model_validate({"resources": RESOURCES, "pools": pools, "jobs": jobs}))
    assert sum(len(job.stages) for job in plan.jobs) == 3
    for job in plan.jobs:
        given = {
            name: BY_NAME[name].quanta(amount, round_up=True) // BY_NAME[name].quanta(unit[name], round_up=True)
            for name, amount in job.stages[0].resources.items()
        }
        assert len(set(given.values())) == 1, given
        assert given["gpu"] >= 1
    assert sum(BY_NAME["gpu"].quanta(job.stages[0].resources["gpu"], round_up=True) for job in plan.jobs) == 4600
