"""Each reported fault stands for a kind: its numbers, names and sizes are varied, and the kind never occurs."""

import json
import math
import unicodedata
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from libra_opt import InputError, Plan, State, allocate, read_state, verify, write

Document = dict[str, Any]

EXAMPLES = {"dev": 8, "ci": 40, "nightly": 300}.get(settings.get_current_profile_name(), 8)
EVICT_SECONDS, PERIOD_SECONDS, HOLD_PERIODS = 45, 60, 2
WEIGHTS = st.sampled_from((0.25, 0.5, 1, 1, 2, 3, 10))
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=12)
varied = settings(max_examples=EXAMPLES)


def gang(name: str, n: float, resource: str = "gpu", **fields: Any) -> Document:
    """Return a job that runs with exactly this much, or not at all."""
    amounts = {resource: n}
    return {"id": name, "min_quota": amounts, "max_quota": amounts, "demand": amounts, **fields}


def holding(job: Document, amounts: Document | None = None, **fields: Any) -> Document:
    """Return a job that holds something now: what it asks, unless told otherwise."""
    return {**job, "allocation": {"pool": "p", "resources": job["demand"] if amounts is None else amounts}, **fields}


def cost(seconds: float) -> Document:
    return {"preemption_cost": {"evict_seconds": seconds, "resize_seconds": seconds, "migrate_seconds": seconds}}


def state_of(capacity: Document, jobs: list[Document], **fields: Any) -> State:
    return read_state(json.dumps({"pools": [{"name": "p", "capacity": capacity}], "jobs": jobs, **fields}, ensure_ascii=False))


def planned(capacity: Document, jobs: list[Document], **fields: Any) -> tuple[State, Plan]:
    return verified(state_of(capacity, jobs, **fields))


def verified(state: State) -> tuple[State, Plan]:
    plan = allocate(state)
    assert verify(state, plan).broken == ()
    return state, plan


def held(answer: tuple[State, Plan], resource: str = "gpu") -> dict[str, Fraction]:
    """Return what every job holds of a resource, in its unit."""
    state, plan = answer
    found = next(each for each in state.resources if each.name == resource)
    amounts = {job.id: job.stages[0].resources[resource] if job.stages else 0 for job in plan.jobs}
    return {job: found.quanta(amount, round_up=False) * found.step for job, amount in amounts.items()}


def reason(answer: tuple[State, Plan], job: str) -> str:
    found = next(each.reason for each in answer[1].jobs if each.id == job)
    assert found.message.strip()
    return found.code


def carried(jobs: list[Document], answer: tuple[State, Plan]) -> list[Document]:
    given = {job.id: job.stages for job in answer[1].jobs}
    plain = [{key: value for key, value in job.items() if key != "allocation"} for job in jobs]
    return [holding(job, dict(given[job["id"]][0].resources)) if given.get(job["id"]) else job for job in plain]


def worth(job: Document) -> float:
    return job.get("weight", 1) * job["demand"]["gpu"]


def lost(job: Document) -> float:
    """Return what evicting a job costs."""
    seconds = job.get("preemption_cost", {}).get("evict_seconds", EVICT_SECONDS)
    return worth(job) * seconds / (PERIOD_SECONDS * HOLD_PERIODS) if "allocation" in job else 0


def best_value(capacity: int, gangs: list[Document]) -> float:
    """Return the best value of gangs of cards by trying every set of them."""
    sets = (chosen for n in range(len(gangs) + 1) for chosen in combinations(gangs, n))
    fitting = [chosen for chosen in sets if sum(job["demand"]["gpu"] for job in chosen) <= capacity]
    return max(sum(map(worth, chosen)) - sum(lost(job) for job in gangs if job not in chosen) for chosen in fitting)


@st.composite
def gangs(draw: st.DrawFn, most: int = 6, cards: int = 8) -> list[Document]:
    sizes = draw(st.lists(st.integers(1, cards), min_size=1, max_size=most))
    jobs = [gang(f"j{i}", size, weight=draw(WEIGHTS)) for i, size in enumerate(sizes)]
    return [holding(job, **cost(draw(st.sampled_from((0, 5, 45, 120))))) if draw(st.booleans()) else job for job in jobs]


