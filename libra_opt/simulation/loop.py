"""The loop: observe, decide, let a period pass; on a simulated clock, for any policy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import process_time
from typing import Final, Protocol, runtime_checkable

import numpy as np

from libra_opt.domain import Plan, Workload
from libra_opt.simulation.grant import Decision, Moment, Policy
from libra_opt.simulation.job_state import JobPeriod
from libra_opt.simulation.observe import Observer
from libra_opt.simulation.plant import Plant

__all__ = ["MOST_PERIODS", "Learner", "PeriodRecord", "Run", "simulate"]

MOST_PERIODS: Final = 10_000
"""A simulation without a horizon ends after so many periods, finished or not."""


@dataclass(frozen=True, slots=True)
class PeriodRecord:
    """One period of a run.

    Attributes
    ----------
    period, begins, seconds
        Its number, its beginning on the simulated clock, and its length.
    capacity
        Of each pool by name.
    jobs
        What every job that was there did, in order of submission.
    deciding_seconds
        Process time that the decision took.
    plan
        The plan it comes from, where there is one.
    """

    period: int
    begins: float
    seconds: float
    capacity: dict[str, tuple[float, ...]]
    jobs: tuple[JobPeriod, ...]
    deciding_seconds: float
    plan: Plan | None


@runtime_checkable
class Learner(Protocol):
    """A policy that is told what came of its decisions."""

    def learn(self, moment: Moment, decision: Decision, record: PeriodRecord) -> None:
        """Take in what came of a decision."""


@dataclass(slots=True)
class Run:
    """What a policy made of a workload.

    Attributes
    ----------
    policy, workload
        Who decided, and on what.
    seed
        Of the noise of observation.
    periods
        What happened.
    finished_steps, finished_work, done_at
        Per job of the workload: steps it finished, their work in cards x seconds, and when it was done (None: not by the end).
    """

    policy: str
    workload: Workload
    seed: int
    periods: list[PeriodRecord] = field(default_factory=list)
    finished_steps: tuple[int, ...] = ()
    finished_work: tuple[float, ...] = ()
    done_at: tuple[float | None, ...] = ()

    @property
    def end(self) -> float:
        """When it ended, on the simulated clock."""
        return self.periods[-1].begins + self.periods[-1].seconds if self.periods else 0.0


def simulate(
    workload: Workload,
    policy: Policy,
    seed: int = 0,
    *,
    period_seconds: float | None = None,
    keep_plans: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run one policy on one workload.

    Parameters
    ----------
    workload
        The cluster and its jobs.
    policy
        Who decides; made anew for every run. A `Learner` is told what came of each decision.
    seed
        Of the noise of observation: equal seeds give equal noise, whatever the policy does.
    period_seconds
        The rebalancing period; missing: the workload's.
    keep_plans
        Keep the plan of every period in the record.
    progress
        Called with the number of each period that is done.

    Raises
    ------
    ValueError
        The policy granted what breaks a rule that all are held to.
    """
    plant = Plant(workload)
    observer = Observer(plant, np.random.default_rng(seed))
    run = Run(policy.name, workload, seed)
    seconds = period_seconds or workload.period_seconds
    observer.begin(seconds)
    period = 0
    while period < MOST_PERIODS and not _is_over(plant, workload):
        lasting = seconds if workload.horizon_seconds is None else min(seconds, workload.horizon_seconds - plant.now)
        moment = _moment(plant, observer, period, lasting)
        started = process_time()
        decision = policy.decide(moment) if moment.arrived else Decision({})
        deciding = process_time() - started
        capacity, begins = dict(plant.capacity()), plant.now
        jobs = tuple(plant.advance(decision.grants, lasting))
        observer.record(period, jobs)
        run.periods.append(PeriodRecord(period, begins, lasting, capacity, jobs, deciding, decision.plan if keep_plans else None))
        if isinstance(policy, Learner):
            policy.learn(moment, decision, run.periods[-1])
        if progress is not None:
            progress(period)
        period += 1
    indices = range(len(workload.jobs))
    run.finished_steps = tuple(plant.finished_steps(j) for j in indices)
    run.finished_work = tuple(plant.finished_work(j) for j in indices)
    run.done_at = tuple(plant.states[j].done_at for j in indices)
    return run


def _is_over(plant: Plant, workload: Workload) -> bool:
    if workload.horizon_seconds is not None:
        return plant.now >= workload.horizon_seconds - 1e-6
    return all(state.done_at is not None for state in plant.states)


def _moment(plant: Plant, observer: Observer, period: int, seconds: float) -> Moment:
    arrived, states = plant.arrived(), plant.states
    return Moment(
        period=period,
        now=plant.now,
        seconds=seconds,
        workload=plant.workload,
        capacity=plant.capacity(),
        arrived=arrived,
        held={j: holding for j in arrived if (holding := states[j].holding) is not None},
        waited={j: max(0.0, plant.now - states[j].since) for j in arrived if states[j].holding is None},
        state=partial(observer.state, period, seconds),
    )
