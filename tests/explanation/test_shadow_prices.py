"""What one more unit of a limit, or one less, brings: never more than its price and the gap of the relaxation, as planning again shows.

The promise speaks of changes that leave the ways to run jobs, and their worth, as they are; whether they do is read off the encoded states.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from libra_opt import InputError, State, allocate, read_state
from libra_opt.domain import Plan
from libra_opt.explanation import apply
from libra_opt.formulation.encode import encode
from libra_opt.formulation.program import Program
from tests.strategies import states

REASONS = Path(__file__).parents[2] / "instances" / "reasons"
TINY = Path(__file__).parents[2] / "instances" / "tiny"
KINDS = {"pool": "pools.{}.capacity.{}", "queue_ceiling": "queues.{}.borrowing_limit.{}"}


def one_step(state: State, program: Program, kind: str, name: str, resource: str) -> tuple[float, list[str]]:
    """How much one step of a limit is, in units, and the settings that take it away and add it."""
    if kind == "preemption_budget":
        seconds = program.shared.step_ms / 1000
        return seconds, [f"options.preemption_budget_seconds={sign}{seconds}" for sign in "-+"]
    r = [each.name for each in state.resources].index(resource)
    step = state.resources[r].write(int(program.scale[r]))
    return float(program.scale[r] * state.resources[r].step), [f"{KINDS[kind].format(name, resource)}={sign}{step}" for sign in "-+"]


def is_alike(before: Program, after: Program) -> bool:
    """Whether jobs can be run in the same ways for the same worth, and guarantees and reserves are the same."""
    pairs = [(getattr(before.bundles, field), getattr(after.bundles, field)) for field in ("service", "amount", "way", "first_cell", "first_slot")]
    pairs += [(before.ways.pool, after.ways.pool), (before.worth, after.worth), (before.cell_ms, after.cell_ms), (before.scale, after.scale)]
    pairs += [(getattr(before.shared, field), getattr(after.shared, field)) for field in ("floor", "reserved", "nominal")]
    return all(np.array_equal(one, two) for one, two in pairs)


def is_no_worse(before: Plan, after: Plan) -> bool:
    return all(two.objective <= one.objective + 1e-9 for one, two in zip(before.certificate.tiers[:3], after.certificate.tiers[:3], strict=True))


def promises(state: State) -> Iterator[tuple[float, float]]:
    """Yield, for every limit that is priced (and every pool) and a step of it less and more, the value after and the most that the price allows."""
    plan, program = allocate(state), encode(state, state.ledger)
    if plan.certificate.priced_bound is None or not program.bundles.is_whole:
        return
    priced = {(price.kind, price.name, price.resource): price.price for price in plan.prices}
    asked = {("pool", pool.name, resource): 0.0 for pool in state.pools for resource in pool.capacity} | priced
    for (kind, name, resource), price in asked.items():
        if kind not in (*KINDS, "preemption_budget"):
            continue
        lent = max((each.price for each in plan.prices if each.kind == "reserve" and each.resource == resource), default=0.0) if kind == "pool" else 0.0
        amount, both = one_step(state, program, kind, name, resource)
        for sign, setting in zip((-1, 1), both, strict=True):
            try:
                changed = apply(state, [setting])
            except InputError:  # less than nothing
                continue
            if not is_alike(program, encode(changed, changed.ledger)):
                continue
            after = allocate(changed)
            if is_no_worse(plan, after):
                yield after.certificate.objective, plan.certificate.priced_bound + sign * amount * (price + lent)


def holds(value: float, most: float) -> bool:
    return value <= most + 1e-6 * max(1.0, abs(most))


@settings(max_examples=12)
@given(states())
def test_a_unit_brings_at_most_its_price_and_the_gap(state: State) -> None:
    for value, most in promises(state):
        assert holds(value, most)


def test_the_promise_is_made_for_many_limits() -> None:
    checked = [promise for path in sorted([*TINY.glob("r*.json"), *REASONS.glob("*.json")]) for promise in promises(read_state(path.read_bytes()))]
    assert all(holds(*promise) for promise in checked)
    assert len(checked) > 60
    assert sum(most - value < 1e-6 for value, most in checked) > 20  # and it is not an idle one: often the price is the gain


def test_a_way_to_run_that_the_unit_makes_possible_is_not_covered() -> None:
    job = {"id": "a", "min_quota": {"gpu": 8}, "demand": {"gpu": 8}}
    state = State.model_validate({"pools": [{"name": "p", "capacity": {"gpu": 7}}], "jobs": [job, {"id": "b", "demand": {"gpu": 1}}]})
    plan, after = allocate(state), allocate(apply(state, ["pools.p.gpu=+1"]))
    assert plan.prices == ()
    assert (plan.certificate.priced_bound, after.certificate.objective) == (1, 8)


@pytest.mark.parametrize("backend", ["cp_sat", "greedy"])
def test_back_ends_without_prices_promise_nothing(backend: str) -> None:
    state = read_state((TINY / "smallest.json").read_bytes())
    plan = allocate(state.replace({"options": state.options.replace({"backend": backend})}))
    assert (plan.certificate.priced_bound, plan.prices) == (None, ())
    assert all(job.reason.wanted_price is None for job in plan.jobs)
