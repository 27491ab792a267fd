"""R12 and R13 turn on whether a job could have stayed or started: each rule that can stand against it, on both sides of its limit."""

from itertools import product
from random import Random
from typing import Any

import pytest

from libra_opt.domain import State
from libra_opt.verification import verify
from libra_opt.verification.usage import Usage, Way, fits
from tests.formulation.made import SEEDS, state

Document = dict[str, Any]


def pool(name: str = "p", **capacity: Any) -> Document:
    return {"name": name, "capacity": {"gpu": 8, "gpu_mem": 640, "cpu": 64, **capacity}}


def exclusive(card_mem: float, **capacity: Any) -> Document:
    return {**pool(**capacity), "card_mem": card_mem}


def waits(name: str = "a", action: str = "evict") -> Document:
    return {"id": name, "action": action, "service": 0.0, "stages": []}


def runs(name: str, action: str, service: float, *, at: str = "p", **held: Any) -> Document:
    return {"id": name, "action": action, "service": service, "stages": [{"name": "main", "pool": at, "resources": held}]}


def holding(*, at: str = "p", **held: Any) -> Document:
    return {"allocation": {"pool": at, "resources": held}}


def broken(answer: Any, jobs: list[Document], planned: list[Document], **state: Any) -> list[tuple[str, str]]:
    """Every broken rule but what the certificate, completed without care, says wrongly."""
    asked = State.model_validate({"pools": [pool()], "jobs": jobs, **state})
    return [(fault.rule, fault.where) for fault in verify(asked, answer(asked, planned, 0.0)).broken if fault.rule != "objective"]


def is_wrongly_shed(answer: Any, job: Document, **state: Any) -> bool:
    """Whether shedding a protected job breaks R13: it fits."""
    protected = {"id": "a", "preemptible": False, **holding(cpu=1), **job}
    found = broken(answer, [protected], [waits()], **state)
    assert found in ([], [("R13", "jobs[0]")])
    return found != []


@pytest.mark.parametrize(
    ("job", "capacity", "fits"),
    [
        ({"demand": {"gpu": 3}}, {"gpu": 0, "gpu_mem": 0, "cpu": 0}, True),
        ({"demand": {"gpu": 3}, "min_quota": {"gpu": 3}}, {"gpu": 3}, True),
        ({"demand": {"gpu": 3}, "min_quota": {"gpu": 3}}, {"gpu": 2}, False),
        ({"demand": {"gpu": 3}, "min_quota": {"gpu": 3}, "max_quota": {"gpu": 3}}, {"gpu": 3}, True),
        ({"demand": {"gpu": 3}, "need": {"gpu_mem": 6}}, {"gpu_mem": 6}, True),
        ({"demand": {"gpu": 3}, "need": {"gpu_mem": 6}}, {"gpu_mem": 5}, False),
        ({"demand": {"gpu": 3}, "need": {"gpu_mem": 6}, "unit": {"gpu_mem": 4}}, {"gpu_mem": 8}, True),
        ({"demand": {"gpu": 3}, "need": {"gpu_mem": 6}, "unit": {"gpu_mem": 4}}, {"gpu_mem": 7}, False),
        ({"demand": {"gpu": 3}, "need": {"gpu_mem": 6}, "unit": {"gpu_mem": 4}, "max_quota": {"gpu_mem": 4}}, {}, True),
        ({"demand": {"gpu": 3}, "pools": ["q"], "min_quota": {"gpu": 1}}, {}, False),
    ],
)
def test_protected_job_fits_at_its_least(answer: Any, job: Document, capacity: Document, fits: bool) -> None:  # noqa: FBT001
    assert is_wrongly_shed(answer, job, pools=[pool(**capacity), {"name": "q", "capacity": {}}]) is fits


