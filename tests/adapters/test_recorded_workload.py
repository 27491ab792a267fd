"""Recorded arrivals, rollouts and phases become a workload: what was recorded is kept, what was assumed is said, the load is as asked."""

import gzip
import json
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from libra_opt.adapters.recorded_workload import MANY, OPTIONAL, PATTERNS, recorded_workload
from libra_opt.domain import read_workload, write
from libra_opt.errors import InputError
from libra_opt.recordings import Document
from libra_opt.simulation.truth import truth_of, vector

TRACES = Path(__file__).parents[3] / "shared" / "traces"

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"
LOG = "timing/gen:10.0 timing/ref:1.0 timing/values:0.5 timing/adv:0.5 timing/update_critic:4.0 timing/update_actor:4.0\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,creation_time,deletion_time\n"
APPS = "app_name,cpu_request,gpu_request,rdma_request,memory_request,creation_time,deletion_time\n"


def trajectory(group, seconds, tokens=1000):
    turns = [{"engine_latency_s": seconds, "total_len_after": tokens}]
    return json.dumps({"prompt_group_id": group, "turns": turns, "tool_calls": [{"turn": 0, "latency_s": 0.5}]}) + "\n"


def arrival(n, cards=4, duration=3000):
    return f"2017-10-{1 + n // 24:02d} {n % 24:02d}:00:00,{duration},{cards},1,c\n"


def documents(**changed):
    texts = {
        "arrivals": [PHILLY + "".join(arrival(n, cards) for n, cards in enumerate([2, 4, 8, 4, 2, 16, 4, 8, 2, 4]))],
        "trajectories": ["".join(trajectory(group, 100 + 30 * i) for group in range(40) for i in range(8))] * 2,
        "phases": [LOG],
        "pods": [PODS + "".join(f"p{i},4000,8192,1,1000,{qos},{600 * i},{600 * i + 3000}\n" for i, qos in enumerate(["LS", "BE", "Burstable"] * 40))],
        "instances": [APPS + "a,10,1,25,100,,\n" * 3 + "b,4,2,10,50,,\n" + "a,10,1,25,100,3600,400000\n"],
    }
    texts |= changed
    return {part: [Document(f"{part}-{i}", text) for i, text in zip(count(), held, strict=False)] for part, held in texts.items() if held}


def made(seed=1, load=1.2, **changed):
    return recorded_workload(documents(**changed), np.random.default_rng(seed), load=load, horizon_seconds=3600)


@cache
def whole():
    return made()


@cache
def training():
    return made(pods=[], instances=[])


def wanted(workload):
    """Return the cards that all would use in the mean if served in full, over the cards there are."""
    used = 0.0
    for job in workload.jobs:
        truth = truth_of(workload, job)
        edges = np.minimum((0.0, *truth.ends), workload.horizon_seconds - job.submitted)
        used += float(np.diff(edges) @ np.array(truth.rate))
    return used / (workload.horizon_seconds * float(workload.pools[0].capacity["gpu"]))


@pytest.mark.parametrize("load", [0.6, 1.2])
def test_load_is_as_asked(load):
    assert wanted(made(load=load, pods=[], instances=[])) == pytest.approx(load, rel=0.06)


def test_same_generator_gives_the_same_document_and_another_another():
    assert write(made(1)) == write(whole())
    assert whole().jobs != made(2).jobs


def test_document_is_read_back_as_it_was():
    workload = whole()
    assert read_workload(write(workload)) == workload


def test_says_what_was_recorded_and_what_was_assumed():
    about = whole().about
    assert not about.synthetic
    assert len(about.recorded) == len(PATTERNS)
    assert any("PPO" in line for line in about.assumed)
    assert "not to be passed on" in about.licence
    assert "not to be passed on" not in training().about.licence


