"""Every baseline keeps the rules that all are held to; the checker here knows nothing of policies, rooms or ledgers."""

from collections.abc import Mapping
from math import inf

import pytest
from hypothesis import given, settings

from libra_opt.domain import Workload
from libra_opt.domain.quantity import parse
from libra_opt.simulation.grant import Decision, Holding, Moment, Policy
from libra_opt.simulation.loop import simulate
from libra_opt.simulation.policies import BASELINES, StaticBest
from tests.simulation.drawn import PERIOD, workloads

CLOSE = 1e-6


class Watched:
    """Lets a policy decide and looks at every decision."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.name = policy, policy.name
        self.granted = 0

    def decide(self, moment: Moment) -> Decision:
        decision = self.policy.decide(moment)
        check(moment, decision.grants)
        self.granted += len(decision.grants)
        return decision


def check(moment: Moment, grants: Mapping[int, Holding]) -> None:
    workload = moment.workload
    names = [resource.name for resource in workload.resources]
    used = {pool: [0.0] * len(names) for pool in moment.capacity}
    for j, holding in grants.items():
        job = workload.jobs[j]
        assert j in moment.arrived
        assert len(holding) == len(job.stages)
        for stage, grant in zip(job.stages, holding, strict=True):
            amounts = [0.0] * len(names) if grant is None else grant.amounts
            for resource, amount in zip(workload.resources, amounts, strict=True):
                least, most = _read(stage.min_quota, resource, 0), _read(stage.max_quota, resource, inf)
                assert least - CLOSE <= amount <= most + CLOSE  # R2, R3
                assert amount / resource.quantum == pytest.approx(round(amount / resource.quantum))
                if resource.name == "gpu" and stage.unit:
                    assert amount / stage.unit == pytest.approx(round(amount / stage.unit))  # R8
            if grant is None:
                continue
            assert stage.pools is None or grant.pool in stage.pools  # R4
            pool = next(pool for pool in workload.pools if pool.name == grant.pool)
            if pool.card_mem is not None:  # R9
                assert amounts[names.index("gpu_mem")] <= float(parse(pool.card_mem, "GiB")) * amounts[names.index("gpu")] + CLOSE
            used[grant.pool] = [u + a for u, a in zip(used[grant.pool], amounts, strict=True)]
    for pool, total in used.items():
        assert all(u <= c + CLOSE for u, c in zip(total, moment.capacity[pool], strict=True))  # R1


def _read(amounts, resource, missing):
    return float(parse(amounts[resource.name], resource.unit)) if resource.name in amounts else missing


@pytest.mark.parametrize("name", BASELINES)
@settings(max_examples=8)
@given(workload=workloads(has_changes=True))
def test_decisions_keep_the_rules(name: str, workload: Workload):
    policy = StaticBest(effort=200) if name == "static_best" else BASELINES[name]()
    simulate(workload, Watched(policy), period_seconds=PERIOD)


@pytest.mark.parametrize("name", BASELINES)
def test_policy_is_called_as_it_is_registered(name: str):
    assert BASELINES[name]().name == name
