"""Baselines: what other schedulers would decide, held to the same rules as ours."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from libra_opt.simulation.grant import Policy
from libra_opt.simulation.policies.drf import drf
from libra_opt.simulation.policies.equal_split import EqualSplit
from libra_opt.simulation.policies.greedy import greedy
from libra_opt.simulation.policies.max_min import max_min
from libra_opt.simulation.policies.proportional import proportional
from libra_opt.simulation.policies.reservation import Reserving
from libra_opt.simulation.policies.static_best import StaticBest

__all__ = ["BASELINES", "EqualSplit", "Reserving", "StaticBest", "drf", "greedy", "max_min", "proportional"]

BASELINES: Final[Mapping[str, Callable[[], Policy]]] = MappingProxyType(
    {
        "equal_split": EqualSplit,
        "reservation": Reserving,
        "reservation_backfill": lambda: Reserving(backfill=True),
        "reservation_of_request": lambda: Reserving("request"),
        "reservation_of_request_backfill": lambda: Reserving("request", backfill=True),
        "static_best": StaticBest,
        "proportional": proportional,
        "max_min": max_min,
        "drf": drf,
        "greedy_fifo": greedy,
    }
)
"""Every baseline by its name; a policy remembers what it did, so one is made anew for every run."""
