"""What a run is judged by: throughput in its four meanings, completion, use of the cluster, the price of moving, fairness, and the time decisions took.

Everything is counted from what the plant did, never from what was allocated: work counts when its step is finished. Times are seconds of the simulated clock,
work is in card-hours. Where a workload has no horizon, the counted span ends when the last job is done.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from libra_opt.domain import WorkloadJob
from libra_opt.domain.base import Value
from libra_opt.simulation.job_state import JobPeriod
from libra_opt.simulation.loop import Run

__all__ = ["STARVED_AFTER_SECONDS", "Measures", "Utilisation", "jain_index", "measure"]

STARVED_AFTER_SECONDS: Final = 1800.0
"""A job that was there for longer and has never run by the end counts as starved."""

_HOUR: Final = 3600.0


class Utilisation(Value):
    """How much of one resource was in use, over the counted span and the capacity there was.

    Attributes
    ----------
    resource
        Its name.
    granted
        Share of capacity x time that jobs held, to the end of each period.
    used
        Share that they really used while they ran.
    """

    resource: str
    granted: float
    used: float


class Measures(Value):
    """What a policy made of a workload.

    Attributes
    ----------
    span_seconds
        What rates are over: the horizon; without one the makespan, or until the run was given up.
    n_jobs, n_done, n_periods
        Jobs that came within the span, how many of them are done, and how many periods were decided until the end or until all were done.
    steps_per_hour, trajectories_per_hour, jobs_per_hour, tokens_per_hour
        Finished steps, the trajectories and tokens that these finish as far as their workload states them, and finished jobs.
    card_hours_per_hour
        Useful work of finished steps: cards x hours at full service, per hour; on average so many cards did work that counts.
    weighted_card_hours_per_hour
        The same, times the weights of the jobs: what the clairvoyant bound bounds.
    completion_seconds_mean, completion_seconds_p95
        From submission to the end, of jobs that are done; null if none is. Flatters a policy that finishes few: see `n_done` and the next.
    stay_seconds_mean
        From submission to the end, of all jobs that came; those that are not done count until the end of the span.
    makespan_seconds
        When the last job was done; null if one is not.
    on_time
        Share of the jobs with a deadline that were done by it; left out is a job that is not done and whose deadline is yet to come. Null without any.
    utilisation
        Per resource.
    queue_seconds_mean, queue_seconds_p95, queue_seconds_max
        From submission until a job first held something; until the end of the span for one that never did, so the truth is then larger.
    waiting_seconds_mean
        All the time a job was there and held nothing, evictions included, mean over jobs.
    longest_wait_seconds
        The longest any job waited in one stretch.
    n_preemptions, n_resizes, n_migrations, n_kills
        Evictions of running jobs; periods in which a job was resized, and migrated; kills for want of memory.
    lost_card_hours
        Work that kills took: what was done since the last checkpoint.
    moving_seconds
        Seconds without progress, over all jobs, for starting, resizing, migrating and restarting after kills.
    gated_seconds
        Seconds that jobs held something but stood at the beginning of a phase for want of memory.
    jain
        Jain's index over the jobs' service: progress in seconds of full service, over the seconds since submission. 1 is even, 1/n is all for one.
    n_starved, starved_after_seconds
        Jobs that never ran by the end and have been there for longer than that.
    deciding_seconds, deciding_seconds_max
        Process time of all decisions, and of the longest. No property of the policy alone: it depends on the machine.
    """

    span_seconds: float
    n_jobs: int
    n_done: int
    n_periods: int
    steps_per_hour: float
    trajectories_per_hour: float
    jobs_per_hour: float
    tokens_per_hour: float
    card_hours_per_hour: float
    weighted_card_hours_per_hour: float
    completion_seconds_mean: float | None = None
    completion_seconds_p95: float | None = None
    stay_seconds_mean: float
    makespan_seconds: float | None = None
    on_time: float | None = None
    utilisation: tuple[Utilisation, ...]
    queue_seconds_mean: float
    queue_seconds_p95: float
    queue_seconds_max: float
    waiting_seconds_mean: float
    longest_wait_seconds: float
    n_preemptions: int
    n_resizes: int
    n_migrations: int
    n_kills: int
    lost_card_hours: float
    moving_seconds: float
    gated_seconds: float
    jain: float
    n_starved: int
    starved_after_seconds: float
    deciding_seconds: float
    deciding_seconds_max: float


def measure(run: Run, *, starved_after_seconds: float = STARVED_AFTER_SECONDS) -> Measures:
    """Return what a run comes to.

    Parameters
    ----------
    run
        A run of `simulate`, to its end.
    starved_after_seconds
        A job counts as starved if it never ran by the end and has been there for longer.
    """
    span = _span(run)
    jobs = run.workload.jobs
    came = [j for j, job in enumerate(jobs) if job.submitted < span]
    done = {j: at for j in came if (at := run.done_at[j]) is not None}
    completion = [at - jobs[j].submitted for j, at in done.items()]
    told = _by_job(run)
    waits = {j: _Waits(jobs[j].submitted, told.get(j, ()), span) for j in came}
    queue = [wait.first for wait in waits.values()]
    everything = [each for record in run.periods for each in record.jobs]
    service = _service(run, came, span)
    deciding = [record.deciding_seconds for record in run.periods]
    hours = span / _HOUR
    return Measures(
        span_seconds=span,
        n_jobs=len(came),
        n_done=len(done),
        n_periods=sum(bool(record.jobs) and record.begins < span for record in run.periods),
        steps_per_hour=_rate(sum(run.finished_steps), hours),
        trajectories_per_hour=_rate(
            sum(_of_steps([step.trajectories for step in job.steps], n) for job, n in zip(jobs, run.finished_steps, strict=True)), hours
        ),
        jobs_per_hour=_rate(len(done), hours),
        tokens_per_hour=_rate(sum(_of_steps([step.tokens for step in job.steps], n) for job, n in zip(jobs, run.finished_steps, strict=True)), hours),
        card_hours_per_hour=_rate(sum(run.finished_work) / _HOUR, hours),
        weighted_card_hours_per_hour=_rate(sum(job.weight * work for job, work in zip(jobs, run.finished_work, strict=True)) / _HOUR, hours),
        completion_seconds_mean=_mean(completion) if completion else None,
        completion_seconds_p95=_p95(completion) if completion else None,
        stay_seconds_mean=_mean([(done.get(j, span)) - jobs[j].submitted for j in came]),
        makespan_seconds=max(done.values()) if len(done) == len(jobs) else None,
        on_time=_on_time([(jobs[j], done.get(j)) for j in came], span),
        utilisation=_utilisation(run, span),
        queue_seconds_mean=_mean(queue),
        queue_seconds_p95=_p95(queue),
        queue_seconds_max=max(queue, default=0.0),
        waiting_seconds_mean=_mean([wait.all for wait in waits.values()]),
        longest_wait_seconds=max((wait.longest for wait in waits.values()), default=0.0),
        n_preemptions=sum(each.action == "evict" for each in everything),
        n_resizes=sum(each.action == "resize" for each in everything),
        n_migrations=sum(each.action == "migrate" for each in everything),
        n_kills=sum(each.kills for each in everything),
        lost_card_hours=sum(each.lost for each in everything) / _HOUR,
        moving_seconds=sum(each.paused for each in everything),
        gated_seconds=sum(each.gated for each in everything),
        jain=jain_index(service),
        n_starved=sum(wait.never_ran and span - jobs[j].submitted > starved_after_seconds for j, wait in waits.items()),
        starved_after_seconds=starved_after_seconds,
        deciding_seconds=sum(deciding),
        deciding_seconds_max=max(deciding, default=0.0),
    )


def jain_index(values: Sequence[float]) -> float:
    """Return Jain's index of fairness, ``(sum x)^2 / (n sum x^2)`` (Jain, Chiu and Hawe, DEC-TR-301, 1984): 1 where all are equal, 1/n where one has all.

    Examples
    --------
    >>> jain_index([2.0, 2.0]), jain_index([1.0, 0.0, 0.0, 0.0]), jain_index([])
    (1.0, 0.25, 1.0)
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else 1.0