@varied
@given(gangs(), st.integers(1, 16), st.integers(1, 50), st.sampled_from((1, 1000)), st.booleans())
def test_job_larger_than_the_cluster_costs_nobody_anything(jobs, capacity, beyond, weight, is_first):
    huge = gang("huge", capacity + beyond, weight=weight, priority=3)
    alone = planned({"gpu": capacity}, jobs)
    beside = planned({"gpu": capacity}, [huge, *jobs] if is_first else [*jobs, huge])
    assert held(beside) == {**held(alone), "huge": 0}
    assert reason(beside, "huge") == "never_fits"
    assert beside[1].certificate.objective == pytest.approx(alone[1].certificate.objective)


@varied
@given(gangs(), st.integers(1, 12), st.sampled_from((None, {"nominal_quota": {"gpu": 4}})))
def test_periods_without_change_move_nothing(jobs, capacity, quota):
    queues = [] if quota is None else [{"name": "a", **quota}, {"name": "b", **quota}]
    jobs = [{**job, "queue": "ab"[i % 2]} if queues else job for i, job in enumerate(jobs)]
    first = planned({"gpu": capacity}, jobs, queues=queues)
    second = planned({"gpu": capacity}, carried(jobs, first), queues=queues)
    third = planned({"gpu": capacity}, carried(jobs, second), queues=queues)
    assert held(first) == held(second) == held(third)
    assert {job.action for job in (*second[1].jobs, *third[1].jobs)} <= {"keep", "queue"}


@varied
@given(gangs(), st.integers(0, 10))
def test_minima_above_capacity_shed_the_least_value_and_whole_jobs(jobs, left):
    jobs = [job if "allocation" in job else holding(job) for job in jobs]
    answer = planned({"gpu": left}, jobs)
    assert sum(held(answer).values()) <= left
    assert all(held(answer)[job["id"]] in (0, job["demand"]["gpu"]) for job in jobs)
    assert answer[1].certificate.objective == pytest.approx(best_value(left, jobs))
    assert all(reason(answer, job["id"]) in {"evicted", "never_fits"} for job in jobs if held(answer)[job["id"]] == 0)


@varied
@given(
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from(("gpu", "gpu_mem", "cpu", "mem", "net")),
    st.sampled_from(((4, 1), (1, 0), ("2", 1), (1.5, 1), (2**60, 2**60 - 1))),
)
def test_maximum_below_minimum_is_refused_where_it_is(before, after, resource, amounts):
    least, most = amounts if resource in {"cpu", "net"} or amounts != (1.5, 1) else (2, 1)
    if isinstance(least, str) and resource in {"gpu_mem", "mem", "net"}:
        least = "2Gi" if resource != "net" else "2G"
    if resource in {"cpu", "net"} and amounts[0] == 2**60:
        least, most = 2**59, 2**59 - 64
    bad = {"id": "bad", "min_quota": {resource: least}, "max_quota": {resource: most}}
    jobs = [gang(f"a{i}", 1) for i in range(before)] + [bad] + [gang(f"b{i}", 1) for i in range(after)]
    with pytest.raises(InputError) as caught:
        state_of({"gpu": 4}, jobs)
    assert [fault.path for fault in caught.value.faults] == [f"jobs[{before}].max_quota.{resource}"]
    bad["max_quota"] = bad["min_quota"]
    planned({"gpu": 4}, jobs)