@pytest.mark.parametrize(
    ("card_mem", "job", "gpu", "fits"),
    [
        (10, {}, 3, True),
        (10, {}, 2, False),
        (10, {"need": {"gpu_mem": 30}}, 3, True),
        (10, {"need": {"gpu_mem": 31}}, 3, False),
        (10, {"unit": {"gpu": 2}}, 4, True),
        (10, {"unit": {"gpu": 2}}, 3, False),
        (10, {"max_quota": {"gpu": 3}}, 3, True),
        (10, {"max_quota": {"gpu": 2}}, 8, False),
        (10, {"min_quota": {"gpu": 4}}, 4, True),
        (10, {"min_quota": {"gpu": 4}}, 3, False),
        (2.5, {"need": {"gpu_mem": 5}}, 2, True),
        (2.5, {"need": {"gpu_mem": 5}}, 1, False),
        (2.5, {"need": {"gpu_mem": 6}}, 3, True),
        (2.5, {"need": {"gpu_mem": 6}}, 2, False),
        (2.5, {"need": {"gpu_mem": 5}, "min_quota": {"gpu": 1}}, 1, False),
        (10, {"need": {"gpu_mem": 31}, "min_quota": {"gpu": 3}}, 3, False),
        (1, {"need": {"gpu_mem": 3}}, 3, True),
        (1, {"need": {"gpu_mem": 3}}, 2, False),
        (0, {}, 8, False),
        (0, {"need": {}}, 0, True),
    ],
)
def test_protected_job_needs_cards_for_its_memory(answer: Any, card_mem: float, job: Document, gpu: int, fits: bool) -> None:  # noqa: FBT001
    assert is_wrongly_shed(answer, {"demand": {"gpu": 4}, "need": {"gpu_mem": 25}, **job}, pools=[exclusive(card_mem, gpu=gpu)]) is fits


def test_worthless_job_may_be_shed_and_one_of_little_worth_not(answer: Any) -> None:
    assert not is_wrongly_shed(answer, {"demand": {"gpu": 1}, "weight": 0})
    assert is_wrongly_shed(answer, {"demand": {"gpu": 1}, "weight": 0.5})


def test_protected_job_starts_beside_the_protected_only(answer: Any) -> None:
    keeper = {"id": "b", "demand": {"gpu": 6}, "preemptible": False, **holding(gpu=6)}
    other = {"id": "c", "demand": {"gpu": 6}, **holding(gpu=2)}
    for minimum, found in ((2, [("R13", "jobs[0]")]), (3, [])):
        shed = {"id": "a", "demand": {"gpu": 4}, "min_quota": {"gpu": minimum}, "preemptible": False, **holding(gpu=4)}
        plan = [waits(), runs("b", "keep", 1.0, gpu=6), runs("c", "keep", 1 / 3, gpu=2)]
        assert broken(answer, [shed, keeper, other], plan) == found


@pytest.mark.parametrize(("queue", "minimum", "found"), [(None, 3, True), (None, 4, False), ("u", 3, True), ("u", 4, False), ("t", 8, True), ("s", 4, False)])
def test_protected_job_leaves_what_queues_reserve(answer: Any, queue: str | None, minimum: int, found: bool) -> None:  # noqa: FBT001
    queues = [{"name": "s"}, {"name": "t", "nominal_quota": {"gpu": 5}, "lending_limit": {"gpu": 0}}, {"name": "u"}]
    assert is_wrongly_shed(answer, {"demand": {"gpu": 8}, "min_quota": {"gpu": minimum}, "queue": queue}, queues=queues) is found


def test_use_outside_every_queue_counts_against_the_reserve(answer: Any) -> None:
    queues = [{"name": "t", "nominal_quota": {"gpu": 4}, "lending_limit": {"gpu": 0}}, {"name": "u"}]
    keeper = {"id": "b", "demand": {"gpu": 3}, "preemptible": False, **holding(gpu=3)}
    for minimum, found in ((1, [("R13", "jobs[0]")]), (2, [])):
        shed = {"id": "a", "queue": "u", "demand": {"gpu": 4}, "min_quota": {"gpu": minimum}, "preemptible": False, **holding(gpu=4)}
        assert broken(answer, [shed, keeper], [waits(), runs("b", "keep", 1.0, gpu=3)], queues=queues) == found


def test_many_stages_are_placed_the_largest_first(answer: Any) -> None:
    """Smallest first, the two hundred ways to fill the large stage's pool with small ones would have to be undone one by one."""
    small = [{"name": f"s{i}", "min_quota": {"gpu": 1, "cpu": 1}, "demand": {"gpu": 1}} for i in range(14)]
    large = {"name": "large", "min_quota": {"cpu": 14}, "demand": {"cpu": 14}, "pools": ["p"]}
    pools = [pool("p", gpu=20, cpu=14), pool("q", gpu=20, cpu=14)]
    job = {"id": "a", "preemptible": False, "stages": [*small, {**large, **holding(cpu=1)}]}
    assert broken(answer, [job], [waits()], pools=pools) == [("R13", "jobs[0]")]


