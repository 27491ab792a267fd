"""Every generated workload: the same for the same seed, labelled, within its own quotas, and a document like any other."""

from functools import cache

import numpy as np
import pytest

from libra_opt.domain import read_workload, write
from libra_opt.errors import InputError
from libra_opt.simulation.truth import truth_of, vector
from libra_opt.simulation.workloads import WORKLOADS, make


@cache
def made(name, seed=3):
    return make(name, seed)


@pytest.mark.parametrize("name", WORKLOADS)
def test_same_seed_gives_the_same_document(name):
    assert write(make(name, 3)) == write(made(name))


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in ("four_jobs", "curve")])
def test_other_seed_gives_another_document(name):
    assert made(name, 3).jobs != made(name, 4).jobs


@pytest.mark.parametrize("name", WORKLOADS)
def test_document_is_read_back_as_it_was(name):
    workload = made(name)
    assert read_workload(write(workload)) == workload


@pytest.mark.parametrize("name", WORKLOADS)
def test_says_that_it_is_synthetic_and_what_was_assumed(name):
    about = made(name).about
    assert about.synthetic
    assert about.title == f"synthetic: {name}, seed 3"
    assert about.licence == "Apache-2.0"
    assert about.assumed


@pytest.mark.parametrize("name", WORKLOADS)
def test_no_part_uses_more_than_the_stage_may_get_or_asked_for(name):
    workload = made(name)
    for job in workload.jobs:
        truth = truth_of(workload, job)
        for s, stage in enumerate(job.stages):
            most = np.max([np.add(part[s], need[s]) for part, need in zip(truth.demand, truth.need, strict=True)], axis=0)
            assert (most <= np.array(vector(stage.max_quota, workload.resources, np.inf)) + 1e-9).all()
            assert (most <= np.array(vector(stage.request, workload.resources)) + 1e-9).all()


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_job_runs_alone_on_the_cluster_at_its_request(name):
    workload = made(name)
    cards = [resource.name for resource in workload.resources].index("gpu")
    for job in workload.jobs:
        requests = [np.array(vector(stage.request, workload.resources)) for stage in job.stages]
        assert (sum(requests) <= np.array(vector(workload.pools[0].capacity, workload.resources)) + 1e-9).all()
        for stage, request in zip(job.stages, requests, strict=True):
            least = np.array(vector(stage.min_quota, workload.resources))
            assert (least <= request).all()
            assert request[cards] % (stage.unit or 1) == 0 or stage.unit is None


def test_four_jobs_are_those_of_the_example():
    workload = make("four_jobs")
    assert [job.work for job in workload.jobs] == [156, 120, 102, 144]
    assert [[float(part.use["main"]["gpu"]) for part in job.steps[0].parts] for job in workload.jobs] == [
        [0.2, 0.1, 0.9, 0.9, 0.9, 0.1],
        [0.8, 0.8, 0.5, 0.5],
        [0.5, 0.5, 0.3, 0.3, 0.3],
        [0.4, 0.9, 0.1, 0.9, 0.4],
    ]
    assert {(job.clock, job.repeats, job.submitted, job.restart.cold_seconds) for job in workload.jobs} == {("wall", True, 0, 0)}
    assert all(part.seconds == workload.period_seconds == 60 for job in workload.jobs for part in job.steps[0].parts)


def test_curve_takes_jobs_as_they_are_written():
    workload = make("curve", jobs=[{"demand": [2, 0, 1], "work": 9, "submitted": 4}], capacity=3, quantum=1)
    (job,) = workload.jobs
    assert job.submitted == 240
    assert job.work == 540
    assert truth_of(workload, job).rate == (2, 0, 1)


def test_bursty_reservations_are_mostly_idle():
    workload = make("bursty", 5, jobs=40)
    cards = [float(job.stages[0].request["gpu"]) for job in workload.jobs]
    used = [truth.work / truth.seconds for truth in (truth_of(workload, job) for job in workload.jobs)]
    assert sum(used) < 0.4 * sum(cards)
    assert sum(used) > float(workload.pools[0].capacity["gpu"])


def test_light_jobs_fit_together_at_their_requests():
    workload = make("light", 5)
    asked = sum(np.array(vector(job.stages[0].request, workload.resources)) for job in workload.jobs)
    assert (asked <= np.array(vector(workload.pools[0].capacity, workload.resources))).all()
    assert all(truth_of(workload, job).seconds < workload.horizon_seconds for job in workload.jobs)


def test_steady_jobs_always_use_all_they_ask_for_and_together_too_much():
    workload = make("steady", 5)
    for job in workload.jobs:
        assert set(truth_of(workload, job).rate) == {float(job.stages[0].request["gpu"])}
    assert sum(float(job.stages[0].request["gpu"]) for job in workload.jobs) > 1.2 * float(workload.pools[0].capacity["gpu"])


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("bursty", {"jobs": 0}, "jobs: 0 is not a whole number from 1 to 1000"),
        ("bursty", {"job": 3}, "job: unknown field; did you mean 'jobs'"),
        ("light", {"cards": "64"}, 'cards: "64" is not a whole number from 16 to 8192; write it without quotes'),
        ("curve", {"jobs": [{"demand": [-1], "work": 1}]}, r"jobs\[0\].demand\[0\]: -1 is not a number from 0"),
        ("four_jobs", {"jobs": 3}, "jobs: unknown field"),
        ("burst", {}, "'burst' is unknown; choose one of four_jobs, curve, bursty"),
    ],
)
def test_bad_parameter_is_refused_by_name(name, parameters, said):
    with pytest.raises(InputError, match=said):
        make(name, 0, **parameters)


def test_negative_seed_is_refused():
    with pytest.raises(InputError, match="seed: -1 is negative"):
        make("bursty", -1)
