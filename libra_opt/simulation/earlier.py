"""What a job did before it came to the simulation, served in full, as far as its history tells of it.

Either it had done earlier steps of the same run, or an earlier run of the same steps was observed (for jobs whose demand is a curve over time).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from libra_opt.domain import Workload, WorkloadJob
from libra_opt.simulation.ahead import stretches
from libra_opt.simulation.truth import Truth, Vector, truth_of

__all__ = ["Past", "past_of"]

_ALMOST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Past:
    """One period of it.

    Attributes
    ----------
    step
        The number of the step it ended in, counted from the first that is still to come.
    phase, progress
        The phase it ended in, and its done share.
    used, most
        ``[s][r]``: mean use of every resource, and the most that was held of incompressible ones.
    work
        Work done, in cards x seconds.
    """

    step: int
    phase: str
    progress: float
    used: tuple[Vector, ...]
    most: tuple[Vector, ...]
    work: float


def past_of(workload: Workload, job: WorkloadJob, truth: Truth, seconds: float, begins: float, longest: int) -> Iterator[Past]:
    """Yield the periods before a job came, the oldest first.

    Parameters
    ----------
    truth
        Of the steps to come.
    seconds
        Length of a period.
    begins
        Where in its steps the job stands when the last of these periods ends, in seconds; negative for one on the wall clock that comes later.
    longest
        Of earlier steps at most so many periods are told.
    """
    if job.earlier:
        done = truth_of(workload, job.model_copy(update={"steps": job.earlier}))
        for t in range(-min(longest, int(done.seconds / seconds + _ALMOST)), 0):
            begins_at = done.seconds + t * seconds
            yield replace(_period(done, begins_at, seconds, repeats=False, n_steps=0), step=_step_before(done, begins_at + seconds))
        return
    for t in range(-job.observed_before, 0):
        yield _period(truth, begins + t * seconds, seconds, repeats=True, n_steps=len(job.steps))


def _step_before(done: Truth, at: float) -> int:
    return done.step[done.part_at(at)] - len(done.step_ends)


def _period(truth: Truth, begins: float, seconds: float, *, repeats: bool, n_steps: int) -> Past:
    way = stretches(truth, begins, seconds, repeats=repeats)
    cycle, after = divmod(begins + seconds + _ALMOST, truth.seconds) if repeats else (0, begins + seconds)
    at = truth.part_at(after)
    progress = (after - truth.phase_begins[at]) / (truth.phase_ends[at] - truth.phase_begins[at])
    stages, resources = range(len(truth.demand[0])), range(len(truth.demand[0][0]))
    return Past(
        step=n_steps * int(cycle) + truth.step[at],
        phase=truth.phase[at],
        progress=min(1.0, max(0.0, progress)),
        used=tuple(tuple(sum(length * (truth.demand[p][s][r] + truth.need[p][s][r]) for length, p in way) / seconds for r in resources) for s in stages),
        most=tuple(tuple(max(truth.need[p][s][r] for _, p in way) for r in resources) for s in stages),
        work=sum(length * truth.rate[p] for length, p in way),
    )
