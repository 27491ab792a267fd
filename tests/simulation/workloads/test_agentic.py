"""The agentic workload: the load that was asked, gangs that memory forces, rollouts with a tail, and quotas that hold it all."""

from functools import cache
from math import ceil

import numpy as np
import pytest

from libra_opt.domain import write
from libra_opt.simulation.truth import truth_of
from libra_opt.simulation.workloads import make
from libra_opt.simulation.workloads.models import MODELS
from libra_opt.simulation.workloads.trajectories import draw_batch, draw_lengths, stretches

GPU, GPU_MEM, CPU = 0, 1, 2
CARD_GIB = 80


@cache
def made(gang="elastic", load=1.2, seed=3, horizon=7200.0):
    workload = make("agentic", seed, gang=gang, load=load, horizon_seconds=horizon)
    return workload, tuple(truth_of(workload, job) for job in workload.jobs)


def wanted(workload, truths):
    used = 0.0
    for job, truth in zip(workload.jobs, truths, strict=True):
        edges = np.minimum((0.0, *truth.ends), workload.horizon_seconds - job.submitted)
        used += float(np.diff(edges) @ np.array(truth.rate))
    return used / (workload.horizon_seconds * float(workload.pools[0].capacity["gpu"]))


@pytest.mark.parametrize("load", [0.5, 0.9, 1.2, 2.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_load_is_as_asked(load, seed):
    assert wanted(*made(load=load, seed=seed)) == pytest.approx(load, rel=0.05)


def test_several_jobs_are_there_at_the_beginning_and_use_the_load():
    workload, truths = made()
    first = [truth.work / truth.seconds for job, truth in zip(workload.jobs, truths, strict=True) if job.submitted == 0]
    assert len(first) >= 5
    assert sum(first) == pytest.approx(1.2 * 64, rel=0.25)


def test_both_kinds_of_jobs_come_in_their_shares():
    jobs = [job for seed in range(4) for job in made(seed=seed)[0].jobs]
    share = sum(len(job.stages) == 1 for job in jobs) / len(jobs)
    assert share == pytest.approx(0.6, abs=0.12)
    assert {tuple(stage.name for stage in job.stages) for job in jobs} == {("main",), ("rollout", "reward", "train", "replay")}


def updates(gang):
    """Return for every update of every job: its model, the stage that updates, cards and memory."""
    for job, truth in zip(*(made(gang)[0].jobs, made(gang)[1]), strict=True):
        model = next(model for model in MODELS if job.id.endswith(model.name))
        s = 0 if len(job.stages) == 1 else 2
        for phase, demand, need in zip(truth.phase, truth.demand, truth.need, strict=True):
            if phase in ("train", "update"):
                yield model, job.stages[s], demand[s][GPU], need[s][GPU_MEM]


def test_firm_update_needs_all_its_cards_for_its_memory():
    for model, stage, cards, gib in updates("firm"):
        assert cards == model.gang
        assert ceil(gib / CARD_GIB / stage.unit) * stage.unit == model.gang


def test_elastic_update_fits_on_a_quarter_of_its_cards():
    for model, stage, cards, gib in updates("elastic"):
        assert cards == model.gang
        assert ceil(gib / CARD_GIB / stage.unit) * stage.unit == max(model.unit, ceil(model.gang / 4))


def test_gang_rule_changes_nothing_but_memory_and_cores_of_updates():
    (elastic, _), (firm, _) = made("elastic"), made("firm")
    assert [(job.id, job.submitted, len(job.steps)) for job in elastic.jobs] == [(job.id, job.submitted, len(job.steps)) for job in firm.jobs]
    assert [part.seconds for job in elastic.jobs for step in job.steps for part in step.parts] == [
        part.seconds for job in firm.jobs for step in job.steps for part in step.parts
    ]


@pytest.mark.parametrize("gang", ["elastic", "firm"])
def test_memory_never_needs_more_cards_than_a_stage_may_get(gang):
    workload, truths = made(gang)
    for job, truth in zip(workload.jobs, truths, strict=True):
        for s, stage in enumerate(job.stages):
            most = max(need[s][GPU_MEM] for need in truth.need)
            assert most <= CARD_GIB * float(stage.max_quota["gpu"])
            assert float(stage.max_quota["gpu"]) % (stage.unit or 1) == 0


def test_updates_wait_for_their_memory_and_nothing_else_does():
    workload, _ = made()
    waiting = {part.phase for job in workload.jobs for step in job.steps for part in step.parts if part.waits_for_memory}
    others = {part.phase for job in workload.jobs for step in job.steps for part in step.parts if not part.waits_for_memory}
    assert waiting == {"train", "update"}
    assert not waiting & others


@pytest.mark.parametrize("gang", ["firm", "elastic"])
def test_what_is_declared_for_a_phase_covers_it_and_is_less_than_the_whole(gang):
    n_declared = 0
    for job in made(gang)[0].jobs:
        waits = {part.phase for step in job.steps for part in step.parts if part.waits_for_memory}
        for stage in job.stages:
            n_declared += len(stage.request_in)
            assert not waits & set(stage.request_in)
            for phase, asked in stage.request_in.items():
                used = [
                    float(part.use[stage.name].get("gpu_mem", 0)) for step in job.steps for part in step.parts if part.phase == phase and stage.name in part.use
                ]
                assert set(asked) == {"gpu_mem"}
                assert 1.1 * max(used, default=0) <= asked["gpu_mem"] < stage.request["gpu_mem"]
    assert n_declared > 20


def test_rollout_begins_on_all_its_cards_and_ends_on_one_engine():
    workload, _ = made()
    for job in workload.jobs:
        if len(job.stages) == 1:
            cards = [float(part.use["main"]["gpu"]) for part in job.steps[-1].parts if part.phase == "rollout"]
            assert cards == sorted(cards, reverse=True)
            assert cards[0] == float(job.stages[0].max_quota["gpu"])
            assert cards[-1] <= max(cards[0] / 2, job.stages[0].unit)


def test_stretches_hold_all_the_work_of_a_batch():
    generator = np.random.default_rng(5)
    batch = draw_batch(200, draw_lengths(generator), 1500, 0.02, generator)
    cut = stretches(batch)
    decodes = 1 - batch.tools
    assert sum(stretch.seconds for stretch in cut) == pytest.approx(batch.seconds.max())
    assert sum(stretch.seconds * stretch.decoding for stretch in cut) * decodes.sum() == pytest.approx(float(batch.seconds @ decodes))
    assert sum(stretch.seconds * stretch.calls for stretch in cut) == pytest.approx(float(batch.seconds @ batch.tools))
    assert sum(stretch.seconds * stretch.alive for stretch in cut) == pytest.approx(float(batch.seconds.sum()))


def test_document_is_modest():
    assert len(write(made(horizon=10_800.0)[0])) < 3_000_000


def test_arithmetic_of_models_is_that_of_their_shapes():
    small, *_, large = MODELS
    assert small.weights_gib == pytest.approx(14.2, abs=0.1)
    assert large.weights_gib <= large.unit * CARD_GIB
    assert [ceil(model.parameters * 1e9 * 16 / 1024**3 / 76) <= model.gang for model in MODELS] == [True] * 4
