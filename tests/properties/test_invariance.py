"""What must not matter: the call, the process, the order in the file, the names, the units; and what more capacity can only do."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from libra_opt import Plan, State, allocate, read_state, write
from tests.properties.changes import Document, bounds, document_of, enter, holdings, reordered, scaled, stages_in, tiers, with_options, worse
from tests.properties.reached import EXAMPLES, FEW, PROFILE, Reached
from tests.strategies import arbitrary_states, states

Record = Callable[[str, object], None]
ROOT = Path(__file__).parents[2]
IN_A_PROCESS = {"dev": 8, "ci": 30, "nightly": 200}.get(PROFILE, 8)

SOLVE_EVERY_LINE = """
import sys
from hashlib import sha256
from libra_opt import allocate, read_state, write
for line in sys.stdin:
    print(sha256(write(allocate(read_state(line))).encode()).hexdigest())
"""


@settings(max_examples=FEW)
@given(state=states() | arbitrary_states(), backend=st.sampled_from(("auto", "cp_sat", "lp_relaxation", "greedy")))
def test_same_state_gives_the_same_bytes(state: State, backend: str) -> None:
    asked = with_options(state, backend=backend)
    first = write(allocate(asked))
    assert write(allocate(asked)) == first
    assert write(allocate(read_state(write(asked)))) == first


def some_states(n: int) -> list[State]:
    """Return states that hypothesis makes, the same ones every time, and each once."""
    made: list[State] = []

    @settings(max_examples=n, derandomize=True, database=None)
    @given(state=arbitrary_states())
    def collect(state: State) -> None:
        made.append(state)

    collect()
    return list(dict.fromkeys(made))


def test_same_state_gives_the_same_bytes_in_processes_with_other_hash_seeds() -> None:
    made = some_states(IN_A_PROCESS)
    here = [sha256(write(allocate(state)).encode()).hexdigest() for state in made]
    lines = "".join(write(state) + "\n" for state in made)
    for seed in ("1", "4294967295"):
        ended = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-c", SOLVE_EVERY_LINE],
            input=lines,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            timeout=600,
        )
        assert ended.stdout.split() == here
        assert len(set(here)) > len(made) // 2


def agree(one: list[float], other: list[float]) -> bool:
    return not worse(one, other) and not worse(other, one)


def may_answer_the_same(one: Plan, other: Plan) -> bool:
    """Tell whether two plans can be answers to one program: equal where both are proven, else neither beyond the other's bound."""
    if one.certificate.status == other.certificate.status == "optimal":
        return agree(tiers(one), tiers(other))
    if tiers(one)[:3] != tiers(other)[:3]:
        return "optimal" not in {one.certificate.status, other.certificate.status}
    return not worse(bounds(one), tiers(other)) and not worse(bounds(other), tiers(one))


def test_order_in_the_file_does_not_matter(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=EXAMPLES)
    @given(state=states() | arbitrary_states(), dice=st.randoms(use_true_random=False))
    def check(state: State, dice) -> None:
        reached.state()
        document = document_of(state)
        plan = allocate(state)
        order = dice.sample(range(len(state.jobs)), len(state.jobs))
        turned = enter(reordered(document, "jobs", order))
        other = allocate(turned)
        assert tiers(other) == tiers(plan)
        assert holdings(turned, other) == holdings(state, plan)
        assert {job.id: (job.action, job.service) for job in other.jobs} == {job.id: (job.action, job.service) for job in plan.jobs}
        reached.note("other order of jobs", holds=order != sorted(order))
        shuffled = document
        for key in ("pools", "queues"):
            shuffled = reordered(shuffled, key, dice.sample(range(len(document[key])), len(document[key])))
        reached.note("other order of pools or queues", holds=shuffled != document)
        assert may_answer_the_same(allocate(enter(shuffled)), plan)
        reached.note("proven", holds=plan.certificate.status == "optimal")

    check()
    reached.require(record_property, {"other order of jobs": 0.4, "other order of pools or queues": 0.15, "proven": 0.9})


def renamed(document: Document, key: str, names: dict[str, str]) -> Document:
    """Return the document with jobs, pools or queues called otherwise, wherever they are named."""
    text = json.loads(json.dumps(document))
    if key == "jobs":
        return {**text, "jobs": [{**job, "id": names[job["id"]]} for job in text["jobs"]]}
    text[key] = [{**each, "name": names[each["name"]]} for each in text[key]]
    for job in text["jobs"]:
        if key == "queues" and job.get("queue"):
            job["queue"] = names[job["queue"]]
    if key == "pools":
        for stage in stages_in(text):
            if stage.get("allocation"):
                stage["allocation"]["pool"] = names[stage["allocation"]["pool"]]
            allowed = stage.get("pools")
            if allowed is not None:
                stage["pools"] = {names[name]: speed for name, speed in allowed.items()} if isinstance(allowed, dict) else [names[name] for name in allowed]
    return text


