"""Synthetic states whose eight queues hang below three others, on two further levels."""

import json

import numpy as np

from libra_opt import State, read_state
from libra_opt.adapters.synthetic import generate
from libra_opt.forecast import forecast
from libra_opt.formulation.encode import encode
from libra_opt.formulation.program import Program

__all__ = ["large_tree", "program_of_tree"]


def large_tree(n_jobs: int, seed: int, *, limits: float = 1.0) -> State:
    """Return a state of the family `full` with its queues in a tree.

    Parameters
    ----------
    limits
        How much the two branches may borrow, and lend, as a share of an eighth of the cards; at least what keeps what they hold.
    """
    state = generate("full", n_jobs, np.random.default_rng(seed))
    document = json.loads(state.model_dump_json(exclude_unset=True))
    quota = [queue["nominal_quota"]["gpu"] for queue in document["queues"]]
    share = max(1, int(limits * sum(pool["capacity"]["gpu"] for pool in document["pools"]) / 8))
    for q, queue in enumerate(document["queues"]):
        queue["parent"] = "east" if q < 4 else "west"
    held = [sum(_held(job) for job in document["jobs"] if job["queue"] in {f"team-{q}" for q in team}) for team in (range(4), range(4, 8))]
    east, west = sum(quota[:4]), sum(quota[4:])
    document["queues"] += [
        {
            "name": "east",
            "parent": "firm",
            "borrowing_limit": {"gpu": max(share, held[0] - east)},
            "lending_limit": {"gpu": max(min(east, share), east - held[0])},
        },
        {"name": "west", "parent": "firm", "lending_limit": {"gpu": max(min(west, share), west - held[1])}},
        {"name": "firm"},
    ]
    return read_state(json.dumps(document))


def program_of_tree(n_jobs: int, seed: int, *, limits: float = 1.0) -> Program:
    """Return its program."""
    state = large_tree(n_jobs, seed, limits=limits)
    return encode(state, state.ledger.with_forecast(forecast(state)))


def _held(job: dict[str, object]) -> int:
    stages = job.get("stages", [job])
    return sum(stage.get("allocation", {}).get("resources", {}).get("gpu", 0) for stage in stages)
