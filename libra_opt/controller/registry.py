"""Which adapters the loop knows, by name; an adapter is imported when it is asked for.

The module of a scheduler has `Settings`, a `Value` that its section of the configuration must be, and ``connect(settings) -> Scheduler``; that of a meter
likewise, with ``connect(settings) -> Meter``.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, Protocol, cast

from libra_opt.domain.base import Value
from libra_opt.scheduler import Meter, Scheduler

__all__ = ["METERS", "SCHEDULERS", "MeterAdapter", "SchedulerAdapter", "meter_adapter", "scheduler_adapter"]

SCHEDULERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "file": "libra_opt.adapters.file_scheduler",
        "kubernetes": "libra_opt.adapters.kubernetes",
        "ray": "libra_opt.adapters.ray",
        "slurm": "libra_opt.adapters.slurm",
    }
)
"""Module of every scheduler."""

METERS: Final[Mapping[str, str]] = MappingProxyType({"prometheus": "libra_opt.adapters.prometheus"})
"""Module of every meter; its name is that of its section in the configuration."""


class SchedulerAdapter(Protocol):
    """The module of a scheduler."""

    Settings: type[Value]
    connect: Callable[[Value], Scheduler]


class MeterAdapter(Protocol):
    """The module of a meter."""

    Settings: type[Value]
    connect: Callable[[Value], Meter]


def scheduler_adapter(name: str) -> SchedulerAdapter:
    """Return the module of a scheduler of `SCHEDULERS`."""
    return cast("SchedulerAdapter", import_module(SCHEDULERS[name]))


def meter_adapter(name: str) -> MeterAdapter:
    """Return the module of a meter of `METERS`."""
    return cast("MeterAdapter", import_module(METERS[name]))
