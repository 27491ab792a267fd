"""What is shared out on Ray: our names and whole steps for Ray's resources."""

import math
from collections.abc import Mapping
from typing import Any, Final

from libra_opt.adapters.ray.records import Group
from libra_opt.adapters.ray.settings import Settings
from libra_opt.domain import Resource

__all__ = ["RESOURCES", "STEPS", "UNITS", "Steps", "per_actor", "steps_of", "written"]

STEPS: Final = {"gpu": 100, "gpu_mem": 100, "cpu": 100, "mem": 1024, "net": 100}
"""How many steps are one of the unit."""

UNITS: Final = {"gpu": "cards", "gpu_mem": "GiB", "cpu": "cores", "mem": "GiB", "net": "GB/s"}

RESOURCES: Final = tuple(Resource(name=name, unit=UNITS[name], quantum=1 / steps, compressible=True, costly=name == "gpu") for name, steps in STEPS.items())
"""What is shared out, in hundredths, memory in MiB."""

Steps = Mapping[str, int]
"""Whole steps by resource."""


def steps_of(amounts: Mapping[str, float], settings: Settings, *, round_up: bool) -> dict[str, int]:
    """Return amounts of Ray's resources in whole steps of ours."""
    theirs = {"gpu": "GPU", "gpu_mem": settings.gpu_mem, "cpu": "CPU", "mem": "memory", "net": settings.net}
    return {ours: _whole(amounts.get(name, 0.0) * _scale(ours), round_up=round_up) for ours, name in theirs.items()}


def _scale(name: str) -> float:
    return 1 / (1 << 20) if name == "mem" else float(STEPS[name])


def _whole(amount: float, *, round_up: bool) -> int:
    """Round, as Ray counts in ten-thousandths that are no exact floats."""
    return math.ceil(amount - 1e-4) if round_up else math.floor(amount + 1e-4)


def written(steps: Steps, times: float = 1) -> dict[str, Any]:
    """Return so many times some steps as amounts of a state."""
    return {name: f"{round(n * times)}Mi" if name == "mem" else round(n * times) / STEPS[name] for name, n in steps.items()}


def per_actor(group: Group, settings: Settings) -> dict[str, int]:
    """Return what one actor takes of what is shared out, in steps of `RESOURCES`."""
    return steps_of(group.resources, settings, round_up=True)
