"""What a policy needs of a state before it can be planned by: fields of jobs, and what it does not go together with."""

from collections.abc import Iterator, Sequence
from typing import Final

from libra_opt.domain.faults import Location
from libra_opt.domain.job import Job
from libra_opt.domain.options import Objective, Options

__all__ = ["DIVIDES", "policy_needs"]

_LEFT: Final = "state the seconds of full service that are left"
_SINCE: Final = "state when it was submitted, in seconds on the clock of period.start"

DIVIDES: Final = frozenset(("max_min", "drf", "finish_time_fairness", "makespan", "fifo_backfill"))
"""Objectives that divide fairly, or in an order, before value counts: more than a column of values."""

_OF_EVERY_JOB: Final[dict[Objective, dict[str, str]]] = {
    "least_completion_time": {"remaining": _LEFT},
    "makespan": {"remaining": _LEFT},
    "finish_time_fairness": {"submitted": _SINCE, "remaining": _LEFT},
    "fifo_backfill": {"submitted": _SINCE},
}
"""Fields without which a job cannot be valued, and what to do about one that lacks them."""


def policy_needs(options: Options, jobs: Sequence[Job]) -> Iterator[tuple[Location, str]]:
    """Yield what is missing for the objective that the options name, and what contradicts it: a place, and what is wrong there with the remedy."""
    objective = options.objective
    if objective == "weighted_throughput":
        return
    if options.lookahead > 1:
        yield ("options", "lookahead"), f"is {options.lookahead}, but only weighted_throughput looks ahead; take 1 with objective {objective}"
    if objective in DIVIDES and options.backend not in ("auto", "cp_sat"):
        yield ("options", "backend"), f"is {options.backend}, which cannot divide as objective {objective} asks; take auto or cp_sat"
    for field, remedy in _OF_EVERY_JOB.get(objective, {}).items():
        for j, job in enumerate(jobs):
            if getattr(job, field) is None:
                yield ("jobs", j, field), f"is not stated, but objective {objective} needs it; {remedy}, or choose another objective"
    if objective == "on_time":
        for j, job in enumerate(jobs):
            if job.deadline is not None and job.remaining is None:
                yield (
                    ("jobs", j, "remaining"),
                    f"is not stated, but objective {objective} needs it beside a deadline; state the seconds of full service that are left",
                )
