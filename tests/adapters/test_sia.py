"""Configurations in the form of Sia's program (synthetic goodputs, not monotone): solved by ours and by its formula in an independent integer program."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from libra_opt import allocate
from libra_opt.adapters.sia import Configuration, sia_objective, sia_state
from libra_opt.errors import InputError

CLUSTER = {"a100": 8, "rtx": 16, "t4": 8}
CONFIGURATIONS: list[Configuration] = [(kind, count) for kind in CLUSTER for count in (1, 2, 4, 8)]
Goodputs = dict[str, dict[Configuration, float]]


def drawn(seed: int, n_jobs: int) -> Goodputs:
    generator = np.random.default_rng(seed)
    fast = {"a100": 3.0, "rtx": 1.5, "t4": 1.0}
    raw = {
        f"j{i}": {c: fast[c[0]] * c[1] ** generator.uniform(0.3, 1) * generator.uniform(0.6, 1.4) for c in CONFIGURATIONS if generator.random() > 0.2}
        for i in range(n_jobs)
    }
    return {job: {c: round(g / min(table.values()), 4) for c, g in table.items()} for job, table in raw.items()}


def independent(goodputs: Goodputs, power: float, no_allocation: float) -> float:
    pairs = [(i, c, g) for i, table in enumerate(goodputs.values()) for c, g in table.items()]
    sign = -1 if power > 0 else 1
    cost = np.array([sign * (g**power - no_allocation) for _, _, g in pairs])
    one = np.array([[i == j for i, _, _ in pairs] for j in range(len(goodputs))], dtype=float)
    used = np.array([[c[1] * (c[0] == kind) for _, c, _ in pairs] for kind in CLUSTER], dtype=float)
    found = milp(
        cost, constraints=[LinearConstraint(one, ub=1), LinearConstraint(used, ub=list(CLUSTER.values()))], bounds=Bounds(0, 1), integrality=np.ones(len(pairs))
    )
    return float(sign * found.fun + no_allocation * len(goodputs))


@pytest.mark.parametrize(("power", "no_allocation"), [(-0.5, 1.1), (-1.0, 0.9), (0.5, -1.0), (1.0, 1.5)])
@pytest.mark.parametrize("n_jobs", [6, 20])
def test_our_plan_has_the_objective_of_the_published_formula(n_jobs: int, power: float, no_allocation: float) -> None:
    goodputs = drawn(n_jobs, n_jobs)
    state = sia_state(goodputs, CLUSTER, power=power, no_allocation=no_allocation)
    certificate = allocate(state).certificate
    assert certificate.status == "optimal"
    objective = sia_objective(certificate.objective, n_jobs, state, power=power, no_allocation=no_allocation)
    assert objective == pytest.approx(independent(goodputs, power, no_allocation))


def test_what_is_given_is_a_configuration_and_the_types_suffice() -> None:
    goodputs = drawn(1, 12)
    used = dict.fromkeys(CLUSTER, 0)
    for job in allocate(sia_state(goodputs, CLUSTER)).jobs:
        for stage in job.stages:
            count = int(stage.resources["gpu"])
            assert (stage.pool, count) in goodputs[job.id]
            used[stage.pool] += count
    assert all(used[kind] <= CLUSTER[kind] for kind in CLUSTER)


@pytest.mark.parametrize(("goodput", "kind", "power"), [(0.0, "t4", 1.0), (1.0, "h100", 1.0), (1.0, "t4", 0.0)])
def test_what_is_no_goodput_is_refused(goodput: float, kind: str, power: float) -> None:
    with pytest.raises(InputError):
        sia_state({"x": {(kind, 1): goodput}}, CLUSTER, power=power)
