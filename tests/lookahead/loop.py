"""A small loop that acts out plans: progress is the smaller of allocation and demand, as in the four-job example."""

from fractions import Fraction
from typing import Any, Final

from libra_opt import allocate
from libra_opt.domain import State

__all__ = ["FOUR_JOBS", "periods_to_finish"]

FOUR_JOBS: Final = {
    "a": (("0.2", "0.1", "0.9", "0.9", "0.9", "0.1"), "2.6"),
    "b": (("0.8", "0.8", "0.5", "0.5"), "2.0"),
    "c": (("0.5", "0.5", "0.3", "0.3", "0.3"), "1.7"),
    "d": (("0.4", "0.9", "0.1", "0.9", "0.4"), "2.4"),
}
"""Repeating demand per period, which follows wall time, and work in capacity x periods; the capacity is 1."""


def periods_to_finish(lookahead: int) -> int:
    """Return after how many periods all four jobs are done, planned with their true demand over the remaining curve; moving costs nothing."""
    left = {name: Fraction(work) for name, (_, work) in FOUR_JOBS.items()}
    held: dict[str, Any] = {}
    for t in range(30):
        jobs = [name for name in left if left[name] > 0]
        if not jobs:
            return t
        plan = allocate(_state(jobs, left, held, t, lookahead))
        held = {job.id: job.stages[0].resources["gpu"] for job in plan.jobs if job.stages}
        for name, amount in held.items():
            left[name] = max(Fraction(0), left[name] - min(Fraction(str(amount)), _demand(name, t)))
    raise AssertionError(left)


def _demand(name: str, t: int) -> Fraction:
    curve = FOUR_JOBS[name][0]
    return Fraction(curve[t % len(curve)])


def _state(jobs: list[str], left: dict[str, Fraction], held: dict[str, Any], t: int, lookahead: int) -> State:
    asked = []
    for name in jobs:
        job: dict[str, Any] = {
            "id": name,
            "demand": {"gpu": float(_demand(name, t))},
            "demand_ahead": [{"gpu": float(_demand(name, t + i))} for i in range(1, max(2, lookahead))],
            "remaining_work": float(left[name]),
            "preemption_cost": {"resize_seconds": 0, "evict_seconds": 0},
        }
        if name in held:
            job["allocation"] = {"pool": "p", "resources": {"gpu": held[name]}}
        asked.append(job)
    return State.model_validate(
        {
            "period": {"index": t},
            "resources": [{"name": "gpu", "quantum": 0.01}],
            "pools": [{"name": "p", "capacity": {"gpu": 1}}],
            "jobs": asked,
            "options": {"lookahead": lookahead},
        }
    )