class _Waits:
    """How long one job waited: until it first held something, in one stretch at most, and in all."""

    def __init__(self, submitted: float, told: Sequence[tuple[float, JobPeriod]], span: float) -> None:
        self.never_ran = True
        self.first = self.longest = span - submitted
        self.all = 0.0
        since: float | None = submitted
        longest = 0.0
        for begins, each in told:
            if each.holding is None:
                since = begins if since is None else since
                continue
            if self.never_ran:
                self.first, self.never_ran = begins - submitted, False
            if since is not None:
                self.all, longest, since = self.all + begins - since, max(longest, begins - since), None
        if since is not None:
            self.all, longest = self.all + span - since, max(longest, span - since)
        self.longest = longest


def _by_job(run: Run) -> dict[int, list[tuple[float, JobPeriod]]]:
    """Return per job what it did, with the beginning of each period."""
    told: dict[int, list[tuple[float, JobPeriod]]] = {}
    for record in run.periods:
        for each in record.jobs:
            told.setdefault(each.index, []).append((record.begins, each))
    return told


def _span(run: Run) -> float:
    if run.workload.horizon_seconds is not None:
        return run.workload.horizon_seconds
    ends = [at for at in run.done_at if at is not None]
    return max(ends) if ends and len(ends) == len(run.done_at) else run.end