@varied
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 30))
def test_equal_gangs_never_share_out_half_of_what_they_need(size, n, capacity):
    answer = planned({"gpu": capacity, "cpu": 1000}, [{**gang(f"g{i}", size), "min_quota": {"gpu": size, "cpu": 2 * size}} for i in range(n)])
    whole = min(n, capacity // size)
    assert sorted(held(answer).values()) == [0] * (n - whole) + [size] * whole
    assert sorted(held(answer, "cpu").values()) == [0] * (n - whole) + [2 * size] * whole


@varied
@given(st.lists(st.integers(1, 7), min_size=2, max_size=5), st.sampled_from((0.5, 15, 60)), st.booleans())
def test_equal_elastic_jobs_do_not_take_from_each_other(shares, seconds, is_even):
    shares = [shares[0]] * len(shares) if is_even else shares
    demand = max(7, *shares)
    jobs = [
        {"id": f"e{i}", "min_quota": {"gpu": 1}, "max_quota": {"gpu": demand}, "demand": {"gpu": demand}, "queue": f"q{i}", **cost(seconds)}
        for i in range(len(shares))
    ]
    jobs = [holding(job, {"gpu": share}) for job, share in zip(jobs, shares, strict=True)]
    answer = planned({"gpu": sum(shares)}, jobs, queues=[{"name": f"q{i}"} for i in range(len(shares))])
    assert list(held(answer).values()) == shares
    assert {job.action for job in answer[1].jobs} == {"keep"}


@varied
@given(gangs(most=8), st.sampled_from((0, 1e-9, 1e-6, 1e-3)), st.sampled_from(("auto", "cp_sat", "lp_relaxation", "greedy")), st.integers(0, 4))
def test_next_to_no_effort_is_never_worse_than_leaving_all_as_it_is(jobs, effort, backend, free):
    running = sum(job["demand"]["gpu"] for job in jobs if "allocation" in job)
    _, plan = planned({"gpu": running + free}, jobs, options={"effort": effort, "backend": backend})
    best = best_value(running + free, jobs)
    assert plan.certificate.objective >= sum(worth(job) for job in jobs if "allocation" in job) - 1e-9
    assert plan.certificate.objective <= best * (1 + 1e-9)
    assert plan.certificate.bound >= best * (1 - 1e-9)
    assert plan.certificate.status != "optimal" or plan.certificate.objective == pytest.approx(best)


@varied
@given(st.integers(1, 4), st.integers(2, 8), st.integers(1, 20), st.integers(0, 5), st.randoms(use_true_random=False))
def test_which_of_several_twins_runs_does_not_change(size, n, capacity, seed, dice):
    twins = [gang(f"t{i}", size) for i in range(n)]
    first = planned({"gpu": capacity}, twins, options={"seed": seed})
    assert sum(held(first).values()) == size * min(n, capacity // size)
    assert write(allocate(first[0])) == write(first[1])
    assert held(planned({"gpu": capacity}, dice.sample(twins, n), options={"seed": seed})) == held(first)


@varied
@given(st.sampled_from(("gpu", "gpu_mem", "cpu", "mem", "net")), st.integers(0, 100), st.integers(1, 100), st.booleans())
def test_more_than_there_is_of_anything_gives_nothing_and_a_reason(resource, capacity, beyond, is_minimum):
    asked = {resource: capacity + beyond}
    memory = resource in {"gpu_mem", "mem"}
    job = {"id": "a", "demand": {"gpu": 1}, "min_quota": asked} if is_minimum or not memory else {"id": "a", "demand": {"gpu": 1, **asked}}
    answer = planned({"gpu": 8, resource: capacity}, [job])
    assert answer[1].jobs[0].stages == ()
    assert reason(answer, "a") == "never_fits"


@varied
@given(st.sampled_from(("cpu", "net", "mem", "gpu_mem")), st.integers(1, 40), st.integers(0, 40), st.integers(1, 4))
def test_what_is_left_out_of_a_limit_is_not_limited_and_zero_is_zero(resource, amount, room, cards):
    job = {"id": "a", "queue": "q", "max_quota": {"gpu": cards}, "demand": {"gpu": cards, resource: amount}}
    capacity = {"gpu": cards, resource: amount + room}
    free = planned(capacity, [job], queues=[{"name": "q", "borrowing_limit": {"gpu": cards}}])
    assert held(free) == {"a": cards}
    assert held(free, resource) == {"a": amount}
    job["max_quota"][resource] = 0
    assert held(planned(capacity, [job], queues=[{"name": "q"}]), resource) == {"a": 0}
    del job["max_quota"][resource]
    assert held(planned(capacity, [job], queues=[{"name": "q", "borrowing_limit": {resource: 0}}]), resource) == {"a": 0}


def history(values: list[int | None], resource: str = "gpu") -> Document:
    return {"history": [{resource: value} for value in values]}


def expected(answer: tuple[State, Plan]) -> list[Any]:
    for entry in answer[1].forecast:
        assert all(math.isfinite(factor) and factor >= 0 for factor in entry.demand_intensity)
    return [entry.demand["gpu"] for entry in answer[1].forecast]


@varied
@given(st.integers(0, 1000), st.integers(1, 50), st.integers(2, 30))
def test_falling_demand_is_never_expected_below_zero(start, slope, n):
    falling = [max(0, start - slope * t) for t in range(n)]
    jobs = [{"id": "fading", **history(falling)}, {"id": "steady", "demand": {"gpu": 8}}]
    (demand,) = expected(planned({"gpu": 8}, jobs))
    assert demand >= 0
    answer = planned({"gpu": 8}, jobs, options={"forecast": {"method": "last_value"}})
    assert expected(answer) == [falling[-1]]
    assert held(answer)["fading"] >= 0
    if falling[-1] == 0:
        assert held(answer) == {"fading": 0, "steady": 8}


@varied
@given(st.integers(0, 8), st.integers(1, 60))
def test_constant_demand_is_expected_as_it_is_and_certain(level, n):
    answer = planned({"gpu": 8}, [{"id": "flat", **history([level] * n)}])
    assert expected(answer) == [level]
    assert held(answer) == {"flat": level}
    assert set(answer[1].forecast[0].demand_intensity) <= {1.0}


@varied
@given(st.lists(st.integers(0, 8), min_size=1, max_size=3), st.integers(1, 8))
def test_short_history_is_enough(values, other):
    answer = planned({"gpu": 16}, [{"id": "short", **history(values)}, {"id": "flat", **history([other] * len(values))}])
    assert expected(answer) == [values[-1], other]
    assert held(answer)["flat"] == other


@varied
@given(st.integers(1, 8), st.lists(st.booleans(), min_size=1, max_size=12))
def test_gap_is_not_an_absence_of_demand(level, gaps):
    values = [None if gap else level for gap in gaps]
    answer = planned({"gpu": 8}, [{"id": "g", **history(values)}])
    assert expected(answer) == [0 if all(gaps) else level]
    assert held(answer) == {"g": 0 if all(gaps) else level}


@varied
@given(st.lists(st.integers(-9, 12), min_size=2, max_size=5), st.integers(1, 8), st.sampled_from((1, 1.01, 3)))
def test_weights_however_far_apart_decide(exponents, size, factor):
    weights = [factor * 10.0**exponent for exponent in exponents]
    answer = planned({"gpu": size}, [gang(f"w{i}", size, weight=weight) for i, weight in enumerate(weights)])
    chosen = [weights[int(job[1:])] for job, amount in held(answer).items() if amount]
    assert len(chosen) == 1
    assert chosen[0] >= max(weights) * (1 - 1e-6)
    assert answer[1].certificate.objective == pytest.approx(max(weights) * size)


@varied
@given(st.integers(1, 3000), st.integers(0, 10_000), st.integers(1, 8), st.sampled_from(("gpu_mem", "mem")))
def test_memory_holds_as_many_replicas_as_fit_and_no_more(size, capacity, n, resource):
    answer = planned({"gpu": 1, resource: capacity}, [gang(f"r{i}", size, resource) for i in range(n)])
    fit = min(n, capacity // size)
    assert sorted(held(answer, resource).values()) == [0] * (n - fit) + [size] * fit


@varied
@given(gangs(), st.integers(0, 10), st.integers(0, 6))
def test_ceiling_holds_with_the_newcomer_counted(jobs, nominal, borrowing):
    queue = {"name": "q", "nominal_quota": {"gpu": nominal}, "borrowing_limit": {"gpu": borrowing}}
    inside = [{**job, "queue": "q"} for job in jobs]
    answer = planned({"gpu": 1000}, [*inside, gang("outside", 10)], queues=[queue])
    assert sum(held(answer)[job["id"]] for job in jobs) <= nominal + borrowing
    assert held(answer)["outside"] == 10
    if nominal == 0:
        assert answer[1].certificate.objective == pytest.approx(best_value(borrowing, inside) + 10)


@varied
@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from((0.01, 1, 100)), st.integers(0, 20), st.sampled_from((0, 45, 1000)))
def test_owner_gets_its_quota_back_and_the_borrower_keeps_its_own(mine, theirs, weight, asked, seconds):
    total = mine + theirs
    borrower = holding({"id": "b", "queue": "B", "min_quota": {"gpu": 1}, "demand": {"gpu": total}, "weight": weight, **cost(seconds)}, {"gpu": total})
    owner = {"id": "a", "queue": "A", "demand": {"gpu": max(1, asked)}}
    queues = [{"name": "A", "nominal_quota": {"gpu": mine}}, {"name": "B", "nominal_quota": {"gpu": theirs}}]
    answer = planned({"gpu": total}, [borrower, owner], queues=queues)
    assert held(answer)["a"] >= min(mine, max(1, asked))
    assert held(answer)["b"] >= theirs
    assert [tier.objective for tier in answer[1].certificate.tiers[:3]] == [0, 0, 0]


@varied
@given(st.integers(1, 2**30), st.integers(1, 2**30), st.integers(1, 7), st.sampled_from((1, 1000)))
def test_amounts_in_bytes_keep_every_digit(small, large, odd, weight):
    in_bytes = [
        {"name": "gpu", "unit": "cards", "quantum": 1, "costly": True},
        {"name": "mem", "unit": "B", "quantum": 1, "compressible": False},
    ]
    amounts = [small * 2**30 + odd, large * 2**30 + odd]
    jobs = [{"id": f"m{i}", "demand": {"gpu": 1, "mem": amount}, "weight": weight**i} for i, amount in enumerate(amounts)]
    answer = planned({"gpu": 2, "mem": sum(amounts)}, jobs, resources=in_bytes)
    assert list(held(answer, "mem").values()) == amounts
    tight = planned({"gpu": 2, "mem": sum(amounts) - 1}, jobs, resources=in_bytes)
    assert sorted(held(tight).values()) == [0, 1]


SHARED_CARDS = [{"name": "gpu", "unit": "cards", "quantum": 0.001, "costly": True}]


@varied
@given(st.integers(1, 1000), st.integers(1, 3), st.integers(1, 3))
def test_parts_of_a_card_fill_it_exactly_and_never_more(thousandths, cards, more):
    fit = cards * 1000 // thousandths
    assume(fit <= 60)
    share = thousandths / 1000
    answer = planned({"gpu": cards}, [gang(f"f{i}", share) for i in range(fit + more)], resources=SHARED_CARDS)
    assert sum(amount > 0 for amount in held(answer).values()) == fit
    assert sum(held(answer).values()) == fit * Fraction(thousandths, 1000)


@varied
@given(st.integers(1, 4), st.integers(2, 6), st.data())
def test_no_more_is_evicted_than_a_better_job_needs(size, n, data):
    needed = data.draw(st.integers(1, n), "victims")
    seconds = data.draw(st.sampled_from((0, 45, 120)), "seconds")
    low = [holding(gang(f"low{i}", size), **cost(seconds)) for i in range(n)]
    wanted = needed * size - data.draw(st.integers(0, size - 1), "less")
    answer = planned({"gpu": n * size}, [*low, gang("high", wanted, weight=100)])
    assert held(answer)["high"] == wanted
    assert [job.action for job in answer[1].jobs].count("evict") == needed


@varied
@given(st.integers(2, 8), st.integers(1, 5), st.sampled_from((0.5, 1, 5)))
def test_waiting_time_in_the_weight_lets_a_large_job_run_in_the_end(cards, wait, aging):
    small = [gang(f"s{i}", 1) for i in range(cards)]
    jobs = [holding(job, **cost(60)) for job in small]
    for period in range(100):
        big = gang("big", cards, weight=1 + aging * wait * period)
        answer = planned({"gpu": cards}, [*jobs, big])
        if held(answer)["big"]:
            assert held(answer)["big"] == cards
            assert big["weight"] * cards >= cards * 1.5
            return
        jobs = carried(jobs, answer)
    pytest.fail("the large job starves")


@varied
@given(
    st.sampled_from(("auto", "cp_sat", "lp_relaxation", "greedy")), st.dictionaries(st.sampled_from(("gpu", "cpu", "mem")), st.integers(0, 9)), st.booleans()
)
def test_nothing_to_plan_is_no_fault(backend, capacity, has_pool):
    document = {"pools": [{"name": "p", "capacity": capacity}] if has_pool else [], "queues": [{"name": "q", "nominal_quota": {"gpu": 2}}]}
    _, plan = verified(read_state(json.dumps({**document, "options": {"backend": backend}})))
    assert plan.jobs == ()
    assert plan.certificate.objective == plan.certificate.bound == plan.certificate.gap == 0
    assert backend == "greedy" or plan.certificate.status == "optimal"


@varied
@given(st.sets(st.sampled_from(("gpu", "gpu_mem", "cpu", "mem", "net")), min_size=1), st.sampled_from(("gpu", "gpu_mem", "cpu", "mem", "net")), st.booleans())
def test_resource_of_which_there_is_none_disturbs_nobody_else(lacking, asked, is_stated):
    capacity = {name: 8 for name in ("gpu", "gpu_mem", "cpu", "mem", "net") if name not in lacking} | (dict.fromkeys(lacking, 0) if is_stated else {})
    without = {"id": "without", "demand": {name: 4 for name in capacity if name not in lacking} | dict.fromkeys(lacking, 0)}
    needs = {"id": "needs", "demand": dict.fromkeys(("cpu", "gpu", asked), 2), "min_quota": {asked: 1, "cpu": 1}, "weight": 100}
    answer = planned(capacity, [without, needs])
    assert next(job.service for job in answer[1].jobs if job.id == "without") == 1
    if asked in lacking or "cpu" in lacking:
        assert reason(answer, "needs") == "never_fits"
        assert next(job.stages for job in answer[1].jobs if job.id == "needs") == ()


@varied
@given(st.lists(NAMES, min_size=1, max_size=5, unique=True), st.data())
def test_second_holder_of_a_name_is_refused_by_its_place(names, data):
    of, key = data.draw(st.sampled_from((("jobs", "id"), ("pools", "name"), ("queues", "name"), ("resources", "name"))), "of")
    twice = data.draw(st.sampled_from(names), "twice")
    at = data.draw(st.integers(names.index(twice) + 1, len(names)), "at")
    listed = [*names[:at], twice, *names[at:]]
    with pytest.raises(InputError) as caught:
        read_state(json.dumps({of: [{key: name} for name in listed]}))
    assert [fault.path for fault in caught.value.faults] == [f"{of}[{at}].{key}"]


@varied
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.sampled_from(("\u00e9", "\u00f1", "\u1e9b\u0323", "\uac00", "\u212b")))
def test_names_are_kept_letter_by_letter(names, composed):
    apart = unicodedata.normalize("NFD", composed)
    pair = [f"x{composed}", f"x{apart}"]
    ids = list(dict.fromkeys([*names, *pair, "x", "X", " x", "x "]))
    jobs = [gang(name, i + 1) for i, name in enumerate(ids)]
    answer = planned({"gpu": sum(range(len(ids) + 1))}, jobs)
    assert [job.id for job in answer[1].jobs] == ids
    assert held(answer) == {name: i + 1 for i, name in enumerate(ids)}
    assert json.loads(write(answer[1]))["jobs"][0]["id"] == ids[0]


@varied
@given(gangs(), st.integers(1, 12), st.sampled_from((float, lambda n: Fraction(n) and float(n), str)))
def test_whole_number_may_be_written_with_a_point(jobs, capacity, form):
    def written(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: written(part) for key, part in value.items()}
        if isinstance(value, list):
            return [written(part) for part in value]
        return form(value) if isinstance(value, int) and not isinstance(value, bool) else value

    amounts = ("min_quota", "max_quota", "demand", "allocation")
    other = [{key: written(value) if key in amounts else value for key, value in job.items()} for job in jobs]
    answer, again = planned({"gpu": capacity}, jobs), planned({"gpu": written(capacity)}, other)
    assert held(again) == held(answer)
    assert again[1].certificate.objective == answer[1].certificate.objective


SUFFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
IN_BYTES = [
    {"name": "gpu", "unit": "cards", "quantum": 1, "costly": True},
    {"name": "mem", "unit": "B", "quantum": 1, "compressible": False},
    {"name": "cpu", "unit": "cores", "quantum": 0.001},
]


@varied
@given(st.integers(1, 900), st.sampled_from(sorted(SUFFIXES)), st.integers(1, 64_000))
def test_suffix_is_read_for_what_it_means(number, suffix, millicores):
    amount = number * SUFFIXES[suffix]
    forms = [(f"{number}{suffix}", f"{millicores}m"), (amount, millicores / 1000), (f"{number}.0{suffix}", f"{millicores}e-3")]
    answers = []
    for memory, cores in forms:
        job = {"id": "a", "demand": {"gpu": 1, "mem": memory, "cpu": cores}}
        answers.append(planned({"gpu": 1, "mem": memory, "cpu": cores}, [job], resources=IN_BYTES))
    assert [held(answer, "mem")["a"] for answer in answers] == [amount] * 3
    assert [held(answer, "cpu")["a"] for answer in answers] == [Fraction(millicores, 1000)] * 3


@varied
@given(st.sampled_from(("Q", "gi", "GiB", "g", "K", " ", "%", "MB")), st.sampled_from(("gpu", "mem", "cpu")))
def test_unknown_suffix_is_refused(suffix, resource):
    with pytest.raises(InputError) as caught:
        state_of({"gpu": 1}, [{"id": "a", "demand": {resource: f"1{suffix}"}}])
    assert [fault.path for fault in caught.value.faults] == [f"jobs[0].demand.{resource}"]


PLACES = (
    "pools[0].capacity.gpu",
    "jobs[0].demand.gpu",
    "jobs[0].min_quota.cpu",
    "jobs[0].weight",
    "jobs[0].allocation.resources.gpu",
    "period.seconds",
    "options.gap",
)


@varied
@given(st.sampled_from(PLACES), st.sampled_from(("NaN", "Infinity", "-Infinity", "-1", '"NaN"', '"inf"', "null", "true", '"1e9999"', "[]")))
def test_what_is_no_amount_is_refused_where_it_is(place, bad):
    document = {
        "period": {"seconds": 60},
        "pools": [{"name": "p", "capacity": {"gpu": 4}}],
        "jobs": [{"id": "a", "weight": 1, "demand": {"gpu": 1}, "min_quota": {"cpu": 1}, "allocation": {"pool": "p", "resources": {"gpu": 1}}}],
        "options": {"gap": 0.5},
    }
    spot: Any = document
    *path, last = place.replace("[0]", ".0").split(".")
    for part in path:
        spot = spot[int(part)] if part == "0" else spot[part]
    spot[last] = "BAD"
    with pytest.raises(InputError) as caught:
        read_state(json.dumps(document).replace('"BAD"', bad))
    assert [fault.path for fault in caught.value.faults] == [place]


@varied
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 5))
def test_what_went_down_to_nothing_comes_back(cards, capacity, n_quiet):
    job = {"id": "svc", "max_quota": {"gpu": 8}, "demand": {"gpu": cards}, **cost(0)}
    first = planned({"gpu": capacity}, [job])
    jobs = carried([job], first)
    for _ in range(n_quiet):
        quiet = planned({"gpu": capacity}, [{**jobs[0], "demand": {"gpu": 0}}])
        assert held(quiet) == {"svc": 0}
        jobs = carried([job], quiet)
    again = planned({"gpu": capacity}, jobs)
    assert held(again) == held(first) == {"svc": min(cards, capacity)}


