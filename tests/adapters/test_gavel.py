"""A throughput table in Gavel's published form (synthetic numbers): one round solved by ours and by an independent integer program."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from libra_opt import allocate
from libra_opt.adapters.gavel import JobType, gavel_state, read_job_type
from libra_opt.errors import InputError

SYNTHETIC = {
    "v100": {"('ResNet-18 (batch size 64)', 1)": {"null": 25.0, "('LM (batch size 5)', 1)": [11.0, 30.0]}, "('ResNet-18 (batch size 64)', 2)": {"null": 44.0}},
    "p100": {"('ResNet-18 (batch size 64)', 1)": {"null": 11.0}, "('ResNet-18 (batch size 64)', 2)": {"null": 21.0}, "('A3C', 1)": {"null": 6.5}},
    "k80": {"('ResNet-18 (batch size 64)', 1)": {"null": 4.5}, "('A3C', 1)": {"null": 5.0}, "('A3C', 2)": {"null": 0.0}},
}


def drawn(seed: int) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, int], dict[str, JobType]]:
    generator = np.random.default_rng(seed)
    kinds = [(f"kind {i}", scale) for i in range(4) for scale in (1, 2, 4)]
    speed = {"v100": 4.0, "p100": 2.0, "k80": 1.0}
    tables = {
        worker: {
            f"('{name}', {scale})": {"null": round(float(fast * scale**0.8 * generator.uniform(0.3, 1.7)), 3) * float(generator.random() > 0.1)}
            for name, scale in kinds
        }
        for worker, fast in speed.items()
    }
    cluster = {worker: int(generator.integers(2, 9)) for worker in speed}
    jobs = {f"j{i}": kinds[int(generator.integers(len(kinds)))] for i in range(10)}
    runs = {kind for worker in tables for written, alone in tables[worker].items() if alone["null"] > 0 for kind in [read_job_type(written)]}
    return tables, cluster, {job: kind for job, kind in jobs.items() if kind in runs}


def independent(tables: dict[str, dict[str, dict[str, float]]], cluster: dict[str, int], jobs: dict[str, JobType]) -> float:
    """The most steps per second with at most one worker type per job, x[job, type] binary."""
    workers, names = list(cluster), list(jobs)
    rate = np.array([[tables[w].get(f"('{jobs[j][0]}', {jobs[j][1]})", {}).get("null", 0.0) for w in workers] for j in names])
    one_type = np.kron(np.eye(len(names)), np.ones(len(workers)))
    fits = np.kron(np.array([jobs[j][1] for j in names]), np.eye(len(workers)))
    found = milp(
        -rate.ravel(),
        constraints=[LinearConstraint(one_type, ub=1), LinearConstraint(fits, ub=list(cluster.values()))],
        bounds=Bounds(0, 1),
        integrality=np.ones(rate.size),
    )
    return float(-found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_our_round_has_the_throughput_of_the_independent_program(seed: int) -> None:
    tables, cluster, jobs = drawn(seed)
    state = gavel_state(tables, cluster, jobs)
    certificate = allocate(state).certificate
    assert certificate.status == "optimal"
    assert certificate.objective / state.period.seconds == pytest.approx(independent(tables, cluster, jobs))


def test_a_job_sits_on_the_worker_type_where_the_cluster_gains_most() -> None:
    jobs = {"resnet": ("ResNet-18 (batch size 64)", 1), "a3c": ("A3C", 1), "wide": ("ResNet-18 (batch size 64)", 2)}
    plan = allocate(gavel_state(SYNTHETIC, {"v100": 2, "p100": 1, "k80": 1}, jobs))
    where = {job.id: job.stages[0].pool for job in plan.jobs if job.stages}
    assert where == {"wide": "v100", "resnet": "p100", "a3c": "k80"}


def test_weights_count_a_step_of_one_job_for_more() -> None:
    jobs = {"resnet": ("ResNet-18 (batch size 64)", 1), "a3c": ("A3C", 1)}
    plan = allocate(gavel_state(SYNTHETIC, {"p100": 1}, jobs, {"a3c": 10}))
    assert [job.id for job in plan.jobs if job.stages] == ["a3c"]


def test_a_job_without_throughput_or_a_type_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="no throughput on any worker type"):
        gavel_state(SYNTHETIC, {"k80": 2}, {"x": ("A3C", 2)})
    with pytest.raises(InputError, match="is no job type"):
        gavel_state({"k80": {"A3C": {"null": 1.0}}}, {"k80": 2}, {"x": ("A3C", 1)})