@settings(max_examples=EXAMPLES)
@given(state=states() | arbitrary_states(), key=st.sampled_from(("jobs", "pools", "queues")), dice=st.randoms(use_true_random=False))
def test_names_do_not_matter(state: State, key: str, dice) -> None:
    document = document_of(state)
    old = [each["id" if key == "jobs" else "name"] for each in document[key]]
    new = dice.sample(["\u00e9", "e\u0301", "z", "Z", "10", "9", "a b", "job.with.dots", "j1", "p0", "q0", "\U0001f40d", "x" * 253], len(old))
    plan = allocate(state)
    assert may_answer_the_same(allocate(enter(renamed(document, key, dict(zip(old, new, strict=True))))), plan)


@pytest.mark.parametrize("factor", [2, Fraction(1, 4)])
def test_cards_of_the_mean_are_counted_in_the_unit_of_cards(factor) -> None:
    jobs = [{"id": f"j{cards}", "demand": {"gpu": 4}, "min_quota": {"gpu": 4}, "rates": {"cards": cards}} for cards in (1, 3, 8)]
    resources, pools = [{"name": "gpu", "quantum": 1}], [{"name": "p", "capacity": {"gpu": 8}}]
    document = {"format": "libra-opt/state/1", "resources": resources, "pools": pools, "queues": [], "jobs": jobs}
    state, other = enter(document), enter(scaled(document, {"gpu": Fraction(factor)}))
    assert tiers(allocate(state))[3] == -(4 + 3 + 4 + 8) / 2
    assert tiers(allocate(other))[3] == pytest.approx(float(factor) * tiers(allocate(state))[3])


FACTORS = st.sampled_from((Fraction(1), Fraction(2), Fraction(1, 2), Fraction(4), Fraction(1, 4), Fraction(1024)))


def test_scale_of_a_resource_does_not_matter(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=EXAMPLES)
    @given(state=states() | arbitrary_states(), data=st.data())
    def check(state: State, data: st.DataObject) -> None:
        reached.state()
        factors = {resource.name: data.draw(FACTORS, resource.name) for resource in state.resources}
        if any(job.rates.tokens is not None or job.remaining is not None for job in state.jobs):
            factors["gpu"] = Fraction(1)  # rates do not scale with the cards, so the worth of jobs would change among each other
        reached.note("cards in another unit", holds=factors["gpu"] != 1)
        other = enter(scaled(document_of(state), factors))
        assert other.ledger.capacity == state.ledger.capacity
        assert other.ledger.demand == state.ledger.demand
        plan, again = allocate(state), allocate(other)
        by = [1.0, 1.0, 1.0, float(factors["gpu"])]
        if "gpu" not in factors or not any(map(any, state.ledger.capacity)):
            return
        by[0] = by[3]
        assert agree(tiers(again), [tier * factor for tier, factor in zip(tiers(plan), by, strict=True)])
        assert agree(bounds(again), [bound * factor for bound, factor in zip(bounds(plan), by, strict=True)])
        assert holdings(other, again) == holdings(state, plan)

    check()
    reached.require(record_property, {"cards in another unit": 0.3})


def worth_is_fixed(state: State) -> bool:
    """Tell whether no job's worth hangs on the capacity: each states a rate or has cards in its demand."""
    cards = [resource.name for resource in state.resources].index("gpu")
    return all(any(state.ledger.demand[s][cards] for s in stages) for stages in state.ledger.stage_of)


def promises_fit(state: State) -> bool:
    """Tell whether what is reserved fits the cluster; where it does not, the cut of R10 grows with the capacity, and not evenly, as it rounds down."""
    ledger = state.ledger
    return all(sum(row[r] for row in ledger.reserved) <= sum(row[r] for row in ledger.capacity) for r in range(ledger.n_resources))


def able(state: State) -> tuple[bool, ...]:
    """Tell which jobs could run in an empty cluster; only these are owed anything, so that one more of them may leave a guarantee short (tier 3)."""
    return tuple(all(map(state.ledger.fits_alone, stages)) for stages in state.ledger.stage_of)


def test_more_capacity_is_never_worse(record_property: Record) -> None:
    reached = Reached()

    @settings(max_examples=EXAMPLES)
    @given(state=(states() | arbitrary_states()).filter(worth_is_fixed), data=st.data())
    def check(state: State, data: st.DataObject) -> None:
        assume(promises_fit(state))
        reached.state()
        document = document_of(state)
        more = json.loads(json.dumps(document))
        pool = data.draw(st.sampled_from(more["pools"]), "pool")
        for name in data.draw(st.sets(st.sampled_from([resource.name for resource in state.resources]), min_size=1), "more of"):
            pool["capacity"][name] = pool["capacity"].get(name, 0) + data.draw(st.integers(1, 10), name)
        assume(able(state) == able(enter(more)))
        plan, richer = allocate(with_options(state, gap=0)), allocate(with_options(enter(more), gap=0))
        assume(plan.certificate.status == richer.certificate.status == "optimal")
        assert not worse(tiers(richer), tiers(plan))
        reached.note("better", holds=worse(tiers(plan), tiers(richer)))
        reached.note("queues", holds=bool(state.queues))

    check()
    reached.require(record_property, {"better": 0.15, "queues": 0.2})