@varied
@given(gangs(), st.integers(1, 16), st.data())
def test_job_that_is_gone_leaves_nothing_behind(jobs, capacity, data):
    first = planned({"gpu": capacity}, jobs)
    following = carried(jobs, first)
    staying = [job for job in following if data.draw(st.booleans(), job["id"])]
    answer = planned({"gpu": capacity}, staying)
    assert set(held(answer)) == {job["id"] for job in staying}
    assert answer[1].certificate.objective == pytest.approx(best_value(capacity, staying))


@st.composite
def broken_allocations(draw: st.DrawFn) -> Document:
    resources = draw(st.dictionaries(st.sampled_from(("gpu", "cpu", "mem", "net")), st.integers(0, 200)))
    return {"pool": draw(st.sampled_from(("p", "gone"))), "resources": resources}


@varied
@given(gangs(), st.integers(1, 16), st.data())
def test_allocation_that_cannot_be_kept_never_stands_in_the_way(jobs, capacity, data):
    free = [{key: value for key, value in job.items() if key != "allocation"} | cost(0) for job in jobs]
    broken = [{**job, "allocation": data.draw(broken_allocations(), job["id"])} for job in free]
    pools = [{"name": "p", "capacity": {"gpu": capacity}}, {"name": "gone", "capacity": {}}]
    answer, clean = planned({}, broken, pools=pools), planned({}, free, pools=pools)
    assert answer[1].certificate.objective == pytest.approx(clean[1].certificate.objective)
    assert answer[1].certificate.status == clean[1].certificate.status == "optimal"