def test_jobs_hold_as_many_cards_as_recorded_and_no_part_uses_more():
    workload = training()
    assert {int(job.stages[0].max_quota["gpu"]) for job in workload.jobs} <= {2, 4, 8, 16}
    for job in workload.jobs:
        truth = truth_of(workload, job)
        most = np.max([np.add(demand[0], need[0]) for demand, need in zip(truth.demand, truth.need, strict=True)], axis=0)
        assert (most <= np.array(vector(job.stages[0].max_quota, workload.resources, np.inf)) + 1e-9).all()


def test_rollout_lasts_as_long_as_its_slowest_trajectory_and_training_follows_the_log():
    job = training().jobs[0]
    lasting = {phase: sum(part.seconds for part in job.steps[0].parts if part.phase == phase) for phase in ("rollout", "score", "update")}
    assert lasting == pytest.approx({"rollout": 310.5, "score": 62.1, "update": 248.4}, abs=0.5)
    assert [part.phase for part in job.steps[0].parts if part.waits_for_memory] == ["update"]


def test_rollout_keeps_the_recorded_time_in_the_engine():
    job = next(job for job in training().jobs if job.stages[0].max_quota["gpu"] == 4)
    used = sum(part.seconds * float(part.use["main"]["gpu"]) for part in job.steps[0].parts if part.phase == "rollout")
    engine = 16 * sum(100 + 30 * i for i in range(8)) / 32
    assert engine <= used <= 1.6 * engine


def test_pods_and_services_live_on_the_wall_clock():
    jobs = whole().jobs
    assert {job.clock for job in jobs if job.id.startswith(("pod", "service"))} == {"wall"}
    assert {job.clock for job in jobs if job.id.startswith("rl")} == {"progress"}
    assert {float(part.use["main"]["gpu"]) for job in jobs if job.id.startswith("pod") for part in job.steps[0].parts} == {1}


def test_parts_that_may_be_missing_may_be_missing():
    assert set(OPTIONAL) < set(PATTERNS)
    assert {job.id.split("-")[0] for job in training().jobs} == {"rl"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"phases": []}, "phases: is missing; give the files verl_ppo_log"),
        ({"arrivals": [PHILLY + "yesterday,3000,4,1,c\n"]}, "line 2, timestamp: 'yesterday' is not a time"),
        ({"arrivals": [PHILLY + arrival(1, 1)]}, "holds no job of 2 to 16 cards"),
        ({"pods": [PODS + "p,1,1,1,1000,XX,0,3000\n"]}, "line 2, qos: 'XX' is unknown"),
        ({"pods": [PODS + "p,1,1,0,0,LS,0,3000\n"]}, "holds no pod of whole cards"),
        ({"instances": [APPS + "a,1,0,1,1,,7200\n"]}, "holds no application that uses cards in every hour"),
        ({"trajectories": ["{}\n"]}, "no field 'turns'"),
        ({"phases": ["nothing"]}, "this is not a PPO log"),
    ],
)
def test_document_that_is_not_what_it_should_be_is_named(changed, said):
    with pytest.raises(InputError, match=said):
        made(**changed)


@pytest.mark.parametrize(("name", "value"), [("load", 0.0), ("load", float("nan")), ("horizon_seconds", 1.0), ("cards", 3)])
def test_number_out_of_its_range_is_named(name, value):
    with pytest.raises(InputError, match=f"{name}: .* is not from"):
        recorded_workload(documents(), np.random.default_rng(0), **{name: value})


def test_shared_traces_become_a_workload():
    found = {part: sorted(TRACES.glob(pattern)) for part, pattern in PATTERNS.items()} if TRACES.is_dir() else {}
    if not all(found.get(part) for part in PATTERNS):
        pytest.skip("the traces are not there")
    held = {part: paths if part in MANY else paths[:1] for part, paths in found.items()}
    texts = {part: [Document(path.name, _text(path)) for path in paths] for part, paths in held.items()}
    workload = recorded_workload(texts, np.random.default_rng(3), load=1.0)
    assert 1.0 <= wanted(workload) < 1.2
    assert {job.id.split("-")[0] for job in workload.jobs} == {"rl", "pod", "service"}
    assert read_workload(write(workload)) == workload


def _text(path):
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
