"""Workloads of one to three jobs small enough to be worked out by hand, and policies that grant what the test says."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from libra_opt.domain import Workload
from libra_opt.simulation.grant import Decision, Grant, Holding, Moment

__all__ = ["CPU", "GPU", "MEMORY", "Scripted", "held", "job", "part", "step", "workload"]

GPU = {"name": "gpu", "unit": "cards", "quantum": 0.25, "compressible": True, "costly": True}
MEMORY = {"name": "gpu_mem", "unit": "GiB", "quantum": 1, "compressible": False, "costly": True}
CPU = {"name": "cpu", "unit": "cores", "quantum": 0.5, "compressible": True}
FREE = {"cold_seconds": 0, "warm_seconds": 0}


def part(seconds: float, gpu: float = 0, memory: float = 0, cpu: float = 0, **fields: Any) -> dict[str, Any]:
    """Return a part in which the only stage uses so much."""
    return {"seconds": seconds, "use": {"main": {"gpu": gpu, "gpu_mem": memory, "cpu": cpu}}, **fields}


def step(*parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"parts": list(parts)}


def job(*steps: Mapping[str, Any], name: str = "a", **fields: Any) -> dict[str, Any]:
    """Return a job that starts and stops for nothing, unless it says otherwise."""
    return {"id": name, "steps": list(steps), "restart": FREE, "preemption_cost": {"evict_seconds": 0, "resize_seconds": 0, "migrate_seconds": 0}, **fields}


def workload(*jobs: Mapping[str, Any], cards: float = 8, memory: float = 80, cores: float = 32, names: Sequence[str] = ("p",), **fields: Any) -> Workload:
    """Return a workload on pools that are all alike, in periods of a minute."""
    pools = [{"name": name, "capacity": {"gpu": cards, "gpu_mem": memory, "cpu": cores}} for name in names]
    return Workload.model_validate({"resources": [GPU, MEMORY, CPU], "pools": pools, "jobs": list(jobs), **fields})


def held(gpu: float = 0, memory: float = 0, cpu: float = 0, pool: str = "p") -> Holding:
    """Return what a job of one stage holds."""
    return (Grant(pool, (float(gpu), float(memory), float(cpu))),)


class Scripted:
    """Grants what it was told to, period by period, the last of it for ever; a function is asked for what it grants."""

    name = "scripted"

    def __init__(self, *grants: Mapping[int, Holding] | Callable[[Moment], Mapping[int, Holding]]) -> None:
        self._grants: Sequence[Mapping[int, Holding] | Callable[[Moment], Mapping[int, Holding]]] = grants
        self.moments: list[Moment] = []

    def decide(self, moment: Moment) -> Decision:
        self.moments.append(moment)
        said = self._grants[min(moment.period, len(self._grants) - 1)]
        grants = said(moment) if callable(said) else said
        return Decision({j: holding for j, holding in grants.items() if j in moment.arrived})