def test_search_that_is_given_up_rejects_no_plan(answer: Any) -> None:
    stages = [{"name": f"s{i}", "min_quota": {"gpu": 2}, "demand": {"gpu": 2}} for i in range(40)]
    stages[0] |= holding(gpu=2)
    pools = [pool(name, gpu=25) for name in ("p", "q", "r")]
    assert broken(answer, [{"id": "a", "preemptible": False, "stages": stages}], [waits()], pools=pools) == []


def could_stay(answer: Any, job: Document, **state: Any) -> bool:
    """Whether evicting a job breaks R12: there is no budget, and it could stay."""
    found = broken(answer, [{"id": "a", "demand": {"gpu": 4}, **job}], [waits()], options={"preemption_budget_seconds": 0}, **state)
    assert found in ([], [("R12", "jobs[0]")])
    return found != []


@pytest.mark.parametrize(
    ("job", "stays"),
    [
        ({}, True),
        ({"min_quota": {"gpu": 4}}, True),
        ({"min_quota": {"gpu": 5}}, False),
        ({"max_quota": {"gpu": 4}}, True),
        ({"max_quota": {"gpu": 3}}, False),
        ({"need": {"gpu_mem": 10}}, True),
        ({"need": {"gpu_mem": 11}}, False),
        ({"unit": {"gpu": 2}}, True),
        ({"unit": {"gpu": 3}}, False),
        ({"pools": ["q", "p"]}, True),
        ({"pools": ["q"]}, False),
        ({"min_quota": {"cpu": 3}}, True),
        ({"max_quota": {"cpu": 1}}, True),
        ({"unit": {"cpu": 5}}, True),
        ({"preemption_cost": {"resize_seconds": {"cpu": 1}}, "max_quota": {"cpu": 1}}, False),
        ({"preemption_cost": {"resize_seconds": {"cpu": 1}}, "min_quota": {"gpu": 5}}, True),
    ],
)
def test_job_stays_with_what_is_costly_to_change(answer: Any, job: Document, stays: bool) -> None:  # noqa: FBT001
    assert could_stay(answer, {**holding(gpu=4, gpu_mem=10, cpu=2), **job}, pools=[pool(), pool("q")]) is stays


@pytest.mark.parametrize(
    ("capacity", "stays"), [({"gpu": 4}, True), ({"gpu": 3}, False), ({"gpu_mem": 10}, True), ({"gpu_mem": 9}, False), ({"cpu": 0}, True), ({"cpu": 1}, True)]
)
def test_job_stays_where_there_is_room_for_it(answer: Any, capacity: Document, stays: bool) -> None:  # noqa: FBT001
    assert could_stay(answer, holding(gpu=4, gpu_mem=10, cpu=2), pools=[pool(**capacity)]) is stays


@pytest.mark.parametrize(
    ("gpu", "resize", "stays"),
    [(3, 15, True), (2, 15, False), (2, {"gpu_mem": 9}, True), (2, {"gpu": 9}, True), (2, {"gpu": 9, "gpu_mem": 9}, False)],
)
def test_job_stays_only_with_cards_for_its_memory(answer: Any, gpu: int, resize: Any, stays: bool) -> None:  # noqa: FBT001
    job = {"need": {"gpu_mem": 20}, "preemption_cost": {"resize_seconds": resize}, **holding(gpu=gpu, gpu_mem=25)}
    assert could_stay(answer, job, pools=[exclusive(10, gpu=3)]) is stays


def test_stage_that_holds_nothing_may_start_anywhere(answer: Any) -> None:
    stages = [{"name": "x", "demand": {"gpu": 2}, **holding(gpu=2)}, {"name": "y", "min_quota": {"gpu": 7}, "demand": {"gpu": 7}}]
    job = {"id": "a", "stages": stages}
    for q, found in ((7, [("R12", "jobs[0]")]), (6, [])):
        assert broken(answer, [job], [waits()], pools=[pool(), pool("q", gpu=q)], options={"preemption_budget_seconds": 0}) == found


def test_job_stays_in_the_room_that_it_holds_itself(answer: Any) -> None:
    jobs = [{"id": "a", "demand": {"gpu": 5}, **holding(gpu=4)}, {"id": "b", "demand": {"gpu": 3}, **holding(gpu=3)}]
    plan = [runs("a", "grow", 1.0, gpu=5), runs("b", "keep", 1.0, gpu=3)]
    assert broken(answer, jobs, plan, options={"preemption_budget_seconds": 0}) == [("R12", "jobs[0]")]
    queued = [{**job, "queue": "t"} for job in jobs]
    queues = [{"name": "s"}, {"name": "t", "nominal_quota": {"gpu": 8}, "borrowing_limit": {"gpu": 0}}]
    assert broken(answer, queued, plan, options={"preemption_budget_seconds": 0}, queues=queues) == [("R12", "jobs[0]")]


