"""What a plan under a ceiling tells: its price, why jobs wait, and what more money would do."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from libra_opt import State, allocate, explain, read_state
from libra_opt.adapters.synthetic import generate
from libra_opt.domain.quantity import exact
from libra_opt.explanation import apply
from libra_opt.formulation.encode import encode
from tests.cost.priced import cost, priced_states

REASONS = Path(__file__).parents[2] / "instances" / "reasons"


def state_of(name: str) -> State:
    """One of the states that show a reason."""
    return read_state((REASONS / f"{name}.json").read_bytes())


@pytest.mark.parametrize(("name", "more"), [("cost-ceiling-waiting", "2.5"), ("cost-ceiling-exceeded", "1"), ("cost-ceiling-running", "2.5")])
def test_more_money_is_the_cheapest_change_that_is_told(name: str, more: str) -> None:
    told = explain(state_of(name), "told")
    [change] = [change for change in told.changes if change.kind == "cost_ceiling"]
    assert change.settings == (f"options.cost_ceiling=+{more}",)
    assert change.is_least
    granted = allocate(apply(state_of(name), change.settings))
    assert next(job for job in granted.jobs if job.id == "told").service == change.service > told.service


def test_wanted_bundle_is_priced_in_money() -> None:
    told = explain(state_of("cost-ceiling-waiting"), "told")
    assert told.wanted is not None
    assert [(part.kind, part.resource, part.amount) for part in told.wanted.parts] == [("cost_ceiling", "money", 10.0)]
    assert told.wanted.price == pytest.approx(told.reason.wanted_price)


def in_whole_steps(state: State) -> float:
    """The ceiling, rounded down to whole steps in which the state's bundles tell costs apart."""
    program, cost_of = encode(state, state.ledger), state.ledger.cost
    assert cost_of is not None
    step = cost_of.unit * int(program.scale[-1])
    return float(exact(state.options.cost_ceiling or 0.0) // step * step)


@settings(max_examples=25)
@given(priced_states())
def test_more_money_brings_at_most_its_price_and_the_gap(state: State) -> None:
    plan = allocate(state)
    bound = plan.certificate.priced_bound
    if bound is None:
        return
    price = sum(each.price for each in plan.prices if each.kind == "cost_ceiling")
    for more in (0.5, 4.0):
        changed = apply(state, [f"options.cost_ceiling=+{more}"])
        after, gained = allocate(changed), in_whole_steps(changed) - in_whole_steps(state)
        tiers = zip(plan.certificate.tiers[:3], after.certificate.tiers[:3], strict=True)
        if all(two.objective <= one.objective + 1e-9 for one, two in tiers):
            assert after.certificate.objective <= bound + gained * price + 1e-6 * max(1.0, abs(bound))


def test_many_jobs_under_a_ceiling_are_planned_near_the_bound() -> None:
    state = generate("full", 300, np.random.default_rng(3))
    pools = tuple(pool.replace({"price_per_hour": {"gpu": price, "cpu": 0.03}}) for pool, price in zip(state.pools, (2.5, 4.0, 1.1), strict=True))
    free = state.replace({"pools": pools, "options": state.options.replace({"cost_ceiling": 1e9, "effort": 0.5})})
    most = allocate(free).cost_per_hour
    assert most is not None
    plan = allocate(free.replace({"options": free.options.replace({"cost_ceiling": 0.85 * most})}))
    assert cost(free, plan) <= 0.85 * most
    assert plan.certificate.gap < 0.02
    assert [price.kind for price in plan.prices if price.kind == "cost_ceiling"] == ["cost_ceiling"]
    assert any(job.reason.code == "cost_ceiling" for job in plan.jobs)
