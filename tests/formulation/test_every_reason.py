"""Why each job got what it got: code and message, each worked out by hand."""

from typing import Any

import numpy as np
import pytest

from libra_opt.domain import State
from libra_opt.domain.plan import Action
from libra_opt.formulation.program import Choice, Program
from libra_opt.formulation.reasons import _listed, explain
from libra_opt.formulation.written import Written
from tests.formulation.choices import program_of

Document = dict[str, Any]
POOLS = [{"name": "p", "capacity": {"gpu": 8, "cpu": 4, "mem": 64}}, {"name": "q", "capacity": {"gpu": 2}}]
OTHERS = "which others use better"


def four(**fields: Any) -> Document:
    return {"demand": {"gpu": 4}, "pools": ["p"], **fields}


def holds(*, pool: str = "p", **resources: float) -> Document:
    return {"allocation": {"pool": pool, "resources": resources}}


def choose(made: Program, served: tuple[float | None, ...]) -> Choice:
    """The choice that serves each job as well as said in the first pool it may use; None for a job that waits."""
    choice = made.nothing
    for job, service in enumerate(served):
        if service is not None:
            levels = range(made.bundles.first_level[job], made.bundles.first_level[job + 1])
            [level] = [level for level in levels if made.bundles.service[level] == pytest.approx(service)]
            slots = made.bundles.first_slot[level : level + 2]
            choice[made.first_stage[job] : made.first_stage[job + 1]] = made.bundles.first_cell[slots[0] : slots[1] + 1][1:] - 1
    return choice


def reasons(jobs: list[Document], served: tuple[float | None, ...], actions: tuple[Action, ...], **more: Any) -> list[tuple[str, str]]:
    named = [{"id": name, **job} for name, job in zip("abcd", jobs, strict=False)]
    asked = State.model_validate({"pools": POOLS, "jobs": named, **more})
    made = program_of(asked)
    service = np.array([one or 0.0 for one in served])
    return [(one.code, one.message) for one in explain(asked.ledger, made, choose(made, served), actions, service, Written(asked.ledger.resources))]


@pytest.mark.parametrize(
    ("action", "did"),
    [
        ("admit", "admitted"),
        ("keep", "keeps what it has"),
        ("grow", "grows"),
        ("shrink", "gives up what others use better or it cannot use"),
        ("reshape", "trades one resource for another"),
        ("migrate", "moves to a pool where it is served better"),
    ],
)
def test_job_that_is_served_in_full(action: Action, did: str) -> None:
    assert reasons([four()], (1,), (action,)) == [("fully_served", f"{did}: served in full")]


def test_job_at_the_limit_of_its_own() -> None:
    limit = "the most that its max_quota, its curve and the size of the pools allow"
    assert reasons([four(max_quota={"gpu": 3})], (0.75,), ("admit",)) == [("own_limit", f"admitted: 75% of its demand is served, {limit}")]
    assert reasons([four(), four(max_quota={"gpu": 1})], (1, 0.25), ("admit", "keep"))[1] == (
        "own_limit",
        f"keeps what it has: 25% of its demand is served, {limit}",
    )


def test_job_that_others_keep_from_more() -> None:
    found = reasons([four(demand={"gpu": 8}), four()], (0.625, 0.75), ("grow", "admit"))
    assert found == [
        ("partly_served", f"grows: 62% of its demand is served; more would need gpu in p, {OTHERS}"),
        ("partly_served", f"admitted: 75% of its demand is served; more would need gpu in p, {OTHERS}"),
    ]
    both = [{"demand": {"cpu": 2, "gpu": 4}, "pools": ["p"], "unit": {"cpu": 0.5}} for _ in "ab"]
    found = reasons([*both, four(demand={"cpu": 1})], (0.75, 0.5, 1), ("admit", "admit", "admit"), pools=[{"name": "p", "capacity": {"gpu": 5, "cpu": 3.5}}])
    assert found[0] == ("partly_served", f"admitted: 75% of its demand is served; more would need cpu in p, gpu in p, {OTHERS}")
    assert reasons([four(), four()], (0.75, 0.75), ("admit", "admit"))[0][0] == "move_not_worth_it"


@pytest.mark.parametrize(("n_rows", "ending"), [(99, "net in p9"), (100, "net in p9"), (101, ", 1 more"), (103, ", 3 more")])
def test_no_more_than_a_hundred_rows_are_named(n_rows: int, ending: str) -> None:
    asked = State.model_validate({"pools": [{"name": f"p{k}", "capacity": {}} for k in range(21)]})
    listed = _listed(asked.ledger, tuple(range(n_rows)))
    assert listed.endswith(ending)
    assert listed.count(",") == min(n_rows, 101) - 1


