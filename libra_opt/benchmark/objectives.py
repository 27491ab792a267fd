"""What each objective costs beside weighted throughput: whole calls in one process, by turns, on the same generated states."""

import gc
from collections.abc import Callable
from statistics import median
from time import process_time

from libra_opt.allocation import allocate
from libra_opt.benchmark.cases import make_state
from libra_opt.benchmark.measure import warm_up
from libra_opt.benchmark.results import Case
from libra_opt.domain import Plan
from libra_opt.domain.base import Value

__all__ = ["ObjectiveRun", "compare_objectives", "median_ratio"]

_USUAL = "weighted_throughput"


class ObjectiveRun(Value):
    """One whole call under one objective.

    Attributes
    ----------
    cpu_seconds, ratio
        Time on the processor, and as a multiple of the call under weighted throughput before it, on the same state.
    status, gap
        Of the certificate.
    tiers
        Name, objective and bound of each of its tiers.
    """

    family: str
    n_jobs: int
    seed: int
    objective: str
    cpu_seconds: float
    ratio: float
    status: str
    gap: float
    tiers: tuple[tuple[str, float, float], ...]


def compare_objectives(cases: tuple[Case, ...], objectives: tuple[str, ...], tell: Callable[[str], None] = lambda _: None) -> tuple[ObjectiveRun, ...]:
    """Return, case by case, the run under weighted throughput and those under each objective."""
    warm_up()
    runs: list[ObjectiveRun] = []
    for case in cases:
        state, usual = make_state(case), 0.0
        for objective in (_USUAL, *objectives):
            tell(f"{case.label}, {case.n_jobs} jobs, seed {case.seed}: {objective}")
            asked = state.replace({"options": state.options.replace({"objective": objective})})
            gc.collect()
            start = process_time()
            plan = allocate(asked)
            seconds = process_time() - start
            usual = usual or seconds
            runs.append(_run(case, objective, plan, seconds, seconds / usual))
    return tuple(runs)


def _run(case: Case, objective: str, plan: Plan, seconds: float, ratio: float) -> ObjectiveRun:
    certificate = plan.certificate
    return ObjectiveRun(
        family=case.label,
        n_jobs=case.n_jobs,
        seed=case.seed,
        objective=objective,
        cpu_seconds=seconds,
        ratio=ratio,
        status=certificate.status,
        gap=certificate.gap,
        tiers=tuple((tier.name, tier.objective, tier.bound) for tier in certificate.tiers),
    )


def median_ratio(runs: tuple[ObjectiveRun, ...], family: str, n_jobs: int, objective: str) -> float:
    """Return the median over the seeds of what an objective costs beside weighted throughput."""
    return median(run.ratio for run in runs if (run.family, run.n_jobs, run.objective) == (family, n_jobs, objective))
