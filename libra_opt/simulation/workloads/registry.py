"""The kinds of generated workloads by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from libra_opt.domain import Workload
from libra_opt.domain.base import Value
from libra_opt.errors import Fault, InputError
from libra_opt.simulation.workloads.agentic import Agentic, agentic
from libra_opt.simulation.workloads.bursty import Bursty, bursty
from libra_opt.simulation.workloads.curve import Curve, curve
from libra_opt.simulation.workloads.kind import Kind
from libra_opt.simulation.workloads.light import Light, light
from libra_opt.simulation.workloads.steady import Steady, steady

__all__ = ["WORKLOADS", "make"]


class _Nothing(Value):
    """No parameters."""


_KINDS: Final = (
    Kind("four_jobs", _Nothing, lambda _, generator: curve(Curve(), generator)),
    Kind("curve", Curve, curve),
    Kind("bursty", Bursty, bursty),
    Kind("steady", Steady, steady),
    Kind("light", Light, light),
    Kind("agentic", Agentic, agentic),
)

WORKLOADS: Final[Mapping[str, Kind[Any]]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Every kind by its name; `parameters` of one are what `make` takes for it."""


def make(name: str, seed: int = 0, **parameters: object) -> Workload:
    """Return a generated workload: the same for the same name, seed and parameters.

    Parameters
    ----------
    name
        One of `WORKLOADS`.
    seed
        Of the generator that every random number comes from; 0 or more.
    parameters
        As the kind names them; what is left out has its default.

    Raises
    ------
    InputError
        The name or a parameter is unknown, or a value is not what it should be.

    Examples
    --------
    >>> make("four_jobs").jobs[1].work
    120.0
    """
    if name not in WORKLOADS:
        raise InputError("the workload", (Fault("", f"{name!r} is unknown; choose one of {', '.join(WORKLOADS)}"),))
    if seed < 0:
        raise InputError("the workload", (Fault("seed", f"{seed} is negative; give 0 or more"),))
    return WORKLOADS[name].make(seed, parameters)
