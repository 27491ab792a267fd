"""A kind of workload: parameters that are validated, and a function that draws from a generator."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from pydantic import ValidationError

from libra_opt.domain import About, Workload
from libra_opt.domain.base import Value
from libra_opt.domain.faults import fault_of
from libra_opt.errors import InputError

__all__ = ["Kind"]

_Parameters = TypeVar("_Parameters", bound=Value)


@dataclass(frozen=True, slots=True)
class Kind(Generic[_Parameters]):
    """How one kind of workload is made.

    Attributes
    ----------
    name
        How the registry and titles call it.
    parameters
        What can be set: a frozen value whose fields have defaults, so that its JSON schema describes the kind.
    draw
        Makes the workload; every random number comes from the generator.
    """

    name: str
    parameters: type[_Parameters]
    draw: Callable[[_Parameters, np.random.Generator], Workload]

    def make(self, seed: int, given: Mapping[str, object]) -> Workload:
        """Return the workload of a seed.

        Raises
        ------
        InputError
            A parameter is unknown or its value is not what it should be; all such are named.
        """
        try:
            parameters = self.parameters.model_validate(dict(given))
        except ValidationError as error:
            faults = tuple(fault_of(details, self.parameters) for details in error.errors(include_url=False))
            raise InputError(f"parameters of workload {self.name!r}", faults) from None
        workload = self.draw(parameters, np.random.default_rng(seed))
        chosen = "".join(f", {name} {value}" for name, value in given.items() if isinstance(value, str | int | float))
        about = (workload.about or About()).replace({"title": f"synthetic: {self.name}, seed {seed}{chosen}", "licence": "Apache-2.0", "synthetic": True})
        return workload.model_copy(update={"about": about})  # both are validated, and validating thousands of parts again takes long