def test_moved_job_that_cannot_be_read_in_full_is_refused(answer: Any) -> None:
    stages = [{"name": name, "demand": {"gpu": 2}, **holding(gpu=2)} for name in "xy"]
    placed = [{"name": "x", "pool": "q", "resources": {"gpu": 2}}, {"name": "y", "pool": "p", "resources": {"gpu": "two"}}]
    plan = [{"id": "a", "action": "migrate", "service": 1.0, "stages": placed}]
    found = broken(answer, [{"id": "a", "stages": stages}], plan, pools=[pool(), pool("q")], options={"preemption_budget_seconds": 0})
    assert found == [("format", "jobs[0].stages[1].resources.gpu"), ("R12", "jobs[0]")]


def test_job_does_not_stay_where_others_took_its_room(answer: Any) -> None:
    jobs = [{"id": "a", "demand": {"gpu": 5}, **holding(gpu=4)}, {"id": "b", "demand": {"gpu": 5}, **holding(gpu=4)}]
    plan = [runs("a", "grow", 1.0, gpu=5), runs("b", "shrink", 0.6, gpu=3)]
    assert broken(answer, jobs, plan, options={"preemption_budget_seconds": 0}) == [("R12", "jobs[0]")]


@pytest.mark.parametrize(("seconds", "found"), [(45, []), (44.999, [("R12", "jobs[0]")]), (44.998, [("R12", "jobs[0]")])])
def test_budget_is_held_to_the_millisecond(answer: Any, seconds: float, found: list[tuple[str, str]]) -> None:
    assert broken(answer, [{"id": "a", "demand": {"gpu": 4}, **holding(gpu=4)}], [waits()], options={"preemption_budget_seconds": seconds}) == found


def test_placement_is_found_wherever_there_is_one() -> None:
    n_found = n_none = 0
    for seed in SEEDS:
        ledger, dice = state(seed).ledger, Random(seed)
        n = ledger.n_resources
        for _ in range(12):
            used = Usage(
                tuple(tuple(dice.randint(0, 4) for _ in range(n)) for _ in ledger.pools),
                tuple(tuple(dice.randint(0, 4) for _ in range(n)) for _ in range(len(ledger.queues) + 1)),
            )
            q = dice.randrange(-1, len(ledger.queues))
            stages = [
                [(k, tuple(dice.randint(0, 5) for _ in range(n))) for k in sorted(dice.sample(range(len(ledger.pools)), dice.randint(1, len(ledger.pools))))]
                for _ in range(dice.randint(1, 3))
            ]
            expected = any(holds(seed, used, q, chosen) for chosen in product(*stages))
            assert fits(ledger, used, q, stages) is expected
            n_found, n_none = n_found + expected, n_none + (not expected)
    assert min(n_found, n_none) > 50


def holds(seed: int, used: Usage, q: int, chosen: tuple[Way, ...]) -> bool:
    """Whether R1 and R10 hold with the chosen ways beside what is used."""
    ledger = state(seed).ledger
    for r in range(ledger.n_resources):
        for k, capacity in enumerate(ledger.capacity):
            if used.pool[k][r] + sum(held[r] for at, held in chosen if at == k) > capacity[r] and any(at == k for at, _ in chosen):
                return False
        queues = [row[r] for row in used.queue]
        queues[q] += sum(held[r] for _, held in chosen)
        if q >= 0 and queues[q] > ledger.ceiling[q][r]:
            return False
        kept, total = [row[r] for row in ledger.reserved], sum(row[r] for row in ledger.capacity)
        if sum(kept) > total:
            kept = [part * total // sum(kept) for part in kept]
        if any(row[r] for row in ledger.reserved) and sum(map(max, queues, kept)) + queues[-1] > total:
            return False
    return True


def test_stage_without_a_way_fits_nowhere() -> None:
    ledger = state(0).ledger
    empty = Usage(tuple((0,) * ledger.n_resources for _ in ledger.pools), tuple((0,) * ledger.n_resources for _ in range(len(ledger.queues) + 1)))
    assert not fits(ledger, empty, -1, [[(0, (0,) * ledger.n_resources)], []])
    assert fits(ledger, empty, -1, [])
