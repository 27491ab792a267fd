"""R14's spare: in proportion to demand, up to the caps, in whole units, never beyond what R1 and R10 leave."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from libra_opt.domain import State
from libra_opt.domain.quantity import UNLIMITED, exact
from libra_opt.formulation.spare import _fill, share_spare
from libra_opt.formulation.tables import tabulate
from tests.formulation.choices import choices, program
from tests.formulation.made import SEEDS, state

RESOURCES = [
    {"name": "mem", "compressible": False},
    {"name": "cpu"},
    {"name": "gpu", "costly": True},
    {"name": "net"},
]
CPU = 1
TWO_POOLS = [{"name": name, "capacity": {"cpu": 20, "mem": 99, "gpu": 99, "net": 99}} for name in ("p", "q")]


def shared_out(
    jobs: list[dict[str, Any]], held: list[list[int]], pools: list[int] | None = None, stages: list[int] | None = None, pools_made: Any = TWO_POOLS, **more: Any
) -> list[list[int]]:
    """What stages hold of memory, CPU, cards and network once the spare is handed out; pools have 20 CPU, the others plenty."""
    named = [{"id": f"j{i}", **job} for i, job in enumerate(jobs)]
    asked = State.model_validate({"resources": RESOURCES, "pools": pools_made, "jobs": named, **more})
    n = len(held)
    return handed_out(
        asked, np.array(stages or range(n), dtype=np.intp), np.array(pools or [0] * n, dtype=np.intp), np.array(held).reshape(n, len(RESOURCES))
    ).tolist()


def handed_out(asked: State, stage: npt.NDArray[np.intp], pool: npt.NDArray[np.intp], held: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What running stages hold once the spare is handed out; jobs are named in their order, so that stages are in canonical order too."""
    return share_spare(asked.ledger, tabulate(asked.ledger), stage, pool, held)


def cpus(demands: list[int], held: list[int], jobs: list[dict[str, Any]] | None = None, **more: Any) -> list[int]:
    """What stages hold of CPU once the spare is handed out."""
    documents = [{"demand": {"cpu": d}, **job} for d, job in zip(demands, jobs or [{}] * len(demands), strict=True)]
    return [row[CPU] for row in shared_out(documents, [[0, x, 0, 0] for x in held], **more)]


def test_spare_is_in_proportion_to_demand() -> None:
    assert cpus([8, 24], [1, 3]) == [5, 15]
    assert cpus([30, 10], [0, 0]) == [15, 5]


def test_nobody_gets_more_than_its_demand() -> None:
    assert cpus([4, 12], [2, 8]) == [4, 12]
    assert cpus([2, 30], [1, 3]) == [2, 18]
    assert cpus([30, 2, 30], [1, 1, 3]) == [9, 1, 10]
    assert cpus([10, 2, 10], [1, 1, 3]) == [8, 2, 10]


def test_demand_at_the_highest_intensity_is_the_cap_and_a_stated_maximum_comes_first() -> None:
    assert cpus([4], [1], [{"demand_intensity": [0.5, 1.5]}]) == [6]
    assert cpus([4], [1], [{"demand_intensity": [0.5]}]) == [2]
    assert cpus([3], [1], [{"demand_intensity": [1.5]}]) == [5]
    assert cpus([3], [1], [{"demand_intensity": [1.5], "unit": {"cpu": 4}}]) == [5]
    assert cpus([4], [1], [{"max_quota": {"cpu": 3}}]) == [3]
    assert cpus([4], [1], [{"max_quota": {"cpu": 9}}]) == [9]


def test_what_is_above_its_cap_stays() -> None:
    assert cpus([4, 4], [7, 1]) == [7, 4]


def test_spare_comes_in_whole_units() -> None:
    assert cpus([6, 6], [0, 0], [{"unit": {"cpu": 4}}, {}]) == [8, 6]
    assert cpus([20, 20], [4, 4], [{"unit": {"cpu": 4}}, {"unit": {"cpu": 4}}]) == [12, 8]


