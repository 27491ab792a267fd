"""From a choice back to a plan: what jobs hold, what is done to them, and the tiers that the final amounts reach."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.formulation.decode import Decoded, decode
from libra_opt.formulation.program import Choice, Program
from tests.formulation.choices import choices, meaning, program, program_of
from tests.formulation.made import SEEDS, slow, state
from tests.oracle import enumerate as rules

POOLS = [{"name": "p", "capacity": {"gpu": 8, "cpu": 20, "mem": 64}}, {"name": "q", "capacity": {"gpu": 4, "cpu": 1}}]


def choose(made: Program, *wanted: tuple[float, str] | None) -> Choice:
    """The choice that serves each job so well in a pool, changing as much as there is to change; None for a job that waits."""
    choice = made.nothing
    names = ["p", "q"]
    for job, wish in enumerate(wanted):
        if wish is None:
            continue
        [level] = [
            level for level in range(made.bundles.first_level[job], made.bundles.first_level[job + 1]) if made.bundles.service[level] == pytest.approx(wish[0])
        ]
        for stage, slot in enumerate(range(made.bundles.first_slot[level], made.bundles.first_slot[level + 1]), start=int(made.first_stage[job])):
            cells = range(made.bundles.first_cell[slot], made.bundles.first_cell[slot + 1])
            choice[stage] = max(cell for cell in cells if made.cell_pool[cell] == names.index(wish[1]))
    return choice


def decoded(jobs: Sequence[dict[str, Any]], *wanted: tuple[float, str] | None, **more: Any) -> Decoded:
    asked = State.model_validate({"pools": POOLS, "jobs": [{"id": name, **job} for name, job in zip("abcd", jobs, strict=False)], **more})
    made = program_of(asked)
    return decode(asked, asked.ledger, made, choose(made, *wanted))


CAPPED = [{"name": "t", "nominal_quota": {"cpu": 8}, "borrowing_limit": {"cpu": 90}}]
"""A queue whose ceiling makes CPU count, so that bundles tell its amounts apart."""

HOLDING = {"demand": {"gpu": 4, "cpu": 4}, "allocation": {"pool": "p", "resources": {"gpu": 2, "cpu": 2}}}


@pytest.mark.parametrize(
    ("job", "wanted", "action"),
    [
        ({"demand": {"gpu": 4}}, (1, "p"), "admit"),
        ({"demand": {"gpu": 4}}, None, "queue"),
        (HOLDING, None, "evict"),
        (HOLDING, (0.5, "p"), "keep"),
        (HOLDING, (0.75, "p"), "grow"),
        (HOLDING, (0.25, "p"), "shrink"),
        (HOLDING, (0.25, "q"), "migrate"),
        ({**HOLDING, "demand": {"gpu": 4, "cpu": 1}}, (0.75, "p"), "reshape"),
        ({"stages": [{"name": "x", **HOLDING}, {"name": "y", "demand": {"mem": 9}}]}, (0.5, "p"), "grow"),
        ({"stages": [{"name": "y", "demand": {"mem": 0}}, {"name": "x", **HOLDING}]}, (0.5, "p"), "keep"),
        ({"stages": [{"name": "y", "demand": {"cpu": 1}}, {"name": "x", **HOLDING}]}, (0.5, "p"), "grow"),
    ],
)
def test_action_says_what_is_done_to_a_job(job: dict[str, Any], wanted: tuple[float, str] | None, action: str) -> None:
    assert decoded([job], wanted, options={"spare": False}).jobs[0].action == action
    assert [one.action for one in decoded([{"demand": {"gpu": 4}}, job], (0.25, "p"), wanted, options={"spare": False}).jobs] == ["admit", action]


def test_jobs_come_back_in_the_order_of_the_state() -> None:
    stages = [{"name": "x", "demand": {"gpu": 2}}, {"name": "y", "demand": {"mem": 9}}]
    asked = State.model_validate(
        {"pools": POOLS, "jobs": [{"id": "c", "stages": stages}, {"id": "b", "demand": {"gpu": 9}}, {"id": "a", "demand": {"gpu": 4, "cpu": 0.5}}]}
    )
    made = program_of(asked)
    plan = decode(asked, asked.ledger, made, choose(made, (1, "p"), None, (1, "q")) if made.n_jobs == 0 else choose_by_id(made))
    assert [(job.id, job.action, job.service) for job in plan.jobs] == [("c", "admit", 1.0), ("b", "queue", 0.0), ("a", "admit", 1.0)]
    assert [(stage.name, stage.pool, dict(stage.resources)) for stage in plan.jobs[0].stages] == [
        ("x", "p", {"gpu": 2, "gpu_mem": 0, "cpu": 0, "mem": 0, "net": 0}),
        ("y", "p", {"gpu": 0, "gpu_mem": 0, "cpu": 0, "mem": "9Gi", "net": 0}),
    ]
    assert [(stage.name, stage.pool, stage.resources["cpu"]) for stage in plan.jobs[2].stages] == [("main", "q", 0.5)]
    assert plan.jobs[1].stages == ()
    assert plan.utilisation == {"p": {"gpu": 2 / 8, "cpu": 0, "mem": 9 / 64}, "q": {"gpu": 1, "cpu": 0.5}}


def choose_by_id(made: Program) -> Choice:
    """`a` is served in full in `q`, `b` waits, `c` is served in full in `p`."""
    alone = choose(made, (1, "q"), None, None)
    for job, stages in ((2, range(made.first_stage[2], made.first_stage[3])),):
        level = int(made.bundles.first_level[job + 1]) - 1
        for stage, slot in zip(stages, range(made.bundles.first_slot[level], made.bundles.first_slot[level + 1]), strict=True):
            alone[stage] = next(cell for cell in range(made.bundles.first_cell[slot], made.bundles.first_cell[slot + 1]) if made.cell_pool[cell] == 0)
    return alone


def test_every_job_has_its_reason() -> None:
    plan = decoded([{"demand": {"gpu": 8}}, {"demand": {"gpu": 4}, "min_quota": {"gpu": 4}, "pools": ["p"]}], (1, "p"), None)
    assert [(job.reason.code, job.reason.message) for job in plan.jobs] == [
        ("fully_served", "admitted: served in full"),
        ("no_room", "waits: needs at least 4 gpu (0 left) in p, which others use better"),
    ]


def test_speed_counts_where_a_single_quantum_is_demanded() -> None:
    assert decoded([{"demand": {"gpu": 1}, "max_quota": {"gpu": 1}, "pools": {"p": 0.5}}], (0.5, "p")).jobs[0].service == 0.5


def test_shortfall_is_counted_in_the_units_of_its_row() -> None:
    queues = [{"name": "t", "nominal_quota": {"gpu": 6}}]
    assert decoded([{"queue": "t", "demand": {"gpu": 4}, "unit": 2}], (0.5, "p"), queues=queues).score.shortfall == pytest.approx(2 / 6)


def test_spare_is_handed_out_unless_the_option_is_off() -> None:
    job = {"demand": {"gpu": 4, "cpu": 8}}
    assert decoded([job], (0.25, "p")).jobs[0].stages[0].resources["cpu"] == 8
    assert decoded([job], (0.25, "p"), options={"spare": False}).jobs[0].stages[0].resources["cpu"] == 2


def test_service_and_value_are_those_of_the_final_amounts() -> None:
    job = {"demand": {"cpu": 8}, "weight": 3}
    for spare, service in ((False, 0.25), (True, 1.0)):
        plan = decoded([job], (0.25, "p"), queues=CAPPED, options={"spare": spare})
        assert (plan.jobs[0].service, plan.score.value, plan.score.unevenness) == (
            service,
            pytest.approx(3 * 12 * 8 / 21 * service),
            pytest.approx(3 * 12 * 8 / 21 * service**2),
        )


def test_spare_that_lifts_the_service_counts_towards_the_guarantee() -> None:
    job = {"demand": {"cpu": 8}, "queue": "t"}
    assert decoded([job], (0.25, "p"), queues=CAPPED, options={"spare": False}).score.shortfall == 0.75
    assert decoded([job], (0.25, "p"), queues=CAPPED).score.shortfall == 0
    beside = {"demand": {"cpu": 8, "gpu": 4}, "queue": "t"}
    assert decoded([beside], (0.25, "p"), queues=CAPPED).score.shortfall == 0.75
    assert decoded([beside], (0.25, "p"), queues=CAPPED).jobs[0].stages[0].resources["cpu"] == 8


def test_nobody_is_admitted_to_hold_nothing() -> None:
    assert [job.action for job in decoded([{"demand": {"gpu": 4}}], (0, "p")).jobs] == ["queue"]
    assert [job.action for job in decoded([{"demand": {"gpu": 4}}, {"demand": {"gpu": 4}}], (0, "p"), (0.5, "p")).jobs] == ["queue", "admit"]
    assert [job.action for job in decoded([HOLDING], (0, "p"), options={"spare": False}).jobs] == ["shrink"]
    assert [job.action for job in decoded([{}], (1, "p")).jobs] == ["admit"]
    assert [job.action for job in decoded([{"demand": {"gpu": 4}, "curve": [[0, 0.5], [1, 1]]}], (0.5, "p")).jobs] == ["admit"]
    assert [job.action for job in decoded([{"demand": {"gpu": 4}, "min_quota": {"mem": 1}}], (0, "p")).jobs] == ["admit"]
    stages = [{"name": "x", "demand": {"gpu": 4}}, {"name": "y", "demand": {"mem": 4}}]
    assert [job.action for job in decoded([{"stages": stages}], (0, "p")).jobs] == ["admit"]


def test_empty_state_has_an_empty_plan() -> None:
    asked = State.model_validate({"pools": POOLS})
    made = program_of(asked)
    plan = decode(asked, asked.ledger, made, made.nothing)
    assert (plan.jobs, plan.utilisation) == ((), {"p": {"gpu": 0, "cpu": 0, "mem": 0}, "q": {"gpu": 0, "cpu": 0}})


def test_plans_agree_with_a_slow_reading() -> None:
    n_running = n_short = n_lifted = 0
    for seed in SEEDS:
        asked, made, reading = state(seed), program(seed), slow(seed)
        ledger = asked.ledger
        worth = [float(rules._worth(asked, ledger, j)) for j in range(len(ledger.jobs))]
        spread = 1000 * asked.period.seconds * asked.options.hold_periods
        for choice in choices(made, seed):
            if not made.fits(made.usage(choice)):
                continue
            plan, value, unevenness = decode(asked, ledger, made, choice), 0.0, 0.0
            got = np.zeros((len(ledger.queues) + 1, ledger.n_resources))
            used = np.zeros((len(ledger.pools), ledger.n_resources))
            for job in meaning(asked, made, choice):
                planned = plan.jobs[job.job]
                assert planned.id == ledger.jobs[job.job]
                value -= worth[job.job] * job.ms / spread
                if not planned.stages:
                    assert not job.runs or (job.service == 0 and not any(any(amounts) for _, _, amounts in job.held))
                    continue
                n_running += 1
                services = []
                final = []
                for (s, k, _), stage in zip(job.held, planned.stages, strict=True):
                    amounts = tuple(resource.quanta(stage.resources[resource.name], round_up=False) for resource in ledger.resources)
                    final.append(amounts)
                    used[k] += amounts
                    assert ledger.pools[k] == stage.pool
                    speed = dict(ledger.allowed[s])[k]
                    level = rules._level(ledger, s, speed, amounts) if any(ledger.demand[s]) else Fraction(0)
                    services.append(reading.service(s, min(level, reading.top(s))))
                assert planned.service == pytest.approx(float(min(services)), abs=1e-9)
                n_lifted += planned.service > job.service + 1e-9
                value += worth[job.job] * planned.service
                unevenness += worth[job.job] * planned.service**2
                for (s, k, before), now in zip(job.held, final, strict=True):
                    pace = reading.pace(s, min(services))
                    assert pace is not None
                    demanded = rules._least(ledger, s, dict(ledger.allowed[s])[k], pace)
                    got[ledger.job_queue[job.job]] += [max(x, d) if x != y else x for x, y, d in zip(before, now, demanded, strict=True)]
            owed = rules._Shared(asked, ledger).owed
            short = sum(max(0, owed[q][r] - got[q][r]) / quota for q, row in enumerate(ledger.nominal) for r, quota in enumerate(row) if quota)
            assert plan.score.shortfall == pytest.approx(short)
            assert plan.score.value == pytest.approx(value)
            assert plan.score.unevenness == pytest.approx(unevenness)
            plain = made.score(choice)
            assert (plan.score.lost, plan.score.over_seconds, plan.score.moves) == (plain.lost, plain.over_seconds, plain.moves)
            for k, name in enumerate(ledger.pools):
                shares = {resource.name: used[k][r] / ledger.capacity[k][r] for r, resource in enumerate(ledger.resources) if ledger.capacity[k][r]}
                assert plan.utilisation[name] == pytest.approx(shares)
            n_short += short > 0
    assert min(n_running, n_short) > 8
    assert n_lifted > 0
