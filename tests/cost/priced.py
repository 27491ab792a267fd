"""Generated states with prices and a cost ceiling."""

import json
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from libra_opt.domain import Plan, State, read_state
from libra_opt.domain.quantity import exact
from tests.strategies import TINY, Shape, documents

__all__ = ["cost", "priced_states", "with_options"]

PRICES = (0, 0.03, 0.5, 1, 2.5, 1.25e-3)


def priced_states(shape: Shape = TINY, *, trees: bool = False) -> st.SearchStrategy[State]:
    """Return small states whose pools have prices; the ceiling is a part of what the whole cluster costs, often one that binds."""
    return documents(shape, trees=trees).flatmap(_priced)


@st.composite
def _priced(draw: st.DrawFn, document: dict[str, Any]) -> State:
    dearest = Fraction(0)
    for pool in document["pools"]:
        prices = {resource["name"]: draw(st.sampled_from(PRICES)) for resource in document["resources"] if draw(st.integers(0, 2))}
        if draw(st.booleans()):
            pool["price"] = prices.pop("gpu", 2)
        pool["price_per_hour"] = prices
    state = read_state(json.dumps(document))
    for pool, row in zip(state.pools, state.ledger.capacity, strict=True):
        dearest += sum(exact(pool.prices.get(resource.name, 0)) * resource.step * amount for resource, amount in zip(state.resources, row, strict=True))
    return with_options(state, cost_ceiling=float(dearest * draw(st.sampled_from([Fraction(n, 20) for n in (0, 3, 6, 9, 12, 15, 22)]))))


def with_options(state: State, **options: object) -> State:
    """Return the state with other options."""
    return state.replace({"options": state.options.replace(options)})


def cost(state: State, plan: Plan) -> Fraction:
    """What a plan costs per hour, from the prices and amounts as they are written."""
    pools = {pool.name: pool for pool in state.pools}
    spent = Fraction(0)
    for job in plan.jobs:
        for stage in job.stages:
            for resource in state.resources:
                held = resource.quanta(stage.resources.get(resource.name, 0), round_up=False) * resource.step
                spent += held * exact(pools[stage.pool].prices.get(resource.name, 0))
    return spent