def _service(run: Run, came: Sequence[int], span: float) -> list[float]:
    progress = dict.fromkeys(came, 0.0)
    for record in run.periods:
        for each in record.jobs:
            progress[each.index] += each.progress
    jobs = run.workload.jobs
    lasted = {j: (span if (at := run.done_at[j]) is None else at) - jobs[j].submitted for j in came}
    return [max(0.0, progress[j]) / lasted[j] for j in came if lasted[j] > 0]


def _utilisation(run: Run, span: float) -> tuple[Utilisation, ...]:
    resources = run.workload.resources
    n = len(resources)
    granted, used, there = np.zeros(n), np.zeros(n), np.zeros(n)
    for record in run.periods:
        lasting = max(0.0, min(record.begins + record.seconds, span) - record.begins)
        there += np.sum(list(record.capacity.values()), axis=0) * lasting
        for each in record.jobs:
            granted += np.sum([grant.amounts for grant in each.holding or () if grant is not None] or np.zeros((1, n)), axis=0) * lasting
            used += np.sum(each.usage, axis=0) * each.ran
    share = [(float(g / c), float(u / c)) if c > 0 else (0.0, 0.0) for g, u, c in zip(granted, used, there, strict=True)]
    return tuple(Utilisation(resource=resource.name, granted=g, used=u) for resource, (g, u) in zip(resources, share, strict=True))


def _on_time(jobs: Sequence[tuple[WorkloadJob, float | None]], span: float) -> float | None:
    judged = [at is not None and at <= job.deadline for job, at in jobs if job.deadline is not None and (at is not None or job.deadline <= span)]
    return sum(judged) / len(judged) if judged else None


def _of_steps(worth: Sequence[float], n_finished: int) -> float:
    """Return what finished steps are worth, where steps repeat."""
    cycles, rest = divmod(n_finished, len(worth))
    return cycles * sum(worth) + sum(worth[:rest])


def _rate(amount: float, hours: float) -> float:
    return amount / hours if hours > 0 else 0.0


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _p95(values: Sequence[float]) -> float:
    return float(np.percentile(values, 95)) if values else 0.0