def test_what_rounding_leaves_goes_in_order() -> None:
    assert cpus([9, 9, 9], [0, 0, 0]) == [7, 7, 6]
    assert cpus([9, 9, 9], [1, 1, 1], [{}, {"max_quota": {"cpu": 2}}, {}]) == [9, 2, 9]


def test_what_rounding_leaves_passes_over_who_is_at_its_cap() -> None:
    more = {"demand_intensity": [2]}
    assert cpus([9, 9, 9], [0, 0, 1], [{"max_quota": {"cpu": 2}}, more, more]) == [2, 9, 9]
    assert cpus([10, 10], [0, 0], pools_made=[{"name": "p", "capacity": {"cpu": 19}}]) == [10, 9]
    assert cpus([30, 30], [10, 9]) == [11, 9]


def test_rounding_noise_of_an_intensity_takes_no_unit() -> None:
    assert cpus([10], [0], [{"demand_intensity": [1.1]}]) == [11]


def test_a_full_pool_has_no_spare() -> None:
    assert cpus([30, 30], [10, 10]) == [10, 10]
    assert cpus([30, 30], [15, 10]) == [15, 10]


def test_pools_hand_out_their_own() -> None:
    assert cpus([30, 30, 30], [1, 1, 1], pools=[0, 1, 0]) == [10, 20, 10]


def test_only_what_follows_freely_is_handed_out() -> None:
    job = {"demand": {"mem": 5, "cpu": 5, "gpu": 5, "net": 5}, "need": {"mem": 1}}
    assert shared_out([job], [[1, 1, 1, 1]]) == [[1, 5, 1, 5]]
    charged = {**job, "preemption_cost": {"resize_seconds": {"net": 1}}}
    assert shared_out([charged, job], [[1, 1, 1, 1], [1, 1, 1, 1]]) == [[1, 5, 1, 1], [1, 5, 1, 5]]
    assert shared_out([{"demand": {"net": 4}, "min_quota": {"cpu": 1}}], [[0, 1, 0, 0]]) == [[0, 1, 0, 4]]


def test_only_running_stages_get_spare() -> None:
    stages = [{"name": "x", "demand": {"cpu": 30}}, {"name": "y", "demand": {"cpu": 10}}]
    jobs = [{"demand": {"cpu": 9}}, {"stages": stages}]
    assert shared_out(jobs, [[0, 0, 0, 0], [0, 0, 0, 0]], stages=[1, 2]) == [[0, 15, 0, 0], [0, 5, 0, 0]]
    assert shared_out(jobs, []) == []


def test_what_is_given_is_not_changed() -> None:
    asked = State.model_validate({"resources": RESOURCES, "pools": [{"name": "p", "capacity": {"cpu": 20}}], "jobs": [{"id": "a", "demand": {"cpu": 9}}]})
    held = np.zeros((1, 4), dtype=np.int64)
    assert handed_out(asked, np.array([0]), np.array([0]), held)[0, CPU] == 9
    assert not held.any()


def test_memory_of_exclusive_cards_is_not_handed_out() -> None:
    resources = [{"name": "gpu", "costly": True}, {"name": "gpu_mem"}]
    pools = [{"name": "p", "capacity": {"gpu": 9, "gpu_mem": 99}, "card_mem": 10}, {"name": "q", "capacity": {"gpu": 9, "gpu_mem": 99}}]
    jobs = [{"id": name, "demand": {"gpu": 4, "gpu_mem": 40}} for name in "ab"]
    asked = State.model_validate({"resources": resources, "pools": pools, "jobs": jobs})
    assert handed_out(asked, np.array([0, 1]), np.array([0, 1]), np.array([[1, 10], [1, 10]])).tolist() == [[1, 10], [1, 40]]


ONE_POOL = [{"name": "p", "capacity": {"cpu": 20}}]
QUEUED = [{"queue": "t"}, {"queue": "t"}, {}]