def test_stages_name_what_is_full_where_they_sit() -> None:
    stages = [{"name": "x", "demand": {"gpu": 4}, "pools": ["p"]}, {"name": "y", "demand": {"gpu": 4}, "pools": ["q"]}]
    assert (
        reasons([{"stages": stages}, four()], (0.5, 1), ("admit", "admit"), pools=[POOLS[0], {"name": "q", "capacity": {"gpu": 4}}])[0][0]
        == "move_not_worth_it"
    )
    [full, _, _] = reasons(
        [{"stages": stages}, four(demand={"gpu": 6}), four(pools=["q"])],
        (0.5, 1, 0.5),
        ("admit", "admit", "admit"),
        pools=[POOLS[0], {"name": "q", "capacity": {"gpu": 4}}],
    )
    assert full == ("partly_served", f"admitted: 50% of its demand is served; more would need gpu in p, gpu in q, {OTHERS}")


def test_job_whose_queue_is_at_its_ceiling() -> None:
    queues = [{"name": "s"}, {"name": "t", "nominal_quota": {"gpu": 2, "cpu": 1}, "borrowing_limit": {"gpu": 1, "cpu": 2}}]
    found = reasons([four(queue="t"), four()], (0.75, 0.5), ("admit", "admit"), queues=queues)
    assert found == [
        ("queue_ceiling", "admitted: 75% of its demand is served; queue 't' is at its ceiling of gpu"),
        (
            "move_not_worth_it",
            "admitted: 50% of its demand is served; the gain of changing what it holds does not beat the cost",
        ),
    ]
    assert reasons([four(queue="t")], (0.5,), ("admit",), queues=queues)[0][0] == "move_not_worth_it"
    wide = four(queue="t", demand={"gpu": 4, "cpu": 4}, min_quota={"gpu": 3, "cpu": 3})
    assert reasons([wide], (0.75,), ("admit",), queues=queues)[0][1].endswith("queue 't' is at its ceiling of gpu, cpu")


def test_job_that_fits_nowhere() -> None:
    assert reasons([four(min_quota={"gpu": 9})], (None,), ("queue",)) == [("never_fits", "waits: it needs at least 9 gpu, and p has 8")]
    assert reasons([four(min_quota={"gpu": 9}, pools=["q", "p"])], (None,), ("queue",)) == [("never_fits", "waits: it needs at least 9 gpu, and p has 8")]
    assert reasons([four(min_quota={"gpu": 3}, need={"mem": 65}, pools=["q", "p"])], (None,), ("queue",)) == [
        ("never_fits", "waits: it needs at least 65Gi mem, and p has 64Gi")
    ]
    assert reasons([{"demand": {"gpu": 1}}], (None,), ("queue",), pools=[]) == [("never_fits", "waits: there is no pool it may use")]
    exclusive = [{"name": "p", "capacity": {"gpu": 1, "gpu_mem": 64}, "card_mem": 8}]
    assert reasons([four(need={"gpu_mem": 9})], (None,), ("queue",), pools=exclusive) == [
        ("never_fits", "waits: its quotas, units and memory per card leave no way to run it in any pool it may use")
    ]
    stages = [{"name": "x", "demand": {"gpu": 1}}, {"name": "y", "min_quota": {"cpu": 4.5}}]
    assert reasons([four(), {"stages": stages}], (1, None), ("admit", "queue"))[1] == ("never_fits", "waits: it needs at least 4.5 cpu, and p has 4")


@pytest.mark.parametrize(
    ("fields", "action", "code", "did"),
    [
        ({}, "queue", "no_room", "waits"),
        (holds(gpu=4), "evict", "evicted", "is evicted"),
        ({**holds(gpu=4), "preemptible": False}, "evict", "shed", "is shed though protected"),
    ],
)
def test_job_that_others_keep_out(fields: Document, action: Action, code: str, did: str) -> None:
    found = reasons([four(demand={"gpu": 6}), four(min_quota={"gpu": 3}, **fields)], (1, None), ("admit", action))
    assert found[1] == (code, f"{did}: needs at least 3 gpu (2 left) in p, {OTHERS}")


def test_all_that_is_lacking_is_named_in_its_unit() -> None:
    both = four(min_quota={"gpu": 4, "cpu": 2.5}, unit={"gpu": 2})
    found = reasons([four(demand={"gpu": 6, "cpu": 3}, min_quota={"gpu": 6, "cpu": 3}, unit={"gpu": 2}), both], (1, None), ("admit", "queue"))
    assert found[1] == ("no_room", f"waits: needs at least 4 gpu (2 left), 2.5 cpu (1 left) in p, {OTHERS}")


def test_pool_that_comes_closest_is_named() -> None:
    pools = [{"name": "p", "capacity": {"gpu": 8}}, {"name": "q", "capacity": {"gpu": 4}}]
    taker, other = four(demand={"gpu": 6}, pools=["p"]), four(demand={"gpu": 4}, pools=["q"])
    wish = {"demand": {"gpu": 4}, "min_quota": {"gpu": 3}}
    assert (
        reasons([taker, other, wish], (1, 0.5, None), ("admit", "admit", "queue"), pools=pools)[2][1] == f"waits: needs at least 3 gpu (2 left) in p, {OTHERS}"
    )
    assert (
        reasons([four(demand={"gpu": 8}), other, wish], (1, 0.5, None), ("admit", "admit", "queue"), pools=pools)[2][1]
        == f"waits: needs at least 3 gpu (2 left) in q, {OTHERS}"
    )


