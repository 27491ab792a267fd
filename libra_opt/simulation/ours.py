"""Ours as a policy: `allocate` on what was observed, with or without feedback; or on the truth, as an upper mark for the forecast."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from libra_opt.allocate import allocate
from libra_opt.domain import Options, Plan, Workload
from libra_opt.domain.quantity import parse
from libra_opt.simulation.grant import Decision, Grant, Holding, Moment

__all__ = ["Ours", "grants_of"]


@dataclass(slots=True)
class Ours:
    """`allocate` every period.

    Attributes
    ----------
    name
        How tables call it.
    options
        What every state asks for.
    is_true
        It is shown the demand that comes.
    weigh
        Weight and seconds waited of a waiting job to the weight that counts.
    """

    name: str
    options: Options
    is_true: bool = False
    weigh: Callable[[float, float], float] | None = None

    def decide(self, moment: Moment) -> Decision:
        """Return what the plan of this moment's state grants."""
        state = moment.state(self.options, is_true=self.is_true, weigh=self.weigh)
        plan = allocate(state)
        return Decision(grants_of(plan, moment.workload), plan, state)


def grants_of(plan: Plan, workload: Workload) -> Mapping[int, Holding]:
    """Return what a plan gives every job that runs, by its index in the workload."""
    index = {job.id: j for j, job in enumerate(workload.jobs)}
    grants: dict[int, Holding] = {}
    for planned in plan.jobs:
        if planned.stages:
            placed = {stage.name: Grant(stage.pool, _vector(stage.resources, workload)) for stage in planned.stages}
            grants[index[planned.id]] = tuple(placed.get(stage.name) for stage in workload.jobs[index[planned.id]].stages)
    return grants


def _vector(amounts: Mapping[str, int | float | str], workload: Workload) -> tuple[float, ...]:
    return tuple(float(parse(amounts.get(resource.name, 0), resource.unit)) for resource in workload.resources)