def test_queue_takes_no_spare_above_its_ceiling() -> None:
    queues = [{"name": "u", "nominal_quota": {"cpu": 3}, "borrowing_limit": {}}, {"name": "t", "nominal_quota": {"cpu": 5}, "borrowing_limit": {"cpu": 3}}]
    assert cpus([12, 12, 6], [1, 1, 1], QUEUED, queues=queues) == [4, 4, 4]
    assert cpus([12, 12, 6], [4, 4, 1], QUEUED, queues=queues) == [4, 4, 3]
    assert cpus([12, 12, 6], [5, 5, 1], QUEUED, queues=queues) == [5, 5, 2]
    assert cpus([12, 12, 6], [1, 1, 1], [{"queue": "t", "unit": {"cpu": 2}}, *QUEUED[1:]], queues=queues) == [3, 3, 4]


def test_ceiling_of_the_first_queue_holds_too() -> None:
    queues = [{"name": "t", "nominal_quota": {"cpu": 5}, "borrowing_limit": {"cpu": 3}}, {"name": "u"}]
    assert cpus([12], [1], [{"queue": "t"}], queues=queues) == [8]
    assert cpus([12], [8], [{"queue": "t"}], queues=queues) == [8]
    assert cpus([12, 12], [8, 1], [{"queue": "t"}, {"queue": "u"}], queues=queues) == [8, 8]


def test_spare_leaves_what_queues_reserve() -> None:
    queues = [{"name": "t", "nominal_quota": {"cpu": 8}, "lending_limit": {"cpu": 2}}]
    assert cpus([20, 20], [1, 1], [{}, {}], queues=queues, pools_made=ONE_POOL) == [7, 7]
    assert cpus([20, 20], [1, 1], [{"queue": "t"}, {}], queues=queues, pools_made=ONE_POOL) == [10, 10]
    assert cpus([2, 30], [1, 1], [{"queue": "t"}, {}], queues=queues, pools_made=ONE_POOL) == [1, 14]
    assert cpus([30, 30], [1, 1], [{"unit": {"cpu": 4}}, {}], queues=queues, pools_made=ONE_POOL) == [5, 9]


def test_reserves_larger_than_the_cluster_are_cut() -> None:
    queues = [{"name": name, "nominal_quota": {"cpu": quota}, "lending_limit": {"cpu": 0}} for name, quota in (("t", 60), ("u", 20))]
    assert cpus([40, 40], [1, 1], [{"queue": "t"}, {"queue": "u"}], queues=queues, pools_made=ONE_POOL) == [5, 5]
    assert cpus([40, 40], [0, 0], [{"queue": "u"}, {}], queues=queues, pools_made=ONE_POOL) == [0, 0]
    assert cpus([40, 4], [9, 5], [{"queue": "t"}, {"queue": "u"}], queues=queues, pools_made=ONE_POOL) == [15, 5]


def test_reserves_are_cut_to_whole_quanta() -> None:
    queues = [{"name": name, "nominal_quota": {"cpu": quota}, "lending_limit": {"cpu": 0}} for name, quota in (("t", 60), ("u", 20))]
    assert cpus([1], [0], queues=queues, pools_made=[{"name": "p", "capacity": {"cpu": 21}}]) == [1]
    assert cpus([2], [0], queues=queues, pools_made=[{"name": "p", "capacity": {"cpu": 21}}]) == [1]


def test_spare_obeys_the_rules_and_leaves_nothing_that_fits() -> None:
    n_given = 0
    for seed in SEEDS:
        asked, made = state(seed), program(seed)
        ledger = asked.ledger
        for choice in choices(made, seed):
            if not made.fits(made.usage(choice)):
                continue
            cells = choice[choice >= 0]
            way = made.bundles.way[cells]
            stages, pools, before = made.ways.stage[way], made.ways.pool[way], made.bundles.amount[cells]
            after = share_spare(ledger, made.tables, stages, pools, before)
            assert (after >= before).all()
            n_given += int((after > before).sum())
            assert_rules_hold(asked, made.tables.stage[stages].tolist(), pools.tolist(), before.tolist(), after.tolist())
    assert n_given > 20