def test_stage_that_lacks_most_is_named() -> None:
    stages = [
        {"name": "x", "min_quota": {"gpu": 3}, "pools": ["p"]},
        {"name": "y", "min_quota": {"gpu": 6}, "pools": ["p"]},
        {"name": "z", "min_quota": {"gpu": 1}, "pools": ["p"]},
    ]
    assert reasons([four(demand={"gpu": 6}), {"stages": stages}], (1, None), ("admit", "queue"))[1] == (
        "no_room",
        f"waits: needs at least 6 gpu (2 left) in p, {OTHERS}",
    )


def test_job_whose_queue_would_pass_its_ceiling() -> None:
    queues = [{"name": "s"}, {"name": "t", "nominal_quota": {"gpu": 2, "mem": 9}, "borrowing_limit": {"gpu": 1, "mem": 0}}]
    wish = four(queue="t", min_quota={"gpu": 2, "mem": 4})
    found = reasons([four(queue="t"), wish], (0.5, None), ("admit", "queue"), queues=queues)
    assert found[1] == ("queue_ceiling", "waits: queue 't' would pass its ceiling of gpu")
    greedy = four(queue="t", min_quota={"gpu": 2, "mem": 10})
    assert reasons([four(queue="t"), greedy], (0.5, None), ("admit", "queue"), queues=queues)[1][1] == "waits: queue 't' would pass its ceiling of gpu, mem"
    assert reasons([four(queue="t"), wish], (0.25, None), ("admit", "queue"), queues=queues)[1][0] == "no_gain"
    stages = [{"name": name, "min_quota": {"gpu": 1}, "pools": ["p"]} for name in "xy"]
    assert reasons([four(queue="t"), {"queue": "t", "stages": stages}], (0.75, None), ("admit", "queue"), queues=queues)[1][0] == "queue_ceiling"
    two_ways = {**wish, **holds(gpu=3, mem=4)}
    assert reasons([four(queue="t"), two_ways], (0.5, None), ("admit", "evict"), queues=queues)[1] == (
        "queue_ceiling",
        "is evicted: queue 't' would pass its ceiling of gpu",
    )


def test_queue_is_asked_for_the_least_of_every_stage_once() -> None:
    queues = [{"name": "t", "nominal_quota": {"gpu": 3}, "borrowing_limit": {"gpu": 0}}]
    two_pools = {"queue": "t", "demand": {"gpu": 2}, "min_quota": {"gpu": 2}}
    assert reasons([two_pools], (None,), ("queue",), queues=queues)[0][0] == "no_gain"
    two_stages = {"queue": "t", "stages": [{"name": name, "min_quota": {"gpu": 2}} for name in "xy"]}
    assert reasons([two_stages], (None,), ("queue",), queues=queues)[0] == ("queue_ceiling", "waits: queue 't' would pass its ceiling of gpu")


def test_job_that_ran_and_fits_nowhere_is_evicted_or_shed() -> None:
    large = four(min_quota={"gpu": 9}, **holds(gpu=4))
    assert reasons([large], (None,), ("evict",)) == [("never_fits", "is evicted: it needs at least 9 gpu, and p has 8")]
    protected = {**large, "preemptible": False, "weight": 0.1}
    assert reasons([protected], (None,), ("evict",)) == [("never_fits", "is shed though protected: it needs at least 9 gpu, and p has 8")]


def test_what_is_lacking_is_weighed_by_the_size_of_the_pool() -> None:
    pools = [{"name": "p", "capacity": {"gpu": 100}}, {"name": "q", "capacity": {"gpu": 4, "cpu": 1}}]
    takers = [four(demand={"gpu": 100}), four(pools=["q"])]
    either = {"min_quota": {"gpu": 4}, "demand": {"gpu": 4}}
    found = reasons([*takers, either], (0.99, 0.5, None), ("admit", "admit", "queue"), pools=pools)
    assert found[2][1] == f"waits: needs at least 4 gpu (1 left) in p, {OTHERS}"
    stages = [{"name": "x", "min_quota": {"gpu": 6}, "pools": ["p"]}, {"name": "y", "min_quota": {"gpu": 4}, "pools": ["q"]}]
    found = reasons([*takers, {"stages": stages}], (0.99, 0.5, None), ("admit", "admit", "queue"), pools=pools)
    assert found[2][1] == f"waits: needs at least 4 gpu (2 left) in q, {OTHERS}"


def test_protected_job_of_little_worth_is_shed_too() -> None:
    job = four(min_quota={"gpu": 3}, **holds(gpu=4), preemptible=False, weight=0.1)
    assert reasons([four(demand={"gpu": 6}), job], (1, None), ("admit", "evict"))[1][0] == "shed"


def test_job_that_would_fit_but_adds_nothing() -> None:
    assert reasons([four(weight=0)], (None,), ("queue",)) == [
        ("no_gain", "waits: it would fit, but what is left is reserved for a queue's guarantee, or running it adds no value")
    ]
