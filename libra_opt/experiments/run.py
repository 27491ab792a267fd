"""One cell run: the workload made, the policy made, the loop, the measures. What goes wrong in it is told in its result, so that no other cell is lost."""

import traceback
from dataclasses import dataclass

from libra_opt.domain import Workload
from libra_opt.experiments.cell import BoundFigures, Cell, Result
from libra_opt.experiments.timeline import timeline_of
from libra_opt.simulation.loop import simulate
from libra_opt.simulation.measures import measure
from libra_opt.simulation.registry import BOUND, make_policy
from libra_opt.simulation.truth import truth_of
from libra_opt.simulation.workloads import make

__all__ = ["Task", "failed", "run_task"]


@dataclass(frozen=True, slots=True)
class Task:
    """What an engine carries to whoever runs it.

    Attributes
    ----------
    cell
        What is run.
    workload
        The workload itself where it cannot be made from its name.
    keep_timeline
        Keep what happened period by period, the plans' reasons with it.
    """

    cell: Cell
    workload: Workload | None = None
    keep_timeline: bool = False


def run_task(task: Task) -> Result:
    """Return what came of a task; an error of any kind is in it."""
    try:
        return _run(task)
    except Exception as error:  # noqa: BLE001 - whatever a cell dies of, the others go on, and its line says it
        frames = traceback.extract_tb(error.__traceback__)
        return failed(task.cell, f"{type(error).__name__}: {error} (in {frames[-1].name}, line {frames[-1].lineno})")


def failed(cell: Cell, reason: str) -> Result:
    """Return the result of a cell that failed."""
    return Result(cell=cell, error=reason[:4000])


def _run(task: Task) -> Result:
    cell = task.cell
    workload = make(cell.workload, cell.seed, **cell.parameters) if task.workload is None else task.workload
    synthetic = None if workload.about is None else workload.about.synthetic
    if cell.policy == BOUND:
        return Result(cell=cell, synthetic=synthetic, bound=_bound(workload, cell.period_seconds))
    policy = make_policy(cell.policy, workload, cell.period_seconds, cell.seed)
    run = simulate(workload, policy, cell.seed, period_seconds=cell.period_seconds, keep_plans=task.keep_timeline)
    return Result(cell=cell, synthetic=synthetic, measures=measure(run), timeline=timeline_of(run) if task.keep_timeline else None)


def _bound(workload: Workload, period_seconds: float) -> BoundFigures:
    from libra_opt.simulation.bound import clairvoyant_bound  # noqa: PLC0415 - a solver, and only this row needs it

    bound = clairvoyant_bound(workload, period_seconds)
    if bound.finished_work is not None and workload.horizon_seconds is not None:
        return BoundFigures(weighted_card_hours_per_hour=bound.finished_work / workload.horizon_seconds)
    if bound.periods is None:
        return BoundFigures()
    work = sum(job.weight * (truth_of(workload, job).work if job.work is None else job.work) for job in workload.jobs)
    seconds = bound.periods * period_seconds
    return BoundFigures(weighted_card_hours_per_hour=work / seconds, makespan_seconds=seconds)