def assert_rules_hold(asked: State, rows: list[int], pools: list[int], before: list[list[int]], after: list[list[int]]) -> None:
    ledger = asked.ledger
    job_of = {s: j for j, stages in enumerate(ledger.stage_of) for s in stages}
    for r, resource in enumerate(ledger.resources):
        in_queue = [0] * (len(ledger.queues) + 1)
        for k, capacity in enumerate(ledger.capacity):
            mine = [i for i, pool in enumerate(pools) if pool == k]
            assert sum(after[i][r] for i in mine) <= capacity[r]
        for i, s in enumerate(rows):
            j, unit, d = job_of[s], ledger.unit[s][r], ledger.demand[s][r]
            in_queue[ledger.job_queue[j]] += after[i][r]
            if after[i][r] == before[i][r]:
                continue
            most = exact(max(ledger.intensity[s], default=1.0))
            cap = ledger.hi[s][r] if ledger.hi[s][r] != UNLIMITED else unit * -(-d * most // unit)
            assert resource.compressible
            assert not resource.costly
            assert (ledger.resize_ms[j][r], d > 0, (after[i][r] - before[i][r]) % unit) == (0, True, 0)
            assert after[i][r] <= cap
        for q, row in enumerate(ledger.ceiling):
            assert in_queue[q] <= row[r]
        total, kept = sum(row[r] for row in ledger.capacity), [row[r] for row in ledger.reserved]
        if any(kept):
            share = Fraction(total, sum(kept)) if sum(kept) > total else Fraction(1)
            assert sum(max(used, int(part * share)) for used, part in zip(in_queue, kept, strict=False)) + in_queue[-1] <= total


def test_huge_amounts_do_not_overflow() -> None:
    huge = 2**61
    document = {
        "resources": [{"name": "cpu"}],
        "pools": [{"name": "p", "capacity": {"cpu": str(huge)}}],
        "jobs": [{"id": name, "demand": {"cpu": str(2**60)}, "demand_intensity": [8]} for name in "ab"],
    }
    asked = State.model_validate(document)
    held = handed_out(asked, np.array([0, 1]), np.array([0, 0]), np.zeros((2, 1), dtype=np.int64))
    assert int(held.sum()) == huge
    assert abs(int(held[0, 0]) - int(held[1, 0])) <= 2**10
    document["jobs"] = [{"id": "a", "demand": {"cpu": str(2**60)}, "demand_intensity": [1000], "unit": {"cpu": 2}}]
    asked = State.model_validate(document)
    alone = handed_out(asked, np.array([0]), np.array([0]), np.zeros((1, 1), dtype=np.int64))
    assert 2**60 <= int(alone[0, 0]) <= huge


@pytest.mark.parametrize("seconds", [0, 15])
def test_charge_for_cards_does_not_hold_back_cpu(seconds: int) -> None:
    assert cpus([4], [1], [{"preemption_cost": {"resize_seconds": seconds}}]) == [4]


def test_where_rounding_would_hand_out_more_than_is_left_just_that_is_handed_out() -> None:
    left = 2**53 + 3  # as a float one more
    assert _fill(np.array([1.0]), np.array([2**60]), np.array([1]), left).tolist() == [left]
    assert _fill(np.array([1.0]), np.array([2**60]), np.array([1]), left + 1).tolist() == [left + 1]
    assert _fill(np.ones(3), np.array([2**61 + 1, 2**61, 7]), np.array([1, 1, 7]), 2**62).tolist() == [2**61 + 1, 2**61 - 1, 0]
    assert _fill(np.array([3.0, 1.0]), np.array([2**62, 2**62]), np.array([1, 2]), 2**63 - 1).tolist() == [2**62, 2**62 - 2]