@varied
@given(
    st.integers(1, 12), st.integers(1, 12), st.sampled_from((1e19, 1e20, 1e300, 2**63, 2**63 - 1, 2**100)), st.sampled_from(("auto", "cp_sat", "lp_relaxation"))
)
def test_maximum_beyond_all_measure_is_none(cards, other, most, backend):
    jobs = [
        {"id": "a", "min_quota": {"gpu": 1}, "demand": {"gpu": cards, "cpu": 10 * cards}},
        {"id": "b", "min_quota": {"gpu": 1}, "demand": {"gpu": other, "cpu": 10 * other}},
    ]
    limited = [jobs[0], {**jobs[1], "max_quota": {"gpu": most, "cpu": most}}]
    capacity = {"gpu": cards + other, "cpu": 10 * (cards + other)}
    for listed in (jobs, limited):
        answer = planned(capacity, listed, options={"backend": backend})
        assert held(answer) == {"a": cards, "b": other}
        assert held(answer, "cpu") == {"a": 10 * cards, "b": 10 * other}
        assert math.isfinite(answer[1].certificate.bound)


@varied
@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from((0.01, 1, 50)), st.sets(st.sampled_from(("cpu", "mem", "net"))))
def test_promise_of_one_resource_is_kept_without_a_promise_of_the_others(cards, cores, weight, promised):
    asked = {"gpu": cards, "cpu": cores * cards, "mem": cards}
    borrower = holding({"id": "borrower", "queue": "t2", "min_quota": asked, "max_quota": asked, "demand": asked, "weight": weight, **cost(1)})
    owner = {"id": "owner", "queue": "t1", "min_quota": asked, "max_quota": asked, "demand": asked}
    queues = [{"name": "t1", "nominal_quota": {"gpu": cards} | dict.fromkeys(promised, 0)}, {"name": "t2"}]
    answer = planned({"gpu": cards, "cpu": 8 * cards, "mem": 4 * cards}, [borrower, owner], queues=queues)
    assert held(answer) == {"borrower": 0, "owner": cards}
    assert held(answer, "cpu") == {"borrower": 0, "owner": cores * cards}


@varied
@given(st.integers(1, 3), st.integers(2, 5), st.sampled_from((0, 45, 110)), st.data())
def test_victims_that_end_one_after_the_other_do_not_come_back(size, n, seconds, data):
    heavy = gang("heavy", n * size, weight=10)
    left = {i for i in range(n) if data.draw(st.booleans(), f"v{i} has ended")}
    whole = [holding(gang(f"v{i}", size), **cost(seconds)) for i in range(n)]
    half = [gang(f"v{i}", size) if i in left else job for i, job in enumerate(whole)]
    before, between = planned({"gpu": n * size}, [*whole, heavy]), planned({"gpu": n * size}, [*half, heavy])
    assert held(before) == held(between) == {**dict.fromkeys((f"v{i}" for i in range(n)), 0), "heavy": n * size}
